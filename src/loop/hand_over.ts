/**
 * Events handed from the work that has them to whoever iterates, one at a time: the work stands still until the next
 * one is asked for. Generators inside generators do the same, and hand each event on at every level; here a delta takes
 * one step, however deep in the loop it came up.
 *
 * @module
 */

/** Hands an event over, and waits until the next one is asked for. Throws {@link LEFT} where nobody asks any more. */
export type Give<Event> = (event: Event) => Promise<void>;

/** What is thrown in work to which nobody listens any more: it unwinds, and nobody is told. */
export const LEFT: unknown = new DOMException("Nobody listens any more", "AbortError");

type Result<Event> = IteratorResult<Event, void>;

const DONE = { done: true, value: undefined } as const;

/** Somebody who waits for an event. */
interface Asked<Event> {
  readonly promise: Promise<Result<Event>>;
  readonly resolve: (result: Result<Event>) => void;
  readonly reject: (error: unknown) => void;
}

/** The side that iterates. */
class HandOver<Event> implements AsyncGenerator<Event, void> {
  readonly #start: (give: Give<Event>) => Promise<void>;
  readonly #leave: () => void;
  #work: Promise<void> | null = null;
  #asked: Asked<Event> | null = null;
  /** Lets the work go on that waits for being asked. */
  #goOn: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | null = null;
  #isLeft = false;
  #isOver = false;

  constructor(start: (give: Give<Event>) => Promise<void>, leave: () => void) {
    this.#start = start;
    this.#leave = leave;
  }

  next(): Promise<Result<Event>> {
    if (this.#isOver || this.#isLeft) return Promise.resolve(DONE);
    if (this.#asked !== null) {
      const again = (): Promise<Result<Event>> => this.next();
      return this.#asked.promise.then(again, again);
    }
    const asked = this.#asked = Promise.withResolvers<Result<Event>>();
    if (this.#work === null) this.#work = this.#run();
    else this.#goOn?.resolve();
    return asked.promise;
  }

  async return(): Promise<Result<Event>> {
    if (!this.#isOver) {
      this.#isLeft = true;
      if (this.#work === null) this.#isOver = true;
      else {
        // First the abort, then the unwinding: work that hangs would hold a listener who has gone.
        this.#leave();
        this.#goOn?.reject(LEFT);
      }
    }
    await this.#work;
    return DONE;
  }

  async throw(error: unknown): Promise<Result<Event>> {
    await this.return();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Works until it is done. What it throws is told to whoever waits, and where nobody does to whoever has left. */
  async #run(): Promise<void> {
    let end = ({ resolve }: Asked<Event>): void => resolve(DONE);
    try {
      await this.#start((event) => this.#give(event));
    } catch (error) {
      if (error !== LEFT) {
        if (this.#asked === null) throw error;
        end = ({ reject }) => reject(error);
      }
    } finally {
      this.#isOver = true;
    }
    const asked = this.#asked;
    this.#asked = null;
    if (asked !== null) end(asked);
  }

  #give(value: Event): Promise<void> {
    if (this.#isLeft) return Promise.reject(LEFT);
    const asked = this.#asked;
    this.#asked = null;
    asked?.resolve({ done: false, value });
    return new Promise((resolve, reject) => this.#goOn = { resolve, reject });
  }
}

/**
 * Begins work with the first event that is asked for, and hands over what it has.
 *
 * @param work Gets what hands an event over. It has one in hand at a time.
 * @param leave Called where the iteration is left early, before the work is told.
 */
export function handOver<Event>(
  work: (give: Give<Event>) => Promise<void>,
  leave: () => void,
): AsyncGenerator<Event, void> {
  return new HandOver(work, leave);
}
