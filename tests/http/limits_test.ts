import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { Limits } from "../../src/http/mod.ts";
import { Quotas } from "../../src/http/quotas.ts";
import type { Store } from "../../src/ports.ts";
import { scripted } from "../../src/models/scripted.ts";
import { kvStore } from "../../src/store/kv.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import { tempKv } from "../support/server.ts";
import { calls, eventsOf, tool, withCommit } from "../support/turns.ts";
import { parseFrames } from "../support/sse.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import { makeApp, statuses, turn } from "../support/limits_app.ts";

Deno.test("turns a minute are limited by caller, with the time to wait for the next", async () => {
  const clock = new ManualClock();
  const app = makeApp(clock, { limits: { turnsPerMinute: 3 } });
  const first = await turn(app, "acme/ann");
  equal(first.status, 200);
  equal(first.headers.get("ratelimit-policy"), '"turns";q=3;w=60');
  equal(first.headers.get("ratelimit"), '"turns";r=2;t=20');
  await first.body?.cancel();
  deepEqual(await statuses([turn(app, "acme/ann"), turn(app, "acme/ann")]), [200, 200]);
  const refused = await turn(app, "acme/ann");
  equal(refused.status, 429);
  equal(refused.headers.get("retry-after"), "20");
  equal(refused.headers.get("ratelimit"), '"turns";r=0;t=60');
  const { code, limit, detail } = await refused.json();
  deepEqual([code, limit], ["rate_limited", 3]);
  match(detail, /the next can start in 20 s/);
  deepEqual(await statuses([turn(app, "acme/bob"), turn(app, "acme"), turn(app, "other/ann")]), [
    200,
    200,
    200,
  ]);
  await clock.advance(19_999);
  deepEqual(await statuses([turn(app, "acme/ann")]), [429]);
  await clock.advance(1);
  deepEqual(await statuses([turn(app, "acme/ann"), turn(app, "acme/ann")]), [200, 429]);
  await clock.advance(3_600_000);
  deepEqual(await statuses(Array.from({ length: 4 }, () => turn(app, "acme/ann"))), [200, 200, 200, 429]);
});

Deno.test("limits may differ by caller, be shared by a tenant, and be none", async () => {
  const clock = new ManualClock();
  const app = makeApp(clock, {
    limits: ({ tenant }): Limits => tenant === "free" ? { turnsPerMinute: 1, per: "tenant" } : {},
  });
  deepEqual(await statuses([turn(app, "free/ann"), turn(app, "free/bob")]), [200, 429]);
  const paid = await turn(app, "paid");
  equal(paid.headers.get("ratelimit"), null);
  await paid.body?.cancel();
  deepEqual(await statuses(Array.from({ length: 5 }, () => turn(app, "paid"))), [200, 200, 200, 200, 200]);
  // What a function gives is known when it is asked; any other is refused when the app is made.
  const wrong = makeApp(clock, { limits: (): Limits => ({ concurrentTurns: 501 }) });
  equal((await turn(wrong)).status, 500);
});

Deno.test("a repeated request with an idempotency key is not charged again", async () => {
  const app = makeApp(new ManualClock(), { limits: { turnsPerMinute: 1, concurrentTurns: 1 } });
  const key = { "idempotency-key": "k" };
  deepEqual(await statuses([turn(app, "local", key)]), [200]);
  deepEqual(await statuses([turn(app, "local", key)]), [200]);
  deepEqual(await statuses([turn(app)]), [429]);
});

Deno.test("a request that was refused for its number begins when it comes again with its key, and once", async () => {
  const clock = new ManualClock();
  const app = makeApp(clock, { limits: { turnsPerMinute: 1 } });
  deepEqual(await statuses([turn(app)]), [200]);
  const keyed = async (): Promise<readonly unknown[]> => {
    let isOver = false;
    const sent = turn(app, "local", { "idempotency-key": "k" }).finally(() => isOver = true);
    // A twin of it elsewhere may be about to begin: that is waited for.
    while (!isOver) await clock.advance(50);
    const response = await sent;
    const { turn: id, code } = await response.json();
    return [response.status, response.headers.get("idempotency-replayed"), code ?? id];
  };
  for (let n = 0; n < 2; n++) deepEqual(await keyed(), [429, null, "rate_limited"]);
  await clock.advance(60_000);
  const [status, isReplay, id] = await keyed();
  deepEqual([status, isReplay], [200, null]);
  deepEqual(await keyed(), [200, "true", id]);
});

for (
  const limits of [{ turnsPerMinute: 1 }, { concurrentTurns: 1 }, { turnsPerMinute: 1, concurrentTurns: 1 }]
) {
  Deno.test(`a request sent several times at once is one turn where only one is left: ${JSON.stringify(limits)}`, async () => {
    for (let round = 0; round < 20; round++) {
      const app = makeApp(new ManualClock(), { limits });
      const all = Array.from({ length: 4 }, () => turn(app, "local", { "idempotency-key": "k" }));
      const bodies = await Promise.all(all.map(async (response) => await (await response).json()));
      deepEqual(new Set(bodies.map(({ turn, text }) => `${turn} ${text}`)).size, 1, JSON.stringify(bodies));
      equal(bodies[0].text, "Hi.");
    }
  });
}

Deno.test("a request sent to two processes at once is one turn where only one is left", async () => {
  await using folder = await tempKv();
  const path = new URL(`../../${folder.path}`, import.meta.url).pathname;
  const clock = new ManualClock();
  const stores = await Promise.all([1, 2].map(() => kvStore({ path, clock })));
  try {
    const apps = stores.map((store) => makeApp(clock, { store, limits: { turnsPerMinute: 1 } }));
    for (let round = 0; round < 5; round++) {
      const sent = apps.map((app) => turn(app, `caller${round}`, { "idempotency-key": "k" }));
      // However slow the disk is: one that waits for the other looks again when the other has answered.
      await Promise.race(sent);
      const answered = Promise.all(sent);
      let isOver = false;
      void answered.finally(() => isOver = true);
      while (!isOver) await clock.advance(50);
      const bodies = await Promise.all((await answered).map((response) => response.json()));
      equal(new Set(bodies.map(({ turn }) => turn)).size, 1, JSON.stringify(bodies));
    }
    deepEqual(clock.sleeping, [], "a timer is left");
  } finally {
    for (const store of stores) store.close();
  }
});

Deno.test("what is over the limit is told of in words that are right of one turn, too", async () => {
  const agents = { default: { model: scripted({ script: () => ({ text: "x" }) }) } };
  const app = makeApp(new ManualClock(), { agents, limits: { turnsPerMinute: 1 } });
  const start = async (): Promise<{ readonly detail?: string }> => {
    const body = JSON.stringify({ input: "Hi", stream: false });
    return await (await app.request("/v1/turns", { method: "POST", body })).json();
  };
  await start();
  match(
    (await start()).detail ?? "",
    /found as many started within a minute as may be, wanted at most 1; the next/,
  );
});

Deno.test("a turn that could not start is not charged, and the headers say so", async () => {
  const script = () => calls("ask", {});
  const { execute: _, ...ask } = tool("ask", () => "");
  const app = makeApp(new ManualClock(), {
    agents: { default: { model: scripted({ script }), tools: [ask] } },
    limits: { turnsPerMinute: 2 },
  });
  async function start(body: object): Promise<readonly unknown[]> {
    const text = JSON.stringify({ input: "Hi", stream: false, ...body });
    const response = await app.request("/v1/turns", { method: "POST", body: text });
    const { code, reason } = await response.json();
    return [response.status, code ?? reason, response.headers.get("ratelimit")];
  }
  deepEqual(await start({ session: "s" }), [200, "paused", '"turns";r=1;t=30']);
  for (let n = 0; n < 3; n++) {
    deepEqual(await start({ session: "s" }), [409, "turn_paused", '"turns";r=1;t=30']);
    deepEqual(await start({ input: " " }), [400, "input_empty", '"turns";r=1;t=30']);
  }
  deepEqual(await start({ session: "t" }), [200, "paused", '"turns";r=0;t=60']);
  deepEqual(await start({ session: "u" }), [429, "rate_limited", '"turns";r=0;t=60']);
});

let rounds = 0;

/** Many processes that let in turns of one caller, each with its own connection to one database. */
async function race(stores: readonly Store[], limits: Limits) {
  const clock = new ManualClock();
  const round = rounds++;
  const all = stores.flatMap((store, process) => {
    const quotas = new Quotas({ store, clock });
    return Array.from(
      { length: 8 },
      (_, n) =>
        quotas.enter({ tenant: "acme" }, { turn: `${round}-${process}-${n}`, session: `s${n}`, limits }),
    );
  });
  const outcomes = await Promise.allSettled(all);
  const leaves = outcomes.flatMap((outcome) => outcome.status === "fulfilled" ? [outcome.value] : []);
  return { in: leaves.length, leave: () => Promise.all(leaves.map((leave) => leave())) };
}

Deno.test("counters are right over several processes on one database", async () => {
  await using folder = await tempKv();
  const path = new URL(`../../${folder.path}`, import.meta.url).pathname;
  const stores = await Promise.all([1, 2, 3].map(() => kvStore({ path })));
  try {
    equal((await race(stores, { turnsPerMinute: 7 })).in, 7);
    const running = await race(stores, { concurrentTurns: 5 });
    equal(running.in, 5);
    equal((await race(stores, { concurrentTurns: 5 })).in, 0);
    await running.leave();
    equal((await race(stores, { concurrentTurns: 5 })).in, 5);
  } finally {
    for (const store of stores) store.close();
  }
});

Deno.test("turns that start and end at once in one process ask the store a few times each, however many they are", async () => {
  const clock = new ManualClock();
  const inner = memoryStore({ clock });
  let asked = 0;
  const claim: Store["claim"] = (...args) => {
    asked++;
    return inner.claim(...args);
  };
  const store: Store = withCommit(inner, inner.commit.bind(inner));
  const quotas = new Quotas({ store: { ...store, claim }, clock });
  const limits = { concurrentTurns: 60, turnsPerMinute: 60 };
  const enter = (n: number) => quotas.enter({ tenant: "acme" }, { turn: `t${n}`, session: `s${n}`, limits });
  const leaves = await Promise.all(Array.from({ length: 60 }, (_, n) => enter(n)));
  await rejects(enter(60), { code: "too_many_turns" });
  await Promise.all(leaves.map((leave) => leave({ hasStarted: false })));
  await (await enter(61))();
  ok(asked <= 62 * 10, `${asked} times`);
});

Deno.test("a turn ends at its limits of steps, tokens and seconds, with its calls closed and its log stored", async () => {
  const clock = new ManualClock();
  const script = () => calls("look", { at: 1 });
  const wait = tool("wait", (_, { signal }) => clock.sleep(60_000, signal));
  const look = tool("look", () => "Nothing.");
  async function run(limits: Limits, agent: object): Promise<TurnEvent[]> {
    const app = makeApp(clock, {
      limits,
      agents: { default: { model: scripted({ script }), tools: [look, wait], ...agent } },
    });
    const response = await app.request("/v1/turns", {
      method: "POST",
      body: JSON.stringify({ input: "go" }),
    });
    const text = response.text();
    for (let n = 0; n < 12; n++) await clock.advance(1_000);
    return parseFrames(await text).map(({ event, data }) => ({ type: event, ...data }) as TurnEvent);
  }
  const steps = await run({ steps: 3 }, { maxSteps: 9 });
  deepEqual([steps.at(-1)?.type, eventsOf(steps, "step.started").length], ["turn.finished", 3]);
  equal(eventsOf(steps, "turn.finished")[0]?.reason, "max-steps");
  equal(eventsOf(await run({ steps: 9 }, { maxSteps: 3 }), "step.started").length, 3);

  const tokens = await run({ tokens: 1_000 }, {});
  const [end] = eventsOf(tokens, "turn.finished");
  const used = (end?.usage.inputTokens ?? 0) + (end?.usage.outputTokens ?? 0);
  ok(used >= 1_000 && used < 1_500, `${used} tokens`);
  equal(eventsOf(tokens, "error")[0]?.code, "turn_out_of_tokens");
  equal(end?.reason, "error");

  const slow = scripted({ script: () => calls("wait", { at: 1 }) });
  const seconds = await run({ seconds: 5 }, { model: slow });
  equal(eventsOf(seconds, "error")[0]?.code, "turn_out_of_time");
  equal(eventsOf(seconds, "tool.result")[0]?.status, "aborted");
  equal(eventsOf(seconds, "turn.finished")[0]?.reason, "error");
  deepEqual(clock.sleeping, [], "a timer is left");
});
