/**
 * Iteration that an abort ends at once, whatever the source does.
 *
 * @module
 */

/**
 * Iterates a source until it ends or the signal aborts. A source that ignores the signal cannot hold the turn:
 * the pending read is left behind and the source is told to return.
 *
 * @param source What to iterate.
 * @param signal Its reason is thrown when it aborts.
 */
export async function* abortable<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void> {
  const iterator = source[Symbol.asyncIterator]();
  let fail = (_: unknown): void => {};
  const onAbort = (): void => fail(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  // Each wait has a promise of its own: a race against one for the whole stream would keep every delta until its end.
  const unlessAborted = <R>(work: Promise<R>): Promise<R> =>
    new Promise((resolve, reject) => {
      fail = reject;
      if (signal.aborted) onAbort();
      work.then(resolve, reject);
    });
  let isOver = false;
  const next = async (): Promise<IteratorResult<T>> => {
    try {
      const result = await iterator.next();
      isOver = result.done === true;
      return result;
    } catch (error) {
      isOver = true;
      throw error;
    }
  };
  try {
    for (;;) {
      const result = await unlessAborted(next());
      if (result.done === true) return;
      yield result.value;
    }
  } finally {
    if (!isOver) await giveUp(iterator, unlessAborted);
    signal.removeEventListener("abort", onAbort);
  }
}

/** Tells a source that nobody listens any more; an abort ends the wait for its answer. */
async function giveUp(
  iterator: AsyncIterator<unknown>,
  unlessAborted: <R>(work: Promise<R>) => Promise<R>,
): Promise<void> {
  try {
    await unlessAborted(Promise.resolve(iterator.return?.()));
  } catch {
    // How a source stops changes nothing for what it has given: an answer that is whole stays so.
  }
}
