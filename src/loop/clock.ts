/**
 * The clock of the machine.
 *
 * @module
 */
import type { Clock } from "../ports.ts";
import { callAfter } from "./timers.ts";

/** Real time. Sleeping holds no timer once the signal has aborted. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        takeBack();
        reject(signal?.reason);
      };
      const takeBack = callAfter(ms, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  },
};
