/** Turns of a real server through a TCP proxy that cuts connections. `CLIENT_TURNS` says how many. */
import { ok } from "node:assert/strict";
import { createClient } from "../../src/client/mod.ts";
import { randomFrom } from "../support/random.ts";
import { startServer, tempKv } from "../support/server.ts";
import { impatient, readTurn } from "./_cuts.ts";

const TURNS = Number(Deno.env.get("CLIENT_TURNS") ?? 24);

/** A proxy whose connections end after any number of bytes of an answer. */
function startProxy(port: number, random: () => number) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  let cuts = 0;
  async function pipe(from: Deno.TcpConn, to: Deno.TcpConn, limit: number): Promise<void> {
    const buffer = new Uint8Array(4_096);
    let left = limit;
    try {
      for (let size = await from.read(buffer); size !== null; size = await from.read(buffer)) {
        const end = Math.min(size, left);
        for (let at = 0; at < end;) at += await to.write(buffer.subarray(at, end));
        left -= end;
        if (left > 0) continue;
        cuts++;
        break;
      }
    } catch {
      // The other side was cut.
    }
    for (const conn of [from, to]) if (open.delete(conn)) conn.close();
  }
  async function serve(client: Deno.TcpConn): Promise<void> {
    const server = await Deno.connect({ hostname: "127.0.0.1", port });
    open.add(client).add(server);
    const limit = random() < 0.7 ? Math.floor(random() ** 2 * 6_000) : Infinity;
    await Promise.all([pipe(client, server, Infinity), pipe(server, client, limit)]);
  }
  const served: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const conn of listener) served.push(serve(conn));
  })();
  return {
    url: `http://127.0.0.1:${listener.addr.port}`,
    cuts: () => cuts,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      for (const conn of open) conn.close();
      open.clear();
      await Promise.all(served);
    },
  };
}

/** The `fetch` of the platform without connections that are kept, which would outlive the test. */
function makeFetch() {
  const http = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  return {
    fetch: (url: string, init: RequestInit) => fetch(url, { ...init, client: http }),
    [Symbol.dispose]: () => http.close(),
  };
}

function inputOf(n: number): string {
  const unit = String(1 + n % 40).padStart(2, "0");
  return n % 2 === 0 ? `check ${unit}` : `list units/${unit}`;
}

Deno.test(`client.turn() gives every event once and in order through a proxy that cuts, ${TURNS} turns`, async () => {
  await using kv = await tempKv();
  await using server = await startServer({ SELVAGE_KV: kv.path });
  const random = randomFrom(5);
  await using proxy = startProxy(Number(new URL(server.url).port), random);
  using platform = makeFetch();
  const options = { fetch: platform.fetch, clock: impatient, random, maxTries: 60 };
  const cut = createClient({ ...options, url: proxy.url });
  const straight = createClient({ ...options, url: server.url });
  for (let n = 0; n < TURNS; n += 4) {
    const batch = [n, n + 1, n + 2, n + 3].filter((n) => n < TURNS);
    await Promise.all(
      batch.map((n) => readTurn(cut.turn({ session: `s${n}`, input: inputOf(n) }), straight)),
    );
  }
  ok(proxy.cuts() > TURNS / 2, `${proxy.cuts()} cuts in ${TURNS} turns`);
});
