/**
 * Benchmark of selection on real transcripts: every message from the twelfth on as a trigger point, three budgets,
 * both formats, raw ids too; judged by validators that share nothing with what they judge.
 */
import { selectCut } from "../../src/core/cut.ts";
import { readTranscript } from "../../src/formats/read.ts";
import { loadCounter } from "../../src/tokens/counter.ts";
import { CORPUS, type CorpusTranscript, hasCorpus, readCorpus, remember } from "./_corpus.ts";
import {
  compactPoint,
  FIRST_POINT,
  keepLast,
  type Outcome,
  type Point,
  pointAt,
  readOptions,
  SHARES,
  Tally,
} from "./_points.ts";

type Thinking = "auto" | "ignore";

/** One way to shorten a transcript. */
interface Way {
  readonly name: string;
  readonly thinking: Thinking;
  readonly run: (point: Point, budget: number) => Outcome;
}

const WAYS: readonly Way[] = [
  { name: "full", thinking: "auto", run: (point, budget) => compactPoint(point, { budget }) },
  {
    name: "full, thinking ignored",
    thinking: "ignore",
    run: (point, budget) => compactPoint(point, { budget }),
  },
  {
    name: "backward",
    thinking: "ignore",
    run: (point, budget) => compactPoint(point, { budget, policy: "backward" }),
  },
  {
    name: "naive: the last N tokens",
    thinking: "ignore",
    run: (point, budget) => keepLast(point, { budget, summary: false }),
  },
  {
    name: "naive, with a summary",
    thinking: "ignore",
    run: (point, budget) => keepLast(point, { budget, summary: true }),
  },
];

const percent = (share: number): string => `${(share * 100).toFixed(2)} %`;

function rowOf(tally: Tally, selection: string): Record<string, string | number> {
  return {
    points: tally.points,
    deferred: percent(tally.deferredShare),
    invalid: percent(tally.invalid / Math.max(1, tally.points)),
    "tail 0.85-1.15": percent(tally.tailShare),
    "kept/budget": tally.charged.toFixed(3),
    "as it is": tally.kept.toFixed(3),
    "2nd run nothing": percent(tally.settledShare),
    "methods, %": tally.methods,
    "µs a selection": selection,
    "ms in all": tally.milliseconds.toFixed(1),
  };
}

/** Examples of what a gate forbids, for people. */
const examples: string[] = [];

function note(
  way: string,
  point: Point,
  { share, found }: { readonly share: number; readonly found: Outcome },
): void {
  const { transcript: { name, format, raw }, length } = point;
  const what = found.faults[0] ??
    (found.outcome === "compacted" && found.second !== "nothing"
      ? `the second run answers ${found.second}`
      : null);
  if (what !== null && way.startsWith("full")) {
    examples.push(
      `${way}: ${name} ${format}${raw ? " raw" : ""}, ${length} messages, budget ${share}: ${what}`,
    );
  }
}
