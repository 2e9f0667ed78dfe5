/** What may be said while a turn runs: messages to it, and turns that wait for it. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { createApp, Drain } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import type { Json } from "../support/chat.ts";
import { parseFrames } from "../support/sse.ts";
import { tool } from "../support/turns.ts";

/** Two apps on one store, whose model calls a tool that waits until it is let go, and then repeats the user. */
function makeApps() {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  let finish = (): void => {};
  const wait = new Promise<void>((resolve) => finish = resolve);
  let begun = (): void => {};
  const running = new Promise<void>((resolve) => begun = resolve);
  const slow = tool("slow", () => {
    begun();
    return wait.then(() => "done");
  });
  const model = scripted({
    script: ({ messages }) => {
      const said = messages.filter(({ role }) => role === "user").map(({ content }) => String(content));
      if (messages.at(-1)?.role !== "tool" && said.length === 1) {
        return { calls: [{ name: "slow", input: {} }] };
      }
      return { text: said.join(" | ") };
    },
  });
  const drains = [new Drain(), new Drain()] as const;
  const apps = drains.map((drain) =>
    createApp({ agents: { default: { model, tools: [slow] } }, store, clock, drain })
  );
  const post = async (app: 0 | 1, path: string, body: unknown = {}, headers: Record<string, string> = {}) =>
    await apps[app]!.request(path, { method: "POST", headers, body: JSON.stringify(body) });
  const start = async (body: Record<string, unknown> = {}) =>
    await post(0, "/v1/turns", { session: "s", input: "first", onDisconnect: "continue", ...body });
  return { clock, store, drains, apps, post, start, running, finish: () => finish() };
}

/** Lets time go on until something is there. */
async function until<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let isOver = false;
  const done = work.finally(() => isOver = true);
  done.catch(() => {});
  while (!isOver) await clock.advance(100);
  return await done;
}

Deno.test("POST /v1/turns/:id/messages enters the turn that runs in another process, and is refused once it is over", async () => {
  const { apps, clock, post, start, running, finish } = makeApps();
  const whole = (await start()).text();
  await running;
  const { sessions: [session] } = await (await apps[1]!.request("/v1/sessions")).json();
  const { turn } = session.running;
  const key = { "idempotency-key": "k" };
  for (let twice = 0; twice < 2; twice++) {
    const sent = await post(1, `/v1/turns/${turn}/messages`, { input: "second" }, key);
    deepEqual([sent.status, await sent.json()], [202, { turn, message: 0 }]);
  }
  for (
    const [status, code, input] of [[400, "input_empty", " "], [
      413,
      "body_too_large",
      "x".repeat(60_000),
    ]] as const
  ) {
    const refused = await post(1, `/v1/turns/${turn}/messages`, { input });
    deepEqual([refused.status, (await refused.json()).code], [status, code]);
  }
  finish();
  const frames = parseFrames(await until(clock, whole));
  deepEqual(frames.find(({ event }) => event === "user.message")?.data, { ref: "e3", input: "second" });
  equal(
    frames.filter(({ event }) => event === "text.delta").map(({ data }) => data.text).join(""),
    "first | second",
  );
  const late = await post(1, `/v1/turns/${turn}/messages`, { input: "third" });
  deepEqual([late.status, (await late.json()).code], [409, "turn_over"]);
  equal((await post(1, "/v1/turns/none/messages", { input: "x" })).status, 404);
});

Deno.test('"whenBusy": "enqueue" starts turns one after the other, in their order, as streams that are there at once', async () => {
  const { clock, post, start, running, finish } = makeApps();
  const first = (await start()).text();
  await running;
  const queued = (input: string) =>
    post(1, "/v1/turns", { session: "s", input, whenBusy: "enqueue", onDisconnect: "continue" });
  // One after the other: those that come at a time have no order.
  const waiting = [await queued("second"), await queued("third")];
  for (const response of waiting) equal(response.headers.get("content-type"), "text/event-stream");
  const texts = waiting.map((response) => response.text());
  // Longer than any other turn would wait.
  await clock.advance(60_000);
  finish();
  await until(clock, first);
  const said = (await until(clock, Promise.all(texts))).map((text) =>
    parseFrames(text).filter(({ event }) => event === "text.delta").map(({ data }) => data.text).join("")
  );
  deepEqual(said, ["first | second", "first | second | third"]);
});

Deno.test("who leaves a queue is gone at once, wherever he stands in it, and those behind him start as if he had not been there", async () => {
  const { clock, post, start, running, finish } = makeApps();
  const first = (await start()).text();
  await running;
  const queued = (input: string) => post(0, "/v1/turns", { session: "s", input, whenBusy: "enqueue" });
  const [second, third, fourth] = [await queued("second"), await queued("third"), await queued("fourth")];
  const last = fourth.text();
  // No time passes and nobody ends: who had to wait for his place would hang here.
  await third.body?.cancel();
  await second.body?.cancel();
  finish();
  await until(clock, first);
  const said = parseFrames(await until(clock, last)).filter(({ event }) => event === "text.delta");
  equal(said.map(({ data }) => data.text).join(""), "first | fourth");
});

Deno.test("POST /v1/turns/cancel ends what was asked for under a key: queued here or elsewhere, running, or never to come", async () => {
  const { apps, clock, post, running, finish } = makeApps();
  const key = (name: string) => ({ "idempotency-key": name });
  const cancel = async (app: 0 | 1, name: string) => {
    const response = await post(app, "/v1/turns/cancel", undefined, key(name));
    deepEqual([response.status, response.headers.get("content-type")], [200, "application/json"]);
    return await response.json();
  };
  const first = (await post(0, "/v1/turns", { session: "s", input: "first" }, key("first"))).text();
  await running;
  const queued = (name: string) => {
    const body = { session: "s", input: name, whenBusy: "enqueue", onDisconnect: "continue" };
    return post(0, "/v1/turns", body, key(name));
  };
  // One after the other: those that come at a time have no order.
  const second = (await queued("second")).text();
  const third = (await queued("third")).text();
  const fourth = (await queued("fourth")).text();
  await clock.advance(1_000);
  // The first in line, which is about to begin, and one behind it, by another process; neither has begun.
  deepEqual(await cancel(0, "second"), { turn: null, cancelled: true });
  deepEqual(await cancel(1, "third"), { turn: null, cancelled: true });
  const codes = (text: string) => parseFrames(text).map(({ event, data }) => data.code ?? event);
  deepEqual(codes(await second), ["turn_aborted", "turn.finished"]);
  // The turn that runs, by its key alone.
  const { turn, cancelled } = await until(clock, cancel(1, "first"));
  ok(cancelled && (await first).includes(`"turn":"${turn}"`));
  finish();
  deepEqual(codes(await until(clock, third)), ["turn_aborted", "turn.finished"]);
  ok((await until(clock, fourth)).includes("turn.finished"));
  deepEqual(await cancel(0, "fourth"), {
    turn: (await fourth).match(/"turn":"([^"]+)"/)?.[1],
    cancelled: false,
  });
  // What comes behind its cancel does not begin, however often.
  for (let twice = 0; twice < 2; twice++) {
    deepEqual(await cancel(0, "never"), { turn: null, cancelled: true });
    const refused = await post(1, "/v1/turns", { session: "t", input: "x" }, key("never"));
    deepEqual([refused.status, (await refused.json()).code], [400, "turn_aborted"]);
  }
  const { sessions } = await (await apps[0]!.request("/v1/sessions")).json();
  deepEqual(sessions.map(({ session }: { session: string }) => session), ["s"]);
  const said = await (await apps[0]!.request("/v1/sessions/s/messages")).json();
  deepEqual(
    said.entries.flatMap(({ kind, message }: Json) => kind === "user" ? [message.content] : []),
    ["first", "fourth"],
  );
  equal((await post(0, "/v1/turns/cancel")).status, 400);
});

Deno.test("a queue is bounded, and who leaves it, or meets a service that goes down, does not start", async () => {
  const { clock, drains, post, start, running, finish } = makeApps();
  const first = (await start()).text();
  await running;
  const queued = { session: "s", input: "next", whenBusy: "enqueue" };
  const waiting = await Promise.all(Array.from({ length: 16 }, () => post(0, "/v1/turns", queued)));
  const full = await post(0, "/v1/turns", queued);
  deepEqual([full.status, (await full.json()).code], [429, "queue_full"]);
  const [gone, ...rest] = waiting;
  await gone?.body?.cancel();
  const texts = Promise.all(rest.map((response) => response.text()));
  const drained = drains[0].start();
  finish();
  await until(clock, Promise.all([drained, first]));
  for (const text of await until(clock, texts)) {
    const frames = parseFrames(text);
    deepEqual(frames.map(({ event, data }) => data.code ?? data.reason ?? event), ["shutting_down", "error"]);
    // As its sentence says, and as a request without a stream is told by its status.
    equal(frames[0]?.data.retryable, true);
    // There is no turn that they could be events of.
    deepEqual(frames.map(({ id }) => id), [undefined, undefined]);
    ok(!/^id:/m.test(text), text);
  }
  equal(drains[0].running, 0);
});
