/**
 * How often a thing is done that may be asked for at any time.
 *
 * @module
 */

/** Milliseconds from one time to the next: some times as long as the last one took, within these. */
const PAUSE_MS = { least: 250, most: 2_000, share: 4 } as const;

/** Does something when asked to, not more often than it is worth; what is asked for meanwhile is done once behind it. */
export class Pace {
  readonly #once: () => Promise<void>;
  #isAtIt = false;
  #isAsked = false;

  /** Makes it. */
  constructor(once: () => Promise<void>) {
    this.#once = once;
  }

  /** Asks for it. */
  async ask(): Promise<void> {
    if (this.#isAtIt) {
      this.#isAsked = true;
      return;
    }
    this.#isAtIt = true;
    const began = performance.now();
    await this.#once();
    const took = performance.now() - began;
    setTimeout(() => {
      this.#isAtIt = false;
      if (!this.#isAsked) return;
      this.#isAsked = false;
      void this.ask();
    }, Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, PAUSE_MS.share * took)));
  }
}
