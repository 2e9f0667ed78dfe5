import { deepEqual, equal, match } from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/ports.ts";
import { ManualClock } from "../support/clock.ts";
import { makeApp, statuses, turn } from "../support/limits_app.ts";
import { parseFrames } from "../support/sse.ts";
import { modelOf, withCommit } from "../support/turns.ts";

const KEY = { "idempotency-key": "k" };

/** Two processes on one store. A start waits for its tools, which come before its lease, until it is let go. */
function makeService(store: Store = memoryStore()) {
  const waiting = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  const model = scripted({ script: () => ({ text: "All is done." }) });
  const tools = async () => {
    waiting.resolve();
    await free.promise;
    return [];
  };
  const apps = [0, 1].map(() => createApp({ agents: { default: { model, tools } }, store }));
  const post = async (app: number, path: string, more: object = {}) =>
    await apps[app]!.request(path, { method: "POST", headers: KEY, ...more });
  const start = (app: number, more: object = {}) =>
    post(app, "/v1/turns", { body: JSON.stringify({ input: "go", session: "s", ...more }) });
  const cancel = async (app: number) => await (await post(app, "/v1/turns/cancel")).json();
  return { apps, start, cancel, waiting: waiting.promise, free: free.resolve };
}

Deno.test.each([[0], [1]] as const)(
  "a turn that is cancelled by its key, in process %d, while it is about to begin never does",
  async (where) => {
    const { apps, start, cancel, waiting, free } = makeService();
    const started = start(0);
    await waiting;
    deepEqual(await cancel(where), { turn: null, cancelled: true });
    free();
    const refused = await started;
    deepEqual([refused.status, (await refused.json()).code], [400, "turn_aborted"]);
    // Nor when it is asked for again, wherever.
    for (const again of [await start(0), await start(1)]) {
      deepEqual([again.status, (await again.json()).code], [400, "turn_aborted"]);
    }
    deepEqual(await cancel(where), { turn: null, cancelled: true });
    equal((await apps[1]!.request("/v1/sessions/s")).status, 404);
  },
);

Deno.test("a turn that was first with its name is cancelled by that, and told by it", async () => {
  const store = memoryStore();
  const { apps, start, cancel, waiting, free } = makeService({
    ...withCommit(store, (...commit) => store.commit(...commit)),
    // The turn begins at the last moment: after its key was found, and before its name is claimed for nothing.
    claim: async (owner, name, claim) => {
      if (name.startsWith("turn/") && claim !== undefined) {
        free();
        await started;
      }
      return await store.claim(owner, name, claim);
    },
  });
  const started: Promise<Response> = start(0, { stream: false });
  await waiting;
  const { turn, cancelled } = await cancel(1);
  const { turn: ran, reason } = await (await started).json();
  deepEqual([turn, cancelled, reason], [ran, false, "stop"]);
  const events = await (await apps[0]!.request(`/v1/turns/${turn}/events`)).text();
  equal(parseFrames(events).at(-1)?.data.reason, "stop");
});

Deno.test("a cancel of a turn that nobody has asked for counts as its start, and one of any other is never refused", async () => {
  const clock = new ManualClock();
  const inner = memoryStore({ clock });
  const written = new Set<string>();
  const store: Store = {
    ...withCommit(inner, (...commit) => inner.commit(...commit)),
    claim: async (owner, name, claim) => {
      if (claim !== undefined && name.startsWith("key/")) written.add(name);
      return await inner.claim(owner, name, claim);
    },
  };
  const asked = Promise.withResolvers<void>();
  // deno-lint-ignore require-yield -- it runs until it is cancelled
  const model = modelOf(async function* (_, signal) {
    asked.resolve();
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });
  const limits = { turnsPerMinute: 3, concurrentTurns: 1 };
  const app = makeApp(clock, { store, limits, agents: { default: { model } } });
  const cancel = (key: string) =>
    Promise.resolve(app.request("/v1/turns/cancel", { method: "POST", headers: { "idempotency-key": key } }));
  const running = turn(app, "local", { "idempotency-key": "runs" });
  await asked.promise;
  // The place of the turn that runs is not asked for; the same cancel again writes nothing, and costs nothing.
  deepEqual(await statuses([cancel("a"), cancel("a")]), [200, 200]);
  for (const key of ["a", "b", "a", "b"]) deepEqual(await statuses([cancel(key)]), [200], key);
  const refused = await cancel("c");
  deepEqual([refused.status, refused.headers.get("retry-after")], [429, "20"]);
  const { code, detail } = await refused.json();
  equal(code, "rate_limited");
  match(detail, /^Cannot cancel a turn that nobody has asked for yet: found /);
  deepEqual([...written], ["key/runs", "key/a", "key/b"], "what is refused is not written");
  // Nothing is left, and the turn that runs is cancelled all the same.
  const { cancelled } = await (await cancel("runs")).json();
  deepEqual([cancelled, (await (await running).json()).reason], [true, "aborted"]);
  await clock.advance(20_000);
  deepEqual(await statuses([cancel("c"), cancel("d")]), [200, 429]);
});

Deno.test("a turn that comes in between is cancelled where its cancel found nothing left", async () => {
  const clock = new ManualClock();
  const inner = memoryStore({ clock });
  const store: Store = {
    ...withCommit(inner, (...commit) => inner.commit(...commit)),
    claim: async (owner, name, claim) => {
      const found = await inner.claim(owner, name, claim);
      if (name === "key/k" && claim === undefined && ++looks === 1) await statuses([turn(app, "local", key)]);
      return found;
    },
  };
  const app = makeApp(clock, { store, limits: { turnsPerMinute: 1 } });
  const key = { "idempotency-key": "k" };
  let looks = 0;
  const response = await app.request("/v1/turns/cancel", { method: "POST", headers: key });
  const { turn: id, cancelled } = await response.json();
  // It had ended by then.
  deepEqual([response.status, typeof id, cancelled], [200, "string", false]);
});
