/** A session as the page has it. */
import { deepEqual, equal } from "node:assert/strict";
import { createClient } from "../../src/client/mod.ts";
import { Session } from "../../src/web/chat/session.ts";

Deno.test("Session asks nobody for what is no name of a session, and says so at once", async () => {
  for (const name of ["%", ".", "..", "a/b", "a b", "é", "x".repeat(129), "x".repeat(5_000)]) {
    const asked: string[] = [];
    const client = createClient({
      url: "http://127.0.0.1",
      maxTries: 1,
      fetch: (url) => {
        asked.push(url);
        return Promise.resolve(Response.json({}));
      },
    });
    const session = new Session(client, { name, onChange: () => {} });
    await session.load();
    equal(session.standing, "misnamed", name);
    deepEqual(asked, [], name);
  }
});
