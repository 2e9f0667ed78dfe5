/** What the router has, and who gets in. */
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { Hono } from "hono";
import { createApp } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import type { Principal } from "../../src/http/auth.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { fill, PUBLIC, type Route, routesOf } from "../support/routes.ts";

const MARK = "walrus-of-ann";
const model = scripted({ script: () => ({ text: `I saw the ${MARK}.` }) });

/** An app that believes what a header says. */
function makeApp() {
  return createApp({
    agents: { default: { model } },
    store: memoryStore(),
    auth: ({ headers }): Principal | null => {
      const [tenant, user] = (headers.get("x-who") ?? "").split("/");
      return tenant ? { tenant, ...(user ? { user } : {}) } : null;
    },
  });
}

function send(app: Hono, { method, path }: Route, who?: string): Promise<Response> {
  const hasBody = method !== "GET" && method !== "DELETE";
  return Promise.resolve(app.request(path, {
    method,
    headers: who === undefined ? {} : { "x-who": who },
    ...(hasBody ? { body: "{}" } : {}),
  }));
}

Deno.test("every route of the router is shut to nobody, but for the public ones", async () => {
  const app = makeApp();
  const routes = routesOf(app);
  ok(routes.length > 12, `found only ${routes.length} routes`);
  for (const { method, path } of routes) {
    const response = await send(app, { method, path: fill(path, () => "x") });
    const isPublic = PUBLIC.includes(`${method} ${path}`);
    if (isPublic) notEqual(response.status, 401, `${method} ${path}`);
    else equal(response.status, 401, `${method} ${path}`);
    await response.body?.cancel();
  }
  for (const name of PUBLIC) ok(routes.some(({ method, path }) => `${method} ${path}` === name), name);
  // What there is not looks as what there is.
  for (const path of ["/v2", "/v1/turns/x/y/z", "/api/none", "/healthz/x"]) {
    equal((await app.request(path)).status, 401, path);
    const missing = await app.request(path, { headers: { "x-who": "acme" } });
    deepEqual([missing.status, (await missing.json()).code], [404, "not_found"], path);
  }
});

Deno.test("every path of the router refuses the methods that it does not take, and names those that it takes", async () => {
  const app = makeApp();
  const taken = Map.groupBy(routesOf(app), ({ path }) => path);
  for (const [path, routes] of taken) {
    const allowed = routes.map(({ method }) => method);
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
      if (allowed.includes(method)) continue;
      const response = await app.request(fill(path, () => "x"), { method, headers: { "x-who": "acme" } });
      deepEqual(
        [response.status, response.headers.get("allow")],
        [405, allowed.join(", ")],
        `${method} ${path}`,
      );
      await response.body?.cancel();
    }
  }
});

Deno.test("an app that is mounted in another one is as shut, and shuts nothing of the other", async () => {
  const site = new Hono();
  site.get("/about", (c) => c.text("about"));
  site.route("/agent", makeApp());
  equal((await site.request("/about")).status, 200);
  const health = await site.request("/agent/healthz");
  deepEqual([health.status, await health.json()], [200, { status: "ok" }]);
  for (const path of ["/agent/v1/sessions", "/agent/v1/turns/x/events", "/agent/none"]) {
    equal((await site.request(path)).status, 401, path);
  }
});

Deno.test("what belongs to a tenant or a user looks to another as if it were not there, on every route", async () => {
  const app = makeApp();
  const body = JSON.stringify({ input: `Hello, ${MARK}`, session: "s-of-ann", stream: false });
  const started = await app.request("/v1/turns", {
    method: "POST",
    body,
    headers: { "x-who": "acme/ann", "idempotency-key": "key-of-ann" },
  });
  const { turn } = await started.json();
  const before =
    await (await app.request("/v1/sessions/s-of-ann/export", { headers: { "x-who": "acme/ann" } }))
      .text();
  match(before, new RegExp(MARK));

  const ids: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    turns: { id: turn, n: "1", step: "1" },
    sessions: { id: "s-of-ann", ref: "e0", n: "1" },
  };
  for (const who of ["acme/bob", "acme", "other/ann", "other"]) {
    for (const { method, path } of routesOf(app)) {
      const known = ids[path.split("/").find((part) => part in ids) ?? ""] ?? { id: "s-of-ann" };
      const at = (id: string): Route => ({
        method,
        path: fill(path, (name) => name === "id" ? id : known[name] ?? "x"),
      });
      const foreign = await send(app, at(known["id"] ?? "x"), who);
      const text = await foreign.text();
      ok(!text.includes(MARK), `${method} ${path} tells ${who} what Ann said`);
      if (!path.includes(":")) continue;
      // To the letter: not even that there is something can be told from an answer.
      const missing = await send(app, at("missing"), who);
      deepEqual(
        [foreign.status, text.replaceAll(known["id"] ?? "x", "missing")],
        [missing.status, await missing.text()],
        `${method} ${path} as ${who}`,
      );
      // Where there is no stream to resume, an empty answer says so.
      const isEmpty = method !== "DELETE" && foreign.status === 204 && text === "";
      ok(foreign.status >= 400 || isEmpty, `${method} ${path} as ${who}: ${foreign.status}`);
    }
    const list = await (await app.request("/v1/sessions", { headers: { "x-who": who } })).json();
    ok(!JSON.stringify(list).includes("s-of-ann"));
    const again = await app.request("/v1/turns", {
      method: "POST",
      body,
      headers: { "x-who": who, "idempotency-key": "key-of-ann" },
    });
    equal(again.headers.get("idempotency-replayed"), null, "the key of another is no key of ours");
    const own = await again.json();
    equal(own.session, "s-of-ann", "a session of the same name is one of our own");
    notEqual(own.turn, turn);
    equal(
      (await app.request("/v1/sessions/s-of-ann", { method: "DELETE", headers: { "x-who": who } })).status,
      204,
    );
  }
  const after = await app.request("/v1/sessions/s-of-ann/export", { headers: { "x-who": "acme/ann" } });
  equal(await after.text(), before, "what others have tried has left a mark");
});
