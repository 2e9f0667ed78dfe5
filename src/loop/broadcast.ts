/**
 * A turn that any number of readers can follow. Readers pull it; without a reader it stands still, unless it is told to
 * run by itself. It holds what a reader has yet to take, and the last few events: a turn may run for hours, and all that
 * it ever told is in the store.
 *
 * @module
 */
import { eventNumber, type TurnEnd, type TurnEvent } from "./events.ts";
import { ask, type Asked, DONE, type Taken } from "./iteration.ts";
import { type Read, Reader } from "./reader.ts";

/** One reader of a turn. */
export interface Follower {
  readonly events: AsyncGenerator<TurnEvent, void>;
  /** Counts the reader as gone at once, also while it waits for an event: it then waits no longer. */
  readonly leave: () => void;
}

/** Events that are held although every reader has them: one that comes back at once wants these. */
const HELD = 16;

/** What a {@link Broadcast} asks and tells on its way. */
export interface BroadcastOptions {
  /** Shown each event before readers are: false where neither it nor anything behind it is to be told. Default: all are. */
  readonly isOurs?: (event: TurnEvent) => boolean | Promise<boolean>;
  /** Called once when there are no more events, or the turn has thrown. */
  readonly onEnd?: () => void;
}

/** Shares one run of a turn. */
export class Broadcast {
  readonly #source: AsyncGenerator<TurnEvent, void>;
  readonly #isOurs: NonNullable<BroadcastOptions["isOurs"]>;
  readonly #onEnd: () => void;
  readonly #readers = new Set<Reader>();
  readonly #events: TurnEvent[] = [];
  /** Events that came before those which are held. */
  #gone = 0;
  #first = 0;
  /** Whether the turn was asked for an event that has not come. */
  #isAsking = false;
  /** Told when that has come. */
  #step: PromiseWithResolvers<void> | null = null;
  #isDone = false;
  #failure: { readonly error: unknown } | null = null;

  /**
   * Wraps the events of a turn; nothing is taken from them before somebody reads.
   *
   * @param source The events.
   * @param options What it asks and tells.
   */
  constructor(
    source: AsyncGenerator<TurnEvent, void>,
    { isOurs = () => true, onEnd = () => {} }: BroadcastOptions = {},
  ) {
    this.#source = source;
    this.#isOurs = isOurs;
    this.#onEnd = onEnd;
  }

  /** Number of the first event of all; 0 before there is one. */
  get first(): number {
    return this.#first;
  }

  /** Number of the first event that is held; 0 before there is one. */
  get held(): number {
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
    return this.#readers.size;
  }

  /**
   * Takes one more event from the turn. Readers that wait for the same event share the work.
   *
   * @throws What the turn threw.
   */
  async advance(): Promise<void> {
    if (!this.#isDone) {
      this.#step ??= Promise.withResolvers();
      const { promise } = this.#step;
      this.#more();
      await promise;
    }
    if (this.#failure !== null) throw this.#failure.error;
  }

  /**
   * Follows the turn from event number `from` on, or from {@link held} where that is behind it, to its end or until
   * `leave` is called.
   */
  follow(from = 0): Follower {
    const reader = new Reader(this.#read, { at: this.#indexOf(from), from });
    this.#readers.add(reader);
    return { events: reader, leave: () => this.#read.leave(reader) };
  }

  /** What readers do with it. */
  readonly #read: Read = {
    take: (reader) => {
      if (!this.#readers.has(reader)) return DONE;
      while (reader.at < this.#end) {
        const event = this.#events[reader.at++ - this.#gone];
        if (event === undefined || eventNumber(event) < reader.from) continue;
        // It may have asked for more than there was. Numbers rise: behind the first that will do, all do.
        reader.from = -Infinity;
        return { done: false, value: event };
      }
      if (!this.#isDone) return null;
      this.#readers.delete(reader);
      return DONE;
    },
    more: () => this.#more(),
    leave: (reader) => {
      this.#readers.delete(reader);
      reader.wake();
    },
  };

  /** Where events come next. */
  get #end(): number {
    return this.#gone + this.#events.length;
  }

  /** Where the events begin that are held and numbered `from` or more. */
  #indexOf(from: number): number {
    const at = this.#events.findIndex((event) => eventNumber(event) >= from);
    return at < 0 ? this.#end : this.#gone + at;
  }

  /** Holds one more event, and lets go of those that nobody has yet to take: many at a time, so that one costs nothing. */
  #hold(event: TurnEvent): void {
    if (this.#end === 0) this.#first = eventNumber(event);
    this.#events.push(event);
    if (this.#events.length < 2 * HELD) return;
    let first = this.#end - HELD;
    for (const { at } of this.#readers) first = Math.min(first, at);
    if (first - this.#gone < HELD) return;
    this.#events.splice(0, first - this.#gone);
    this.#gone = first;
  }

  /** Runs the turn to its end, whoever reads. What it throws was thrown to its readers. */
  async run(): Promise<void> {
    try {
      while (!this.#isDone) await this.advance();
    } catch {
      // Readers are told by their own reads; a turn reports its failures as events.
    }
  }

  /** Asks the turn for one more event. */
  #more(): void {
    if (this.#isAsking || this.#isDone) return;
    this.#isAsking = true;
    ask(this.#source, this.#asked);
  }

  /** Takes it. Readers have it within the same call: no promise stands between the turn and its client's stream. */
  readonly #asked: Asked<TurnEvent> = {
    resolve: (taken) => {
      try {
        const isOurs = taken.done !== true && this.#isOurs(taken.value);
        if (isOurs === true) this.#take(taken.value);
        // Hardly ever has it to be waited for.
        else void this.#takeOrEnd(taken, isOurs);
      } catch (error) {
        this.#fail(error);
      }
    },
    reject: (error) => this.#fail(error),
  };

  async #takeOrEnd({ done, value }: Taken<TurnEvent>, isOurs: boolean | Promise<boolean>): Promise<void> {
    try {
      if (done !== true && await isOurs) return this.#take(value);
      this.#isDone = true;
      await this.#source.return();
      this.#tell();
    } catch (error) {
      this.#fail(error);
    }
  }

  #take(event: TurnEvent): void {
    this.#hold(event);
    this.#tell();
  }

  /** What the turn has thrown is told to each reader that waits, and never thrown here. */
  #fail(error: unknown): void {
    this.#failure = { error };
    this.#isDone = true;
    for (const reader of this.#readers) reader.fail(error);
    this.#tell();
  }

  /** There is one more, or there will be none. */
  #tell(): void {
    const step = this.#step;
    this.#step = null;
    this.#isAsking = false;
    for (const reader of this.#readers) reader.wake();
    step?.resolve();
    if (this.#isDone) this.#onEnd();
  }
}
