/** A process that dies while it stores what a turn begins with, and the same request again at another one. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { kvStore } from "../../src/store/kv.ts";
import { ManualClock } from "../support/clock.ts";
import { tempFile, withKvSpy } from "../store/kv_rig.ts";

const LEASE_MS = 10_000;

/** The second is more than a database takes in one piece. */
const INPUTS = [["small", "Hello"], ["big", "word ".repeat(180_000)]] as const;

for (const [size, input] of INPUTS) {
  Deno.test(`a ${size} input that a killed process did not store is taken when its request comes again`, async () => {
    const clock = new ManualClock();
    const model = scripted({ window: 10_000_000, script: () => ({ text: "Seen." }) });
    const body = JSON.stringify({ session: "s1", input, stream: false, onDisconnect: "continue" });
    const start = async (path: string) => {
      const store = await kvStore({ path, clock });
      const app = createApp({ agents: { default: { model } }, store, clock });
      const post = () =>
        app.request("/v1/turns", { method: "POST", body, headers: { "idempotency-key": "k1" } });
      return { post, messages: () => app.request("/v1/sessions/s1/messages"), close: () => store.close() };
    };
    let isTaken = false;
    let deaths = 0;
    for (; !isTaken; deaths++) {
      using file = tempFile();
      await withKvSpy(async (spy) => {
        const dying = await start(file.path);
        spy.dieAfter(deaths);
        const { error } = console;
        // It says that it was killed.
        console.error = () => {};
        try {
          const { status } = await dying.post();
          isTaken = status === 200;
        } finally {
          console.error = error;
          dying.close();
        }
      });
      const next = await start(file.path);
      const { status: seen } = await next.messages();
      // A beginning that is stored has a lease, which runs out first.
      if (seen === 200) await clock.advance(LEASE_MS);
      const answer = await next.post();
      equal(answer.status, 200, `after ${deaths} writes`);
      const { text, reason } = await answer.json();
      deepEqual([text, reason], ["Seen.", "stop"], `after ${deaths} writes`);
      const { entries } = await (await next.messages()).json();
      deepEqual(entries.map(({ kind }: { kind: string }) => kind), ["user", "assistant"]);
      equal(entries[0].message.content, input);
      next.close();
    }
    ok(deaths > (size === "big" ? 5 : 2), `it died ${deaths} times`);
  });
}
