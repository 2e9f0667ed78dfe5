/** How many turns a caller may have at once, over any number of processes. */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { Quotas } from "../../src/http/quotas.ts";
import type { ModelRequest } from "../../src/ports.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import { finish, modelOf, waitingTool } from "../support/turns.ts";
import { makeApp } from "../support/limits_app.ts";

Deno.test("turns at once are limited; one that ends, fails or is cancelled makes room", async () => {
  const clock = new ManualClock();
  const held: PromiseWithResolvers<void>[] = [];
  const model = modelOf(async function* (_, signal) {
    const wait = Promise.withResolvers<void>();
    held.push(wait);
    signal.addEventListener("abort", () => wait.reject(signal.reason));
    await wait.promise;
    yield finish("Done.");
  });
  const app = makeApp(clock, { agents: { default: { model } }, limits: { concurrentTurns: 2 } });
  const start = () =>
    Promise.resolve(app.request("/v1/turns", { method: "POST", body: JSON.stringify({ input: "go" }) }));
  const [one, two] = [await start(), await start()];
  const refused = await start();
  equal(refused.status, 429);
  equal(refused.headers.get("retry-after"), "1");
  equal((await refused.json()).code, "too_many_turns");
  // Streams pull: the model is asked when somebody reads.
  const reading = one.text();
  await clock.advance(1);
  held[0]?.resolve();
  match(await reading, /turn\.finished/);
  const three = await start();
  equal(three.status, 200, "the first has made room");
  await two.body?.cancel();
  const four = await start();
  equal(four.status, 200, "the second has made room");
  await three.body?.cancel();
  await four.body?.cancel();
});

Deno.test("a turn of a process that died holds no place", async () => {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const limits = { concurrentTurns: 1 };
  const enter = (name: string) =>
    new Quotas({ store, clock }).enter({ tenant: "acme" }, { turn: name, session: name, limits });
  await enter("a");
  await rejects(enter("b"), { code: "too_many_turns" }, "it may be about to begin");
  await store.acquire({ tenant: "acme", session: "a" }, {
    agent: "default",
    owner: "x",
    turn: "a",
    ttlMs: 10_000,
  });
  await rejects(enter("b"), { code: "too_many_turns" }, "it runs");
  await clock.advance(10_000);
  const leave = await enter("b");
  await rejects(enter("c"), { code: "too_many_turns" });
  await leave();
  await enter("c");
  await clock.advance(15_000);
  await enter("d");
});

Deno.test("a turn without a session holds its place in every process for as long as it runs", async () => {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const { tool: slow, finish: letGo } = waitingTool();
  const script = ({ messages }: ModelRequest) =>
    messages.at(-1)?.role === "tool" ? { text: "Done." } : { calls: [{ name: "slow", input: {} }] };
  const agents = { default: { model: scripted({ script }), tools: [slow] } };
  const [here, there] = [0, 1].map(() => makeApp(clock, { store, agents, limits: { concurrentTurns: 1 } }));
  const ask = (app = here) =>
    Promise.resolve(
      app?.request("/v1/chat/completions", {
        method: "POST",
        body: JSON.stringify({ model: "default", messages: [{ role: "user", content: "go" }] }),
      }),
    );
  const running = ask(here);
  for (let n = 0; n < 4; n++) {
    await clock.advance(14_000);
    equal((await ask(there))?.status, 429, `${n}`);
  }
  letGo();
  equal((await running)?.status, 200);
  equal((await ask(there))?.status, 200);
  deepEqual(clock.sleeping, [], "a timer is left");
});
