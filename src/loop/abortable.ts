/**
 * Iteration that an abort ends at once, whatever the source does.
 *
 * @module
 */

const NOTHING = (): void => {};

/**
 * Iterates a source until it ends or the signal aborts. A source that ignores the signal cannot hold the turn:
 * the pending read is left behind and the source is told to return.
 *
 * @param source What to iterate, from one place and one item at a time.
 * @param signal Its reason is thrown when it aborts.
 */
export function abortable<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncIterableIterator<T, void> {
  return new Abortable(source[Symbol.asyncIterator](), signal);
}

/** No generator: every delta of a model goes through here, and each would wait for several more promises. */
class Abortable<T> implements AsyncIterableIterator<T, void> {
  readonly #source: AsyncIterator<T>;
  readonly #signal: AbortSignal;
  /** Ends the wait under way. */
  #abort = NOTHING;
  #isOver = false;
  readonly #onAbort = (): void => this.#abort();

  constructor(source: AsyncIterator<T>, signal: AbortSignal) {
    this.#source = source;
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, void>> {
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    // Each wait has a promise of its own: a race against one for the whole stream would keep every delta until its end.
    return new Promise((resolve, reject) => {
      this.#abort = () => {
        this.#end();
        void tellToReturn(this.#source);
        reject(this.#signal.reason);
      };
      if (this.#signal.aborted) return this.#abort();
      readFrom(this.#source).then((result) => {
        if (result.done === true) this.#end();
        this.#abort = NOTHING;
        resolve(result);
      }, (error) => {
        this.#end();
        reject(error);
      });
    });
  }

  async return(): Promise<IteratorResult<T, void>> {
    if (!this.#isOver) {
      this.#isOver = true;
      await new Promise<void>((resolve) => {
        this.#abort = resolve;
        if (this.#signal.aborted) resolve();
        void tellToReturn(this.#source).then(resolve);
      });
      this.#end();
    }
    return { done: true, value: undefined };
  }

  #end(): void {
    this.#isOver = true;
    this.#abort = NOTHING;
    this.#signal.removeEventListener("abort", this.#onAbort);
  }
}

/** Reads one item; what a source throws at once is a failure like any other. */
function readFrom<T>(source: AsyncIterator<T>): Promise<IteratorResult<T, void>> {
  try {
    return Promise.resolve(source.next());
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Tells a source that nobody listens any more. */
async function tellToReturn(source: AsyncIterator<unknown>): Promise<void> {
  try {
    await source.return?.();
  } catch {
    // How a source stops changes nothing for what it has given: an answer that is whole stays so.
  }
}
