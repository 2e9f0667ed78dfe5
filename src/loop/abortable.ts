/**
 * Iteration that an abort ends at once, whatever the source does.
 *
 * @module
 */
import { DONE, type Taken } from "./iteration.ts";

/**
 * Iterates a source until it ends or the signal aborts. A source that ignores the signal cannot hold the turn: the
 * pending read is left behind and the source is told to return.
 *
 * An iterator and no generator: it stands in the way of every delta.
 *
 * @param source What to iterate.
 * @param signal Its reason is thrown when it aborts.
 */
export function abortable<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncIterableIterator<T, void> {
  const iterator = source[Symbol.asyncIterator]();
  let isOver = false;
  /** Who waits. Each wait has a promise of its own: a race against one for all would keep every delta to the end. */
  let waiting: PromiseWithResolvers<Taken<T>> | null = null;
  /** Ends the wait for the source's answer to a `return`, which an abort does, too. */
  let left = (): void => {};

  function end(): void {
    isOver = true;
    signal.removeEventListener("abort", onAbort);
  }

  /** Tells the source that nobody listens any more. How it stops changes nothing for what it has given. */
  async function giveUp(): Promise<void> {
    isOver = true;
    try {
      await iterator.return?.();
    } catch {
      // An answer that is whole stays so.
    }
  }

  function onAbort(): void {
    left();
    if (waiting === null) return;
    fail(signal.reason);
    void giveUp();
  }

  function fail(error: unknown): void {
    end();
    waiting?.reject(error);
    waiting = null;
  }

  function give(result: IteratorResult<T>): void {
    // It comes behind an abort.
    if (waiting === null) return;
    try {
      if (result.done === true) end();
      waiting.resolve(result as Taken<T>);
      waiting = null;
    } catch (error) {
      // It is no result: nobody waits for what this would throw.
      fail(error);
    }
  }

  signal.addEventListener("abort", onAbort, { once: true });
  return {
    next() {
      if (isOver) return Promise.resolve(DONE);
      const { promise } = waiting = Promise.withResolvers();
      if (signal.aborted) onAbort();
      else {
        try {
          // A source that somebody else has written may give what is no promise.
          Promise.resolve(iterator.next()).then(give, fail);
        } catch (error) {
          fail(error);
        }
      }
      return promise;
    },
    return() {
      if (isOver) return Promise.resolve(DONE);
      return new Promise((resolve) => {
        left = () => {
          end();
          resolve(DONE);
        };
        void giveUp().then(left);
        if (signal.aborted) left();
      });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
