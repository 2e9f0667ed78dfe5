/** Time that moves only when a test says so. */
import type { Clock } from "../../src/ports.ts";

interface Sleeper {
  readonly at: number;
  readonly ms: number;
  readonly wake: () => void;
}

/** Lets everything run that is ready to run, without any time passing. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** A clock whose sleepers wake in {@link ManualClock.advance}. */
export class ManualClock implements Clock {
  #now: number;
  #sleepers: Sleeper[] = [];
  #watchers: (() => void)[] = [];

  /** @param now Milliseconds since the epoch to start at. */
  constructor(now = 1_700_000_000_000) {
    this.#now = now;
  }

  /** Lengths of the sleeps under way, in milliseconds, oldest first. */
  get sleeping(): readonly number[] {
    return this.#sleepers.map((sleeper) => sleeper.ms);
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#now;
  }

  /** Resolves once the clock was advanced by `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        at: this.#now + Math.max(0, ms),
        ms,
        wake: () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#sleepers.push(sleeper);
      for (const look of this.#watchers.splice(0)) look();
    });
  }

  /**
   * Moves the time on, waking the sleepers that fall due one by one in their order, each with its own time on the
   * clock and with everything done that follows from its waking before the next.
   *
   * @param ms Milliseconds, 0 or more.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      // The earliest; of those due together the one that lay down first.
      let next: Sleeper | undefined;
      for (const sleeper of this.#sleepers) if (next === undefined || sleeper.at < next.at) next = sleeper;
      if (next === undefined || next.at > end) break;
      const due = next;
      this.#sleepers = this.#sleepers.filter((other) => other !== due);
      this.#now = due.at;
      due.wake();
      await settle();
    }
    this.#now = end;
  }

  /** Moves the time on to the sleeper that falls due next, and wakes it as {@link advance} does. */
  async advanceToNext(): Promise<void> {
    await settle();
    const next = Math.min(...this.#sleepers.map(({ at }) => at));
    if (next < Infinity) await this.advance(next - this.#now);
  }

  /** Resolves once a sleep is under way whose length in milliseconds passes `test`; any, by default. */
  async untilSleeping(test: (ms: number) => boolean = () => true): Promise<void> {
    while (!this.sleeping.some(test)) {
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }
}
