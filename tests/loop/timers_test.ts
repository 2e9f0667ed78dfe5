import { deepEqual, equal } from "node:assert/strict";
import fc from "fast-check";
import { callAfter } from "../../src/loop/timers.ts";
import { runs } from "../support/runs.ts";

/** The machine's timers and its time, by hand. */
function byHand<T>(
  play: (machine: { advance(ms: number): void; timers(): number; made(): number }) => T,
): T {
  const { clearTimeout, setTimeout } = globalThis;
  const { now } = performance;
  let time = 1_000;
  let ids = 0;
  const timers = new Map<number, { readonly at: number; readonly call: () => void }>();
  globalThis.setTimeout = ((call: () => void, ms: number) => {
    timers.set(++ids, { at: time + ms, call });
    return ids;
  }) as unknown as typeof setTimeout;
  globalThis.clearTimeout = ((id: number) => void timers.delete(id)) as unknown as typeof clearTimeout;
  performance.now = () => time;
  try {
    return play({
      advance(ms) {
        for (const until = time + ms; time < until;) {
          time++;
          for (const [id, { at, call }] of timers) if (at <= time && timers.delete(id)) call();
        }
      },
      timers: () => timers.size,
      made: () => ids,
    });
  } finally {
    Object.assign(globalThis, { clearTimeout, setTimeout });
    performance.now = now;
  }
}

Deno.test("callAfter() calls at the right time, in order, what was not taken back, and leaves no timer", () => {
  const sleep = fc.record({
    begin: fc.nat(300),
    ms: fc.nat(200),
    back: fc.option(fc.nat(300), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(sleep, { maxLength: 60 }), (sleeps) =>
      byHand(({ advance, timers }) => {
        const called: (readonly [number, number])[] = [];
        const takeBack = new Map<number, () => void>();
        let now = 0;
        for (; now <= 600; now++) {
          sleeps.forEach(({ begin, ms, back }, n) => {
            if (back === now) takeBack.get(n)?.();
            if (begin === now) takeBack.set(n, callAfter(ms, () => called.push([n, now])));
          });
          // One timer for all of them.
          equal(timers() <= 1, true);
          advance(1);
        }
        // What is due in a moment is called while that moment passes.
        const wanted = sleeps.flatMap(({ begin, ms, back }, n) => {
          const time = begin + Math.max(ms, 1) - 1;
          return back !== undefined && back > begin && back <= time ? [] : [[n, time]];
        });
        deepEqual(called.toSorted(([a], [b]) => a - b), wanted);
        deepEqual(called.map(([, time]) => time), called.map(([, time]) => time).toSorted((a, b) => a - b));
        equal(timers(), 0);
      })),
    runs(),
  );
});

Deno.test("callAfter() wakes a first that comes later than another, after that one was taken back", () => {
  byHand(({ advance, timers }) => {
    const called: string[] = [];
    callAfter(100, () => called.push("late"));
    const takeBack = callAfter(10, () => called.push("early"));
    takeBack();
    advance(99);
    deepEqual(called, []);
    advance(1);
    deepEqual(called, ["late"]);
    equal(timers(), 0);
  });
});

Deno.test("callAfter() makes one timer for what a short turn waits for, the longest first", () => {
  byHand(({ advance, timers, made }) => {
    const takeBack = [10_000, 1_000, 250, 30_000].map((ms) => callAfter(ms, () => {}));
    advance(20);
    takeBack.push(callAfter(50, () => {}));
    takeBack.forEach((take) => take());
    equal(made(), 1);
    equal(timers(), 0);
  });
});

Deno.test("callAfter() does not wake all the time for one that is far off", () => {
  byHand(({ advance, made }) => {
    let calls = 0;
    callAfter(10_000, () => calls++);
    advance(10_000);
    equal(calls, 1);
    equal(made(), 2);
  });
});

Deno.test("callAfter() lets a call begin another, also at once", () => {
  byHand(({ advance }) => {
    const called: string[] = [];
    callAfter(5, () => {
      called.push("first");
      callAfter(0, () => called.push("second"));
    });
    advance(5);
    deepEqual(called, ["first", "second"]);
  });
});

Deno.test("callAfter() waits longer than a timer of the machine can", () => {
  byHand(({ timers }) => {
    const takeBack = [2 ** 31, Infinity].map((ms) => callAfter(ms, () => {}));
    equal(timers(), 1);
    takeBack.forEach((take) => take());
    equal(timers(), 0);
  });
});
