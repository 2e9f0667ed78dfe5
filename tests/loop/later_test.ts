import { deepEqual, equal } from "node:assert/strict";
import { systemClock } from "../../src/loop/clock.ts";
import { callAround, callLater, type Later } from "../../src/loop/later.ts";
import type { Clock } from "../../src/ports.ts";
import { ManualClock } from "../support/clock.ts";

/** Something that notes its name. */
function later(clock: Clock, told: string[], name = "call"): Later {
  return { clock, call: () => void told.push(name), fail: (error) => void told.push(`${name}: ${error}`) };
}

Deno.test("callLater() calls when it is time, and never what was taken back", async () => {
  const clock = new ManualClock();
  const told: string[] = [];
  const takeBack = callLater(100, later(clock, told, "one"));
  callLater(200, later(clock, told, "two"));
  takeBack();
  takeBack();
  deepEqual(clock.sleeping, [200]);
  await clock.advance(199);
  deepEqual(told, []);
  await clock.advance(1);
  deepEqual([told, clock.sleeping], [["two"], []]);
  takeBack();
  await clock.advance(1_000);
  deepEqual(told, ["two"]);
});

Deno.test("callLater() never calls what was taken back when its time had come", async () => {
  const told: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const takeBack = callLater(1, later({ now: () => 0, sleep: () => promise }, told));
  resolve();
  takeBack();
  await new Promise((done) => setTimeout(done, 0));
  deepEqual(told, []);
});

Deno.test("callLater() by the clock of the machine calls as by any other, and leaves no timer", async () => {
  const told: string[] = [];
  callLater(60_000, later(systemClock, told, "never"))();
  await new Promise<void>((resolve) =>
    callLater(0, { ...later(systemClock, told), call: () => (told.push("called"), resolve()) })
  );
  deepEqual(told, ["called"]);
});

Deno.test("callLater() tells what the call throws, and that the clock fails", async () => {
  const told: string[] = [];
  const clock = new ManualClock();
  for (const each of [systemClock, clock]) {
    const call = (): never => {
      throw "broken";
    };
    const { promise, resolve } = Promise.withResolvers<void>();
    callLater(1, { clock: each, call, fail: (error) => (told.push(String(error)), resolve()) });
    await clock.advance(1);
    await promise;
  }
  const asleep = (): never => {
    throw "no clock";
  };
  for (const sleep of [() => Promise.reject("no time"), asleep]) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const fail = (error: unknown) => (told.push(String(error)), resolve());
    callLater(1, { ...later({ now: () => 0, sleep }, told), fail });
    await promise;
  }
  deepEqual(told, ["broken", "broken", "no time", "no clock"]);
});

Deno.test("callAround() calls together what is due within 50 ms, and nothing too early", async () => {
  const clock = new ManualClock();
  const told: string[] = [];
  const times = new Set<number>();
  for (let n = 0; n < 100; n++) {
    callAround(1_000, { ...later(clock, told), call: () => (told.push(`t${n}`), times.add(clock.now())) });
    await clock.advance(1);
  }
  await clock.advance(899);
  deepEqual(told, []);
  await clock.advance(1);
  deepEqual(told, ["t0"]);
  await clock.advance(100);
  equal(told.length, 100);
  equal(times.size, 3);
  deepEqual(clock.sleeping, []);
});
