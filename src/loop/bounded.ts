/**
 * Work of others, which may fail to end: it gets a time, and is told when it is up.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Clock } from "../ports.ts";
import { callLater } from "./later.ts";

/** What came of the work. */
export type Bounded<T> = { readonly kind: "done"; readonly value: T } | { readonly kind: "late" | "aborted" };

/** One for all: an error with its stack for each piece of work would cost as much as a small tool. */
const DONE = new SelvageError("tool_done", "The call has its result");

function isThenable<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/**
 * Runs something until it is done, its time is up, or the signal aborts; whatever it does after that is its own affair.
 *
 * @param work Gets a signal that aborts when nobody waits for it any more; most work never asks for it.
 * @param options `timeoutMs`: milliseconds.
 * @throws What the work throws in time.
 */
export async function bounded<T>(
  work: (signal: () => AbortSignal) => T | Promise<T>,
  { signal, clock, timeoutMs }: {
    readonly signal: AbortSignal;
    readonly clock: Clock;
    readonly timeoutMs: number;
  },
): Promise<Bounded<T>> {
  let made: AbortController | undefined;
  let isOver = false;
  let giveUp = (): void => {};
  let takeBack = (): void => {};
  const onAbort = (): void => {
    giveUp();
    made?.abort(signal.reason);
  };
  // Made for those who ask: most work has no use for it, and it costs more than a small tool.
  const stopper = (): AbortController => {
    if (made !== undefined) return made;
    made = new AbortController();
    if (isOver) made.abort(DONE);
    else if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    return made;
  };
  try {
    const value = work(() => stopper().signal);
    // What is there at once needs nobody to watch the time.
    if (!isThenable(value)) return { kind: "done", value };
    return await new Promise<Bounded<T>>((resolve, reject) => {
      giveUp = () => resolve({ kind: "aborted" });
      const onLate = (): void => {
        resolve({ kind: "late" });
        made?.abort(new DOMException(`It did not finish in ${timeoutMs} ms`, "TimeoutError"));
      };
      takeBack = callLater(timeoutMs, { clock, call: onLate, fail: reject });
      // Once, also where the work has asked for its signal.
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
      value.then((value) => resolve({ kind: "done", value }), reject);
    });
  } finally {
    isOver = true;
    takeBack();
    signal.removeEventListener("abort", onAbort);
    made?.abort(DONE);
  }
}
