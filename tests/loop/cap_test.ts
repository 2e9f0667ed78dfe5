/** How long a result is shown from the start: its share of the room that is left. */
import assert from "node:assert/strict";
import { endOf, eventsOf, replies } from "../support/turns.ts";
import { reads, soundly } from "./_reads.ts";

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
