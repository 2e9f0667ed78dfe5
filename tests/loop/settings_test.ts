import assert from "node:assert/strict";
import { resumeTurn } from "../../src/loop/turn.ts";
import { Bench, calls, endOf, KEY, replies, tool } from "../support/turns.ts";

const look = tool("look", () => "seen");

Deno.test("runTurn() asks the model with the caller's instructions behind the agent's, and its settings", async () => {
  const bench = new Bench({ agent: { system: "Be good." } });
  const settings = { temperature: 0.5, maxOutput: 20 };
  assert.equal(endOf(await bench.run("Hi", { instructions: "Be brief.", settings })), "stop");
  assert.equal(endOf(await bench.run("Again")), "stop");
  const [first, second] = bench.requests;
  assert.equal(first?.system, "Be good.\n\nBe brief.");
  assert.deepEqual(first?.settings, settings);
  assert.equal(first?.maxOutput, 20);
  // They are those of the turn: the next one has none.
  assert.equal(second?.system, "Be good.");
  assert.equal(second?.settings, undefined);
  assert.equal(second?.maxOutput, 500);
  await bench.assertSound();
});

Deno.test("runTurn() forces a tool on the first model call alone", async () => {
  const bench = new Bench({ script: replies(calls("look", {}), calls("look", {})), tools: [look] });
  await bench.run("Hi", { settings: { toolChoice: "required", seed: 1 } });
  assert.deepEqual(bench.requests.map(({ settings }) => settings), [
    { toolChoice: "required", seed: 1 },
    { toolChoice: "auto", seed: 1 },
    { toolChoice: "auto", seed: 1 },
  ]);
});

Deno.test("runTurn() keeps a choice of no tool through the turn", async () => {
  const bench = new Bench({ script: replies(calls("look", {})), tools: [look] });
  await bench.run("Hi", { settings: { toolChoice: "none" } });
  assert.deepEqual(bench.requests.map(({ settings }) => settings?.toolChoice), ["none", "none"]);
});

Deno.test("resumeTurn() goes on with the instructions and settings of the turn", async () => {
  const bench = new Bench({ script: replies(calls("look", {})), tools: [look] });
  const settings = { topP: 0.3 };
  const down = new AbortController();
  const events = bench.start("Hi", { instructions: "Be brief.", settings, suspend: down.signal });
  for await (const event of events) if (event.type === "tool.result") down.abort();
  const { agent, clock, store } = bench;
  await Array.fromAsync(resumeTurn({ agent, session: KEY.session, turn: "t0" }, { clock, store }));
  assert.equal(bench.requests.length, 2);
  assert.equal(bench.requests[1]?.system, "Be brief.");
  assert.deepEqual(bench.requests[1]?.settings, settings);
  await bench.assertSound();
});

Deno.test("runTurn() refuses instructions that leave no room, and stores nothing", async () => {
  const bench = new Bench({ window: 4_000 });
  await assert.rejects(
    () => bench.run("Hi", { instructions: "word ".repeat(20_000) }),
    { code: "input_too_large", message: /instructions of 100000 characters/ },
  );
  assert.equal(await bench.store.read(KEY), null);
});
