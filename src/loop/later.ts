/**
 * What is to be done later, and mostly is not: a promise and a signal for each, as a sleep has them, cost more than the
 * time that they measure.
 *
 * @module
 */
import type { Clock } from "../ports.ts";
import { systemClock } from "./clock.ts";
import { callAfter } from "./timers.ts";

/** Milliseconds by which {@link callAround} may be late: what falls due within them is done together. */
const SLOT_MS = 50;

/** One for all: an exception with its stack costs more than the timer. */
const TAKEN_BACK = new DOMException("Nothing is to be done then any more", "AbortError");

/** What is to be done. */
export interface Later {
  readonly clock: Clock;
  /** Called when it is due. */
  readonly call: () => void;
  /** Called with what `call` throws, and in its place where the clock fails; it must not throw. */
  readonly fail: (error: unknown) => void;
}

/**
 * Has something done after a time, by a clock.
 *
 * @param ms How long, in milliseconds.
 * @param later What is done.
 * @returns Takes it back. No timer is left then.
 */
export function callLater(ms: number, { clock, call, fail }: Later): () => void {
  const run = (): void => {
    try {
      call();
    } catch (error) {
      fail(error);
    }
  };
  if (clock === systemClock) return callAfter(ms, run);
  const stop = new AbortController();
  const { signal } = stop;
  const wait = async (): Promise<void> => {
    try {
      await clock.sleep(ms, signal);
    } catch (error) {
      if (!signal.aborted) fail(error);
      return;
    }
    // A sleep that is over tells so a moment later: what was taken back meanwhile is not done either.
    if (!signal.aborted) run();
  };
  void wait();
  return () => stop.abort(TAKEN_BACK);
}

/**
 * Has something done after a time or up to fifty milliseconds later, together with all that is due by then: of what
 * hundreds of turns wait for, each by itself would wake the process.
 *
 * @param ms How long, in milliseconds.
 * @param later What is done.
 * @returns Takes it back.
 */
export function callAround(ms: number, later: Later): () => void {
  const now = later.clock.now();
  return callLater(Math.ceil((now + ms) / SLOT_MS) * SLOT_MS - now, later);
}
