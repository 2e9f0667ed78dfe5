import { deepEqual, equal, ok } from "node:assert/strict";
import * as z from "zod";
import { createApp } from "../../src/http/mod.ts";
import { replay } from "../../src/http/replay.ts";
import { systemClock } from "../../src/loop/clock.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { scripted } from "../../src/models/scripted.ts";
import type { Store } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import { type Frame, parseFrames, readFrames } from "../support/sse.ts";
import { waitingTool } from "../support/turns.ts";

/** An app whose one tool waits until it is let go. */
function makeApp() {
  const { tool: slow, finish } = waitingTool();
  const model = scripted({
    script: ({ messages }) =>
      messages.at(-1)?.role === "tool" ? { text: "All is done." } : { calls: [{ name: "slow", input: {} }] },
  });
  const store = memoryStore();
  const auth = (request: Request) => ({ tenant: request.headers.get("x-tenant") ?? "local" });
  const app = createApp({ agents: { default: { model, tools: [slow] } }, store, auth });
  const post = (more: Record<string, unknown> = {}) =>
    app.request("/v1/turns", {
      method: "POST",
      body: JSON.stringify({ input: "go", session: "s", ...more }),
    });
  return { app, post, store, finish };
}

/** Reads until the tool runs, then goes away; gives the id of the last frame seen. */
async function watchUntilCall(response: Response): Promise<string> {
  for await (const frame of readFrames(response)) if (frame.event === "tool.call") return frame.id ?? "";
  throw new Error("The tool was not called");
}

Deno.test("GET /v1/turns/:id/events goes on behind Last-Event-ID, with the same bytes for the same id", async () => {
  const { app, post, finish } = makeApp();
  const response = await post({ onDisconnect: "continue" });
  const last = await watchUntilCall(response);
  const [turn] = last.split(":");
  finish();
  const rest = await app.request(`/v1/turns/${turn}/events`, { headers: { "last-event-id": last } });
  equal(rest.headers.get("content-type"), "text/event-stream");
  const tail = parseFrames(await rest.text());
  equal(tail[0]?.id, `${turn}:${Number(last.split(":")[1]) + 1}`);
  equal(tail.at(-1)?.event, "turn.finished");
  equal(tail.at(-1)?.data.reason, "stop");
  const whole = await (await app.request(`/v1/turns/${turn}/events`)).text();
  const again = await (await app.request(`/v1/turns/${turn}/events`)).text();
  equal(whole, again);
  deepEqual(parseFrames(whole).slice(-tail.length), tail);
  const done = await app.request(`/v1/turns/${turn}/events`, {
    headers: { "last-event-id": tail.at(-1)?.id ?? "" },
  });
  equal(done.status, 204);
});

Deno.test("a reader that comes late has every event of a turn that holds the last ones only", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const chatty = defineTool({
    name: "chatty",
    description: "Tells a lot, then waits",
    input: z.object({}),
    async *execute() {
      for (let at = 0; at < 300; at++) yield { at };
      await promise;
      return "done";
    },
  });
  const model = scripted({
    script: ({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? { text: "All is done." }
        : { calls: [{ name: "chatty", input: {} }] },
  });
  // Only what is stored along with a step is stored at first: the clock stands still.
  const clock = new ManualClock();
  const app = createApp({
    agents: { default: { model, tools: [chatty] } },
    store: memoryStore({ clock }),
    auth: () => ({ tenant: "local" }),
    clock,
  });
  const body = JSON.stringify({ input: "go", session: "s", onDisconnect: "continue" });
  const first = await app.request("/v1/turns", { method: "POST", body });
  const frames = readFrames(first);
  const seen: Frame[] = [];
  while (seen.at(-1)?.data.data?.at !== 299) seen.push((await frames.next()).value as Frame);
  const late = await app.request(`/v1/turns/${seen[0]?.data.turn}/events`);
  const reading = late.text();
  await clock.advance(1_000);
  resolve();
  const all = parseFrames(await reading);
  deepEqual(all.slice(0, seen.length), seen);
  deepEqual(all.map(({ id }) => Number(id?.split(":")[1])), all.map((_, at) => at));
  equal(all.at(-1)?.data.reason, "stop");
  await frames.return();
});

Deno.test("a turn ends when its last reader goes, though a read is under way and its tool hangs", async () => {
  const { app, post, store } = makeApp();
  const response = await post();
  const reader = response.body?.getReader();
  let text = "";
  while (!text.includes("tool.call")) text += new TextDecoder().decode((await reader?.read())?.value);
  // As a server does: the next read is pending when the client goes.
  const pending = reader?.read();
  await reader?.cancel();
  await pending;
  const state = await store.read({ tenant: "local", session: "s" });
  deepEqual(state?.entries.map((entry) => entry.kind === "result" ? entry.status : entry.kind), [
    "user",
    "assistant",
    "aborted",
  ]);
  equal(state?.head.lease, undefined);
  const turn = parseFrames(text)[0]?.data.turn;
  const events = parseFrames(await (await app.request(`/v1/turns/${turn}/events`)).text());
  equal(events.at(-1)?.data.reason, "aborted");
});

Deno.test("a second reader keeps a turn alive that its first one has left", async () => {
  const { app, post, finish } = makeApp();
  const first = await post();
  const frames = readFrames(first);
  const started = (await frames.next()).value;
  const turn = started?.data.turn;
  const second = await app.request(`/v1/turns/${turn}/events`);
  await frames.return();
  finish();
  const events = parseFrames(await second.text());
  equal(events.at(-1)?.data.reason, "stop");
});

Deno.test("POST /v1/turns/:id/cancel ends a turn, closes its calls, and says so once", async () => {
  const { app, post, store } = makeApp();
  const response = await post({ onDisconnect: "continue" });
  const [turn] = (await watchUntilCall(response)).split(":");
  const cancelled = await app.request(`/v1/turns/${turn}/cancel`, { method: "POST" });
  deepEqual(await cancelled.json(), { turn, cancelled: true });
  const state = await store.read({ tenant: "local", session: "s" });
  equal(state?.head.lease, undefined);
  ok(state?.entries.some((entry) => entry.kind === "result" && entry.status === "aborted"));
  const again = await app.request(`/v1/turns/${turn}/cancel`, { method: "POST" });
  deepEqual(await again.json(), { turn, cancelled: false });
});

Deno.test("a reader that is told to stop while the store is asked takes no turn over, and ends", async () => {
  const stop = new AbortController();
  const key = { tenant: "local", session: "s" };
  const inner = memoryStore();
  await inner.acquire(key, { agent: "default", owner: "gone", turn: "t1", ttlMs: 0 });
  const store: Store = {
    ...inner,
    events: async (...asked) => {
      const found = await inner.events(...asked);
      stop.abort();
      return found;
    },
  };
  const takeOver = () => Promise.reject(new Error("The turn was taken over"));
  const place = { key, turn: "t1" };
  const events = replay(place, { store, clock: systemClock, from: 0, signal: stop.signal, takeOver });
  deepEqual(await Array.fromAsync(events), []);
});

Deno.test("turns of another tenant, and turns that never were, are not found", async () => {
  const { app, post } = makeApp();
  const response = await post({ onDisconnect: "continue" });
  const [turn] = (await watchUntilCall(response)).split(":");
  const other = { headers: { "x-tenant": "other" } };
  for (
    const [path, init] of [
      [`/v1/turns/${turn}/events`, other],
      [`/v1/turns/${turn}/cancel`, { method: "POST", ...other }],
      ["/v1/turns/nothing/events", {}],
      ["/v1/turns/nothing/cancel", { method: "POST" }],
    ] as const
  ) {
    const found = await app.request(path, init);
    equal(found.status, 404);
    equal((await found.json()).code, "turn_not_found");
  }
  await (await app.request(`/v1/turns/${turn}/cancel`, { method: "POST" })).text();
});

Deno.test("GET /v1/turns/:id/events refuses a place that is no id of an event, and says which field has it", async () => {
  const { app } = makeApp();
  for (
    const [path, headers, field] of [
      ["", { "last-event-id": "banana" }, "Last-Event-ID"],
      ["?after=7x", {}, "after"],
    ] as const
  ) {
    const response = await app.request(`/v1/turns/t_1/events${path}`, { headers });
    const { code, detail, field: named } = await response.json();
    deepEqual([response.status, code, named], [400, "bad_request", field]);
    ok(detail.includes("wanted the id of an event, such as t_1:7"), detail);
  }
});
