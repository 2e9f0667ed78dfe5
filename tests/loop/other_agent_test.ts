/** Sessions that go on with another agent: the last bill was for something else. */
import assert from "node:assert/strict";
import { Bench, endOf, eventsOf, prose, replies } from "../support/turns.ts";
import { compactions, reads, times, tools } from "./_reads.ts";

Deno.test("another model does not believe the bill of the last", async () => {
  const bench = new Bench({ tools, window: 8_000, script: replies(reads(1_000), { text: "Read." }) });
  await bench.run("Go");
  const model = { ...bench.agent.model, id: "other" };
  const before = eventsOf(await bench.run("Go on"), "context").at(-1)?.tokens ?? 0;
  const events = await bench.run("Go on", { agent: { ...bench.agent, model } });
  assert.equal(endOf(events), "stop");
  const head = (await bench.assertSound()).head.meter as { model: string };
  assert.equal(head.model, "other");
  assert.ok(before > 0);
});

Deno.test("an agent with another system text does not believe the bill of the last", async () => {
  const bench = new Bench({
    tools,
    window: 16_000,
    script: replies(...times(15, () => reads(2_000)), { text: "Read." }),
  });
  await bench.run("Go");
  // 7,500 tokens more that no bill knows of: without a compaction the next request would not fit.
  const agent = { ...bench.agent, system: prose(30_000) };
  const events = await bench.run("Go on", { agent });
  assert.equal(endOf(events), "stop");
  const reasons = compactions(events);
  assert.ok(reasons.length > 0 && !reasons.join().includes("context_length_exceeded"), reasons.join());
});
