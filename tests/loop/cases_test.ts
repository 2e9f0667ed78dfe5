/**
 * Transcripts in the shape of public bug reports, through the whole engine: what is pinned, what is too large, what a
 * summarizer gets wrong. Their fixtures are in `tests/fixtures/cases`.
 */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { importMessages } from "../../src/compaction/import.ts";
import { systemClock } from "../../src/loop/clock.ts";
import { compactNow, type CompactRequest } from "../../src/loop/compact_now.ts";
import { type Script, scripted } from "../../src/models/scripted.ts";
import type { Entry, ModelRequest } from "../../src/ports.ts";
import { readCase } from "../support/case_records.ts";
import { accountOf, assertAccounted, overflow } from "../support/requests.ts";
import {
  Bench,
  type BenchOptions,
  calls,
  endOf,
  eventsOf,
  KEY,
  prose,
  replies,
  tool,
} from "../support/turns.ts";

type Json = Readonly<Record<string, unknown>>;

function readNamed(name: string): readonly Json[] {
  const file = new URL(`../fixtures/cases/${name}.json`, import.meta.url);
  return readCase(Deno.readTextFileSync(file)).messages;
}

/** Messages of the Chat Completions form as canonical ones. */
function canonical(messages: readonly Json[]) {
  const names = new Map<unknown, string>();
  return messages.map(({ role, content, tool_calls: made, tool_call_id: id }) => {
    if (role === "tool") {
      const output = { type: "text", value: String(content) };
      return {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: id, toolName: names.get(id), output }],
      };
    }
    const asked = (made ?? []) as readonly { id: string; function: { name: string; arguments: string } }[];
    const parts = asked.map(({ id, function: { name, arguments: input } }) => {
      names.set(id, name);
      return { type: "tool-call", toolCallId: id, toolName: name, input: JSON.parse(input) };
    });
    return { role: String(role), content: parts.length > 0 ? parts : content };
  });
}

/** A bench whose session begins with the messages of a case. */
async function benchOf(
  name: string,
  options: BenchOptions,
  change = (entry: Entry): Entry => entry,
): Promise<Bench> {
  const bench = new Bench(options);
  const { entries, repairs } = importMessages(canonical(readNamed(name)));
  deepEqual(repairs, []);
  const { lease } = await bench.store.acquire(KEY, { agent: "default", owner: "o", turn: "t", ttlMs: 1_000 });
  await bench.store.commit(KEY, lease, { entries: entries.map(change), release: true });
  return bench;
}

function compacted(bench: Bench, request: CompactRequest) {
  return compactNow({ key: KEY, agent: bench.agent, store: bench.store, clock: systemClock }, request);
}

/** A summarizer that keeps what it was asked. */
function writer(script: Script, window = 32_000) {
  const asked: ModelRequest[] = [];
  const model = scripted({
    window,
    maxOutput: 800,
    script: (request) => {
      asked.push(request);
      return script(request);
    },
  });
  return { asked, model };
}

const narrative = (text: string): Script => () => ({ text: JSON.stringify({ narrative: text }) });

Deno.test("a system text that fills the window is a fault of the set-up, told once, with nothing stored", async () => {
  const [system] = readNamed("34-floor-above-threshold");
  const bench = new Bench({ window: 8_000, agent: { system: String(system?.["content"]) } });
  await rejects(bench.run("again"), { code: "bad_budget" });
  equal(await bench.store.read(KEY), null);
  equal(bench.requests.length, 0);
});

Deno.test("a bill from before a compaction is not believed after it", async () => {
  const bench = new Bench({
    tools: [tool("read", ({ n }) => prose(5_000, Number(n)))],
    window: 8_000,
    script: replies(calls("read", { n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }), { text: "Read." }),
    agent: { compaction: { policy: "backward" } },
  });
  const first = await bench.run("ok");
  equal(eventsOf(first, "compaction").at(-1)?.phase, "applied");
  const events = await bench.run("hello");
  deepEqual(eventsOf(events, "compaction"), []);
  ok(eventsOf(events, "context").every(({ tokens, compactAt }) => tokens < compactAt));
  await bench.assertSound();
});

Deno.test("a result larger than the window is shown by both ends, its pair whole", async () => {
  const large = readNamed("39-one-result-larger-than-window").at(-1);
  const [{ content = "" } = {}] = large?.["content"] as { content?: string }[];
  const bench = new Bench({
    tools: [tool("run", () => content)],
    window: 32_000,
    script: replies(calls("run", {}), { text: "The disk is full." }),
  });
  const events = await bench.run("run it");
  equal(endOf(events), "stop");
  const [result] = eventsOf(events, "tool.result");
  equal(result?.shortened, true);
  match(String(result?.output), /ERR 17 disk full/);
  match(String(result?.output), /characters are left out here/);
  const { entries } = await bench.assertSound();
  deepEqual(accountOf(bench.requests.at(-1) as ModelRequest).shown, ["e1.0"]);
  ok(JSON.stringify(entries).includes(JSON.stringify(content).slice(1, -1)), "the log has all of it");
});

Deno.test("a message larger than the window is refused by its size, never shortened", async () => {
  const [message] = readNamed("40-one-user-message-larger-than-window");
  const bench = new Bench({ window: 32_000 });
  const content = message?.["content"];
  const input = typeof content === "string" ? content : JSON.stringify(content);
  await rejects(bench.run(input), {
    code: "input_too_large",
    message: /found one of \d+ tokens, wanted at most \d+/,
  });
  equal(await bench.store.read(KEY), null);
});

Deno.test("a contract that is pinned stays verbatim through any number of passes", async () => {
  const contract = "Review PR 9. Output must be exactly one JSON object with keys verdict and risks.";
  const bench = await benchOf("46-task-contract-summarised-away", {
    tools: [tool("read", ({ n }) => prose(2_000, Number(n)))],
    window: 8_000,
    script: replies(...Array.from({ length: 40 }, (_, n) => calls("read", { n })), { text: "{}" }),
  }, (entry) => entry.kind === "user" && entry.seq === 0 ? { ...entry, pinned: true } : entry);
  const events = await bench.run("Go on.");
  ok(eventsOf(events, "compaction").filter(({ phase }) => phase === "applied").length > 4);
  const { entries } = await bench.assertSound();
  for (const request of bench.requests) {
    ok(request.messages.some(({ content }) => content === contract));
    assertAccounted(request, entries);
    equal(overflow(request, 8_000), 0);
  }
});

Deno.test("what is larger than the summarizer's window goes to it in pieces that fit", async () => {
  const { asked, model } = writer(narrative("Every page was read."), 8_000);
  const bench = await benchOf("59-summariser-input-too-long", {
    window: 64_000,
    agent: { summarizer: model },
  });
  const answer = await compacted(bench, {});
  deepEqual([answer.outcome, answer.summary, answer.summaryFailure], ["applied", "ledger+prose", undefined]);
  for (const request of asked) equal(overflow(request, 8_000), 0);
  const data = asked.map(({ messages }) => JSON.stringify(messages)).join();
  const pairs = answer.pairs ?? 0;
  ok(pairs > 2);
  for (let n = 0; n < pairs; n++) ok(data.includes(`p${n}`), `call ${n} was shown`);
  await bench.run("And now?");
  assertAccounted(bench.requests.at(-1) as ModelRequest, (await bench.assertSound()).entries);
});

Deno.test.each(
  [
    ["blank", { text: "   " }, "summary_blank"],
    ["a call", { text: "   ", calls: [{ name: "read", input: {} }] }, "summary_called_tool"],
  ] as const,
)("a summarizer that answers %s leaves the ledger alone, and no call behind", async (_, reply, reason) => {
  const { model } = writer(() => reply);
  const bench = await benchOf("67-nothing-left-for-the-summariser", {
    window: 16_000,
    agent: { summarizer: model },
  });
  const { entries } = await bench.state();
  const answer = await compacted(bench, { compactTo: 0.1 });
  deepEqual([answer.outcome, answer.summary, answer.summaryFailure], ["applied", "ledger", reason]);
  deepEqual((await bench.state()).entries, entries);
  match(answer.ledger ?? "", /e0 user: "migrate"/);
  equal(endOf(await bench.run("continue")), "stop");
  assertAccounted(bench.requests.at(-1) as ModelRequest, (await bench.assertSound()).entries);
});

Deno.test("what a summarizer with a small window was not shown is in the ledger all the same", async () => {
  const { model } = writer(narrative("Pages were read."), 4_000);
  const bench = await benchOf("62-summary-covers-less-than-it-removes", {
    window: 32_000,
    agent: { summarizer: model },
  });
  const answer = await compacted(bench, { compactTo: 0.15 });
  equal(answer.outcome, "applied");
  match(answer.ledger ?? "", /rule A: use metric units/);
  await bench.run("And now?");
  const last = bench.requests.at(-1) as ModelRequest;
  ok(JSON.stringify(last.messages).includes("rule A: use metric units"));
  assertAccounted(last, (await bench.assertSound()).entries);
});

Deno.test("a message that comes while a summary is written waits for it, and is in the next request", async () => {
  let say = (): void => {};
  const started = new Promise<void>((resolve) => say = resolve);
  let go = (): void => {};
  const released = new Promise<void>((resolve) => go = resolve);
  const slow = writer(narrative("Three questions were answered."));
  const model = {
    ...slow.model,
    async *stream(request: ModelRequest, signal: AbortSignal) {
      say();
      await released;
      yield* slow.model.stream(request, signal);
    },
  };
  const bench = await benchOf("59-summariser-input-too-long", {
    window: 64_000,
    agent: { summarizer: model },
  });
  const compacting = compactNow({ key: KEY, agent: bench.agent, store: bench.store, clock: bench.clock });
  await started;
  const turn = bench.run("STOP after this");
  go();
  equal((await compacting).outcome, "applied");
  // The turn looks for the lease again in a moment.
  for (let n = 0; n < 20 && bench.requests.length === 0; n++) await bench.clock.advance(250);
  equal(endOf(await turn), "stop");
  const last = bench.requests.at(-1) as ModelRequest;
  equal(last.messages.at(-1)?.content, "STOP after this");
  match(String(last.messages[0]?.content), /Three questions were answered\.$/);
  await bench.assertSound();
});
