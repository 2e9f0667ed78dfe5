/** What the crash suite tells its servers, and what both sides must agree on. */
import { systemClock } from "../../src/loop/clock.ts";
import type { Clock } from "../../src/ports.ts";
import { randomFrom } from "../support/random.ts";

/** How a server of the suite is set up; it gets this as JSON in `CRASH_SETUP`. */
export interface Setup {
  /** Database file that the servers of a pool share. */
  readonly kv: string;
  /** Base URL of the model. */
  readonly model: string;
  /** File that gets a line for each start and each end of a tool. */
  readonly tally: string;
  /** Times as fast as real time that the clock runs. */
  readonly speed: number;
  /** Milliseconds since the epoch when all clocks of the suite showed real time. */
  readonly epoch: number;
}

/** Where a server is to kill itself: at the `n`th of something from now on, counted from 1. */
export interface Death {
  readonly at: "before_write" | "after_write" | "before_tool" | "after_tool";
  readonly n: number;
}

/** No death at all. */
export const NEVER: Death = { at: "before_write", n: 0 };

/** Window of the model: small, so that a few steps fill it. */
export const WINDOW = 6_000;
/** The most tokens of an answer. */
export const MAX_OUTPUT = 600;

/** A clock that runs `speed` times as fast as real time, and shows the same in every process of one setup. */
export function fastClock({ speed, epoch }: Pick<Setup, "speed" | "epoch">): Clock {
  return {
    now: () => Math.floor(epoch + (Date.now() - epoch) * speed),
    sleep: (ms, signal) => systemClock.sleep(ms / speed, signal),
  };
}

/** Pseudo-random numbers that a seed repeats. */
export class Random {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = randomFrom(seed);
  }

  /** A whole number from 0 on, below `below`. */
  below(below: number): number {
    return Math.floor(this.#next() * below);
  }

  /** True with a chance of `share`. */
  chance(share: number): boolean {
    return this.below(1_000_000) < share * 1_000_000;
  }

  /** One of some. */
  pick<T>(from: readonly [T, ...T[]]): T {
    return from[this.below(from.length)] ?? from[0];
  }
}
