/** How often the page looks at what changes. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { Pace } from "../../src/web/chat/pace.ts";
import { ManualClock } from "../support/clock.ts";

Deno.test("Pace does once what was asked for often, not sooner than it is worth", async () => {
  const clock = new ManualClock();
  const times: number[] = [];
  const begin = clock.now();
  const pace = new Pace(async () => {
    times.push(clock.now() - begin);
    await clock.sleep(200);
  }, clock);
  for (let n = 0; n < 3; n++) void pace.ask();
  await clock.advance(999);
  deepEqual(times, [0]);
  await clock.advance(1);
  deepEqual(times, [0, 1_000], "four times as long as it took");
  await clock.advance(10_000);
  equal(times.length, 2, "nobody has asked again");
});

Deno.test("Pace goes on behind a time that failed", async () => {
  const clock = new ManualClock();
  let times = 0;
  const pace = new Pace(() => ++times === 1 ? Promise.reject(new Error("no")) : Promise.resolve(), clock);
  await rejects(pace.ask(), { message: "no" });
  void pace.ask();
  await clock.advance(250);
  equal(times, 2);
});
