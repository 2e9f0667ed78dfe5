/** Histories that clients send. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { leaveTurn, readHistory } from "../../src/http/history.ts";
import type { SessionKey } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";

const KEY: SessionKey = { tenant: "a", session: "s" };

Deno.test("leaveTurn() stores a history with its turn as one that was left, and none over a log that is there", async () => {
  const store = memoryStore();
  const { imported } = readHistory([
    { role: "user", content: "Where?" },
    {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "c", toolName: "where", input: {} }],
    },
    {
      role: "tool",
      content: [{
        type: "tool-result",
        toolCallId: "c",
        toolName: "where",
        output: { type: "text", value: "Oslo" },
      }],
    },
  ]);
  const leave = (turn: string) =>
    leaveTurn(store, imported.entries, { key: KEY, agent: "default", turn, asked: {}, view: null });
  await leave("t1");
  const { entries, head } = (await store.read(KEY))!;
  deepEqual(entries.map(({ kind, turn }) => `${kind} ${turn}`), ["user t1", "assistant t1", "result t1"]);
  deepEqual([head.lease?.turn, head.lease?.expires], ["t1", 0]);
  await rejects(leave("t2"), { code: "turn_interrupted" }, "it goes on first");
  const { lease } = await store.acquire(KEY, {
    agent: "default",
    owner: "o",
    turn: "t1",
    ttlMs: 10_000,
    takeover: true,
  });
  await store.commit(KEY, lease, { release: true });
  await rejects(leave("t3"), { code: "history_mismatch" });
  const after = (await store.read(KEY))!;
  deepEqual(after.entries, entries);
  equal(after.head.lease ?? null, null, "it holds nothing");
});
