import { deepEqual, equal, match, throws } from "node:assert/strict";
import { apiKeys, createApp, jwt, openAccess } from "../../src/http/mod.ts";
import { isLoopback } from "../../src/http/auth.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";

const model = scripted({ script: () => ({ text: "Hi." }) });

const REFUSED: readonly Record<string, string>[] = [
  { host: "evil.example" },
  { host: "127.0.0.1.evil.example:8000" },
  { forwarded: "for=1.2.3.4" },
  { "x-forwarded-for": "1.2.3.4" },
  { "x-forwarded-host": "localhost" },
  { "x-forwarded-port": "443" },
  { "x-forwarded": "for=1.2.3.4" },
  { "x-real-ip": "1.2.3.4" },
  { "true-client-ip": "1.2.3.4" },
  { via: "1.1 edge" },
  { host: "127.999.999.999" },
  { host: "localhost." },
  { origin: "https://evil.example" },
  { origin: "null" },
];
for (const headers of REFUSED) {
  Deno.test(`openAccess() refuses a request with ${JSON.stringify(headers)}`, async () => {
    const app = createApp({ agents: { default: { model } }, store: memoryStore() });
    const response = await app.request("/v1/sessions/s", { headers });
    equal(response.status, 403);
    equal((await response.json()).code, "open_access_refused");
  });
}

for (
  const headers of [{}, { host: "localhost:8000" }, { host: "[::1]:8000" }, {
    origin: "http://localhost:3000",
  }]
) {
  Deno.test(`openAccess() lets in a request with ${JSON.stringify(headers)}`, async () => {
    const request = new Request("http://127.0.0.1:8000/", { headers: new Headers(headers) });
    for (const peer of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) {
      deepEqual(await openAccess()(request, { peer }), { tenant: "local" });
    }
  });
}

Deno.test("openAccess() refuses a request from another machine, as the server tells where it comes from", async () => {
  const app = createApp({ agents: { default: { model } }, store: memoryStore() });
  const request = () => new Request("http://127.0.0.1:8000/v1/sessions", { headers: { host: "localhost" } });
  for (const hostname of ["10.0.0.2", "192.168.1.7", "fe80::1", "::ffff:10.0.0.2"]) {
    const response = await app.fetch(request(), { remoteAddr: { hostname, port: 1, transport: "tcp" } });
    equal(response.status, 403, hostname);
    match((await response.json()).detail, /wanted a request from this machine/);
  }
  equal((await app.fetch(request(), { remoteAddr: { hostname: "127.0.0.1" } })).status, 200);
});

Deno.test("openAccess() refuses a request that came over a network where nobody says from which machine", async () => {
  const app = createApp({ agents: { default: { model } }, store: memoryStore() });
  const over = () =>
    new Request("http://127.0.0.1:8000/v1/sessions", { headers: { host: "localhost:8000" } });
  const response = await app.fetch(over());
  equal(response.status, 403);
  match(
    (await response.json()).detail,
    /found no address of the caller, wanted .*app\.fetch\(request, info\)/,
  );
  // What a program asks in itself has no such header.
  equal((await app.request("/v1/sessions")).status, 200);

  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => app.fetch(request),
  );
  const served = await fetch(`http://127.0.0.1:${server.addr.port}/v1/sessions`);
  equal(served.status, 403);
  await served.body?.cancel();
});

Deno.test("openAccess() refuses a request whose URL names another host than its header does", async () => {
  const app = createApp({ agents: { default: { model } }, store: memoryStore() });
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, app.fetch);
  const asked = [["http://evil.example", "localhost"], ["http://localhost", "evil.example"], ["", "[::"], [
    "",
    "a b",
  ]];
  for (const [url, host] of asked) {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
    const head = `GET ${url}/v1/sessions HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`;
    await connection.write(new TextEncoder().encode(head));
    match(await new Response(connection.readable).text(), /^HTTP\/1\.1 403 /, `${url} for ${host}`);
  }
});

Deno.test("openAccess() lets pages of the origins call that it is given, and of no other", async () => {
  const auth = openAccess({ origins: ["https://app.example"] });
  const from = (origin: string) =>
    auth(new Request("http://127.0.0.1/", { headers: { origin } }), { peer: null });
  deepEqual(await from("https://app.example"), { tenant: "local" });
  throws(() => from("http://app.example"), { code: "open_access_refused" });
});

Deno.test("isLoopback() knows this machine from others", () => {
  for (const name of ["localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"]) {
    equal(isLoopback(name), true, name);
  }
  for (const name of ["0.0.0.0", "::", "10.0.0.1", "localhost.evil", "127.0.0.1.nip.io", "127.0.0.256", ""]) {
    equal(isLoopback(name), false, name);
  }
});

Deno.test("createApp() keeps the sessions of tenants and users apart", async () => {
  const auth = (request: Request) => {
    const [tenant, user] = (request.headers.get("authorization") ?? "").split("/");
    return tenant ? { tenant, ...(user ? { user } : {}) } : null;
  };
  const app = createApp({ agents: { default: { model } }, store: memoryStore(), auth });
  const as = (authorization: string) => ({ headers: { authorization } });
  const body = JSON.stringify({ input: "Hi", session: "s", stream: false });
  await (await app.request("/v1/turns", { method: "POST", body, ...as("acme/ann") })).text();
  equal((await app.request("/v1/sessions/s", as("acme/ann"))).status, 200);
  for (const other of ["acme/bob", "acme", "other/ann"]) {
    for (const path of ["", "/messages", "/context", "/entries/e0"]) {
      equal((await app.request(`/v1/sessions/s${path}`, as(other))).status, 404, `${other} ${path}`);
    }
    equal((await app.request("/v1/sessions/s", { method: "DELETE", ...as(other) })).status, 404);
  }
  const nobody = await app.request("/v1/sessions/s");
  equal(nobody.status, 401);
  equal(nobody.headers.get("www-authenticate"), "Bearer");
});

const AUTHS = {
  "apiKeys()": apiKeys({ acme: "a-long-random-key-of-acme" }),
  "jwt()": jwt({ jwks: { keys: [] }, issuer: "https://login.example/", audience: "selvage" }),
};
for (const [name, auth] of Object.entries(AUTHS)) {
  Deno.test(`a 401 of ${name} says that a token is invalid where one was sent, and names no error else`, async () => {
    const app = createApp({ agents: { default: { model } }, store: memoryStore(), auth });
    const header = btoa('{"alg":"ES256"}').replaceAll("=", "");
    const asked: readonly (readonly [Record<string, string>, string])[] = [
      [{}, "Bearer"],
      // Another scheme: what was sent is no token.
      [{ authorization: "Basic YTpi" }, "Bearer"],
      [{ authorization: "Bearer " }, "Bearer"],
      [{ authorization: "Bearer a-long-random-key-of-nobody" }, 'Bearer error="invalid_token"'],
      [{ authorization: `bearer ${header}.e30.AAAA` }, 'Bearer error="invalid_token"'],
    ];
    const details = new Set<string>();
    for (const [headers, challenge] of asked) {
      for (const path of ["/v1/sessions", "/v1/models", "/api/chat/c", "/agui"]) {
        const response = await app.request(path, { headers });
        deepEqual([response.status, response.headers.get("www-authenticate")], [401, challenge], path);
        const text = await response.text();
        if (path === "/v1/sessions") details.add(text);
      }
    }
    equal(details.size, 1, "the document says no more of a token that was sent");
  });
}

Deno.test("createApp() takes no principal without a name, or with one that no store could hold", async () => {
  for (
    const principal of [
      { tenant: "" },
      { tenant: "a".repeat(257) },
      { tenant: "acme", user: "" },
      { tenant: "acme", user: "u".repeat(257) },
    ]
  ) {
    const app = createApp({ agents: { default: { model } }, store: memoryStore(), auth: () => principal });
    equal((await app.request("/v1/sessions")).status, 401, JSON.stringify(principal).slice(0, 40));
  }
});
