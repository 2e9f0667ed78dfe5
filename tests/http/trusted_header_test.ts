import { deepEqual, equal, throws } from "node:assert/strict";
import { createApp, type LogEntry, trustedHeader } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";

const PROXIES = ["10.1.2.3", "192.168.0.0/16", "fd00::/8", "::1"];

const CASES: readonly (readonly [string | null, string | null, boolean])[] = [
  ["10.1.2.3", "ada", true],
  ["::ffff:10.1.2.3", "ada", true],
  ["192.168.7.8", "ada", true],
  ["fd00::17", "ada", true],
  ["::1", "ada", true],
  ["10.1.2.4", "ada", false],
  ["192.169.0.1", "ada", false],
  ["fe80::1", "ada", false],
  ["nonsense", "ada", false],
  [null, "ada", false],
  ["10.1.2.3", null, false],
  ["10.1.2.3", "", false],
  // Two headers of one name: one of them may be the client's.
  ["10.1.2.3", "root, ada", false],
];
for (const [peer, user, isIn] of CASES) {
  Deno.test(`trustedHeader() ${isIn ? "believes" : "does not believe"} ${user} from ${peer}`, async () => {
    const headers: Record<string, string> = user === null ? {} : { "x-user": user };
    const request = new Request("http://selvage.example/", { headers });
    const expected = isIn ? { tenant: "default", user: "ada" } : null;
    deepEqual(await trustedHeader("x-user", PROXIES)(request, { peer }), expected);
  });
}

Deno.test("trustedHeader() takes the tenant from a header, and lets nobody in without it", async () => {
  const auth = trustedHeader("x-user", ["10.1.2.3"], { tenantHeader: "x-org" });
  const ask = (headers: Record<string, string>) =>
    auth(new Request("http://selvage.example/", { headers }), { peer: "10.1.2.3" });
  deepEqual(await ask({ "x-user": "ada", "x-org": "acme" }), { tenant: "acme", user: "ada" });
  equal(await ask({ "x-user": "ada" }), null);
});

Deno.test("trustedHeader() refuses proxies that are no addresses", () => {
  for (
    const proxies of [[], [""], ["proxy.example"], ["10.0.0.0/33"], ["10.0.0.0/8/8"], ["10.0.0"], ["::1/129"]]
  ) {
    throws(() => trustedHeader("x-user", proxies), TypeError, JSON.stringify(proxies));
  }
});

Deno.test("a real server tells trustedHeader() who is at the other end", async () => {
  const model = scripted({ script: () => ({ text: "Hi." }) });
  const agents = { default: { model } };
  for (const [proxy, status] of [["127.0.0.1", 200], ["10.0.0.1", 401]] as const) {
    const entries: LogEntry[] = [];
    const app = createApp({
      agents,
      store: memoryStore(),
      auth: trustedHeader("x-user", [proxy]),
      log: (entry) => void entries.push(entry),
    });
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, app.fetch);
    try {
      const response = await fetch(`http://127.0.0.1:${server.addr.port}/v1/sessions`, {
        headers: { "x-user": "ada" },
      });
      equal(response.status, status);
      await response.body?.cancel();
      // Behind a proxy at an address that nobody thought of, this is all that there is to go by.
      equal(
        entries[0]?.["cause"],
        status === 200 ? undefined : "a connection from 127.0.0.1, not of a proxy",
      );
    } finally {
      await server.shutdown();
    }
  }
});
