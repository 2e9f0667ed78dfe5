import { deepEqual, equal } from "node:assert/strict";
import { createApp, openAccess } from "../../src/http/mod.ts";
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
  { "x-real-ip": "1.2.3.4" },
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
  Deno.test(`openAccess() lets in a request with ${JSON.stringify(headers)}`, () => {
    deepEqual(openAccess()(new Request("http://127.0.0.1:8000/", { headers: new Headers(headers) })), {
      tenant: "local",
    });
  });
}

Deno.test("isLoopback() knows this machine from others", () => {
  for (const name of ["localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"]) {
    equal(isLoopback(name), true, name);
  }
  for (const name of ["0.0.0.0", "::", "10.0.0.1", "localhost.evil", "127.0.0.1.nip.io", ""]) {
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
  equal((await app.request("/v1/sessions/s")).status, 401);
});
