/** The calls of one step: what ten times as many cost. The asker is a model, and nothing bounds what it asks for. */
import assert from "node:assert/strict";
import type { Agent } from "../../src/loop/agent.ts";
import { runTurn } from "../../src/loop/turn.ts";
import { scripted } from "../../src/models/scripted.ts";
import type { Tool } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { processorMs } from "../support/processor.ts";
import { calls, replies, tool } from "../support/turns.ts";

/** Calls of the longer step. */
const LONG = 4_000;

/** How many times as long ten times the calls may take. */
const WANTED = 15;

/** Works as a tool that waits for nothing but a moment. */
const work = tool("work", async () => {
  await null;
  return "some words of a result ".repeat(4);
});

interface Shape {
  readonly window: number;
  readonly tools?: readonly Tool[];
  readonly agent?: Partial<Agent>;
}

const SHAPES: Readonly<Record<string, Shape>> = {
  "with room for all": { window: 4_000_000 },
  // The first result is over the threshold already, and no cut is legal before the last.
  "that no cut makes room for": { window: 8_000 },
  "that all run at once": { window: 4_000_000, agent: { toolConcurrency: LONG } },
  "that wait for the client": {
    window: 4_000_000,
    tools: [{ name: "work", description: "Waits", inputSchema: {}, verbatimArgs: [], parse: work.parse }],
  },
};

/** One turn whose first step has so many calls; gives how often each kind of event was told. */
async function turnOf(count: number, { window, tools = [work], agent = {} }: Shape) {
  const inputs = Array.from({ length: count }, () => ({}));
  const model = scripted({ window, maxOutput: 1_000, script: replies(calls("work", ...inputs)) });
  const told = new Map<string, number>();
  const request = { agent: { model, tools, ...agent }, session: "s", input: "Go" };
  for await (const event of runTurn(request, { store: memoryStore() })) {
    const kind = event.type === "compaction" ? `${event.phase} ${event.reason}` : event.type;
    told.set(kind, (told.get(kind) ?? 0) + 1);
  }
  return told;
}

for (const [name, shape] of Object.entries(SHAPES)) {
  Deno.test(`a step of ten times the calls takes about ten times as long: calls ${name}`, async () => {
    const short = async (): Promise<void> => {
      for (let time = 0; time < 10; time++) await turnOf(LONG / 10, shape);
    };
    const long = (): Promise<unknown> => turnOf(LONG, shape);
    // The first finds no code warm.
    await short();
    const best = { long: Infinity, short: Infinity };
    let ratio = Infinity;
    for (let round = 0; round < 6 && ratio > WANTED; round++) {
      best.short = Math.min(best.short, await processorMs(short));
      best.long = Math.min(best.long, await processorMs(long));
      ratio = best.long / best.short * 10;
    }
    assert.ok(ratio <= WANTED, `it takes ${ratio.toFixed(1)} times as long`);
  });
}

Deno.test("what open calls bar is told once for their step, and each result of it is told", async () => {
  const told = await turnOf(400, { window: 16_000 });
  assert.equal(told.get("tool.result"), 400);
  assert.equal(told.get("deferred open_call"), 1);
});

Deno.test("a step of thousands of calls leaves the rest of the process its turn", async () => {
  let turns = 0;
  let isOver = false;
  const others = async (): Promise<void> => {
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve));
      turns++;
    }
  };
  let spun = 0;
  const busy = tool("work", async () => {
    await null;
    const until = performance.now() + 1;
    while (performance.now() < until) spun++;
    return "done";
  });
  const running = others();
  await turnOf(640, { window: 4_000_000, tools: [busy] });
  isOver = true;
  await running;
  assert.ok(spun > 0);
  // 640 ms of work: it has paused after 16 or 32 calls of 1 ms, not once at the end.
  assert.ok(turns >= 10, `${turns} turns`);
});
