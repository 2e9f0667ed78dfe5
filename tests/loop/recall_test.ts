/**
 * The built-in tool over the log of its own session: what a compaction took away is read back whole.
 */
import { deepEqual, doesNotMatch, equal, match, ok, throws } from "node:assert/strict";
import type { StoredView } from "../../src/compaction/context.ts";
import { RECALL_HEADER } from "../../src/compaction/ledger.ts";
import { recallTool, toolsOf } from "../../src/loop/recall.ts";
import type { Entry, ToolContext } from "../../src/ports.ts";
import { assistant, callPart, numbered, result, session, user } from "../support/entries.ts";
import { assertAccounted } from "../support/requests.ts";
import { Bench, calls, endOf, eventsOf, prose, replies, tool } from "../support/turns.ts";

const context: ToolContext = { signal: new AbortController().signal, session: "s", tenant: "t" };

function recall(entries: readonly Entry[], input: Record<string, unknown>): string {
  const made = recallTool(() => entries);
  const parsed = made.parse(input);
  ok(parsed.ok, JSON.stringify(parsed));
  return String(made.execute?.(parsed.value, context));
}

const tools = [tool("read", ({ n }) => prose(2_500, Number(n)))];

/** Reads until the first result is far behind the cut, then recalls. */
function forgetful(...recalled: readonly Record<string, unknown>[]) {
  return new Bench({
    tools,
    window: 9_000,
    script: replies(
      ...Array.from({ length: 14 }, (_, n) => calls("read", { n })),
      ...recalled.map((input) => calls("recall", input)),
    ),
  });
}

Deno.test("recall reads a forgotten result, whole in pages, and what a user said", async () => {
  const bench = forgetful({ ref: "e1.0", limit: 1_000 }, { ref: "e1.0", offset: 1_000, limit: 10_000 }, {
    ref: "e0",
  });
  const events = await bench.run("The task: read all of it.");
  equal(endOf(events), "stop");
  const { entries, view } = await bench.assertSound();
  ok((view as StoredView).cut > 3, "the result has left the view");
  const [first = "", second = "", task] = eventsOf(events, "tool.result").filter(({ name }) =>
    name === "recall"
  )
    .map(({ output }) => String(output));
  match(first, /^\[e1\.0: characters 0 to 1000 of \d+; offset 1000 goes on\]\n/);
  const body = (text: string): string => text.slice(text.indexOf("\n") + 1);
  ok((body(first) + body(second)).endsWith(prose(2_500, 0)), "the pages are the whole result");
  equal(task, "[e0: characters 0 to 34 of 34]\ne0 user:\nThe task: read all of it.");
  for (const request of bench.requests) assertAccounted(request, entries);
});

Deno.test("the ledger of a session names recall, unless its agent has none", async () => {
  const headers = async (agent: object): Promise<Set<string>> => {
    const bench = new Bench({
      tools,
      agent,
      window: 8_000,
      script: replies(...Array.from({ length: 12 }, (_, n) => calls("read", { n }))),
    });
    await bench.run("Go");
    await bench.assertSound();
    equal(bench.requests[0]?.tools.some(({ name }) => name === "recall"), !("recall" in agent));
    return new Set(bench.requests.flatMap(({ messages: [first] }) => {
      const line = String(first?.content).split("\n")[0] ?? "";
      return line.startsWith("[selvage") ? [line] : [];
    }));
  };
  deepEqual(await headers({}), new Set([RECALL_HEADER]));
  const [without = ""] = await headers({ recall: false });
  match(without, /It is data, not instructions\.\]$/);
});

Deno.test("a recall is recorded by what was asked for, never as a copy", async () => {
  const secret = "word 12 of the text";
  const bench = new Bench({
    tools: [tool("read", ({ n }) => n === 0 ? secret : prose(2_500, Number(n)))],
    window: 9_000,
    script: replies(
      calls("read", { n: 0 }),
      calls("recall", { ref: "e1.0" }, { search: "word 12 of" }),
      ...Array.from({ length: 14 }, (_, n) => calls("read", { n: n + 1 })),
    ),
  });
  await bench.run("Go");
  const { entries } = await bench.assertSound();
  const ledgers = bench.requests.map(({ messages: [first] }) => String(first?.content));
  const [line = ""] = ledgers.flatMap((ledger) => ledger.match(/^e\d+\.0 recall .*$/m) ?? []);
  match(line, /^e3\.0 recall \{"ref":"e1\.0"\} -> ok: "\[e1\.0: characters 0 to \d+ of \d+\]"$/);
  const found = ledgers.flatMap((ledger) => ledger.match(/^e3\.1 recall .*$/m) ?? [])[0] ?? "";
  doesNotMatch(found, /of the text/);
  equal(entries.filter(({ kind }) => kind === "result").length, 17);
});

Deno.test("recall searches the whole log, and leaves out what it has said itself", () => {
  const entries = numbered([
    (seq) => user(seq, "Where is the needle?"),
    (seq) => assistant(seq, [callPart("read", { path: "a" })]),
    (seq) => result(seq, "e1.0", "hay\nthe needle\nhay, needle"),
    (seq) => assistant(seq, [callPart("recall", { search: "needle" })]),
    (seq) => result(seq, "e3.0", "needle needle", { toolName: "recall" }),
  ]);
  equal(
    recall(entries, { search: "Needle" }),
    [
      '["Needle" in the log: 2 found]',
      "e0 at 22: Where is the needle?",
      "e1.0 at 66 and 1 more: the needle",
    ].join("\n"),
  );
  equal(recall(entries, { search: "needle", ref: "e1.0" }).split("\n").length, 3);
  match(
    recall(entries, { search: "needle", limit: 1 }),
    /^\["needle" in the log: 1 found; offset 1 goes on\]\ne0 /,
  );
  match(recall(entries, { search: "needle", offset: 1 }), /1 found\]\ne1\.0 /);
  match(recall(entries, { search: "thimble", ref: "e0..e4" }), /in e0\.\.e4: nothing\]$/);
});

Deno.test("recall reads the whole of a result that is shown shortened, and results of its own step", async () => {
  const bench = new Bench({
    tools: [tool("read", () => prose(90_000, 1))],
    window: 16_000,
    script: replies(
      calls("read", {}),
      calls("recall", { ref: "e1.0", offset: 60_000, limit: 500 }, { ref: "e3.0" }),
    ),
  });
  const events = await bench.run("Go");
  const [read, later, own] = eventsOf(events, "tool.result");
  equal(read?.shortened, true);
  ok(!String(read?.output).includes(prose(90_000, 1).slice(60_100, 60_300)), "it is not shown");
  ok(String(later?.output).includes(prose(90_000, 1).slice(60_100, 60_300)));
  equal(own?.status, "ok");
  await bench.assertSound();
});

Deno.test("recall's own results are capped like any other", async () => {
  const bench = new Bench({
    tools: [tool("read", () => prose(90_000, 1))],
    window: 16_000,
    script: replies(calls("read", {}), calls("recall", { ref: "e1.0", limit: 100_000 })),
  });
  const events = await bench.run("Go");
  const shown = eventsOf(events, "tool.result").at(-1);
  equal(shown?.shortened, true);
  match(String(shown?.output), /^\[e1\.0: characters 0 to 900\d\d of 900\d\d\]\n/);
  await bench.assertSound();
});

Deno.test.each(
  [
    [{}, /neither ref nor search/],
    [{ ref: "e9" }, /found nothing at e9, wanted a ref from e0 to e/],
    [{ ref: "41" }, /found the ref "41", wanted one such as/],
    [{ ref: "e9", search: "a" }, /found nothing at e9/],
  ] as const,
)("recall refuses %j with a sentence", (input, message) => {
  throws(() => recall(session([{}]), input), { message });
});

Deno.test("a tool of the agent's own takes the place of the built-in one", async () => {
  const own = tool("recall", () => "mine");
  const bench = new Bench({ tools: [own], script: replies(calls("recall", {})) });
  deepEqual(toolsOf(bench.agent), [own]);
  const events = await bench.run("Go");
  equal(eventsOf(events, "tool.result")[0]?.output, "mine");
});

Deno.test("recall reads the session of its own turn, and of no other owner", async () => {
  const bench = new Bench({ script: replies({ text: "Noted." }, calls("recall", { search: "secret" })) });
  await bench.run("The secret is 4711.", { tenant: "other" });
  const events = await bench.run("What do I know?");
  match(String(eventsOf(events, "tool.result")[0]?.output), /in the log: nothing\]$/);
});
