/** What is measured, as data. Limits are ratios: to the floor, and to the peer; the looser ones are for busy machines. */
import type { Plan } from "./plan.ts";

/** A limit for a measured form and for one on a machine that does other things, too. */
export interface Limit {
  /** What the service over `memory` is held against. */
  readonly to: "raw" | "AI SDK";
  readonly wanted: number;
  /** Of the smoke form. */
  readonly loose: number;
}

/** Processor time of one kind of turn, per step or delta. */
export interface CpuRow {
  readonly name: string;
  readonly plan: Plan;
  /** Turns of each side in a round, and how many of them at a time. */
  readonly runs: number;
  readonly parallel: number;
  /** Rounds of the full form and of the smoke form; none leaves it out of that. */
  readonly rounds: number;
  readonly smoke: number;
  readonly limits: readonly Limit[];
}

const steps = (count: number, size = 64): Plan => ({ kind: "steps", count, size });
/** An answer of 200 words in each row: what a turn costs by itself is in the rows of steps, and a small share of these. */
const DELTAS: Plan = { kind: "deltas", count: 200, size: 0 };

const STEP_LIMITS: readonly Limit[] = [
  { to: "raw", wanted: 1.5, loose: 3 },
  { to: "AI SDK", wanted: 1 / 3, loose: 1 },
];
const DELTA_LIMITS: readonly Limit[] = [{ to: "raw", wanted: 1.4, loose: 4 }];

/** The rows. A turn of one step is mostly what a turn costs by itself: it is shown, and has no limit of its own. */
export const CPU_ROWS: readonly CpuRow[] = [
  {
    name: "1 step",
    plan: steps(1),
    runs: 40,
    parallel: 1,
    rounds: 15,
    smoke: 0,
    limits: [{ to: "AI SDK", wanted: 1 / 3, loose: 2 / 3 }],
  },
  {
    name: "10 steps",
    plan: steps(10),
    runs: 12,
    parallel: 1,
    rounds: 25,
    smoke: 4,
    limits: STEP_LIMITS,
  },
  {
    name: "10 steps, streamed",
    plan: { kind: "streamed", count: 10, size: 64 },
    runs: 6,
    parallel: 1,
    rounds: 25,
    smoke: 0,
    limits: STEP_LIMITS,
  },
  {
    name: "200 steps",
    plan: steps(200),
    runs: 3,
    parallel: 1,
    rounds: 15,
    smoke: 0,
    limits: STEP_LIMITS,
  },
  {
    name: "200 steps of 5 kB",
    plan: steps(200, 5_000),
    runs: 1,
    parallel: 1,
    rounds: 9,
    smoke: 0,
    limits: [{ to: "raw", wanted: 1.3, loose: 2.6 }, { to: "AI SDK", wanted: 1 / 3, loose: 2 / 3 }],
  },
  {
    name: "deltas, 1 stream",
    plan: DELTAS,
    runs: 10,
    parallel: 1,
    rounds: 25,
    smoke: 5,
    limits: DELTA_LIMITS,
  },
  {
    name: "deltas, 50 streams",
    plan: DELTAS,
    runs: 50,
    parallel: 50,
    rounds: 9,
    smoke: 1,
    limits: DELTA_LIMITS,
  },
  {
    name: "deltas, 200 streams",
    plan: DELTAS,
    runs: 200,
    parallel: 200,
    rounds: 9,
    smoke: 0,
    limits: DELTA_LIMITS,
  },
  {
    name: "deltas in bursts",
    plan: { kind: "burst", count: 19_200, size: 0 },
    runs: 1,
    parallel: 1,
    rounds: 15,
    smoke: 4,
    limits: [{ to: "AI SDK", wanted: 1 / 12, loose: 1 / 3 }],
  },
];
