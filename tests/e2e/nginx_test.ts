/** The API and its streams behind a reverse proxy with its defaults, but that nothing is held back. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { fastClock } from "../crash/_setup.ts";
import { hasNginx, startNginx } from "../support/nginx.ts";
import { startServer, tempKv } from "../support/server.ts";
import { type Frame, parseFrames, readFrames } from "../support/sse.ts";
import { calls, replies, tool } from "../support/turns.ts";

const ignore = !hasNginx;
const KEY = "a-long-random-key-of-acme";
const headers = { "x-api-key": KEY };

Deno.test({
  name: "two servers behind nginx answer as one: turns, streams, resumption, large bodies, refusals",
  ignore,
  async fn() {
    await using kv = await tempKv();
    const env = { SELVAGE_KV: kv.path, SELVAGE_API_KEYS: `acme=${KEY}` };
    await using one = await startServer(env);
    await using two = await startServer(env);
    await using proxy = await startNginx([one, two].map(({ url }) => Number(new URL(url).port)));
    const post = (path: string, body: unknown) =>
      fetch(`${proxy.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    const streamed = parseFrames(await (await post("/v1/turns", { session: "s", input: "check 07" })).text());
    equal(streamed.at(-1)?.data.reason, "stop");
    const [turn] = (streamed[0]?.id ?? "").split(":");
    // Whichever server gets them, in turn.
    for (let n = 0; n < 4; n++) {
      const again = await fetch(`${proxy.url}/v1/turns/${turn}/events`, {
        headers: { ...headers, "last-event-id": streamed[2]?.id ?? "" },
      });
      deepEqual(parseFrames(await again.text()), streamed.slice(3));
      const next = await (await post("/v1/turns", { session: "s", input: "list units", stream: false }))
        .json();
      equal(next.reason, "stop");
    }
    const big = { messages: [{ role: "user", content: "x".repeat(12_000_000) }] };
    equal((await (await post("/v1/check", big)).json()).valid, true);
    const refused = await fetch(`${proxy.url}/v1/sessions`);
    equal(refused.status, 401);
    ok(refused.headers.get("x-request-id"));
    await refused.body?.cancel();
    // The pages, and what they load, are there for everybody.
    for (const path of ["/", "/doctor"]) {
      const page = await fetch(`${proxy.url}${path}`);
      equal(page.headers.get("content-type"), "text/html; charset=utf-8");
      ok(page.headers.has("content-security-policy"));
      const loaded = [...(await page.text()).matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)];
      ok(loaded.length > 1, `${path} loads ${loaded.length} files`);
      for (const [, file = ""] of loaded) {
        const served = await fetch(new URL(file, proxy.url + path));
        deepEqual([served.status, (await served.text()).length > 500], [200, true], file);
      }
    }
    // A client that goes away cancels its turn, through the proxy too.
    const stop = new AbortController();
    const left = await fetch(`${proxy.url}/v1/turns`, {
      method: "POST",
      headers,
      body: JSON.stringify({ session: "left", input: "Audit the workspace" }),
      signal: stop.signal,
    });
    for await (const frame of readFrames(left)) if (frame.event === "tool.result") break;
    stop.abort();
    const after = await (await post("/v1/turns", { session: "left", input: "list units", stream: false }))
      .json();
    equal(after.reason, "stop");
  },
});

Deno.test({
  name: "a stream behind nginx shows each event when it happens, and outlives its idle limit by comments",
  ignore,
  async fn() {
    // Time runs twenty times as fast: a comment every half second, and an idle limit of three, are the real proportion.
    const clock = fastClock({ speed: 20, epoch: Date.now() });
    const { promise: isSeen, resolve: see } = Promise.withResolvers<void>();
    const wait = tool("wait", async (_, { signal }) => {
      // It ends only after its call was seen at the other end of the proxy, and after twice the idle limit.
      await isSeen;
      await clock.sleep(130_000, signal);
      return "Waited.";
    });
    const script = replies(calls("wait", {}), { text: "Done." });
    const app = createApp({
      agents: { default: { model: scripted({ script }), tools: [wait], toolTimeoutMs: 600_000 } },
      store: memoryStore({ clock }),
      clock,
      auth: () => ({ tenant: "acme" }),
    });
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, app.fetch);
    try {
      await using proxy = await startNginx([server.addr.port], { idleSeconds: 3 });
      const response = await fetch(`${proxy.url}/v1/turns`, {
        method: "POST",
        body: JSON.stringify({ input: "go" }),
      });
      equal(response.headers.get("content-type"), "text/event-stream");
      const frames: Frame[] = [];
      for await (const frame of readFrames(response)) {
        frames.push(frame);
        if (frame.event === "tool.call") see();
      }
      const last = frames.at(-1);
      deepEqual([last?.event, last?.data.reason], ["turn.finished", "stop"]);
    } finally {
      await server.shutdown();
    }
  },
});

/** nginx in front of servers of which each answers by itself. */
async function behindNginx(
  handlers: readonly ((path: string) => Response | Promise<Response>)[],
  { defaultSeconds = 60, ask }: {
    readonly defaultSeconds?: number;
    readonly ask: (url: string) => Promise<void>;
  },
): Promise<void> {
  const servers = handlers.map((answer) =>
    Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      ({ url }) => answer(new URL(url).pathname),
    )
  );
  try {
    await using proxy = await startNginx(servers.map(({ addr }) => addr.port), { defaultSeconds });
    await ask(proxy.url);
  } finally {
    await Promise.all(servers.map((server) => server.shutdown()));
  }
}

Deno.test({
  name: "a turn that is asked for as one document may be silent behind nginx for longer than its default",
  ignore,
  async fn() {
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
    const slow = async () => {
      await isOver;
      return new Response("the whole turn");
    };
    // Three seconds against a limit of one; where the limit holds, the answer is nginx's own.
    const timer = setTimeout(end, 3_000);
    await behindNginx([slow], {
      defaultSeconds: 1,
      ask: async (url) => {
        const response = await fetch(`${url}/v1/turns`, { method: "POST", body: "{}" });
        deepEqual([response.status, await response.text()], [200, "the whole turn"]);
      },
    }).finally(() => {
      clearTimeout(timer);
      end();
    });
  },
});

Deno.test({
  name: "instances that cannot take work, as with a full disk, are asked behind nginx all the same",
  ignore,
  async fn() {
    const full = (path: string) =>
      path === "/readyz" ? new Response("the store takes no writes", { status: 503 }) : new Response("read");
    await behindNginx([full, full], {
      ask: async (url) => {
        for (let n = 0; n < 3; n++) {
          const ready = await fetch(`${url}/readyz`);
          deepEqual([ready.status, await ready.text()], [503, "the store takes no writes"]);
        }
        const read = await fetch(`${url}/v1/sessions/s`);
        deepEqual([read.status, await read.text()], [200, "read"]);
      },
    });
  },
});
