/** One rule for every code, in the form of every protocol. */
import { equal, match, ok } from "node:assert/strict";
import { Hono } from "hono";
import type { AppEnv } from "../../src/http/env.ts";
import { refuseOpenAI } from "../../src/http/openai_errors.ts";
import { refuseWith, speak, STATUS } from "../../src/http/problem.ts";
import { refuseChat } from "../../src/http/chat_errors.ts";

function makeApp(): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.use("/openai/*", speak(refuseOpenAI));
  app.use("/chat/*", speak(refuseChat));
  app.get("/:protocol/:code", (c) => refuseWith(c, { code: c.req.param("code"), detail: "Cannot." }));
  app.get(
    "/own",
    (c) => refuseWith(c, { code: "queue_full", detail: "No.", headers: { "retry-after": "9" } }),
  );
  return app;
}

Deno.test("what was sent does not come back at any length, in any protocol", async () => {
  const app = new Hono<AppEnv>();
  app.use("/openai", speak(refuseOpenAI));
  app.use("/chat", speak(refuseChat));
  app.get("/:protocol", (c) => refuseWith(c, { code: "bad_request", detail: "x".repeat(5_000) }));
  for (const protocol of ["native", "openai", "chat"]) {
    const text = await (await app.request(`/${protocol}`)).text();
    equal(text.match(/x+…?/)?.[0], `${"x".repeat(899)}…`, protocol);
  }
});

for (const protocol of ["native", "openai", "chat"]) {
  Deno.test(`a refusal says when to come again, where that can help, and nowhere else (${protocol})`, async () => {
    const app = makeApp();
    const passing: string[] = [];
    for (const code of [...Object.keys(STATUS), "internal"]) {
      const response = await app.request(`/${protocol}/${code}`);
      await response.body?.cancel();
      const isPassing = response.status === 429 || response.status === 503;
      if (isPassing) {
        passing.push(code);
        match(response.headers.get("retry-after") ?? "", /^[1-9]\d*$/, code);
        equal(response.headers.get("x-should-retry"), null, code);
      } else equal(response.headers.get("retry-after"), null, code);
    }
    for (const code of ["queue_full", "too_many_messages", "rate_limited", "store_busy", "turn_suspended"]) {
      ok(passing.includes(code), code);
    }
  });
}

Deno.test("a refusal that knows the time to wait says that one", async () => {
  equal((await makeApp().request("/own")).headers.get("retry-after"), "9");
});
