/** A session as the page has it. */
import { deepEqual, equal } from "node:assert/strict";
import { createClient } from "../../src/client/mod.ts";
import { createApp } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { Session } from "../../src/web/chat/session.ts";
import { ManualClock } from "../support/clock.ts";

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

Deno.test("Session.refresh() keeps what is shown where nobody can tell, and where a turn was begun meanwhile", async () => {
  const clock = new ManualClock();
  let isOpen = Promise.resolve();
  const model = scripted({ script: () => ({ text: "Hello." }), pause: () => isOpen });
  const app = createApp({ agents: { default: { model } }, store: memoryStore(), clock });
  let answer: (() => Promise<Response>) | null = null;
  const client = createClient({
    url: "http://127.0.0.1",
    maxTries: 1,
    clock,
    fetch: async (url, init) => {
      if (answer === null || !url.endsWith("/v1/sessions/s")) return await app.request(url, init);
      return await answer();
    },
  });
  const session = new Session(client, { name: "s", onChange: () => {}, clock });
  await session.send("one", null);
  const shown = session.items;
  for (const status of [500, 503]) {
    answer = () => Promise.resolve(Response.json({ code: "internal" }, { status }));
    await session.refresh();
    deepEqual([session.standing, session.items === shown], ["idle", true], `${status}`);
  }
  const held = Promise.withResolvers<Response>();
  answer = () => held.promise;
  const refreshed = session.refresh();
  const gate = Promise.withResolvers<void>();
  isOpen = gate.promise;
  const sent = session.send("two", null);
  equal(session.standing, "running");
  answer = null;
  held.resolve(Response.json({ code: "session_not_found" }, { status: 404 }));
  await refreshed;
  deepEqual([session.standing, session.items === shown], ["running", true], "not read again");
  gate.resolve();
  await sent;
  equal(session.standing, "idle");
});

Deno.test("Session shows what was said to a running turn until the turn has heard it", async () => {
  const clock = new ManualClock();
  const gate = Promise.withResolvers<void>();
  let calls = 0;
  const model = scripted({
    script: () => calls++ === 0 ? { text: "First." } : { text: "Second." },
    pause: () => gate.promise,
  });
  const app = createApp({ agents: { default: { model } }, store: memoryStore(), clock });
  const client = createClient({
    url: "http://127.0.0.1",
    maxTries: 1,
    clock,
    fetch: async (url, init) => await app.request(url, init),
  });
  const begun = Promise.withResolvers<void>();
  const heard: (readonly string[])[] = [];
  const session: Session = new Session(client, {
    name: "s",
    clock,
    onChange: () => {
      heard.push(session.unheard);
      if (session.agent !== null) begun.resolve();
    },
  });
  const turn = session.send("one", null);
  await begun.promise;
  await session.send("two", null);
  deepEqual(session.unheard, ["two"], "it waits");
  gate.resolve();
  await turn;
  deepEqual(session.unheard, []);
  deepEqual(session.items.all.flatMap((item) => item.kind === "user" ? item.text : []), ["one", "two"]);
  const at = heard.findIndex((texts) => texts.length > 0);
  equal(heard.slice(at).findIndex((texts) => texts.length === 0) > 0, true, "it was drawn meanwhile");
});
