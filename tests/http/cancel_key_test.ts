import { deepEqual, equal } from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/ports.ts";
import { parseFrames } from "../support/sse.ts";
import { withCommit } from "../support/turns.ts";

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
