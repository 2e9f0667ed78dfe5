/** A small form of `deno task test:hostile`. */
import { deepEqual, ok } from "node:assert/strict";
import { runHostile } from "./run.ts";

Deno.test("600 hostile requests get no answer that they should not get, and hold nothing up", async () => {
  const { faults, requests, statuses } = await runHostile({ count: 600, seed: 20_261_001 });
  deepEqual(faults, []);
  ok(requests >= 600 && Object.keys(statuses).length > 4, JSON.stringify(statuses));
});
