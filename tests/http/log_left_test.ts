/** What the log tells of turns that their process has left. */
import { deepEqual } from "node:assert/strict";
import { createApp, type LogEntry } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import { readFrames } from "../support/sse.ts";
import { replies, waitingTool, withCommit } from "../support/turns.ts";

/** A turn whose process has died behind its first call, and an app on the same store that logs. */
async function diedApp() {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  let isDead = false;
  const never = (): Promise<never> => new Promise(() => {});
  const mortal = {
    ...withCommit(store, (key, lease, commit) => isDead ? never() : store.commit(key, lease, commit)),
    renew: (...of: Parameters<typeof store.renew>) => isDead ? never() : store.renew(...of),
  };
  const { tool: slow } = waitingTool();
  const script = replies({ calls: [{ name: "slow", input: {} }] }, { text: "Done." }, { text: "Again." });
  const agents = { default: { model: scripted({ script }), tools: [slow] } };
  const auth = () => ({ tenant: "acme" });
  const options = { agents, clock, auth, newId: (kind: string) => `${kind}-1` };
  const dying = createApp({ ...options, store: mortal });
  const entries: LogEntry[] = [];
  const log = (entry: LogEntry) => void entries.push(entry);
  const app = createApp({ ...options, store, log, newId: (kind: string) => `${kind}-2` });
  const body = JSON.stringify({ input: "go", session: "s" });
  const frames = readFrames(await dying.request("/v1/turns", { method: "POST", body }));
  for (;;) {
    const { value } = await frames.next();
    if (value?.event === "tool.call") break;
  }
  await clock.advance(1_000);
  isDead = true;
  await clock.advance(11_000);
  return { app, entries, body };
}

Deno.test("the log tells of a turn that is taken over, and from which step", async () => {
  const { app, entries } = await diedApp();
  await (await app.request("/v1/turns/turn-1/events")).text();
  const told = entries.find(({ event }) => event === "turn.taken_over");
  const place = { tenant: "acme", user: undefined, session: "s", turn: "turn-1", request: undefined };
  deepEqual(told, { level: "warn", event: "turn.taken_over", ...place, step: 1 });
  deepEqual(entries.map(({ event }) => event).slice(0, 2), ["request", "turn.taken_over"]);
});

Deno.test("the log tells of a turn that its process had left and that a new one closes", async () => {
  const { app, entries, body } = await diedApp();
  await (await app.request("/v1/turns", { method: "POST", body })).text();
  const closed = entries.find(({ event }) => event === "turn.closed");
  deepEqual([closed?.level, closed?.["turn"], closed?.["session"]], ["warn", "turn-1", "s"]);
});
