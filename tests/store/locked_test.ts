import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import type { Clock } from "../../src/ports.ts";
import { whileLocked } from "../../src/store/_locked.ts";

/** A clock on which a sleep takes no time but moves it on. */
function leapingClock(): Clock & { readonly slept: readonly number[] } {
  let now = 0;
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    sleep(ms) {
      slept.push(ms);
      now += ms;
      return Promise.resolve();
    },
  };
}

/** Fails as an SQLite file does while somebody else writes. */
function fail(): Promise<never> {
  return Promise.reject(new TypeError("database is locked"));
}

Deno.test("whileLocked() tries again after 2 to 15 ms until the lock is gone", async () => {
  const clock = leapingClock();
  let attempts = 0;
  assert.equal(await whileLocked(() => ++attempts < 50 ? fail() : Promise.resolve("done"), clock), "done");
  assert.equal(attempts, 50);
  assert.equal(clock.slept.length, 49);
  assert.ok(clock.slept.every((ms) => ms >= 2 && ms <= 15));
  assert.ok(new Set(clock.slept).size > 1);
});

Deno.test("whileLocked() gives up after 5 s", async () => {
  const clock = leapingClock();
  await assert.rejects(whileLocked(fail, clock), {
    code: "store_busy",
    cause: new TypeError("database is locked"),
  });
  assert.ok(clock.now() >= 5_000 && clock.now() < 5_015);
});

Deno.test("whileLocked() tells what a database fails with otherwise as store_unavailable", async () => {
  const clock = leapingClock();
  const cause = new TypeError("database or disk is full");
  await assert.rejects(whileLocked(() => Promise.reject(cause), clock), { code: "store_unavailable", cause });
  assert.equal(clock.slept.length, 0);
});

Deno.test("whileLocked() leaves alone what is too much for one piece, and what is an error of ours", async () => {
  const clock = leapingClock();
  await assert.rejects(
    whileLocked(() => Promise.reject(new TypeError("Value too large")), clock),
    /Value too large/,
  );
  const own = new SelvageError("store_corrupt", "Cannot read it");
  await assert.rejects(whileLocked(() => Promise.reject(own), clock), (error) => error === own);
  assert.equal(clock.slept.length, 0);
});
