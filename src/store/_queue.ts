/**
 * Work on one thing at a time: tasks of the same key run one after the other, those of different keys at once.
 *
 * @module
 */

/** Runs tasks of the same key in the order they came. */
export class KeyedQueue {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Runs `task` once every earlier task of `key` has ended, well or badly; gives what it gives. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const result = (this.#tails.get(key) ?? Promise.resolve()).then(task);
    const forget = () => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    };
    // An error belongs to the caller, who has `result`; the next task does not care.
    const tail = result.then(forget, forget);
    this.#tails.set(key, tail);
    return result;
  }
}
