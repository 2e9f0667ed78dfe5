/** What a URL asks for. */
import { deepEqual, equal } from "node:assert/strict";
import { Hono } from "hono";
import * as z from "zod";
import type { AppEnv } from "../../src/http/env.ts";
import { problemOf, refuseWith } from "../../src/http/problem.ts";
import { parseUrl, wholeNumber } from "../../src/http/url.ts";

const schema = z.object({ id: z.string(), from: wholeNumber.exactOptional() });
const app = new Hono<AppEnv>();
app.onError((error, c) => refuseWith(c, problemOf(error)));
app.get("/things/:id", (c) => c.json(parseUrl(c, schema)));

Deno.test("parseUrl() takes the path before the query, and passes over what nobody asks for", async () => {
  for (
    const [path, found] of [
      ["/things/a", { id: "a" }],
      ["/things/a?id=b&from=007&more=1", { id: "a", from: 7 }],
      ["/things/%C3%A9?from=999999999", { id: "é", from: 999_999_999 }],
      ["/things/a?from=1&from=x", { id: "a", from: 1 }],
    ] as const
  ) {
    deepEqual(await (await app.request(path)).json(), found, path);
  }
});

Deno.test("parseUrl() names the field, what was found and what is wanted", async () => {
  for (const from of ["", "x", "-1", "1.5", "1e3", " 1", "1234567890", "NaN", "\u0661"]) {
    const response = await app.request(`/things/a?from=${encodeURIComponent(from)}`);
    const { code, field, detail } = await response.json();
    deepEqual([response.status, code, field], [400, "bad_request", "from"], from);
    equal(detail, `Cannot use the URL: from: found ${JSON.stringify(from)}, wanted a whole number`);
  }
});
