/**
 * Prose beside the ledger: written while the turn goes on, and never missed where there is none. Over 300 lines: all
 * cases share one summarizer and one way to play a turn against it.
 */
import assert, { ok } from "node:assert/strict";
import type { AssistantMessage } from "../../src/core/message.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import type { Model, ModelEvent, ModelRequest } from "../../src/ports.ts";
import { loadMeasure } from "../../src/loop/measures.ts";
import { summarize } from "../../src/loop/summarizer.ts";
import { scriptedTokens } from "../../src/models/scripted.ts";
import { ManualClock } from "../support/clock.ts";
import { assistant, callPart, result } from "../support/entries.ts";
import {
  Bench,
  calls,
  endOf,
  eventsOf,
  modelOf,
  prose,
  replies,
  tool,
  withCommit,
} from "../support/turns.ts";
import { clientTool } from "./_pause.ts";

const json = (narrative: string, outcomes: Record<string, string> = {}): string =>
  JSON.stringify({ narrative, outcomes });

function answer(content: AssistantMessage["content"]): ModelEvent {
  return { type: "finish", reason: "stop", message: { role: "assistant", content } };
}

interface Asked {
  readonly model: Model;
  readonly requests: ModelRequest[];
  readonly aborted: () => number;
}

/** A summarizer that answers after `ms` on the bench's clock. */
function summarizer(
  clock: () => Bench["clock"],
  { ms = 0, say = () => answer(json("The first files were read.")), window = 128_000 }: {
    readonly ms?: number;
    readonly say?: (request: ModelRequest) => ModelEvent;
    readonly window?: number;
  } = {},
): Asked {
  const requests: ModelRequest[] = [];
  let aborted = 0;
  const model = modelOf(async function* (request, signal) {
    requests.push(request);
    signal.addEventListener("abort", () => aborted++, { once: true });
    if (ms > 0) await clock().sleep(ms, signal);
    yield await Promise.resolve(say(request));
  }, { id: "summarizer", window });
  return { model, requests, aborted: () => aborted };
}

/** A turn of reads that fills a small window; each read takes 100 ms. */
function reading(asked: (clock: () => Bench["clock"]) => Asked, steps = 24) {
  const holder: { bench?: Bench } = {};
  const clock = (): Bench["clock"] => {
    if (holder.bench === undefined) throw new Error("no bench");
    return holder.bench.clock;
  };
  const read = tool("read", async (input, { signal }) => {
    await clock().sleep(100, signal);
    return prose(1_400, Number(input["at"]));
  });
  const found = asked(clock);
  const bench = holder.bench = new Bench({
    window: 8_000,
    tools: [read],
    script: replies(...Array.from({ length: steps }, (_, at) => calls("read", { at }))),
    agent: { summarizer: found.model },
  });
  return { bench, ...found };
}

/** Lets the clock go on until a turn has ended; gives its events, and when each came. */
async function play(bench: Bench): Promise<{ readonly events: readonly TurnEvent[]; readonly ms: number }> {
  // What is loaded takes real time, which no clock of a test knows of.
  await loadMeasure();
  const start = bench.clock.now();
  let isOver = false;
  const running = bench.run("Read all of it").finally(() => isOver = true);
  for (let n = 0; n < 20_000 && !isOver; n++) await bench.clock.advanceToNext();
  return { events: await running, ms: bench.clock.now() - start };
}

const compactions = (events: readonly TurnEvent[], phase: string) =>
  eventsOf(events, "compaction").filter((event) => event.phase === phase);

Deno.test("a summarizer that needs three steps adds nothing to the turn, and its prose is spliced in behind the ledger", async () => {
  const alone = await play(reading((clock) => summarizer(clock)).bench);
  const { bench, requests } = reading((clock) => summarizer(clock, { ms: 300 }));
  const { events, ms } = await play(bench);
  assert.equal(endOf(events), "stop");
  assert.ok(ms - alone.ms <= 50, `${ms - alone.ms} ms longer`);
  const [started] = compactions(events, "started");
  const [applied] = compactions(events, "applied");
  assert.ok(started && applied);
  assert.deepEqual([started.cut, started.method], [applied.cut, applied.method]);
  assert.equal(applied.summary, "ledger+prose");
  // Between the two the model went on, with the view as it was.
  const between = events.slice(events.indexOf(started), events.indexOf(applied));
  assert.ok(between.some(({ type }) => type === "step.started"));
  assert.equal(requests.length, compactions(events, "started").length);
  const shown = bench.requests.at(-1)?.messages[0];
  assert.match(
    String(shown?.content),
    /\[end of ledger; check [0-9a-f]{8}\]\n\n\[notes by a model [^\n]*\]\n\| The first files were read\.$/,
  );
  await bench.assertSound();
});

Deno.test("the summarizer is given what is removed as data, and what it wrote before", async () => {
  let n = 0;
  const { bench, requests } = reading(
    (clock) =>
      summarizer(clock, {
        say: () => answer(json(`Part ${++n} was read.`, { "e1.0": "a text", "e999.0": "made up" })),
      }),
    40,
  );
  const { events } = await play(bench);
  assert.ok(compactions(events, "applied").length >= 2);
  const [first, second] = requests;
  assert.match(
    String(first?.messages[0]?.content),
    /"ref":"e1.0","tool":"read","status":"ok","result":"word 0/,
  );
  assert.doesNotMatch(String(first?.messages[0]?.content), /What you wrote/);
  assert.match(
    String(second?.messages[0]?.content),
    /What you wrote about the time before, as a JSON string:\n"Part 1 was read\./,
  );
  assert.deepEqual(first?.tools, []);
  const [summary] = bench.requests.at(-1)?.messages ?? [];
  assert.match(String(summary?.content), /\n\| Part \d was read\.(?:\n\| e1\.0: a text)?$/);
  assert.doesNotMatch(String(summary?.content), /made up/);
});

/** A model that reads until it has done so `steps` times, and is its own summarizer. */
function ownModel(window: number, steps: number) {
  const requests: ModelRequest[] = [];
  let at = 0;
  const model = modelOf(async function* (request) {
    requests.push(request);
    if (asksForProse(request)) yield await Promise.resolve(answer(json("All was read.")));
    else if (at >= steps) yield answer("Done.");
    else {
      yield {
        type: "finish",
        reason: "tool-calls",
        message: {
          role: "assistant",
          content: [{ type: "tool-call", toolCallId: `c${at}`, toolName: "read", input: { at: at++ } }],
        },
      };
    }
  }, { window, maxOutput: 500 });
  return { model, requests };
}

/** Whether the summary is asked for at the end of the turn's own request. */
function asksForProse({ system, messages }: ModelRequest): boolean {
  const said = String(messages.at(-1)?.content);
  return said.includes('"narrative"') || String(system).includes('"narrative"');
}

Deno.test("the agent's own model as its summarizer reads its own requests again, so that the cache serves them", async () => {
  const { model, requests } = ownModel(8_000, 24);
  const bench = new Bench({ model, tools: [tool("read", (input) => prose(1_400, Number(input["at"])))] });
  const agent = { ...bench.agent, summarizer: bench.agent.model };
  const events = await Array.fromAsync(bench.start("Read all of it", { agent }));
  assert.equal(endOf(events), "stop");
  assert.equal(compactions(events, "applied")[0]?.summary, "ledger+prose");
  const index = requests.findIndex(asksForProse);
  const asked = requests[index];
  const before = requests[index - 1];
  assert.ok(asked && before);
  const shared = asked.messages.slice(0, -1);
  assert.deepEqual(shared, before.messages.slice(0, shared.length));
  assert.deepEqual([asked.system, asked.tools], [before.system, before.tools]);
});

Deno.test("the agent's own model is given data in pieces where its own request does not fit its window", async () => {
  const read = tool("read", (input) => prose(4_000, Number(input["at"])));
  const bench = new Bench({
    window: 64_000,
    tools: [read, clientTool("ask")],
    script: replies(...Array.from({ length: 24 }, (_, at) => calls("read", { at })), calls("ask", { n: 1 })),
  });
  await bench.run("Read all of it");
  // Who answers has an agent of the same name with a smaller window.
  const { model, requests } = ownModel(8_000, 2);
  const agent = { ...bench.agent, model, summarizer: model };
  const output = { type: "text", value: "Yes." } as const;
  const results = [{ ref: "e49.0", output }];
  const events = await bench.answer({ agent, results });
  assert.equal(endOf(events), "stop");
  assert.ok(asksForProse(requests[0] as ModelRequest));
  for (const request of requests) {
    assert.ok(scriptedTokens(request) < 8_000, `${scriptedTokens(request)} tokens`);
  }
  // What fits is read as the turn's own request again.
  assert.deepEqual(requests.filter(asksForProse).at(-1)?.tools, requests.at(-1)?.tools);
});

const FAILURES: readonly (readonly [string, string, (clock: () => Bench["clock"]) => Asked])[] = [
  ["hangs", "summary_late", (clock) => summarizer(clock, { ms: 600_000 })],
  ["throws", "summary_failed", (clock) =>
    summarizer(clock, {
      say: () => {
        throw new Error("bug");
      },
    })],
  ["is blank", "summary_blank", (clock) => summarizer(clock, { say: () => answer(" ") })],
  [
    "calls a tool",
    "summary_called_tool",
    (clock) =>
      summarizer(clock, {
        say: () => answer([{ type: "tool-call", toolCallId: "x", toolName: "read", input: {} }]),
      }),
  ],
  [
    "writes prose instead of JSON",
    "summary_invalid",
    (clock) => summarizer(clock, { say: () => answer("It was read.") }),
  ],
  [
    "writes JSON of another shape",
    "summary_invalid",
    (clock) => summarizer(clock, { say: () => answer('{"text":"x"}') }),
  ],
  [
    "writes too much",
    "summary_too_long",
    (clock) => summarizer(clock, { say: () => answer(json(prose(20_000))) }),
  ],
  [
    "writes more than anybody reads",
    "summary_too_long",
    (clock) => summarizer(clock, { say: () => answer(json("y".repeat(60_000))) }),
  ],
  ["is cut off", "summary_cut", (clock) =>
    summarizer(clock, {
      say: () => ({ type: "finish", reason: "length", message: { role: "assistant", content: "{" } }),
    })],
];
for (const [what, reason, asked] of FAILURES) {
  Deno.test(`a summarizer that ${what} leaves the ledger alone, and the event says why`, async () => {
    const { bench, requests } = reading(asked);
    const { events } = await play(bench);
    assert.equal(endOf(events), "stop");
    const applied = compactions(events, "applied");
    assert.ok(applied.length >= 1);
    for (const event of applied) assert.deepEqual([event.summary, event.summaryFailure], ["ledger", reason]);
    // An answer that is not what was asked for is asked for once more, nothing else is.
    const attempts = reason === "summary_invalid" ? 2 : 1;
    assert.ok(requests.length <= attempts * compactions(events, "started").length);
    await bench.assertSound();
  });
}

Deno.test("a turn whose model cannot be called waits for the summarizer for its grace, and then no longer", async () => {
  // Each result is so large that two of them go from compactAt past stopAt.
  const holder: { bench?: Bench } = {};
  const clock = (): Bench["clock"] => holder.bench?.clock ?? assert.fail();
  const asked = summarizer(clock, { ms: 60_000 });
  const late: number[] = [];
  const bench = holder.bench = new Bench({
    window: 8_000,
    wrap: (store) =>
      withCommit(store, (key, lease, commit) => {
        for (const { kind, at } of commit.entries ?? []) if (kind === "result") late.push(clock().now() - at);
        return store.commit(key, lease, commit);
      }),
    tools: [tool("read", (input) => prose(5_000, Number(input["at"])))],
    script: replies(...Array.from({ length: 12 }, (_, at) => calls("read", { at }, { at: at + 100 }))),
    agent: { summarizer: asked.model, graceMs: 2_000 },
  });
  const { events, ms } = await play(bench);
  assert.equal(endOf(events), "stop");
  const waits = compactions(events, "applied").filter(({ summaryFailure }) =>
    summaryFailure === "summary_late"
  );
  assert.ok(waits.length > 0);
  assert.ok(ms >= 2_000 && ms <= 2_000 * compactions(events, "started").length + 500, `${ms} ms`);
  assert.deepEqual(
    new Set(late),
    new Set([0]),
    "a result waited for the summarizer, too, before it was stored",
  );
  await bench.assertSound();
});

Deno.test("a prepared compaction that cannot bring the context under its ceiling is given up for one that does", async () => {
  const holder: { bench?: Bench } = {};
  const clock = (): Bench["clock"] => holder.bench?.clock ?? assert.fail();
  const asked = summarizer(clock, { ms: 60_000 });
  const wide = Array.from({ length: 30 }, (_, at) => ({ at: at + 100 }));
  const bench = holder.bench = new Bench({
    window: 9_000,
    tools: [tool("read", (input) => prose(Number(input["at"]) >= 100 ? 1_500 : 1_300, Number(input["at"])))],
    script: replies(
      ...Array.from(
        { length: 30 },
        (_, n) => n % 10 === 8 ? calls("read", ...wide) : calls("read", { at: n }),
      ),
    ),
    agent: { summarizer: asked.model, graceMs: 300 },
  });
  const { events } = await play(bench);
  assert.equal(endOf(events), "stop");
  let hasGrown = true;
  for (const event of events) {
    if (event.type === "tool.result" || event.type === "step.started") hasGrown = true;
    if (event.type !== "compaction" || event.phase !== "applied") continue;
    ok(hasGrown, "two compactions with nothing between them");
    hasGrown = false;
  }
  await bench.assertSound();
});

Deno.test("a cancelled turn ends its summarizer, and the session goes on", async () => {
  const { bench, aborted } = reading((clock) => summarizer(clock, { ms: 60_000 }));
  const stop = new AbortController();
  const events: TurnEvent[] = [];
  const running = (async () => {
    for await (const event of bench.start("Read", { signal: stop.signal })) {
      events.push(event);
      if (event.type === "compaction" && event.phase === "started") stop.abort(new Error("enough"));
    }
  })();
  let isOver = false;
  void running.finally(() => isOver = true);
  for (let n = 0; n < 2_000 && !isOver; n++) await bench.clock.advanceToNext();
  await running;
  assert.equal(endOf(events), "aborted");
  assert.equal(aborted(), 1);
  await bench.assertSound();
});

Deno.test("a summarizer with a small window is given what is removed in pieces of whole atoms", async () => {
  const { bench, requests } = reading((clock) => summarizer(clock, { window: 3_000 }), 30);
  const { events } = await play(bench);
  assert.ok(requests.length > compactions(events, "started").length);
  for (const { messages } of requests) {
    const text = String(messages[0]?.content);
    assert.ok(text.length < 3_000 * 4);
    const refs = [...text.matchAll(/"calls":\[\{"ref":"(e\d+\.\d+)"/g)].map((match) => match[1]);
    for (const ref of refs) {
      assert.ok(text.includes(`{"ref":"${ref}","tool":"read","status"`), `${ref} is severed`);
    }
  }
  assert.equal(compactions(events, "applied")[0]?.summary, "ledger+prose");
});

/** Summarizes rounds as they leave a transcript. */
async function summarizeRounds(
  say: (request: ModelRequest) => ModelEvent,
  { rounds = 1, wide, window, size = 1_500 }: {
    readonly rounds?: number;
    readonly wide: number;
    readonly window: number;
    readonly size?: number;
  },
): Promise<{ readonly text: string; readonly requests: readonly ModelRequest[] }> {
  const removed = Array.from({ length: rounds }, (_, round) => {
    const seq = round * (wide + 1);
    return [
      assistant(seq, Array.from({ length: wide }, (_, at) => callPart("read", { at }))),
      ...Array.from({ length: wide }, (_, at) => result(seq + 1 + at, `e${seq}.${at}`, prose(size, at))),
    ];
  }).flat();
  const clock = new ManualClock();
  const asked = summarizer(() => clock, { say, window });
  const model = { ...asked.model, maxOutput: 500 };
  const measure = await loadMeasure();
  const { signal } = new AbortController();
  const text = await summarize(
    { removed, earlier: "", maxTokens: 400, measure, ownPrefix: null },
    { model, clock, signal },
  );
  return { text, requests: asked.requests };
}

const sizeOf = ({ system, messages }: ModelRequest): number => scriptedTokens([system, messages]);

Deno.test("no round is so wide that what the summarizer is given passes its window", async () => {
  for (const wide of [10, 30, 200]) {
    const { requests } = await summarizeRounds(() => answer(json("Read.")), { wide, window: 4_000 });
    for (const request of requests) ok(sizeOf(request) + 500 <= 4_000, `${sizeOf(request)} tokens`);
    const all = requests.map(({ messages }) => String(messages[0]?.content)).join();
    for (let at = 0; at < wide; at++) ok(all.includes(`{"ref":"e0.${at}","tool":"read"`), `e0.${at}`);
  }
});

Deno.test("what a summarizer wrote before it failed is kept, and says where it ends", async () => {
  let n = 0;
  const { text } = await summarizeRounds(() => {
    if (++n > 2) throw new Error("down");
    return answer(json(`Part ${n}.`));
  }, { rounds: 8, wide: 4, window: 4_000 });
  assert.match(text, /^Part 2\.\n\(Nothing is said here/);
});

Deno.test("a summarizer is shown no more of its bad answer than it takes to see what was wrong", async () => {
  let n = 0;
  const { requests } = await summarizeRounds(
    () => answer(++n === 1 ? "word ".repeat(20_000) : json("Read.")),
    { wide: 2, window: 4_000 },
  );
  assert.equal(requests.length, 2);
  for (const request of requests) ok(sizeOf(request) + 500 <= 4_000, `${sizeOf(request)} tokens`);
});

Deno.test("what the summarizer is billed is part of the turn's bill, and of what the turn may spend", async () => {
  const usage = { inputTokens: 100_000, outputTokens: 10 };
  const billed = (clock: () => Bench["clock"]) =>
    summarizer(clock, { say: () => ({ ...answer(json("Read.")), usage }) });
  const { bench, requests } = reading(billed, 60);
  const end = (await play(bench)).events.at(-1);
  assert.ok(end?.type === "turn.finished" && requests.length > 1);
  const { entries } = await bench.assertSound();
  const own = entries.reduce(
    (sum, entry) => sum + (entry.kind === "assistant" ? entry.usage?.inputTokens ?? 0 : 0),
    0,
  );
  assert.equal(end.usage.inputTokens, own + requests.length * usage.inputTokens);
  const poor = reading(billed, 60);
  Object.assign(poor.bench.agent, { maxTokens: usage.inputTokens });
  const { events } = await play(poor.bench);
  assert.deepEqual(eventsOf(events, "error").map(({ code }) => code), ["turn_out_of_tokens"]);
  assert.equal(poor.requests.length, 1);
});
