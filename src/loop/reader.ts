/**
 * One reader of a turn that several may read.
 *
 * @module
 */
import type { TurnEvent } from "./events.ts";
import { DONE, Iteration, type Taken } from "./iteration.ts";

/** What a reader is to the turn that it reads. */
export interface Read {
  /** What a reader takes next; null while there is nothing. */
  readonly take: (reader: Reader) => Taken<TurnEvent> | null;
  /** Has one more event taken from the turn; readers are woken when it is there. */
  readonly more: () => void;
  readonly leave: (reader: Reader) => void;
}

/** One that reads. */
export class Reader extends Iteration<TurnEvent> {
  readonly #read: Read;
  /** Events of the turn in front of the one that it takes next. */
  at: number;
  /** Number of the first event that it wants; none while all are wanted. */
  from: number;

  /** Makes one that has taken nothing yet. */
  constructor(read: Read, { at, from }: { readonly at: number; readonly from: number }) {
    super();
    this.#read = read;
    this.at = at;
    this.from = from;
  }

  return(): Promise<Taken<TurnEvent>> {
    this.#read.leave(this);
    return Promise.resolve(DONE);
  }

  /** There is more to take, or no more will come. */
  wake(): void {
    if (!this.isAsked) return;
    const taken = this.take();
    if (taken === null) this.want();
    else this.answer(taken);
  }

  /** The turn has thrown. */
  fail(error: unknown): void {
    this.refuse(error);
  }

  protected take(): Taken<TurnEvent> | null {
    return this.#read.take(this);
  }

  protected want(): void {
    this.#read.more();
  }
}
