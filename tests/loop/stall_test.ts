/** What a slow summarizer costs the turn, in virtual time. */
import assert from "node:assert/strict";
import { measureStall, SUMMARY_MS } from "../bench/_stall.ts";
import { endOf } from "../support/turns.ts";

Deno.test("a summarizer that needs five seconds adds at most 50 ms to a turn that stays under stopAt", async () => {
  const alone = await measureStall("none", 50);
  const beside = await measureStall("background", 50);
  assert.equal(endOf(beside.events), "stop");
  assert.ok(beside.peak <= 1, `the ceiling was reached: ${beside.peak}`);
  assert.ok(beside.compactions >= 3, `only ${beside.compactions} compactions`);
  assert.equal(beside.withProse, beside.compactions);
  assert.ok(beside.ms - alone.ms <= 50, `${beside.ms - alone.ms} ms longer`);
  // The measure can tell: a loop that waits for each summary takes as much longer as they do.
  const blocking = await measureStall("blocking", 50);
  assert.ok(blocking.ms - alone.ms >= (SUMMARY_MS - 1_000) * blocking.compactions);
});
