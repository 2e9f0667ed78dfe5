/** What a conversation shows: of a log and of the events of a turn the same. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createClient, type ShownEntry, type TurnEvent } from "../../src/client/mod.ts";
import { createApp } from "../../src/http/mod.ts";
import { clerk } from "../../src/models/clerk.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { workspaceTools } from "../../src/tools/workspace.ts";
import { sayBlock, summaryLines, windowAtoms } from "../../src/web/chat/blocks.ts";
import { sayMark } from "../../src/web/chat/item.ts";
import { type Item, Items } from "../../src/web/chat/items.ts";
import { outputOf } from "../../src/web/chat/pending.ts";
import { sampled, tally } from "../../src/web/chat/timeline.ts";
import { type Block, blocksOf } from "../../src/web/base/strip.ts";

/** What somebody sees of items, without the names that are given to them. */
function seen(items: Items): readonly unknown[] {
  return items.all.filter(({ kind }) => kind !== "user").map((item: Item) => {
    if (item.kind === "compaction") {
      return ["compaction", item.mark.phase, item.mark.pairs, item.mark.tokensAfter];
    }
    if (item.kind === "call") return ["call", item.id, item.name, item.args, item.state, item.ms];
    return [item.kind, item.kind === "text" ? item.text : ""];
  });
}

async function longTurn(): Promise<{
  readonly events: readonly TurnEvent[];
  readonly entries: readonly ShownEntry[];
  readonly context: Awaited<ReturnType<ReturnType<typeof createClient>["sessions"]["context"]>>;
}> {
  const model = scripted({ script: clerk, window: 10_000, maxOutput: 1_000 });
  const agent = { model, tools: workspaceTools({ latencyMs: 0 }), maxSteps: 400 };
  const app = createApp({ agents: { default: agent }, store: memoryStore(), auth: () => ({ tenant: "t" }) });
  const client = createClient({
    url: "http://127.0.0.1",
    fetch: async (url, init) => await app.request(url, init),
  });
  const events: TurnEvent[] = [];
  for await (const event of client.turn({ session: "s", input: "audit 12 units" })) events.push(event);
  const { entries } = await client.sessions.messages("s");
  return { events, entries, context: await client.sessions.context("s") };
}

const told = await longTurn();

Deno.test("Items show the same of a log as of the events of its turn", () => {
  const [live, stored] = [new Items(), new Items()];
  for (const event of told.events) live.event(event);
  for (const entry of told.entries) stored.entry(entry);
  ok(live.marks.some(({ phase }) => phase === "applied"));
  const applied = (items: Items) => seen(items).filter((item) => !(item as string[]).includes("deferred"));
  deepEqual(applied(live), applied(stored));
  equal(live.points.length, stored.points.length);
  equal(
    live.marks.find(({ phase }) => phase === "applied")?.step,
    stored.marks.find(({ phase }) => phase === "applied")?.step,
  );
});

Deno.test("tally() has no number of what the log does not keep", () => {
  const [live, stored] = [new Items(), new Items()];
  const deferred = { id: "t:1", type: "compaction", phase: "deferred", reason: "open_call" } as TurnEvent;
  live.event(deferred);
  deepEqual(tally(live).map(({ text }) => text), ["0 compactions", "1 deferral", "0 rejections"]);
  for (const entry of told.entries) stored.entry(entry);
  const applied = stored.marks.length;
  const compactions = `${applied} compaction${applied === 1 ? "" : "s"}`;
  deepEqual(tally(stored).map(({ text }) => text), [compactions]);
  stored.event(deferred);
  deepEqual(tally(stored).map(({ text }) => text), [compactions, "deferrals"]);
});

Deno.test("Items draw no bound where the same step has a count, or a lower bound", () => {
  const meter = { window: 9_000, compactAt: 6_000, stopAt: 8_000 };
  const steps = [
    [["bound", 800], ["bound", 1_900]],
    [["bound", 1_400], ["anchor", 1_300]],
    [["exact", 6_100], ["bound", 7_400]],
    [["exact", 6_100], ["exact", 6_200]],
    [],
  ] as const;
  const items = new Items();
  for (const [at, readings] of steps.entries()) {
    items.event({ id: "t:0", type: "step.started", step: at + 1 });
    for (const [tier, tokens] of readings) {
      items.event({ id: "t:0", type: "context", tier, tokens, ...meter });
    }
  }
  deepEqual(items.points, [800, 1_300, 6_100, 6_200, null]);
});

Deno.test("Items hold together what streams, and keep apart what does not belong together", () => {
  const items = new Items();
  const place = { step: 1, call: 0, ref: "e1.0", name: "look" };
  const events = [
    { type: "step.started", step: 1 },
    { type: "reasoning.delta", step: 1, text: "Hm" },
    { type: "reasoning.delta", step: 1, text: "m." },
    { type: "text.delta", step: 1, text: "I " },
    { type: "text.delta", step: 1, text: "look." },
    { type: "tool.input.delta", ...place, delta: '{"at"' },
    { type: "tool.input.delta", ...place, delta: ":1}" },
    { type: "tool.call", ...place, input: { at: 1 } },
    { type: "tool.progress", ...place, data: "half" },
    { type: "tool.result", ...place, status: "ok", output: "seen", shortened: true, ms: 3 },
    { type: "step.started", step: 2 },
    { type: "text.delta", step: 2, text: "Done." },
    { type: "turn.finished", reason: "aborted", usage: { inputTokens: 1, outputTokens: 1 }, steps: 2 },
  ] as const;
  for (const [n, event] of events.entries()) items.event({ ...event, id: `t:${n}` } as TurnEvent);
  deepEqual(
    items.all.map((item) => [item.kind, "text" in item ? item.text : item.kind === "call" ? item.state : ""]),
    [
      ["reasoning", "Hmm."],
      ["text", "I look."],
      ["call", "ok"],
      ["text", "Done."],
      ["note", "The turn was stopped."],
    ],
  );
  const call = items.all[2];
  ok(call?.kind === "call" && call.isShortened && call.progress === null && call.output === "seen");
});

Deno.test("windowAtoms() fills a window with what the meter says, each atom with what is shown of it", () => {
  const atoms = windowAtoms(told.context);
  const { meter, summary, cut } = told.context;
  const sum = atoms.reduce((tokens, atom) => tokens + atom.tokens, 0);
  ok(Math.abs(sum - meter.tokens) <= 1, `found ${sum}, wanted ${meter.tokens}`);
  deepEqual(atoms.slice(0, 3).map(({ kind, mark }) => [kind, mark]), [
    ["system", undefined],
    ["summary", undefined],
    ["user", "pinned"],
  ]);
  equal(atoms[1]?.tokens, summary?.tokens);
  for (const atom of atoms.slice(3)) ok(atom.from >= cut && atom.mark !== "summarised");
});

Deno.test("sayBlock() says what a block is to somebody who does not see it", () => {
  const atoms = windowAtoms(told.context);
  const blocks = blocksOf(atoms, { first: 0, end: atoms.length, room: 500, faults: [] });
  const items = new Items();
  for (const entry of told.entries) items.entry(entry);
  const say = (block: Block, hasCut: boolean) => sayBlock(block, hasCut, (seq) => items.holds(seq));
  match(say(blocks[0]!, false), /^Instructions and tools, about [\d,]+ tokens: always there$/);
  match(say(blocks[1]!, false), /^Summary, about [\d,]+ tokens; Enter opens it$/);
  match(
    say(blocks[2]!, false),
    /^User, e0, “audit 12 units”, about \d+ tokens, pinned: it stays, word for word$/,
  );
  match(say(blocks[3]!, true), /^Assistant, e\d+, \w+ done, about \d+ tokens, a legal cut in front of it$/);
  const few = blocksOf(atoms, { first: 0, end: atoms.length, room: 2, faults: [] });
  match(say(few[0]!, false), /^\d+ atoms from e0 on; Enter opens them/);
});

Deno.test("summaryLines() finds what can be recalled in a summary", () => {
  const lines = summaryLines(told.context.summary?.text ?? "");
  equal(lines[0]?.ref, null);
  const refs = lines.flatMap(({ ref }) => ref === null ? [] : [ref]);
  ok(refs.length > 1 && refs.every((ref) => /^e\d+(?:\.\d+|\.\.e\d+)?$/.test(ref)), refs.join(" "));
  deepEqual(summaryLines('e3..e17 9 calls\ne19.0 look {} -> ok: "e1 x"\n\nOther e3 text'), [
    { ref: "e3..e17", text: "9 calls" },
    { ref: "e19.0", text: 'look {} -> ok: "e1 x"' },
    { ref: null, text: "Other e3 text" },
  ]);
});

Deno.test("sampled() keeps the fullest step where many share a pixel", () => {
  const points = Array.from({ length: 5_000 }, (_, at) => at === 2_345 ? 9_000 : at % 100);
  const kept = sampled(points, 300);
  ok(kept.length <= 300);
  ok(kept.some(({ step, tokens }) => step === 2_346 && tokens === 9_000));
  deepEqual(sampled([1, null, 3], 10), [{ step: 1, tokens: 1 }, { step: 3, tokens: 3 }]);
});

Deno.test("sayMark() says what became of a compaction", () => {
  const mark = {
    step: 3,
    pairs: 2,
    method: "near",
    tokensBefore: 6_000,
    tokensAfter: 3_000,
    reason: "open_call",
    resolved: null,
  };
  equal(
    sayMark({ ...mark, phase: "applied" }),
    "Compacted: 2 calls moved into the summary, 6,000 → 3,000 tokens",
  );
  match(
    sayMark({ ...mark, phase: "applied", pairs: 0 }),
    /^Compacted: older messages moved into the summary/,
  );
  match(sayMark({ ...mark, phase: "applied", pairs: 0, method: "trim" }), /^Compacted: results shortened/);
  equal(
    sayMark({ ...mark, phase: "deferred" }),
    "Compaction put off: a call is still open, and no cut may pass it",
  );
  match(sayMark({ ...mark, phase: "rejected", reason: "not_smaller" }), /thrown away: not smaller/);
});

Deno.test("outputOf() takes JSON for JSON and anything else for text", () => {
  deepEqual(['{"a":1}', "[1]", "4", "Oslo", ""].map(outputOf), [{ a: 1 }, [1], 4, "Oslo", ""]);
});
