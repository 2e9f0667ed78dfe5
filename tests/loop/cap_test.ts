/** How long a result is shown from the start: its share of the room that is left. */
import assert from "node:assert/strict";
import type { TurnEvent } from "../../src/loop/events.ts";
import { Bench, endOf, eventsOf, KEY, prose, replies } from "../support/turns.ts";
import { reads, soundly, tools } from "./_reads.ts";

Deno.test("a result larger than the window is shown shortened, and kept whole", async () => {
  const { bench, events } = await soundly({
    window: 16_000,
    script: replies(reads(5_000_000), { text: "Read." }),
  });
  assert.equal(endOf(events), "stop");
  const [result] = eventsOf(events, "tool.result");
  assert.equal(result?.shortened, true);
  assert.ok(String(result?.output).length < 20_000);
  assert.match(
    String(result?.output),
    /of 5000000 characters are left out here; the whole result is entry e1\.0/,
  );
  const entry = (await bench.state()).entries[2];
  assert.ok(entry?.kind === "result" && entry.output.type === "text");
  assert.equal(entry.output.value.length, 5_000_000);
});

Deno.test("parallel results share the room that is left", async () => {
  const { events } = await soundly({
    window: 16_000,
    script: replies(reads(60_000, 8), { text: "Read." }),
  });
  assert.equal(endOf(events), "stop");
  const sizes = eventsOf(events, "tool.result").map(({ output }) => String(output).length);
  assert.equal(sizes.length, 8);
  assert.ok(Math.min(...sizes) > 0.6 * Math.max(...sizes), `found ${sizes}`);
});

Deno.test("clients are told of a shortened result of a turn that was left as the model is: by the ref of its call", async () => {
  const bench = new Bench({ window: 16_000, tools, script: replies({ text: "Read." }) });
  const turn = "left";
  const { lease } = await bench.store.acquire(KEY, { agent: "default", owner: turn, turn, ttlMs: 1 });
  const at = bench.clock.now();
  const content = [{
    type: "tool-call" as const,
    toolCallId: "x",
    toolName: "read",
    input: { n: 1, length: 9_000 },
  }];
  const answer = { step: 1, reason: "tool-calls" as const, model: "scripted", prefix: "0.0" };
  const output = { type: "text" as const, value: prose(9_000) };
  const result = { step: 1, call: "e1.0", toolName: "read", status: "ok" as const, output, cap: 300, ms: 1 };
  await bench.store.commit(KEY, lease, {
    entries: [
      { kind: "user", seq: 0, turn, at, message: { role: "user", content: "Go" } },
      { kind: "assistant", seq: 1, turn, at, message: { role: "assistant", content }, ...answer },
      { kind: "result", seq: 2, turn, at, ...result },
    ],
    suspend: true,
  });
  assert.equal(endOf(await bench.run("Go on")), "stop");
  await bench.assertSound();
  const events = (await bench.store.events(KEY, turn, 0))?.events as readonly TurnEvent[];
  const [told] = eventsOf(events, "tool.result");
  assert.ok(told?.shortened);
  const shown = JSON.stringify(bench.requests.at(-1)?.messages);
  for (const text of [shown, String(told.output)]) assert.match(text, /the whole result is entry e1\.0\]/);
});
