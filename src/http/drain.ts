/**
 * Going down: no new turns; running ones finish the tools in hand, store what they did and can be taken up again.
 *
 * @module
 */

/**
 * Knows the running turns, and ends them.
 *
 * @example
 * ```ts
 * import { createApp, Drain, memoryStore, scripted } from "@selvage/selvage";
 *
 * const drain = new Drain();
 * const model = scripted({ script: () => ({ text: "Hello." }) });
 * const app = createApp({ agents: { default: { model } }, store: memoryStore(), drain });
 *
 * await drain.start(); // on SIGTERM; resolves when every turn has stored what it did
 * const { status } = await app.request("/v1/turns", { method: "POST", body: '{"input":"Hi"}' });
 * console.log(status); // 503
 * ```
 */
export class Drain {
  readonly #stop = new AbortController();
  #running = 0;
  #onEmpty: (() => void) | null = null;

  /** Aborts when the service goes down. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Turns that run now, and streams that tell of them. */
  get running(): number {
    return this.#running;
  }

  /** Notes a turn or a stream; call what it returns when it has ended. */
  enter(): () => void {
    this.#running++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.#running === 0) this.#onEmpty?.();
    };
  }

  /** Refuses new turns and has running ones put down, to be taken up elsewhere; resolves when the last has stored. */
  start(): Promise<void> {
    this.#stop.abort(new DOMException("The service is going down", "AbortError"));
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEmpty = resolve);
  }
}
