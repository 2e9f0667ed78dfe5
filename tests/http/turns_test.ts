import { deepEqual, equal, ok } from "node:assert/strict";
import { createApp, Drain } from "../../src/http/mod.ts";
import type { AppOptions } from "../../src/http/options.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import { parseFrames, readFrames } from "../support/sse.ts";
import * as z from "zod";

const echo = defineTool({
  name: "echo",
  description: "Says it again",
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text,
});

/** A model that calls `echo` once and then reports what it heard. */
const model = scripted({
  script: ({ messages }) => {
    const last = messages.at(-1);
    if (last?.role !== "tool") return { calls: [{ name: "echo", input: { text: "hello" } }] };
    const output = last.content[0]?.output;
    return { text: `Heard ${output?.type === "text" ? output.value : "nothing"}.` };
  },
});

function makeApp(options: Partial<AppOptions> = {}) {
  let n = 0;
  return createApp({
    agents: { default: { model, tools: [echo] } },
    store: memoryStore(),
    newId: (kind) => `${kind}${n++}`,
    ...options,
  });
}

function post(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body), headers };
}

Deno.test("POST /v1/turns streams events with ids, names and JSON data", async () => {
  const response = await makeApp().request("/v1/turns", post({ input: "go", session: "s1" }));
  equal(response.status, 200);
  equal(response.headers.get("content-type"), "text/event-stream");
  equal(response.headers.get("cache-control"), "no-cache, no-transform");
  equal(response.headers.get("x-accel-buffering"), "no");
  const text = await response.text();
  ok(text.startsWith(": "), "a comment comes at once");
  const frames = parseFrames(text);
  deepEqual(frames.map((frame) => frame.id), frames.map((_, n) => `turn0:${n}`));
  deepEqual([...new Set(frames.map((frame) => frame.event))], [
    "turn.started",
    "step.started",
    "tool.input.delta",
    "context",
    "tool.call",
    "tool.result",
    "text.delta",
    "turn.finished",
  ]);
  deepEqual(frames[0]?.data, { turn: "turn0", session: "s1", agent: "default", model: "scripted" });
  const result = frames.find((frame) => frame.event === "tool.result")?.data;
  deepEqual({ ...result, ms: 0 }, {
    step: 1,
    call: 0,
    ref: "e1.0",
    name: "echo",
    status: "ok",
    output: "hello",
    shortened: false,
    ms: 0,
  });
  equal(frames.at(-1)?.data.reason, "stop");
});

Deno.test("POST /v1/turns with stream false answers one document", async () => {
  const response = await makeApp().request("/v1/turns", post({ input: "go", stream: false }));
  equal(response.status, 200);
  const document = await response.json();
  equal(document.session, "session0");
  equal(document.reason, "stop");
  equal(document.text, "Heard hello.");
  equal(document.steps, 2);
  deepEqual(document.calls.map((call: { ref: string; status: string }) => [call.ref, call.status]), [[
    "e1.0",
    "ok",
  ]]);
  equal(document.context.window, 128_000);
});

Deno.test("POST /v1/turns goes on with a session", async () => {
  const app = makeApp();
  await (await app.request("/v1/turns", post({ input: "one", session: "s", stream: false }))).text();
  await (await app.request("/v1/turns", post({ input: "two", session: "s", stream: false }))).text();
  const log = await (await app.request("/v1/sessions/s/messages")).json();
  deepEqual(log.entries.map((entry: { kind: string }) => entry.kind), [
    "user",
    "assistant",
    "result",
    "assistant",
    "user",
    "assistant",
    "result",
    "assistant",
  ]);
  equal(log.total, 8);
});

Deno.test("POST /v1/turns waits out a lease of another turn, then answers 409 with that turn's id", async () => {
  let now = 0;
  const sleeps: number[] = [];
  const clock = {
    now: () => now,
    sleep: (ms: number) => {
      // The body is there at once: what watches over it is not the wait that is meant.
      if (ms === 10_000) return new Promise<void>(() => {});
      sleeps.push(ms);
      now += ms;
      return Promise.resolve();
    },
  };
  // The store's time stands still: the other turn is alive and keeps its lease.
  const store = memoryStore({ clock: { now: () => 0, sleep: clock.sleep } });
  await store.acquire({ tenant: "local", session: "s" }, {
    agent: "default",
    owner: "x",
    turn: "other",
    ttlMs: 10_000,
  });
  const response = await makeApp({ store, clock }).request("/v1/turns", post({ input: "go", session: "s" }));
  equal(response.status, 409);
  const problem = await response.json();
  equal(problem.code, "turn_running");
  equal(problem.turn, "other");
  const waited = sleeps.reduce((a, b) => a + b, 0);
  ok(waited >= 10_000 && waited < 12_000, `waited ${waited} ms`);
});

Deno.test("POST /v1/turns closes open calls when the client goes away", async () => {
  const store = memoryStore();
  let seen: AbortSignal | undefined;
  const hang = defineTool({
    name: "echo",
    description: "x",
    input: z.object({}),
    execute: (_, { signal }) => {
      seen = signal;
      return new Promise(() => {});
    },
  });
  const calling = scripted({
    script: () => ({ calls: [{ name: "echo", input: {} }, { name: "echo", input: {} }] }),
  });
  const app = makeApp({ agents: { default: { model: calling, tools: [hang] } }, store });
  const response = await app.request("/v1/turns", post({ input: "go", session: "s" }));
  let calls = 0;
  for await (const frame of readFrames(response)) if (frame.event === "tool.call" && ++calls === 2) break;
  const state = await store.read({ tenant: "local", session: "s" });
  deepEqual(state?.entries.map((entry) => entry.kind === "result" ? entry.status : entry.kind), [
    "user",
    "assistant",
    "aborted",
    "aborted",
  ]);
  equal(state?.head.lease, undefined);
  equal(seen?.aborted, true);
});

Deno.test("POST /v1/turns reports an error of the model as an event, or as a problem without a stream", async () => {
  const broken = scripted({
    script: () => {
      throw new Error("secret internal detail");
    },
  });
  const app = makeApp({ agents: { default: { model: broken } } });
  const stream = await (await app.request("/v1/turns", post({ input: "go", session: "s" }))).text();
  ok(!stream.includes("secret"), "internal messages never reach a client");
  const frames = parseFrames(stream);
  deepEqual(frames.slice(-2).map((frame) => frame.event), ["error", "turn.finished"]);
  equal(frames.at(-2)?.data.code, "internal");
  equal(frames.at(-1)?.data.reason, "error");
  const response = await app.request("/v1/turns", post({ input: "go", session: "s", stream: false }));
  equal(response.status, 500);
  equal((await response.json()).code, "internal");
});

Deno.test("POST /v1/turns is refused while the service goes down, and running turns are put down", async () => {
  const drain = new Drain();
  const clock = new ManualClock();
  const hang = defineTool({
    name: "echo",
    description: "x",
    input: z.object({}),
    execute: () => new Promise(() => {}),
  });
  const calling = scripted({ script: () => ({ calls: [{ name: "echo", input: {} }] }) });
  const app = makeApp({ agents: { default: { model: calling, tools: [hang] } }, drain, clock });
  const response = await app.request("/v1/turns", post({ input: "go" }));
  const frames = readFrames(response);
  for (;;) {
    const { value, done } = await frames.next();
    if (done === true || value.event === "tool.call") break;
  }
  // The turn, and the stream that tells of it.
  equal(drain.running, 2);
  const drained = drain.start();
  const rest = Array.fromAsync(frames);
  await clock.advance(2_999);
  equal(drain.running, 2);
  await clock.advance(1);
  await drained;
  equal(drain.running, 0);
  const ends = (await rest).filter((frame) => frame.event !== "context");
  deepEqual(ends.map((frame) => [frame.event, frame.data.status]), [["tool.result", "aborted"]]);
  deepEqual(clock.sleeping, []);
  const refused = await app.request("/v1/turns", post({ input: "go" }));
  equal(refused.status, 503);
  equal(refused.headers.get("retry-after"), "1");
  await refused.body?.cancel();
});
