/**
 * Work of others, which may fail to end: it gets a time, and is told when it is up.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Clock } from "../ports.ts";

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
  const onAbort = (): void => made?.abort(signal.reason);
  // Made for those who ask: work that is done at once has no use for it, and it costs more than a small tool.
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
    const stop = stopper();
    const aborted = new Promise<Bounded<T>>((resolve) => {
      stop.signal.addEventListener("abort", () => resolve({ kind: "aborted" }), { once: true });
    });
    const late = clock.sleep(timeoutMs, stop.signal).then(
      (): Bounded<T> => ({ kind: "late" }),
      (): Bounded<T> => ({ kind: "aborted" }),
    );
    const done = (async (): Promise<Bounded<T>> => ({ kind: "done", value: await value }))();
    // The race has taken the rejection of what comes too late, too.
    const first = await Promise.race([done, late, aborted]);
    if (first.kind === "late") {
      stop.abort(new DOMException(`It did not finish in ${timeoutMs} ms`, "TimeoutError"));
    }
    return first;
  } finally {
    isOver = true;
    signal.removeEventListener("abort", onAbort);
    made?.abort(DONE);
  }
}
