/** The meter inside a turn: which bill it believes, for how long, and what a `context` event says of it. */
import assert from "node:assert/strict";
import type { StoredMeter } from "../../src/loop/measures.ts";
import { scripted } from "../../src/models/scripted.ts";
import type { Model, Usage } from "../../src/ports.ts";
import { Bench, calls, endOf, eventsOf, prose, replies, tool } from "../support/turns.ts";

const read = tool("read", ({ n, length }) => prose(Number(length), Number(n)));

/** The scripted model with bills of its own; what it has billed is kept. */
function billed(model: Model, bill: (real: Usage, call: number) => Usage | undefined, bills: Usage[] = []) {
  let call = 0;
  const billing: Model = {
    ...model,
    async *stream(request, signal) {
      for await (const event of model.stream(request, signal)) {
        if (event.type !== "finish" || event.usage === undefined) {
          yield event;
          continue;
        }
        const { usage: real, ...rest } = event;
        const usage = bill(real, call++);
        if (usage !== undefined) bills.push(usage);
        yield { ...rest, ...(usage === undefined ? {} : { usage }) };
      }
    },
  };
  return { model: billing, bills };
}

async function storedMeter(bench: Bench): Promise<StoredMeter> {
  return (await bench.state()).head.meter as StoredMeter;
}

Deno.test("a turn of several steps is metered by its last bill, not by the sum that it ends with", async () => {
  const script = replies(
    calls("read", { n: 1, length: 900 }),
    calls("read", { n: 2, length: 900 }, { n: 3, length: 900 }),
    { text: "Read." },
  );
  const { model, bills } = billed(scripted({ script, window: 32_000 }), (real) => real);
  const bench = new Bench({ model, tools: [read] });
  const events = await bench.run("Read three files.");
  const last = bills.at(-1)!;
  assert.equal(bills.length, 3);
  const total = eventsOf(events, "turn.finished")[0]?.usage;
  assert.equal(total?.inputTokens, bills.reduce((sum, { inputTokens }) => sum + inputTokens, 0));
  assert.deepEqual((await storedMeter(bench)).state.anchor, {
    tokens: last.inputTokens + last.outputTokens,
    covered: 7,
  });
  assert.equal(eventsOf(events, "context").at(-1)?.tokens, last.inputTokens + last.outputTokens);
});

Deno.test("each append is told as a context event: tokens, deciding tier, window and thresholds", async () => {
  const script = replies(calls("read", { n: 1, length: 400 }, { n: 2, length: 400 }), { text: "Read." });
  const { model } = billed(scripted({ script, window: 32_000, maxOutput: 1_000 }), (real) => real);
  const bench = new Bench({ model, tools: [read] });
  const told = eventsOf(await bench.run("Read."), "context");
  assert.equal(told.length, 4, "two answers and two results");
  for (const { tokens, tier, window, compactAt, stopAt } of told) {
    assert.equal(tier, "bound");
    assert.ok(tokens > 0 && tokens < compactAt && compactAt < stopAt && stopAt < window - 1_000);
    assert.equal(window, 32_000);
  }
});

Deno.test("a bill from before a compaction is not read after it", async () => {
  const script = replies(
    ...Array.from({ length: 30 }, (_, n) => calls("read", { n, length: 3_000 })),
    { text: "Read." },
  );
  const { model } = billed(scripted({ script, window: 10_000, maxOutput: 500 }), (real) => real);
  const bench = new Bench({ model, tools: [read] });
  const events = await bench.run("Read thirty files.");
  assert.equal(endOf(events), "stop");
  const applied = events.flatMap((event, at) =>
    event.type === "compaction" && event.phase === "applied" ? [{ event, next: events[at + 1] }] : []
  );
  assert.ok(applied.length >= 2, `${applied.length} compactions`);
  for (const { event, next } of applied) {
    assert.ok(next?.type === "context" && next.tier !== "anchor");
    assert.ok(next.tokens <= next.compactAt, `${next.tokens} after a compaction to ${event.tokensAfter}`);
  }
});

const BILLS: readonly (readonly [string, (real: Usage) => Usage | undefined])[] = [
  ["none", () => undefined],
  ["zero", () => ({ inputTokens: 0, outputTokens: 0 })],
  ["NaN", () => ({ inputTokens: NaN, outputTokens: NaN })],
  ["negative", () => ({ inputTokens: -5_000, outputTokens: -1 })],
  ["huge", () => ({ inputTokens: 1e300, outputTokens: 1e300 })],
  ["without fields", () => ({}) as Usage],
  ["of strings", () => ({ inputTokens: "900", outputTokens: "9" }) as unknown as Usage],
];
for (const [name, bill] of BILLS) {
  Deno.test(`a turn whose bills are ${name} is metered by its own count, and compacted in time`, async () => {
    const script = replies(
      ...Array.from({ length: 12 }, (_, n) => calls("read", { n, length: 3_000 })),
      { text: "Read." },
    );
    const { model } = billed(scripted({ script, window: 10_000, maxOutput: 500 }), bill);
    const bench = new Bench({ model, tools: [read] });
    const events = await bench.run("Read twelve files.");
    assert.equal(endOf(events), "stop", JSON.stringify(eventsOf(events, "error")));
    assert.equal((await storedMeter(bench)).state.anchor, null);
    const phases = eventsOf(events, "compaction").map(({ phase, reason }) => `${phase} ${reason}`);
    assert.ok(phases.includes("applied over_compact_at"), phases.join());
    assert.ok(!phases.some((phase) => phase.includes("context_length_exceeded")), phases.join());
    assert.ok(eventsOf(events, "context").every(({ tokens, window }) => tokens > 0 && tokens < window));
  });
}

Deno.test("an answer that broke off leaves the bill before it in force", async () => {
  const first = scripted({ script: replies({ text: "Well." }), window: 32_000 });
  let call = 0;
  const model: Model = {
    ...first,
    async *stream(request, signal) {
      if (call++ === 0) return yield* first.stream(request, signal);
      yield { type: "text.delta", text: "I was" };
      throw new Error("The line is dead");
    },
  };
  const bench = new Bench({ model });
  await bench.run("Go");
  const { state: { anchor } } = await storedMeter(bench);
  assert.ok(anchor !== null);
  assert.equal(endOf(await bench.run("Go on")), "error");
  assert.deepEqual((await storedMeter(bench)).state.anchor, anchor);
});

Deno.test("another model in the same session starts from its own factor, and the first from its own again", async () => {
  const bench = new Bench({ model: scripted({ script: replies({ text: "Well." }), window: 32_000 }) });
  await bench.run("Go");
  const { factor } = (await storedMeter(bench)).state;
  const other = { ...bench.agent.model, id: "other", tokenFactor: 1.44 };
  await bench.run("Go on", { agent: { ...bench.agent, model: other } });
  const stored = await storedMeter(bench);
  assert.deepEqual([stored.model, stored.state.factor], ["other", 1.44]);
  await bench.run("And on");
  assert.equal((await storedMeter(bench)).state.factor, factor);
});

Deno.test("a turn refuses a model whose factor is no number, and leaves the session free", async () => {
  const bench = new Bench();
  const model = { ...bench.agent.model, tokenFactor: 0 };
  await assert.rejects(bench.run("Go", { agent: { ...bench.agent, model } }), /token factor of 0/);
  assert.equal(endOf(await bench.run("Go")), "stop");
});
