import assert from "node:assert/strict";
import { ManualClock } from "./clock.ts";

Deno.test("ManualClock.advance() wakes due sleepers in order, each at its own time", async () => {
  const clock = new ManualClock(1_000);
  const woken: [string, number][] = [];
  const log = (name: string) => () => void woken.push([name, clock.now()]);
  const sleeps = [
    clock.sleep(30).then(log("c")),
    clock.sleep(10).then(log("a")),
    clock.sleep(10).then(log("b")).then(() => clock.sleep(5)).then(log("again")),
    clock.sleep(100).then(log("late")),
  ];
  await clock.advance(30);
  assert.deepEqual(woken, [["a", 1_010], ["b", 1_010], ["again", 1_015], ["c", 1_030]]);
  assert.deepEqual(clock.sleeping, [100]);
  await clock.advance(70);
  await Promise.all(sleeps);
  assert.equal(clock.now(), 1_100);
});

Deno.test("ManualClock.sleep() ends with the signal's reason", async () => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const sleep = clock.sleep(10, controller.signal);
  controller.abort("enough");
  await assert.rejects(sleep, (reason) => reason === "enough");
  await assert.rejects(clock.sleep(10, controller.signal), (reason) => reason === "enough");
  assert.deepEqual(clock.sleeping, []);
});

Deno.test("ManualClock.untilSleeping() waits for a sleep of the length asked for", async () => {
  const clock = new ManualClock();
  const long = clock.untilSleeping((ms) => ms > 50);
  const sleeps = [clock.sleep(10), clock.sleep(60)];
  await long;
  await clock.advance(60);
  await Promise.all(sleeps);
});
