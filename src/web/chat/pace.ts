/**
 * How often a thing is done that may be asked for at any time.
 *
 * @module
 */

import type { Clock } from "../../ports.ts";

/** Milliseconds from one time to the next: some times as long as the last one took, within these. */
const PAUSE_MS = { least: 250, most: 2_000, share: 4 } as const;

/** Does something when asked to, not more often than it is worth; what is asked for meanwhile is done once behind it. */
export class Pace {
  readonly #once: () => Promise<void>;
  readonly #clock: Clock;
  #isAtIt = false;
  #isAsked = false;

  /** Makes it. */
  constructor(once: () => Promise<void>, clock: Clock) {
    this.#once = once;
    this.#clock = clock;
  }

  /** Asks for it. */
  async ask(): Promise<void> {
    if (this.#isAtIt) {
      this.#isAsked = true;
      return;
    }
    this.#isAtIt = true;
    const began = this.#clock.now();
    try {
      await this.#once();
    } finally {
      // One that failed is no reason to stop.
      void this.#rest(this.#clock.now() - began);
    }
  }

  async #rest(took: number): Promise<void> {
    await this.#clock.sleep(Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, PAUSE_MS.share * took)));
    this.#isAtIt = false;
    if (!this.#isAsked) return;
    this.#isAsked = false;
    await this.ask();
  }
}
