/** Work between the turns of a session that is under way when the service goes down. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { type AppOptions, createApp, Drain } from "../../src/http/mod.ts";
import type { Agent } from "../../src/loop/agent.ts";
import type { Model } from "../../src/ports.ts";
import { served } from "../support/at_rest_app.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import { modelOf, waitingTool } from "../support/turns.ts";

/** A model that never answers; it hears of an abort, or not even that. */
function hanging({ isDeaf }: { readonly isDeaf: boolean }) {
  const { promise: asked, resolve } = Promise.withResolvers<AbortSignal>();
  // deno-lint-ignore require-yield -- it says nothing
  const model: Model = modelOf(async function* (_, signal) {
    resolve(signal);
    await new Promise((_, reject) => {
      if (!isDeaf) signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  });
  return { model, asked };
}

/** Two apps on the store of a session that has something to compact. */
async function apps(first: Partial<Agent>, options: Partial<AppOptions> = {}) {
  const { bench, state } = await served(15);
  const { store, clock } = bench;
  const drain = new Drain();
  const make = (agent: Partial<Agent>, more: Partial<AppOptions>) => {
    const agents = { default: { ...bench.agent, ...agent } as Agent };
    const app = createApp({ agents, store, clock, auth: () => ({ tenant: "a" }), ...more });
    return async (path: string, body?: unknown) => {
      const response = await app.request(`/v1/sessions/s/${path}`, {
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
        headers: { "idempotency-key": "k" },
      });
      return { status: response.status, wait: response.headers.get("retry-after"), ...await response.json() };
    };
  };
  return { bench, state, drain, send: make(first, { drain, ...options }), elsewhere: make({}, options) };
}

Deno.test.each([{ isDeaf: false }, { isDeaf: true }])(
  "a compaction whose summarizer hangs (%j) is given up when the service goes down, and its session is free",
  async (how) => {
    const { model, asked } = hanging(how);
    const limits = { turnsPerMinute: 10, concurrentTurns: 1 };
    const { bench, state, drain, send, elsewhere } = await apps({ summarizer: model }, { limits });
    const before = await state();
    const answer = send("compact", { compactTo: 0.2 });
    const signal = await asked;
    ok((await state()).head.lease !== undefined);
    equal(drain.running, 1);
    const drained = drain.start();
    deepEqual(await answer, {
      type: "about:blank",
      title: "shutting down",
      status: 503,
      wait: "1",
      code: "shutting_down",
      detail: "Cannot compact the session: the service is going down, try again in a moment",
    });
    await drained;
    ok(signal.aborted, "the summarizer is told");
    const { head, ...rest } = await state();
    const { head: headBefore, ...restBefore } = before;
    equal(head.lease, undefined, "the lease is given back at once");
    deepEqual([head.view, head.flag, rest], [headBefore.view, headBefore.flag, restBefore]);
    deepEqual(bench.clock.sleeping, []);
    // The same request, sent again, is done where it comes.
    const again = await elsewhere("compact", { compactTo: 0.2 });
    deepEqual([again.status, again.outcome], [200, "applied"]);
  },
);

Deno.test.each(
  [
    ["compact", { compactTo: 0.2 }],
    ["compact", { compactTo: 0.2, dryRun: true }],
    ["pins", { ref: "e0", pinned: true }],
    ["pins", undefined],
  ] as const,
)(
  "work at rest (%s, %j) that waits for its tools is given up when the service goes down",
  async (path, body) => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const tools = () => {
      resolve();
      return new Promise<never>(() => {});
    };
    const { bench, state, drain, send } = await apps({ tools });
    const before = await state();
    const answer = send(path, body);
    await asked;
    equal(drain.running, 1);
    const drained = drain.start();
    const { status, code } = await answer;
    deepEqual([status, code], [503, "shutting_down"]);
    await drained;
    deepEqual(await state(), before);
    deepEqual(bench.clock.sleeping, []);
  },
);

Deno.test.each(["context", "request", "message"] as const)(
  "what is asked for of a session (%s) and waits for its tools is given up when the service goes down",
  async (what) => {
    const held = Promise.withResolvers<void>();
    const work = waitingTool("work");
    const hung = Promise.withResolvers<never>();
    let hangs = false;
    const tools = () => {
      if (!hangs) return [work.tool];
      held.resolve();
      return hung.promise;
    };
    let asked = 0;
    const model = scripted({
      script: () => {
        if (asked++ === 0) return { calls: [{ name: "work", input: {} }] };
        return { text: "Done." };
      },
    });
    const drain = new Drain();
    const clock = new ManualClock();
    const app = createApp({
      agents: { default: { model, tools } },
      store: memoryStore({ clock }),
      drain,
      clock,
    });
    const post = (path: string, body: unknown) =>
      app.request(path, { method: "POST", body: JSON.stringify(body) });
    const stream = (await post("/v1/turns", { session: "s", input: "Go" })).body!.getReader();
    let told = "";
    while (!told.includes("event: tool.call")) told += new TextDecoder().decode((await stream.read()).value);
    const [, turn] = told.match(/"turn":"([^"]+)"/) ?? [];
    hangs = true;
    const answer = what === "context"
      ? app.request("/v1/sessions/s/context")
      : what === "request"
      ? app.request(`/v1/turns/${turn}/steps/1/request`)
      : post(`/v1/turns/${turn}/messages`, { input: "And?" });
    await held.promise;
    const drained = drain.start();
    const { status, headers, ...problem } = await (await answer).json().then(async (body) => ({
      ...body,
      headers: (await answer).headers.get("retry-after"),
    }));
    deepEqual([status, problem.code, headers], [503, "shutting_down", "1"]);
    work.finish();
    while (!(await stream.read()).done);
    await drained;
    equal(drain.running, 0);
  },
);

Deno.test("a service that goes down begins no work at rest, and still shows what there is", async () => {
  const { drain, state, send } = await apps({});
  const before = await state();
  await drain.start();
  for (
    const [path, body] of [["compact", { compactTo: 0.2 }], ["pins", { ref: "e0", pinned: true }]] as const
  ) {
    const { status, code } = await send(path, body);
    deepEqual([status, code], [503, "shutting_down"]);
  }
  equal((await send("pins")).status, 200);
  equal((await send("compact", { compactTo: 0.2, dryRun: true })).outcome, "applied");
  deepEqual(await state(), before);
});
