/**
 * Going down: no new turns, running ones store what they did and end.
 *
 * @module
 */

/** Knows the running turns, and ends them. */
export class Drain {
  readonly #stop = new AbortController();
  #running = 0;
  #onEmpty: (() => void) | null = null;

  /** Aborts when the service goes down. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Turns that run now. */
  get running(): number {
    return this.#running;
  }

  /** Notes a turn; call what it returns when the turn has ended. */
  enter(): () => void {
    this.#running++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.#running === 0) this.#onEmpty?.();
    };
  }

  /** Refuses new turns and cancels running ones; resolves when the last has ended. */
  start(): Promise<void> {
    this.#stop.abort(new DOMException("The service is going down", "AbortError"));
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty = resolve);
  }
}
