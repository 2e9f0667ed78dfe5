/**
 * A turn that any number of readers can follow, from any event on: its events are kept while it runs and for a
 * while after. Readers pull it; without a reader it stands still, unless it is told to run by itself.
 *
 * @module
 */
import { eventNumber, type TurnEnd, type TurnEvent } from "./events.ts";

/** One reader of a turn. */
export interface Follower {
  readonly events: AsyncGenerator<TurnEvent, void>;
  /** Counts the reader as gone at once, also while it waits for an event: it then waits no longer. */
  readonly leave: () => void;
}

/** Shares one run of a turn. */
export class Broadcast {
  readonly #source: AsyncGenerator<TurnEvent, void>;
  readonly #onEnd: () => void;
  readonly #events: TurnEvent[] = [];
  #readers = 0;
  #step: Promise<void> | null = null;
  #isDone = false;
  #failure: { readonly error: unknown } | null = null;

  /**
   * Wraps the events of a turn; nothing is taken from them before somebody reads.
   *
   * @param source The events.
   * @param onEnd Called once when there are no more, or the turn has thrown.
   */
  constructor(source: AsyncGenerator<TurnEvent, void>, onEnd: () => void = () => {}) {
    this.#source = source;
    this.#onEnd = onEnd;
  }

  /** Number of the first event; 0 before it. */
  get first(): number {
    const [event] = this.#events;
    return event === undefined ? 0 : eventNumber(event);
  }

  /** Whether the turn has ended. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Why the turn has ended; null while it has not, or where it goes on elsewhere. */
  get end(): TurnEnd | null {
    const last = this.#events.at(-1);
    return last?.type === "turn.finished" ? last.reason : null;
  }

  /** Readers that follow it now. */
  get readers(): number {
    return this.#readers;
  }

  /**
   * Takes one more event from the turn. Readers that wait for the same event share the work.
   *
   * @throws What the turn threw.
   */
  advance(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure.error);
    if (this.#isDone) return Promise.resolve();
    return this.#step ??= this.#take();
  }

  /** Follows the turn from event number `from` on, to its end or until `leave` is called. */
  follow(from = 0): Follower {
    let isHere = true;
    let wake = (): void => {};
    this.#readers++;
    const leave = (): void => {
      if (isHere) this.#readers--;
      isHere = false;
      wake();
    };
    const wait = (): Promise<void> =>
      new Promise((resolve, reject) => {
        // Who leaves does not wait for the event, which may take as long as a tool does.
        wake = resolve;
        this.advance().then(resolve, reject);
      });
    return { events: this.#read(from, { isHere: () => isHere, leave, wait }), leave };
  }

  async *#read(
    from: number,
    { isHere, leave, wait }: {
      readonly isHere: () => boolean;
      readonly leave: () => void;
      readonly wait: () => Promise<void>;
    },
  ): AsyncGenerator<TurnEvent, void> {
    try {
      let isThere = false;
      for (let at = this.#indexOf(from);; at++) {
        while (at >= this.#events.length && isHere()) {
          if (this.#isDone) return;
          await wait();
        }
        const event = this.#events[at];
        if (event === undefined || !isHere()) return;
        // A reader may ask for more than there is yet. Numbers rise: behind the first that will do, all do.
        isThere ||= eventNumber(event) >= from;
        if (isThere) yield event;
      }
    } finally {
      leave();
    }
  }

  /** Where the events begin that are numbered `from` or more. */
  #indexOf(from: number): number {
    const at = this.#events.findIndex((event) => eventNumber(event) >= from);
    return at < 0 ? this.#events.length : at;
  }

  /** Runs the turn to its end, whoever reads. What it throws was thrown to its readers. */
  async run(): Promise<void> {
    try {
      while (!this.#isDone) await this.advance();
    } catch {
      // Readers are told by their own reads; a turn reports its failures as events.
    }
  }

  async #take(): Promise<void> {
    try {
      const { done, value } = await this.#source.next();
      if (done === true) this.#isDone = true;
      else this.#events.push(value);
    } catch (error) {
      this.#failure = { error };
      this.#isDone = true;
      throw error;
    } finally {
      this.#step = null;
      if (this.#isDone) this.#onEnd();
    }
  }
}
