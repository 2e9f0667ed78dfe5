import assert from "node:assert/strict";
import { callsOf, Context, EMPTY_VIEW, type StoredView, wireId } from "../../src/compaction/context.ts";
import { LEDGER_HEADER, ledgerLines } from "../../src/compaction/ledger.ts";
import { loadMeasure } from "../../src/loop/measures.ts";
import type { Entry } from "../../src/ports.ts";
import { boundTokens, measureOutput } from "../../src/tokens/measure.ts";
import { assistant, callPart, contextOf, result, round, session, user } from "../support/entries.ts";
import { requestProblems } from "../support/requests.ts";
import { prose } from "../support/turns.ts";

const measure = await loadMeasure();

function problems(context: Context): string[] {
  return requestProblems({ system: "", messages: context.messages(), tools: [], maxOutput: 100 });
}

/** A view over a log that cuts, pins and trims. */
function viewOf(entries: readonly Entry[], cut: number, rest: Partial<StoredView> = {}): StoredView {
  const ledger = ledgerLines(entries.slice(0, cut).filter(({ seq }) => !rest.pinned?.includes(seq)), []);
  return { version: 1, cut, pinned: [], trims: [], ledger, ...rest };
}

Deno.test("wireId() is what providers take as an id", () => {
  assert.equal(wireId("e41.0"), "e41_0");
});

Deno.test("callsOf() names calls by their place", () => {
  const entry = assistant(4, [
    { type: "text", text: "Hm." },
    callPart("read", { a: 1 }),
    { ...callPart("search", {}), providerExecuted: true },
    callPart("read", { a: 2 }),
  ]);
  assert.deepEqual(callsOf(entry), [
    { ref: "e4.0", name: "read", input: { a: 1 } },
    { ref: "e4.1", name: "read", input: { a: 2 } },
  ]);
  assert.deepEqual(callsOf(assistant(4, "text")), []);
  assert.deepEqual(callsOf(user(4, "text")), []);
});

Deno.test("Context.messages() puts results in the order of their calls, under ids of its own", async () => {
  const entries = [user(0, "Go"), ...round(1, { count: 12 }), assistant(14, "Read.")];
  const context = await contextOf(entries);
  assert.deepEqual(problems(context), []);
  const [, calls, results] = context.messages();
  const ids = Array.from({ length: 12 }, (_, index) => `e1_${index}`);
  assert.ok(calls?.role === "assistant" && typeof calls.content !== "string" && results?.role === "tool");
  assert.deepEqual(calls.content.map((part) => part.type === "tool-call" && part.toolCallId), ids);
  assert.deepEqual(results.content.map(({ toolCallId }) => toolCallId), ids);
});

Deno.test("Context.messages() goes on with a round whose results come later, and leaves earlier lists alone", async () => {
  const entries = [user(0, "Go"), ...round(1, { count: 3 }), assistant(5, "Read."), user(6, "More")];
  const context = await contextOf(entries.slice(0, 3));
  const lists = [context.messages()];
  for (const entry of entries.slice(3)) {
    await context.append(entry);
    lists.push(context.messages());
  }
  assert.deepEqual(lists.map(({ length }) => length), [3, 3, 3, 4, 5]);
  assert.deepEqual(lists.slice(0, 3).map((list) => list[2]?.content.length), [1, 2, 3]);
  assert.deepEqual(lists.at(-1), (await contextOf(entries)).messages());
  // What has not changed is the same object.
  assert.equal(lists.at(-1)?.[2], lists[2]?.[2]);
  assert.equal(context.messages(undefined, 2).length, 2);
});

Deno.test("Context.messages() shows ids of a provider's own calls as they are", async () => {
  const own = { ...callPart("search", {}), toolCallId: "srv_1", providerExecuted: true };
  const inside = {
    type: "tool-result" as const,
    toolCallId: "srv_1",
    toolName: "search",
    output: { type: "text" as const, value: "hit" },
  };
  const context = await contextOf([
    user(0, "Go"),
    assistant(1, [own, inside, callPart("read", {})]),
    result(2, "e1.0", "x"),
  ]);
  const content = context.messages()[1]?.content;
  assert.ok(Array.isArray(content));
  assert.deepEqual(content.map((part) => "toolCallId" in part && part.toolCallId), [
    "srv_1",
    "srv_1",
    "e1_0",
  ]);
  const { pairs } = await context.transcript();
  assert.equal(pairs.length, 1);
});

Deno.test("Context.messages() shows no empty text, and no name that providers refuse", async () => {
  const context = await contextOf([
    user(0, [{ type: "text", text: "" }, { type: "text", text: "Go" }]),
    assistant(1, [{ type: "text", text: " \n" }, callPart("a b\n", {})]),
    result(2, "e1.0", "x", { toolName: "a b\n" }),
    assistant(3, ""),
    user(4, "Well?"),
    assistant(5, [{ type: "reasoning", text: "hm" }]),
    user(6, "Well?"),
    assistant(7, [{ type: "text", text: "" }]),
  ]);
  assert.deepEqual(problems(context), []);
  assert.deepEqual(context.messages().map(({ content }) => content), [
    [{ type: "text", text: "Go" }],
    [{ type: "tool-call", toolCallId: "e1_0", toolName: "a_b_", input: {} }],
    [{ type: "tool-result", toolCallId: "e1_0", toolName: "a_b_", output: { type: "text", value: "x" } }],
    "(no answer)",
    "Well?",
    [{ type: "reasoning", text: "hm" }, { type: "text", text: "(no answer)" }],
    "Well?",
    [{ type: "text", text: "(no answer)" }],
  ]);
});

Deno.test("Context.messages() gives the same objects for what has not changed", async () => {
  const entries = session([{ count: 2 }, {}, { count: 3 }]);
  const context = await contextOf(entries);
  const before = context.messages();
  await context.append(user(entries.length, "And?"));
  const after = context.messages();
  assert.equal(after.length, before.length + 1);
  for (const [index, message] of before.entries()) assert.equal(after[index], message);
  // A compaction changes what lies before the cut, and what it trims.
  await context.apply(viewOf(context.entries, 4, { trims: [[context.entries.length - 2, 200]] }));
  const compacted = context.messages();
  assert.equal(compacted.at(-1), after.at(-1));
  assert.notEqual(compacted.at(-2), after.at(-2));
  assert.equal(compacted.at(-3), after.at(-3));
});

Deno.test("Context shows summary, pins in log order, then the tail", async () => {
  const entries = [
    user(0, "First, pinned."),
    ...round(1),
    user(3, "Second."),
    ...round(4),
    user(6, "Third, pinned."),
    ...round(7),
    ...round(9),
  ];
  const context = await contextOf(entries, viewOf(entries, 9, { pinned: [6, 0] }));
  assert.equal(context.head, 3);
  const [summary, ...rest] = context.messages();
  assert.ok(String(summary?.content).startsWith(LEDGER_HEADER));
  assert.deepEqual(rest.slice(0, 2).map(({ content }) => content), ["First, pinned.", "Third, pinned."]);
  assert.equal(rest.length, 4);
  assert.deepEqual([0, 1, 2, 3, 4, 5].map((index) => context.seqOf(index)), [null, 0, 6, 9, 10, null]);
  assert.deepEqual(context.positionsOf([10, 0, 6, 3]), [1, 2, 4]);
  assert.deepEqual(problems(context), []);
});

Deno.test("Context shows nothing in the place of an empty ledger", async () => {
  const entries = session([{}]);
  const context = await contextOf(entries, { ...EMPTY_VIEW, version: 1, cut: 1, pinned: [0] });
  assert.equal(context.head, 1);
  assert.equal(context.messages()[0]?.content, "The task: read all of it.");
});

Deno.test("Context renders the same bytes from a stored view as before it was stored", async () => {
  const entries = [
    ...session([{ length: 4_000 }, { count: 3, length: 4_000 }, { length: 4_000 }]),
    user(9, "More?"),
    assistant(10, [callPart("read", { path: "b" })]),
    result(11, "e10.0", { type: "json", value: { text: prose(9_000), list: [1, null] } }, { cap: 300 }),
    assistant(12, [callPart("read", { path: "c" })]),
    result(13, "e12.0", { type: "error-text", value: prose(9_000, 4) }, { cap: 500 }),
  ];
  const context = await contextOf(entries.slice(0, 9));
  for (const entry of entries.slice(9)) await context.append(entry);
  await context.apply(viewOf(entries, 3, { pinned: [0], trims: [[4, 250], [11, 260], [13, 900]] }));
  const stored = JSON.parse(JSON.stringify({ entries: context.entries, view: context.view }));
  const again = await contextOf(stored.entries, stored.view);
  assert.equal(JSON.stringify(again.messages()), JSON.stringify(context.messages()));
  assert.deepEqual((await again.transcript()).records, (await context.transcript()).records);
  assert.equal(again.head, context.head);
  // The smaller of cap and trim counts; what was an error stays one.
  const shown = context.messages().flatMap(({ role, content }) => role === "tool" ? content : []);
  const sizes = new Map(shown.map(({ toolCallId, output }) => [toolCallId, measureOutput(output, measure)]));
  for (const [id, most] of [["e3_2", 250], ["e10_0", 260], ["e12_0", 500]] as const) {
    assert.ok((sizes.get(id) ?? Infinity) <= most, `${id} takes ${sizes.get(id)}`);
  }
  assert.equal(shown.at(-1)?.output.type, "error-text");
});

Deno.test("Context.transcript() grows to what it would be if it were parsed again", async () => {
  const entries = session([{ count: 3 }, {}, { count: 2 }]);
  const grown = await contextOf(entries.slice(0, 1));
  await grown.transcript();
  for (const entry of entries.slice(1)) await grown.append(entry);
  const fresh = await contextOf(entries);
  const [a, b] = [await grown.transcript(), await fresh.transcript()];
  assert.deepEqual(a.records, b.records);
  assert.deepEqual(a.atoms, b.atoms);
  assert.deepEqual(a.legalCuts, b.legalCuts);
  assert.equal(a.tokens, await grown.exact(0, grown.length));
});

Deno.test("Context bounds what it counts, item by item", async () => {
  const entries = session([{ count: 2 }, {}]);
  const context = await contextOf(entries, viewOf(entries, 4, { pinned: [0] }));
  for (let from = 0; from <= context.length; from++) {
    const exact = await context.exact(from, context.length);
    assert.ok(context.boundFrom(from) >= exact);
    if (from < context.length) assert.ok(exact > 0);
  }
  assert.equal(context.boundFrom(context.length), 0);
});

Deno.test("Context counts a text once, however many views it is shown in", async () => {
  const entries = session([{}, {}, {}, {}]);
  const counted = new Map<string, number>();
  const context = await Context.create(entries, {
    view: null,
    loadMeasure: () =>
      Promise.resolve((text, limit) => {
        if (text.length > 500 && !text.startsWith(LEDGER_HEADER)) {
          counted.set(text, (counted.get(text) ?? 0) + 1);
        }
        return measure(text, limit);
      }),
  });
  await context.transcript();
  const view = viewOf(entries, 3, { pinned: [0] });
  await context.preview(view);
  await context.apply(view);
  await context.transcript();
  await context.exact(0, context.length);
  assert.equal(counted.size, 4);
  assert.deepEqual([...new Set(counted.values())], [1]);
});

Deno.test("Context.preview() changes nothing", async () => {
  const entries = session([{}, {}, {}]);
  const context = await contextOf(entries);
  const before = JSON.stringify(context.messages());
  const { transcript, head } = await context.preview(viewOf(entries, 3, { pinned: [0], trims: [[4, 200]] }));
  assert.equal(head, 2);
  assert.equal(transcript.messages, 6);
  assert.equal(context.view, EMPTY_VIEW);
  assert.equal(JSON.stringify(context.messages()), before);
});

Deno.test("Context.append() refuses an entry out of its place", async () => {
  const context = await contextOf(session([{}]));
  await assert.rejects(context.append(user(9, "x")), { name: "RangeError", message: /wanted 3/ });
  assert.equal(context.entries.length, 3);
});

Deno.test("Context.append() takes an entry whole or not at all", async () => {
  let isAway = true;
  const context = await Context.create(session([{}]), {
    view: null,
    loadMeasure: () => isAway ? Promise.reject(new Error("away")) : Promise.resolve(measure),
  });
  await context.append(assistant(3, [callPart("read", {})]));
  const capped = result(4, "e3.0", prose(9_000), { cap: 300 });
  await assert.rejects(context.append(capped), /away/);
  assert.deepEqual([context.entries.length, context.length], [4, 4]);
  isAway = false;
  await context.append(capped);
  assert.deepEqual(problems(context), []);
});

Deno.test("Context.shownOutput() tells what a model sees of a result", async () => {
  const capped = result(2, "e1.0", prose(9_000), { cap: 300 });
  const whole = result(3, "e1.1", "short");
  const context = await contextOf([
    user(0, "Go"),
    assistant(1, [callPart("read", {}), callPart("read", {})]),
  ]);
  for (const entry of [capped, whole]) await context.append(entry);
  assert.ok(capped.kind === "result" && whole.kind === "result");
  assert.equal(context.shownOutput(whole), whole.output);
  assert.ok(measureOutput(context.shownOutput(capped), measure) <= 300);
});

Deno.test("Context loads no counter for what is shown whole", async () => {
  const context = await Context.create(session([{}, {}]), {
    view: null,
    loadMeasure: () => Promise.reject(new Error("loaded")),
  });
  await context.append(user(5, "x"));
  context.messages();
  assert.ok(context.boundFrom(0) > boundTokens(prose(2_000)));
  await assert.rejects(context.transcript(), /loaded/);
});
