/**
 * An iteration by hand. It does what a generator does, for what stands in the way of every delta: a generator costs
 * several promises for each.
 *
 * @module
 */

/** What is taken from an iteration at a time. */
export type Taken<Item> = IteratorResult<Item, void>;

/** No more comes. */
export const DONE = { done: true, value: undefined } as const;

/** Gives one item at a time to whoever asks; who asks for several at once gets them in order. */
export abstract class Iteration<Item> implements AsyncGenerator<Item, void> {
  #asked: PromiseWithResolvers<Taken<Item>> | null = null;

  next(): Promise<Taken<Item>> {
    if (this.#asked !== null) {
      const again = (): Promise<Taken<Item>> => this.next();
      return this.#asked.promise.then(again, again);
    }
    const taken = this.take();
    if (taken !== null) return Promise.resolve(taken);
    const { promise } = this.#asked = Promise.withResolvers();
    this.ask();
    return promise;
  }

  abstract return(): Promise<Taken<Item>>;

  async throw(error: unknown): Promise<Taken<Item>> {
    await this.return();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** What is there to be taken; null while that is nothing. */
  protected abstract take(): Taken<Item> | null;

  /** Has it come: {@link answer} is to be called when it is there. */
  protected abstract ask(): void;

  /** Whether somebody waits. */
  protected get isAsked(): boolean {
    return this.#asked !== null;
  }

  /** Gives an item to who waits, if anybody does. */
  protected answer(taken: Taken<Item>): void {
    const asked = this.#asked;
    this.#asked = null;
    asked?.resolve(taken);
  }

  /** Throws at who waits, if anybody does. */
  protected refuse(error: unknown): void {
    const asked = this.#asked;
    this.#asked = null;
    asked?.reject(error);
  }
}
