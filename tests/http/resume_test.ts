/** Two processes on one store: what a client finds in the one that did not run its turn. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createApp, Drain } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import { type Frame, parseFrames, readFrames } from "../support/sse.ts";
import { waitingTool } from "../support/turns.ts";

/** Two apps on one store and one clock, with a tool that waits until it is let go. */
function makeApps() {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const { tool: slow, finish } = waitingTool();
  let asked = 0;
  const model = scripted({
    script: ({ messages }) => {
      asked++;
      return messages.at(-1)?.role === "tool"
        ? { text: "All is done." }
        : { calls: [{ name: "slow", input: {} }] };
    },
  });
  const drains = [new Drain(), new Drain()] as const;
  const auth = (request: Request) => ({ tenant: request.headers.get("x-tenant") ?? "local" });
  const make = (drain: Drain) =>
    createApp({ agents: { default: { model, tools: [slow] } }, store, clock, auth, drain });
  const apps = [make(drains[0]), make(drains[1])] as const;
  const post = (app: 0 | 1, body: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
    apps[app].request("/v1/turns", {
      method: "POST",
      headers,
      body: JSON.stringify({ input: "go", session: "s", ...body }),
    });
  const get = (app: 0 | 1, path: string, headers: Record<string, string> = {}) =>
    apps[app].request(path, { headers });
  return { apps, clock, store, drains, post, get, finish, asked: () => asked };
}

/** Reads until the tool runs, and goes on reading in the background. */
async function watch(
  response: Response,
): Promise<{ readonly turn: string; readonly rest: Promise<Frame[]> }> {
  const frames = readFrames(response);
  for (;;) {
    const { value, done } = await frames.next();
    if (done === true) throw new Error("The tool was not called");
    if (value.event !== "tool.call") continue;
    return { turn: value.id?.split(":")[0] ?? "", rest: Array.fromAsync(frames) };
  }
}

Deno.test("GET /v1/turns/:id/events follows a turn that runs in another process, live, with the same bytes", async () => {
  const { clock, post, get, finish } = makeApps();
  const { turn, rest } = await watch(await post(0));
  await clock.advance(250);
  const there = (await get(1, `/v1/turns/${turn}/events`)).text();
  await clock.advance(100);
  finish();
  await clock.advance(1_000);
  const here = await rest;
  const frames = parseFrames(await there);
  equal(frames[0]?.event, "turn.started");
  deepEqual(frames.slice(-here.length), here);
  deepEqual(frames.map(({ id }) => id), frames.map((_, n) => `${turn}:${n}`));
  // After the end, from either, from any event on; 204 behind the last.
  const whole = await (await get(0, `/v1/turns/${turn}/events`)).text();
  equal(await (await get(1, `/v1/turns/${turn}/events`)).text(), whole);
  equal(
    await (await get(1, `/v1/turns/${turn}/events?after=2`)).text(),
    await (await get(0, `/v1/turns/${turn}/events?after=2`)).text(),
  );
  for (const app of [0, 1] as const) {
    equal(
      (await get(app, `/v1/turns/${turn}/events`, { "last-event-id": frames.at(-1)?.id ?? "" })).status,
      204,
    );
    equal((await get(app, `/v1/turns/${turn}/events`, { "x-tenant": "other" })).status, 404);
  }
  await clock.advance(3_600_001);
  equal((await get(1, `/v1/turns/${turn}/events`)).status, 404);
});

Deno.test("POST /v1/turns/:id/cancel ends a turn that runs in another process", async () => {
  const { apps, clock, post } = makeApps();
  const { turn, rest } = await watch(await post(0));
  const cancelled = apps[1].request(`/v1/turns/${turn}/cancel`, { method: "POST" });
  await clock.advance(1_500);
  deepEqual(await (await cancelled).json(), { turn, cancelled: true });
  equal((await rest).at(-1)?.data.reason, "aborted");
  deepEqual(await (await apps[1].request(`/v1/turns/${turn}/cancel`, { method: "POST" })).json(), {
    turn,
    cancelled: false,
  });
  equal((await apps[1].request("/v1/turns/none/cancel", { method: "POST" })).status, 404);
});

Deno.test("a turn whose process goes down is taken over by the process where its client comes again", async () => {
  const { clock, drains, post, get, finish } = makeApps();
  const { turn, rest } = await watch(await post(0));
  const drained = drains[0].start();
  finish();
  await clock.advance(1);
  await drained;
  const before = await rest;
  deepEqual(before.map(({ event }) => event).filter((event) => event !== "context"), ["tool.result"]);
  equal((await get(0, `/v1/turns/${turn}/events`)).status, 503);
  const last = before.at(-1)?.id ?? "";
  const after = parseFrames(
    await (await get(1, `/v1/turns/${turn}/events`, { "last-event-id": last })).text(),
  );
  equal(after.at(-1)?.data.reason, "stop");
  const said = after.filter(({ event }) => event === "text.delta").map(({ data }) => data.text).join("");
  equal(said, "All is done.");
  const whole = parseFrames(await (await get(1, `/v1/turns/${turn}/events`)).text());
  deepEqual(whole.slice(-after.length), after);
  equal(whole.filter(({ event }) => event === "turn.started").length, 1);
});

Deno.test("a turn that goes on without readers is taken over by a new turn, which waits for it", async () => {
  const { clock, drains, post, get, finish } = makeApps();
  const { turn, rest } = await watch(await post(0, { onDisconnect: "continue" }));
  const drained = drains[0].start();
  await clock.advance(3_000);
  await drained;
  await rest;
  finish();
  const next = post(1, { stream: false });
  await clock.advance(1_000);
  const document = await (await next).json();
  equal(document.reason, "stop");
  const log = await (await get(1, "/v1/sessions/s/messages")).json();
  ok(
    log.entries.some((entry: { turn: string; kind: string }) =>
      entry.turn === turn && entry.kind === "assistant"
    ),
  );
});

Deno.test("Idempotency-Key makes the same request the same turn, in whichever process, and refuses another", async () => {
  const { clock, post, finish, asked } = makeApps();
  const key = { "idempotency-key": "k-1" };
  const { turn, rest } = await watch(await post(0, {}, key));
  await clock.advance(250);
  const again = post(1, {}, key);
  await clock.advance(50);
  finish();
  await clock.advance(1_000);
  const replayed = await again;
  equal(replayed.headers.get("idempotency-replayed"), "true");
  const frames = parseFrames(await replayed.text());
  equal(frames[0]?.data.turn, turn);
  equal(frames.at(-1)?.data.reason, "stop");
  await rest;
  const document = await (await post(1, {}, key)).text();
  equal(parseFrames(document)[0]?.data.turn, turn);
  equal(asked(), 2);
  const other = await post(1, { input: "something else" }, key);
  equal(other.status, 422);
  equal((await other.json()).code, "idempotency_key_reused");
  const bad = await post(0, {}, { "idempotency-key": "a key" });
  equal(bad.status, 400);
  match((await bad.json()).detail, /Idempotency-Key/);
  // The key of another tenant is another key.
  const foreign = await post(0, { input: "something else" }, { ...key, "x-tenant": "other" });
  equal(foreign.status, 200);
  await foreign.text();
});

Deno.test("one Idempotency-Key sent many times at once starts one turn", async () => {
  const { clock, post, finish, asked } = makeApps();
  finish();
  const all = Array.from(
    { length: 12 },
    (_, n) => post(n % 2 === 0 ? 0 : 1, { stream: false }, { "idempotency-key": "k" }),
  );
  // Fingerprints are made beside the clock: it goes on until all have their answer.
  const answers = Promise.all(all);
  let isOver = false;
  void answers.finally(() => isOver = true);
  while (!isOver) await clock.advance(100);
  const documents = await Promise.all((await answers).map((response) => response.json()));
  equal(new Set(documents.map(({ turn }) => turn)).size, 1);
  for (const document of documents) equal(document.reason, "stop");
  equal(asked(), 2);
});

Deno.test("DELETE /v1/sessions/:id ends the turn that runs there, here or elsewhere", async () => {
  for (const app of [0, 1] as const) {
    const { apps, clock, post, get } = makeApps();
    const { turn, rest } = await watch(await post(0));
    const deleted = apps[app].request("/v1/sessions/s", { method: "DELETE" });
    await clock.advance(4_000);
    equal((await deleted).status, 204);
    deepEqual((await rest).map(({ event }) => event).filter((event) => event === "error"), []);
    equal((await rest).at(-1)?.data.reason, "aborted");
    equal((await get(app, "/v1/sessions/s")).status, 404);
    equal((await get(1, `/v1/turns/${turn}/events`)).status, 404);
    deepEqual(clock.sleeping, []);
  }
});

Deno.test("a request that was refused is refused again with the same Idempotency-Key, until it can be served", async () => {
  const { store, clock } = makeApps();
  const model = scripted({ window: 8_000, script: () => ({ text: "Read." }) });
  const app = createApp({ agents: { default: { model } }, store, clock });
  const post = (input: string, key: string, pin: boolean) =>
    app.request("/v1/turns", {
      method: "POST",
      headers: { "idempotency-key": key },
      body: JSON.stringify({ session: "p", input, pin, stream: false }),
    });
  equal((await post("word ".repeat(2_000), "first", true)).status, 200);
  for (let n = 0; n < 2; n++) {
    const refused = await post("word ".repeat(2_000), "second", true);
    equal(refused.status, 413);
    equal((await refused.json()).code, "input_too_large");
  }
  await app.request("/v1/sessions/p", { method: "DELETE" });
  equal((await post("word ".repeat(2_000), "second", true)).status, 200);
});

Deno.test("what a deleted session said is read nowhere, and its key makes one new turn", async () => {
  const { apps, clock, post, get, finish } = makeApps();
  finish();
  const key = { "idempotency-key": "k" };
  const first = await (await post(0, { stream: false }, key)).json();
  await apps[1].request("/v1/sessions/s", { method: "DELETE" });
  for (const app of [0, 1] as const) equal((await get(app, `/v1/turns/${first.turn}/events`)).status, 404);
  const turns: string[] = [];
  for (const app of [1, 0, 1, 0] as const) {
    const again = post(app, { stream: false }, key);
    await clock.advance(500);
    turns.push((await (await again).json()).turn);
  }
  equal(new Set(turns).size, 1);
  ok(turns[0] !== first.turn);
  equal((await get(0, `/v1/turns/${"a".repeat(3_000)}/events`)).status, 404);
});

Deno.test("a turn whose agent no process has any more holds up no session and no shutdown", async () => {
  const { clock, store, drains, post, finish } = makeApps();
  const { turn, rest } = await watch(await post(0, { onDisconnect: "continue" }));
  finish();
  const drained = drains[0].start();
  await clock.advance(3_000);
  await Promise.all([drained, rest]);
  const drain = new Drain();
  const other = scripted({ script: () => ({ text: "Hello." }) });
  const app = createApp({ agents: { other: { model: other } }, store, clock, drain });
  const response = await app.request(`/v1/turns/${turn}/events`);
  equal(parseFrames(await response.text()).filter(({ event }) => event === "turn.finished").length, 0);
  const body = JSON.stringify({ session: "s", agent: "other", input: "Hi", stream: false });
  const document = await (await app.request("/v1/turns", { method: "POST", body })).json();
  equal(document.text, "Hello.");
  const left = parseFrames(await (await app.request(`/v1/turns/${turn}/events`)).text());
  equal(left.at(-1)?.data.reason, "aborted");
  await drain.start();
  equal(drain.running, 0);
});

Deno.test("POST /v1/turns/:id/cancel closes a turn that its process left, and asks no model for it", async () => {
  const { apps, clock, drains, post, get, asked } = makeApps();
  const { turn, rest } = await watch(await post(0));
  const drained = drains[0].start();
  await clock.advance(3_000);
  await Promise.all([drained, rest]);
  const before = asked();
  const cancelled = await apps[1].request(`/v1/turns/${turn}/cancel`, { method: "POST" });
  deepEqual(await cancelled.json(), { turn, cancelled: true });
  equal(asked(), before);
  equal(parseFrames(await (await get(1, `/v1/turns/${turn}/events`)).text()).at(-1)?.data.reason, "aborted");
  equal((await (await get(1, "/v1/sessions/s")).json()).running, null);
});
