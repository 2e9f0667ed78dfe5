/**
 * Iteration that an abort ends at once, whatever the source does.
 *
 * @module
 */

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
  // Each wait has a promise of its own: a race against one for the whole stream would keep every delta until its end.
  let fail = (_: unknown): void => {};
  const onAbort = (): void => fail(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });

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

  return {
    next() {
      if (isOver) return Promise.resolve({ done: true, value: undefined });
      return new Promise((resolve, reject) => {
        fail = (reason) => {
          end();
          void giveUp();
          reject(reason);
        };
        if (signal.aborted) return onAbort();
        const onFailure = (error: unknown): void => {
          end();
          reject(error);
        };
        try {
          // A source that somebody else has written may give what is no promise.
          Promise.resolve(iterator.next()).then((result) => {
            try {
              if (result.done === true) end();
              resolve(result as IteratorResult<T, void>);
            } catch (error) {
              // Or what is no result: nobody waits for what this would throw.
              onFailure(error);
            }
          }, onFailure);
        } catch (error) {
          onFailure(error);
        }
      });
    },
    return() {
      if (isOver) return Promise.resolve({ done: true, value: undefined });
      return new Promise((resolve) => {
        const done = (): void => {
          end();
          resolve({ done: true, value: undefined });
        };
        // An abort ends the wait for its answer.
        fail = done;
        void giveUp().then(done);
        if (signal.aborted) done();
      });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
