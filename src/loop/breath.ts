/**
 * Long work that leaves the rest of the process its turn: without a pause neither another turn nor the heartbeat of its
 * own lease would come to anything.
 *
 * @module
 */

/** Pieces between two looks at the time: a step of a few calls has no need of it. */
const LOOK_EVERY = 16;

/** Pieces as small as a delta between two looks: most answers have no more, and no cost. */
export const DELTAS = 128;

/** Milliseconds after which it pauses. */
const PAUSE_AFTER_MS = 20;

/** Lets everything else that is due be done. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Pauses between the pieces of one work. */
export class Breath {
  readonly #lookEvery: number;
  #pieces = 0;
  #since = performance.now();

  /** @param lookEvery Pieces between two looks at the time: the more, the smaller they are. */
  constructor(lookEvery: number = LOOK_EVERY) {
    this.#lookEvery = lookEvery;
  }

  /** Whether there has been no pause for long; to be asked behind each piece. */
  isDue(): boolean {
    return ++this.#pieces % this.#lookEvery === 0 && performance.now() - this.#since >= PAUSE_AFTER_MS;
  }

  /** Pauses, for those who were told that it is due. */
  async pause(): Promise<void> {
    await breathe();
    this.#since = performance.now();
  }

  /** To be called behind each piece; waits where there has been no pause for long. */
  async take(): Promise<void> {
    if (this.isDue()) await this.pause();
  }
}
