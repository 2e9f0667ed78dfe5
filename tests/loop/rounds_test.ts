import { deepEqual, equal } from "node:assert/strict";
import { Rounds, roundsOf, type Task } from "../../src/loop/rounds.ts";
import { ManualClock } from "../support/clock.ts";

/** A task that notes its name. */
function task(name: string, told: string[], then: () => void = () => {}): Task {
  return {
    run: () => {
      told.push(name);
      then();
    },
    fail: (error) => void told.push(`${name}: ${error}`),
  };
}

Deno.test("Rounds have one timer for all that falls due within 50 ms, and run nothing too early", async () => {
  const clock = new ManualClock();
  const rounds = new Rounds(clock);
  const told: string[] = [];
  for (let n = 0; n < 100; n++) {
    rounds.schedule(task(`t${n}`, told), 1_000);
    await clock.advance(1);
  }
  equal(clock.sleeping.length, 3);
  await clock.advance(899);
  deepEqual(told, []);
  await clock.advance(1);
  deepEqual(told, ["t0"]);
  await clock.advance(100);
  equal(told.length, 100);
  deepEqual(clock.sleeping, []);
});

Deno.test("Rounds leave no timer where the last task of it is cancelled, or runs later", async () => {
  const clock = new ManualClock();
  const rounds = new Rounds(clock);
  const told: string[] = [];
  const [one, two] = [task("one", told), task("two", told)];
  rounds.schedule(one, 100);
  rounds.schedule(two, 100);
  rounds.cancel(one);
  rounds.cancel(one);
  equal(clock.sleeping.length, 1);
  rounds.schedule(two, 200);
  deepEqual(clock.sleeping, [200]);
  await clock.advance(100);
  deepEqual(told, []);
  await clock.advance(100);
  deepEqual(told, ["two"]);
  rounds.cancel(two);
  rounds.schedule(one, 0);
  rounds.cancel(one);
  await clock.advance(1_000);
  deepEqual([told, clock.sleeping], [["two"], []]);
});

Deno.test("Rounds let a task go on with itself, and end another one that is due with it", async () => {
  const clock = new ManualClock();
  const rounds = new Rounds(clock);
  const told: string[] = [];
  const other = task("other", told);
  const beat = task("beat", told, () => {
    rounds.cancel(other);
    if (told.length < 3) rounds.schedule(beat, 50);
  });
  rounds.schedule(beat, 50);
  rounds.schedule(other, 50);
  await clock.advance(1_000);
  deepEqual([told, clock.sleeping], [["beat", "beat", "beat"], []]);
});

Deno.test("Rounds tell every task that waits where the clock fails, and go on with another one", async () => {
  const clock = { now: () => 0, sleep: () => Promise.reject("no time") };
  const rounds = new Rounds(clock);
  const told: string[] = [];
  rounds.schedule(task("one", told), 50);
  rounds.schedule(task("two", told), 50);
  await new Promise((resolve) => setTimeout(resolve, 0));
  deepEqual(told, ["one: no time", "two: no time"]);
  equal(roundsOf(clock), roundsOf(clock));
});
