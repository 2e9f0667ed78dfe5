/** Clients that go away while they wait for one document: there is no stream whose cancel would tell. */
import { deepEqual, equal, match } from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { scripted } from "../../src/models/scripted.ts";
import type { Store } from "../../src/ports.ts";
import { ManualClock } from "../support/clock.ts";
import { calls, modelOf, replies, tool } from "../support/turns.ts";

/** A service whose tool works until somebody stops it. */
function makeApp() {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const dig = tool("dig", (_, { signal }) => {
    begun.resolve();
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => {
        ended.resolve();
        reject(signal.reason);
      }, { once: true })
    );
  });
  const store = memoryStore();
  const model = scripted({ script: () => calls("dig", { at: 1 }) });
  return {
    app: createApp({ agents: { default: { model, tools: [dig] } }, store }),
    store,
    begun: begun.promise,
    ended: ended.promise,
  };
}

async function kinds(store: Store): Promise<readonly string[]> {
  const state = await store.read({ tenant: "local", session: "s" });
  equal(state?.head.lease, undefined, "its session is free");
  return (state?.entries ?? []).map((entry) => entry.kind === "result" ? entry.status : entry.kind);
}

for (const more of [{}, { whenBusy: "enqueue" }]) {
  Deno.test(`a turn without a stream ends when its client goes: ${JSON.stringify(more)}`, async () => {
    const { app, store, begun, ended } = makeApp();
    const client = new AbortController();
    const responding = app.request("/v1/turns", {
      method: "POST",
      body: JSON.stringify({ session: "s", input: "Dig.", stream: false, ...more }),
      signal: client.signal,
    });
    await begun;
    client.abort();
    await ended;
    await (await responding).body?.cancel();
    deepEqual(await kinds(store), ["user", "assistant", "aborted"]);
  });
}

Deno.test("answers without a stream end their turn when their client goes", async () => {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let asked = 0;
  const model = modelOf(async function* (request, signal) {
    if (asked++ === 0) return yield* scripted({ script: replies(calls("pick", {})) }).stream(request, signal);
    begun.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    ended.resolve();
    throw signal.reason;
  });
  const store = memoryStore();
  const app = createApp({ agents: { default: { model } }, store });
  const clientTools = [{ name: "pick", description: "Picks", inputSchema: { type: "object" } }];
  const body = JSON.stringify({ session: "s", input: "Pick.", stream: false, clientTools });
  const { turn, pending } = await (await app.request("/v1/turns", { method: "POST", body })).json();
  const client = new AbortController();
  const responding = app.request(`/v1/turns/${turn}/results`, {
    method: "POST",
    body: JSON.stringify({ results: [{ ref: pending[0].ref, output: "this" }], stream: false }),
    signal: client.signal,
  });
  await begun.promise;
  client.abort();
  await ended.promise;
  await (await responding).body?.cancel();
});

Deno.test("a turn that is to go on without its client does so without a stream, too", async () => {
  const begun = Promise.withResolvers<void>();
  const go = Promise.withResolvers<string>();
  const dig = tool("dig", () => {
    begun.resolve();
    return go.promise;
  });
  const model = scripted({ script: replies(calls("dig", { at: 1 }), { text: "Dug." }) });
  const app = createApp({ agents: { default: { model, tools: [dig] } }, store: memoryStore() });
  const client = new AbortController();
  const responding = app.request("/v1/turns", {
    method: "POST",
    body: JSON.stringify({ session: "s", input: "Dig.", stream: false, onDisconnect: "continue" }),
    signal: client.signal,
  });
  await begun.promise;
  client.abort();
  await (await responding).body?.cancel();
  go.resolve("gold");
  const again = { method: "POST", body: JSON.stringify({ session: "s", input: "And?", stream: false }) };
  await (await app.request("/v1/turns", again)).body?.cancel();
  match(await (await app.request("/v1/sessions/s/export")).text(), /gold/);
});

Deno.test("500 streams that are dropped at once leave no turn, no model call and no timer", async () => {
  const COUNT = 500;
  const clock = new ManualClock();
  let asking = 0;
  const model = modelOf(async function* (_, signal) {
    asking++;
    yield { type: "text.delta", text: "word " };
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    asking--;
    throw signal.reason;
  });
  const store = memoryStore({ clock });
  const agents = { default: { model } };
  const app = createApp({ agents, store, clock });
  const readers = await Promise.all(Array.from({ length: COUNT }, async (_, n) => {
    const body = JSON.stringify({ session: `s${n}`, input: "Go on." });
    const reader = (await app.request("/v1/turns", { method: "POST", body })).body?.getReader();
    const decoder = new TextDecoder();
    for (let text = ""; !text.includes("word ");) text += decoder.decode((await reader?.read())?.value);
    return reader;
  }));
  equal(asking, COUNT);
  await Promise.all(readers.map((reader) => reader?.cancel()));
  equal(asking, 0);
  deepEqual(clock.sleeping, []);
  const { sessions } = await store.list({ tenant: "local" }, { limit: COUNT });
  deepEqual([sessions.length, sessions.filter(({ head }) => head.lease !== undefined).length], [COUNT, 0]);
});

Deno.test("a connection that breaks off ends a turn without a stream on a real server", async () => {
  const { app, store, begun, ended } = makeApp();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, app.fetch);
  const body = JSON.stringify({ session: "s", input: "Dig.", stream: false });
  const client = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
  await client.write(
    new TextEncoder().encode(
      `POST /v1/turns HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ),
  );
  await begun;
  client.close();
  await ended;
  await server.shutdown();
  deepEqual(await kinds(store), ["user", "assistant", "aborted"]);
});
