import assert from "node:assert/strict";
import type { CompactionSettings } from "../../src/compaction/budget.ts";
import type { SelvageError } from "../../src/core/errors.ts";
import { createApp } from "../../src/http/mod.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import { resumeTurn } from "../../src/loop/turn.ts";
import { Bench, calls, endOf, eventsOf, KEY, prose, replies, tool } from "../support/turns.ts";

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

Deno.test("runTurn() compacts when the request says so, for its turn alone, and a takeover does as well", async () => {
  const script = () =>
    replies(...Array.from({ length: 8 }, (_, n) => calls("read", { n })), { text: "Read." });
  const tools = [tool("read", ({ n }) => prose(4_000, Number(n)))];
  const applied = (events: readonly TurnEvent[]) =>
    eventsOf(events, "compaction").filter(({ phase }) => phase === "applied").length;
  const compaction = { compactAt: 0.4, compactTo: 0.2 };
  const bench = new Bench({ tools, window: 16_000, script: script() });
  const events = await bench.run("Go", { compaction });
  const { window = 0, compactAt = 0 } = eventsOf(events, "context")[0] ?? {};
  assert.ok(compactAt < 0.45 * window);
  assert.ok(applied(events) > 0);
  const later = eventsOf(await bench.run("Again"), "context")[0]?.compactAt ?? 0;
  assert.ok(later > 0.6 * (window - 500 - 300), `found ${later}`);

  const other = new Bench({ tools, window: 16_000, script: script() });
  const down = new AbortController();
  const first = other.start("Go", { compaction, suspend: down.signal });
  for await (const event of first) if (event.type === "tool.result") down.abort();
  const { agent, clock, store } = other;
  const rest = await Array.fromAsync(
    resumeTurn({ agent, session: KEY.session, turn: "t0" }, { clock, store }),
  );
  assert.equal(eventsOf(rest, "context")[0]?.compactAt, compactAt);
  await other.assertSound();
});

Deno.test.each(
  [
    [{ compactAt: 0.1 }, "compaction.compactAt", /found compaction\.compactAt 0\.1, wanted 0\.3 to 0\.9/],
    [{ stopAt: 0.99 }, "compaction.stopAt", /wanted 0\.4 to 0\.95/],
    [{ compactTo: NaN }, "compaction.compactTo", /Cannot start the turn: found compaction\.compactTo NaN/],
    [{ compactTo: 0.5 }, "compaction.compactTo", /wanted 0\.1 to 0\.4/],
    [{ policy: "backward" }, "compaction.policy", /found compaction\.policy "backward", wanted full/],
    [
      { compactAt: 0.32, compactTo: 0.31 },
      "compaction.compactTo",
      /^Cannot start the turn: found compaction\.compactTo 0\.31, wanted at most 0\.288, 0\.9 of compactAt 0\.32$/,
    ],
    [
      { compactAt: 0.35 },
      "compaction.compactAt",
      /wanted at least 0\.389, as compactTo 0\.35 is at most 0\.9 of it$/,
    ],
    [
      { stopAt: 0.6 },
      "compaction.stopAt",
      /found compaction\.stopAt 0\.6, wanted more than compactAt 0\.65$/,
    ],
  ] as readonly [CompactionSettings, string, RegExp][],
)("runTurn() refuses the settings %j for a turn, and stores nothing", async (compaction, field, message) => {
  const bench = new Bench({ agent: { compactionLimits: { compactTo: [0.1, 0.4], policy: ["full"] } } });
  await assert.rejects(() => bench.run("Go", { compaction }), (error: SelvageError) => {
    assert.equal(error.code, "bad_budget");
    assert.match(error.message, message);
    assert.equal(error.fields["field"], field);
    return true;
  });
  assert.equal(await bench.store.read(KEY), null);
});

Deno.test("POST /v1/turns takes settings for compaction, and says 400 where they are out of bounds", async () => {
  const bench = new Bench({});
  const app = createApp({ agents: { default: bench.agent }, store: bench.store });
  const post = async (compaction: unknown) => {
    const body = JSON.stringify({ input: "Go", stream: false, session: "s", compaction });
    const response = await app.request("/v1/turns", { method: "POST", body });
    return { status: response.status, ...await response.json() };
  };
  assert.equal((await post({ compactAt: 0.5, policy: "backward" })).status, 200);
  const refused = await post({ compactAt: 0.95 });
  assert.deepEqual([refused.status, refused.code, refused.field], [
    400,
    "bad_budget",
    "compaction.compactAt",
  ]);
  for (const wrong of [{ window: 5 }, { compactAt: "0.5" }, { policy: "none" }, 5]) {
    assert.equal((await post(wrong)).status, 400);
  }
});
