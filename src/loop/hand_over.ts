/**
 * Events handed from the work that has them to whoever iterates, one at a time: the work stands still until the next
 * one is asked for. Generators inside generators do the same, and hand each event on at every level; here a delta takes
 * one step, however deep in the loop it came up.
 *
 * @module
 */
import { DONE, Iteration, type Taken } from "./iteration.ts";

/** Hands an event over, and waits until the next one is asked for. Throws {@link LEFT} where nobody asks any more. */
export type Give<Event> = (event: Event) => Promise<void>;

/** What ends work to which nobody listens any more, wherever it is: it unwinds, and nobody is told. */
export const LEFT: unknown = new DOMException("The client has gone", "AbortError");

/** The side that iterates. */
class HandOver<Event> extends Iteration<Event> {
  readonly #start: (give: Give<Event>) => Promise<void>;
  readonly #leave: () => void;
  #work: Promise<void> | null = null;
  /** Lets the work go on that waits for being asked. */
  #goOn: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | null = null;
  /** Nothing more is given: the work is done, or nobody listens. */
  #isOver = false;

  constructor(start: (give: Give<Event>) => Promise<void>, leave: () => void) {
    super();
    this.#start = start;
    this.#leave = leave;
  }

  async return(): Promise<Taken<Event>> {
    if (!this.#isOver && this.#work !== null) {
      // First the abort, then the unwinding: work that hangs would hold a listener who has gone.
      this.#leave();
      this.#goOn?.reject(LEFT);
    }
    this.#isOver = true;
    await this.#work;
    return DONE;
  }

  protected take(): Taken<Event> | null {
    return this.#isOver ? DONE : null;
  }

  protected want(): void {
    if (this.#work === null) this.#work = this.#run();
    else this.#goOn?.resolve();
  }

  /** Works until it is done. What it throws is told to whoever waits, and where nobody does to whoever has left. */
  async #run(): Promise<void> {
    try {
      // Who gets the first event may ask for the next at once, or leave: both need the work to be known by then.
      await null;
      await this.#start((event) => this.#give(event));
    } catch (error) {
      if (error !== LEFT) {
        if (!this.isAsked) throw error;
        this.refuse(error);
      }
    } finally {
      this.#isOver = true;
    }
    this.answer(DONE);
  }

  #give(value: Event): Promise<void> {
    if (this.#isOver) return Promise.reject(LEFT);
    // First, since who is answered may ask for the next at once.
    const asked = new Promise<void>((resolve, reject) => this.#goOn = { resolve, reject });
    this.answer({ done: false, value });
    return asked;
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
