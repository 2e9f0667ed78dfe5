import { deepEqual, equal, match, notEqual, throws } from "node:assert/strict";
import { Hono } from "hono";
import { createApp } from "../../src/http/mod.ts";
import { PAGE_POLICY, secureHeaders } from "../../src/http/headers.ts";
import type { AppOptions } from "../../src/http/options.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";

const APP = "https://app.example";

function makeApp(options: Partial<AppOptions> = {}) {
  return createApp({
    agents: { default: { model: scripted({ script: () => ({ text: "Hi." }) }) } },
    store: memoryStore(),
    auth: ({ headers }) => headers.get("x-api-key") === "k" ? { tenant: "acme" } : null,
    ...options,
  });
}

const KEY = { "x-api-key": "k" };

Deno.test("every response says what a browser may do with it, and carries an id", async () => {
  const app = makeApp();
  const body = JSON.stringify({ input: "Hi" });
  for (
    const response of [
      await app.request("/healthz"),
      await app.request("/v1/sessions"),
      await app.request("/v1/none", { headers: KEY }),
      await app.request("/v1/turns", { method: "POST", body, headers: KEY }),
      await app.request("/v1/turns", { method: "POST", body: "{", headers: KEY }),
    ]
  ) {
    const { headers, status } = response;
    match(headers.get("content-security-policy") ?? "", /default-src 'none'/, String(status));
    equal(headers.get("x-content-type-options"), "nosniff");
    equal(headers.get("referrer-policy"), "no-referrer");
    match(headers.get("x-request-id") ?? "", /^r_[0-9a-f]{20}$/);
    equal(headers.get("access-control-allow-origin"), null);
    await response.text();
  }
});

Deno.test("a page may load what the service serves, and nothing inline; a route's own policy stays", async () => {
  const app = new Hono();
  app.use(secureHeaders());
  app.get("/", (c) => c.html("<!doctype html>"));
  app.get("/own", (c) => c.html("<!doctype html>", 200, { "content-security-policy": "default-src 'self'" }));
  equal((await app.request("/")).headers.get("content-security-policy"), PAGE_POLICY);
  equal(/unsafe|\*|https?:/.test(PAGE_POLICY), false);
  equal((await app.request("/own")).headers.get("content-security-policy"), "default-src 'self'");
});

Deno.test("the id that a request brings is the id of its response, where it is fit for a log", async () => {
  const app = makeApp();
  const idOf = async (id: string) =>
    (await app.request("/healthz", { headers: { "x-request-id": id } })).headers.get("x-request-id");
  equal(await idOf("abc-123:4.5_6"), "abc-123:4.5_6");
  for (const bad of ["a b", "a\u00e9", '"}', "x".repeat(129)]) notEqual(await idOf(bad), bad);
});

Deno.test("pages of listed origins may call an app that asks nobody who they are", async () => {
  const agents = { default: { model: scripted({ script: () => ({ text: "Hi." }) }) } };
  const app = createApp({ agents, store: memoryStore(), cors: [APP] });
  const statusFor = async (origin: string) =>
    (await app.request("http://localhost/v1/sessions", { headers: { origin } })).status;
  deepEqual([await statusFor(APP), await statusFor("https://evil.example")], [200, 403]);
});

Deno.test("pages of listed origins may call, with credentials; those of others may not", async () => {
  const app = makeApp({ cors: [APP, "http://localhost:5173"] });
  const preflight = (origin: string) =>
    app.request("/v1/turns", {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,idempotency-key",
      },
    });
  const allowed = await preflight(APP);
  equal(allowed.status, 204);
  equal(allowed.headers.get("access-control-allow-origin"), APP);
  equal(allowed.headers.get("access-control-allow-credentials"), "true");
  match(allowed.headers.get("access-control-allow-methods") ?? "", /POST/);
  for (const name of ["authorization", "x-api-key", "idempotency-key", "last-event-id"]) {
    match(allowed.headers.get("access-control-allow-headers") ?? "", new RegExp(name));
  }
  match(allowed.headers.get("vary") ?? "", /origin/i);
  for (const origin of ["https://evil.example", "https://app.example.evil", "http://app.example", "null"]) {
    equal((await preflight(origin)).headers.get("access-control-allow-origin"), null, origin);
    const response = await app.request("/v1/sessions", { headers: { origin, ...KEY } });
    equal(response.headers.get("access-control-allow-origin"), null, origin);
    await response.text();
  }
  // Refusals can be read, too: a page has to know why.
  for (
    const [path, headers, status] of [["/v1/sessions", KEY, 200], ["/v1/sessions", {}, 401], [
      "/none",
      KEY,
      404,
    ]] as const
  ) {
    const response = await app.request(path, { headers: { origin: APP, ...headers } });
    equal(response.status, status);
    equal(response.headers.get("access-control-allow-origin"), APP);
    match(response.headers.get("access-control-expose-headers") ?? "", /retry-after/);
    await response.text();
  }
});

Deno.test("without a list no page of another site may call, and a list that lets in everybody is none", async () => {
  const app = makeApp();
  const response = await app.request("/v1/turns", { method: "OPTIONS", headers: { origin: APP } });
  equal(response.status, 401);
  equal(response.headers.get("access-control-allow-origin"), null);
  for (const origin of ["*", "null", "app.example", "https://app.example/", "https://*.example"]) {
    throws(() => makeApp({ cors: [origin] }), TypeError, origin);
  }
  deepEqual(makeApp({ cors: [] }).routes.filter(({ method }) => method === "OPTIONS"), []);
});
