import { deepEqual, equal } from "node:assert/strict";
import { Hono } from "hono";
import type { AppEnv } from "../../src/http/env.ts";
import { addLater } from "../../src/http/later.ts";

/** Routes that count how often they were made. */
function makeLater(failures = 0) {
  const seen = { made: 0, failures };
  const app = new Hono<AppEnv>();
  app.use(async (c, next) => {
    c.set("requestId", "r1");
    await next();
    c.header("x-behind", "yes");
  });
  app.onError((error, c) => c.text(`failed: ${error.message}`, 500));
  addLater(app, {
    at: "/v1",
    routes: ["POST /v1/things/:id", "GET /v1/things/:id", "GET /v1/broken"],
    load: async () => {
      seen.made++;
      if (seen.failures-- > 0) throw new Error("the module cannot be had");
      const own = new Hono<AppEnv>();
      const limited = async (_: unknown, next: () => Promise<void>) => await next();
      own.post("/things/:id", limited, (c) => c.text(`${c.get("requestId")} ${c.req.param("id")}`, 201));
      own.get("/things/:id", (c) => c.json({ id: c.req.param("id") }));
      own.get("/broken", () => {
        throw new Error("not mine");
      });
      return await Promise.resolve(own);
    },
  });
  return { app, seen };
}

Deno.test("addLater() makes routes with the first request, once, and they answer as if they had always been there", async () => {
  const { app, seen } = makeLater();
  const outer = new Hono<AppEnv>().route("/agent", app);
  equal((await app.request("/v1/nothing")).status, 404);
  equal(seen.made, 0);
  const answers = await Promise.all([
    app.request("/v1/things/a", { method: "POST" }),
    app.request("/v1/things/b"),
    outer.request("/agent/v1/things/c", { method: "POST" }),
    app.request("/v1/broken"),
    outer.request("/agent/v1/broken"),
  ]);
  equal(seen.made, 1);
  deepEqual(answers.map(({ status }) => status), [201, 200, 201, 500, 500]);
  deepEqual(answers.map(({ headers }) => headers.get("x-behind")), Array(5).fill("yes"));
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  deepEqual(texts, ["r1 a", '{"id":"b"}', "r1 c", "failed: not mine", "failed: not mine"]);
});

Deno.test("addLater() makes routes anew for the next request where they could not be made", async () => {
  const { app, seen } = makeLater(1);
  const ask = () => app.request("/v1/things/a", { method: "POST" });
  const failed = await Promise.all([ask(), ask()]);
  deepEqual(
    await Promise.all(failed.map((answer) => answer.text())),
    Array(2).fill("failed: the module cannot be had"),
  );
  equal((await ask()).status, 201);
  equal((await ask()).status, 201);
  equal(seen.made, 2);
});

Deno.test("addLater() lists its routes before they are made", () => {
  const listed = makeLater().app.routes.filter(({ method }) => method !== "ALL");
  deepEqual(listed.map(({ method, path }) => `${method} ${path}`), [
    "POST /v1/things/:id",
    "GET /v1/things/:id",
    "GET /v1/broken",
  ]);
});
