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
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  // Looked at only in the races below; without this an abort after the last one would end the process.
  aborted.catch(() => {});
  let isDone = false;
  try {
    for (;;) {
      const result = await Promise.race([iterator.next(), aborted]);
      if (result.done === true) {
        isDone = true;
        return;
      }
      yield result.value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    if (!isDone) {
      const returned = iterator.return?.(undefined);
      // After an abort a stuck source never answers: do not wait for it.
      if (signal.aborted) returned?.catch(() => {});
      else await returned;
    }
  }
}
