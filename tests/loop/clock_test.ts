import assert from "node:assert/strict";
import { systemClock } from "../../src/loop/clock.ts";

Deno.test("systemClock sleeps, and lets go of the signal", async () => {
  const { signal } = new AbortController();
  const added: unknown[] = [];
  const removed: unknown[] = [];
  signal.addEventListener = (_: string, listener: unknown) => added.push(listener);
  signal.removeEventListener = (_: string, listener: unknown) => removed.push(listener);
  await systemClock.sleep(1, signal);
  assert.equal(added.length, 1);
  assert.deepEqual(removed, added);
});

Deno.test("systemClock stops a sleep whose signal aborts", async () => {
  const controller = new AbortController();
  const sleep = systemClock.sleep(60_000, controller.signal);
  controller.abort(new Error("enough"));
  await assert.rejects(sleep, /enough/);
  await assert.rejects(systemClock.sleep(60_000, controller.signal), /enough/);
});

Deno.test("systemClock tells the time of the machine", () => {
  const before = Date.now();
  const now = systemClock.now();
  assert.ok(now >= before && now <= Date.now());
});

Deno.test("systemClock does not wake at once from a sleep that is longer than a timer can be", async () => {
  const stop = new AbortController();
  let isAwake = false;
  const sleeps = [2 ** 31, Infinity].map((ms) =>
    systemClock.sleep(ms, stop.signal).then(() => isAwake = true, () => {})
  );
  await systemClock.sleep(5);
  stop.abort();
  await Promise.all(sleeps);
  assert.equal(isAwake, false);
});
