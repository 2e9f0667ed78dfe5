/**
 * One reader of a turn that several may read.
 *
 * @module
 */
import type { TurnEvent } from "./events.ts";

/** What a reader takes. */
export type Result = IteratorResult<TurnEvent, void>;

/** No more comes. */
export const DONE = { done: true, value: undefined } as const;

/** What a reader is to the turn that it reads. */
export interface Read {
  /** What a reader takes next; null while there is nothing. */
  readonly take: (reader: Reader) => Result | null;
  /** Has one more event taken from the turn; readers are told when it is there. */
  readonly more: () => void;
  readonly leave: (reader: Reader) => void;
}

/** One that reads: an iterator and no generator, since it stands in the way of every delta. */
export class Reader implements AsyncGenerator<TurnEvent, void> {
  readonly #read: Read;
  #asked: PromiseWithResolvers<Result> | null = null;
  /** Events of the turn in front of the one that it takes next. */
  at: number;
  /** Number of the first event that it wants; none while all are wanted. */
  from: number;

  /** Makes one that has taken nothing yet. */
  constructor(read: Read, { at, from }: { readonly at: number; readonly from: number }) {
    this.#read = read;
    this.at = at;
    this.from = from;
  }

  next(): Promise<Result> {
    if (this.#asked !== null) {
      const again = (): Promise<Result> => this.next();
      return this.#asked.promise.then(again, again);
    }
    const result = this.#read.take(this);
    if (result !== null) return Promise.resolve(result);
    const { promise } = this.#asked = Promise.withResolvers();
    this.#read.more();
    return promise;
  }

  return(): Promise<Result> {
    this.#read.leave(this);
    return Promise.resolve(DONE);
  }

  throw(error: unknown): Promise<Result> {
    this.#read.leave(this);
    return Promise.reject(error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** There is more to take, or no more will come. */
  wake(): void {
    const asked = this.#asked;
    if (asked === null) return;
    const result = this.#read.take(this);
    if (result === null) return this.#read.more();
    this.#asked = null;
    asked.resolve(result);
  }

  /** The turn has thrown. */
  fail(error: unknown): void {
    const asked = this.#asked;
    this.#asked = null;
    asked?.reject(error);
  }
}
