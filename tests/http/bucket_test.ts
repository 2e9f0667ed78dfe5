import { deepEqual, equal } from "node:assert/strict";
import { type Bucket, filled, giveBack, take } from "../../src/http/bucket.ts";

const LIMIT = 10;

/** A bucket that is changed step by step, in which any id may be taken and given back. */
class Minute {
  #bucket: Bucket | undefined;
  now = 0;

  get left(): number {
    return this.#found().left;
  }

  /** Gives it back when it is called; null where none is left. */
  take(turn: string | null): (() => void) | null {
    const taken = take(this.#found(), turn);
    if (taken === null) return null;
    this.#bucket = taken.bucket;
    const { isCharged } = taken;
    return () => this.#bucket = giveBack(this.#found(), { turn, isCharged, limit: LIMIT });
  }

  #found() {
    return filled(this.#bucket, { limit: LIMIT, now: this.now });
  }
}

Deno.test("take() takes a turn once that several requests ask for", () => {
  const minute = new Minute();
  const [one, two, three] = [minute.take("t"), minute.take("t"), minute.take("t")];
  equal(minute.left, 9);
  one?.();
  two?.();
  equal(minute.left, 9, "one of them has started it");
  three?.();
  equal(minute.left, 10, "none has");
  minute.take("t");
  minute.take("u");
  minute.take(null);
  minute.take(null);
  equal(minute.left, 6);
});

Deno.test("take() has a turn for who asks for the same one where no other is left", () => {
  const minute = new Minute();
  for (let n = 0; n < LIMIT; n++) minute.take(`t${n}`);
  equal(minute.take("other"), null);
  equal(minute.take(null), null);
  minute.take("t3")?.();
  equal(minute.left, 0);
});

Deno.test("giveBack() gives back once, to whoever paid, what is known no more", () => {
  const minute = new Minute();
  const [one, two] = [minute.take("t"), minute.take("t")];
  for (let n = 0; n < LIMIT - 1; n++) minute.take(null);
  minute.now += 15_000;
  equal(minute.left, 2.5);
  two?.();
  equal(minute.left, 2.5);
  one?.();
  equal(minute.left, 3.5);
});

Deno.test("filled() fills up steadily, whichever way the clock goes, and knows a bounded number of turns", () => {
  deepEqual(filled({ left: 0, at: 1_000 }, { limit: LIMIT, now: 7_000 }), { left: 1, at: 7_000, shared: {} });
  deepEqual(filled({ left: 0, at: 1_000 }, { limit: LIMIT, now: 0 }), { left: 0, at: 1_000, shared: {} });
  equal(filled({ left: 9, at: 0 }, { limit: LIMIT, now: 60_000 }).left, LIMIT);
  const shared = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`t${n}`, { requests: 1, at: 0 }]));
  equal(Object.keys(filled({ left: 1, at: 0, shared }, { limit: LIMIT, now: 0 }).shared).length, 100);
});
