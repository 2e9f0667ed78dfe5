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

/** Somebody who waits for an item: what a promise has, or what saves one. */
export interface Asked<Item> {
  resolve(taken: Taken<Item>): void;
  reject(error: unknown): void;
}

/** Gives one item at a time to whoever asks; who asks for several at once gets them in order. */
export abstract class Iteration<Item> implements AsyncGenerator<Item, void> {
  #asked: Asked<Item> | null = null;

  next(): Promise<Taken<Item>> {
    return new Promise((resolve, reject) => this.ask({ resolve, reject }));
  }

  /** As `next`, without a promise: an item that is there is given at once. */
  ask(asked: Asked<Item>): void {
    if (this.#asked !== null) return this.#askBehind(this.#asked, asked);
    const taken = this.take();
    if (taken !== null) return asked.resolve(taken);
    this.#asked = asked;
    this.want();
  }

  #askBehind(before: Asked<Item>, asked: Asked<Item>): void {
    this.#asked = {
      resolve: (taken) => {
        before.resolve(taken);
        this.ask(asked);
      },
      reject: (error) => {
        before.reject(error);
        this.ask(asked);
      },
    };
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
  protected abstract want(): void;

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

/** Asks any iteration for its next item, without a promise where it can do so. */
export function ask<Item>(source: AsyncIterator<Item, void>, asked: Asked<Item>): void {
  if (source instanceof Iteration) source.ask(asked);
  else source.next().then((taken) => asked.resolve(taken), (error) => asked.reject(error));
}
