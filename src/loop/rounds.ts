/**
 * What is to be done a little later, with one timer for many turns: timers of their own, some a second for each turn
 * that waits for its model, cost a busy process more memory than all that is done then.
 *
 * @module
 */
import type { Clock } from "../ports.ts";

/** Milliseconds by which something may be late: what falls due within them has one timer. */
const SLOT_MS = 50;

/** One for all: an exception with its stack costs more than the timer. */
const EMPTY = new DOMException("Nothing is to be done then any more", "AbortError");

/** Something to do later, the same object each time. Neither may throw. */
export interface Task {
  /** Called when it is due. */
  readonly run: () => void;
  /** Called in its place where the clock fails. */
  readonly fail: (error: unknown) => void;
}

/** What falls due at one time. */
interface Slot {
  readonly due: number;
  readonly tasks: Set<Task>;
  readonly stop: AbortController;
}

/** What is to be done by one clock. */
export class Rounds {
  readonly #clock: Clock;
  readonly #slots = new Map<number, Slot>();
  readonly #slotOf = new Map<Task, Slot>();

  /** Makes rounds in which nothing is to be done yet. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Has a task run in so many milliseconds, or up to fifty later; one that waits already waits anew. */
  schedule(task: Task, ms: number): void {
    this.cancel(task);
    const due = Math.ceil((this.#clock.now() + ms) / SLOT_MS) * SLOT_MS;
    let slot = this.#slots.get(due);
    if (slot === undefined) {
      slot = { due, tasks: new Set(), stop: new AbortController() };
      this.#slots.set(due, slot);
      void this.#wait(slot);
    }
    slot.tasks.add(task);
    this.#slotOf.set(task, slot);
  }

  /** Has a task not run, if it waits. No timer is left where it was the last one. */
  cancel(task: Task): void {
    const slot = this.#slotOf.get(task);
    if (slot === undefined) return;
    this.#slotOf.delete(task);
    slot.tasks.delete(task);
    if (slot.tasks.size > 0) return;
    this.#slots.delete(slot.due);
    slot.stop.abort(EMPTY);
  }

  async #wait(slot: Slot): Promise<void> {
    let failure: { readonly error: unknown } | null = null;
    try {
      await this.#clock.sleep(slot.due - this.#clock.now(), slot.stop.signal);
    } catch (error) {
      if (slot.stop.signal.aborted) return;
      failure = { error };
    }
    this.#slots.delete(slot.due);
    // One of them may cancel another.
    for (const task of slot.tasks) {
      slot.tasks.delete(task);
      this.#slotOf.delete(task);
      if (failure === null) task.run();
      else task.fail(failure.error);
    }
  }
}

const all = new WeakMap<Clock, Rounds>();

/** The rounds of a clock: the same for everybody who has it. */
export function roundsOf(clock: Clock): Rounds {
  let rounds = all.get(clock);
  if (rounds === undefined) {
    rounds = new Rounds(clock);
    all.set(clock, rounds);
  }
  return rounds;
}
