import assert from "node:assert/strict";
import { abortable } from "../../src/loop/abortable.ts";

interface Probe {
  readonly source: AsyncIterable<number>;
  returned: number;
}

/** Counts 0, 1, 2, … and hangs, fails or goes on at `end`. */
function probe(end: number, how: "ends" | "hangs" | "fails", onReturn: "returns" | "hangs" | "fails"): Probe {
  const made: Probe = {
    returned: 0,
    source: {
      [Symbol.asyncIterator]() {
        let n = 0;
        return {
          next(): Promise<IteratorResult<number>> {
            if (n < end) return Promise.resolve({ done: false, value: n++ });
            if (how === "hangs") return new Promise(() => {});
            if (how === "fails") return Promise.reject(new Error("broken"));
            return Promise.resolve({ done: true, value: undefined });
          },
          return(): Promise<IteratorResult<number>> {
            made.returned++;
            if (onReturn === "hangs") return new Promise(() => {});
            if (onReturn === "fails") return Promise.reject(new Error("cannot stop"));
            return Promise.resolve({ done: true, value: undefined });
          },
        };
      },
    },
  };
  return made;
}

async function collect(source: AsyncIterable<number>, signal: AbortSignal, onItem = (_: number) => {}) {
  const seen: number[] = [];
  for await (const item of abortable(source, signal)) {
    seen.push(item);
    onItem(item);
  }
  return seen;
}

Deno.test("abortable() gives what the source gives, and does not tell an ended one to return", async () => {
  const made = probe(3, "ends", "fails");
  assert.deepEqual(await collect(made.source, new AbortController().signal), [0, 1, 2]);
  assert.equal(made.returned, 0);
});

Deno.test("abortable() throws what the source throws", async () => {
  await assert.rejects(collect(probe(1, "fails", "returns").source, new AbortController().signal), /broken/);
});

Deno.test("abortable() throws what a source throws before there is a promise, and lets go of the signal", async () => {
  const source: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next() {
        throw new Error("at once");
      },
      return: () => Promise.reject(new Error("not asked for")),
    }),
  };
  const stop = new AbortController();
  const read = abortable(source, stop.signal);
  await assert.rejects(read.next(), /at once/);
  stop.abort(new Error("later"));
  assert.deepEqual(await read.next(), { done: true, value: undefined });
});

Deno.test("abortable() takes what is no promise from a source that somebody else has written", async () => {
  let n = 0;
  const next = () => ({ done: n === 2, value: n++ });
  const source = { [Symbol.asyncIterator]: () => ({ next }) } as unknown as AsyncIterable<number>;
  assert.deepEqual(await collect(source, new AbortController().signal), [0, 1]);
});

Deno.test("abortable() throws where what a source gives is no result, and leaves nothing behind that nobody waits for", async () => {
  const results: readonly unknown[] = [undefined, null, {
    get done() {
      throw new TypeError("no result");
    },
  }];
  for (const result of results) {
    const next = () => Promise.resolve(result);
    const source = { [Symbol.asyncIterator]: () => ({ next }) } as unknown as AsyncIterable<number>;
    await assert.rejects(collect(source, new AbortController().signal), TypeError);
  }
});

Deno.test.each([["returns"], ["hangs"], ["fails"]] as const)(
  "abortable() ends at once when it aborts, where the source hangs and its return %s",
  async (onReturn) => {
    const stop = new AbortController();
    const made = probe(2, "hangs", onReturn);
    const ended = collect(made.source, stop.signal, (item) => {
      if (item === 1) queueMicrotask(() => stop.abort(new Error("enough")));
    });
    await assert.rejects(ended, /enough/);
    assert.equal(made.returned, 1);
    await Promise.resolve();
  },
);

Deno.test("abortable() throws where the signal has aborted already", async () => {
  const ended = collect(probe(0, "hangs", "returns").source, AbortSignal.abort(new Error("before")));
  await assert.rejects(ended, /before/);
});

Deno.test.each([["returns"], ["fails"]] as const)(
  "abortable() lets its listener leave early, where the return of the source %s",
  async (onReturn) => {
    const made = probe(5, "ends", onReturn);
    for await (const item of abortable(made.source, new AbortController().signal)) if (item === 1) break;
    assert.equal(made.returned, 1);
  },
);

Deno.test("abortable() is let go by an abort where the return of the source hangs", async () => {
  const stop = new AbortController();
  const made = probe(5, "ends", "hangs");
  const left = (async () => {
    for await (const item of abortable(made.source, stop.signal)) if (item === 1) break;
    return "left";
  })();
  await new Promise((resolve) => setTimeout(resolve, 0));
  stop.abort(new Error("enough"));
  assert.equal(await left, "left");
});

Deno.test("abortable() listens to the signal only while it runs", async () => {
  const { signal } = new AbortController();
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
  signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args));
  await collect(probe(50, "ends", "returns").source, signal);
  assert.equal(listeners, 0);
});
