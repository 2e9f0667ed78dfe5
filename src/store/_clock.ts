/**
 * The clock of the machine, for stores that are given no other.
 *
 * @module
 */
import type { Clock } from "../ports.ts";

/** Real time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      function onAbort(): void {
        clearTimeout(timer);
        reject(signal?.reason);
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, ms);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  },
};
