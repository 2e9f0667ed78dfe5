/**
 * The clock of the machine.
 *
 * @module
 */
import type { Clock } from "../ports.ts";

/** The longest that a timer can run; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Real time. Sleeping holds no timer once the signal has aborted. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, Math.min(ms, LONGEST_MS));
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  },
};
