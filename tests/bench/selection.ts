/**
 * Benchmark of selection on real transcripts: every message from the twelfth on as a trigger point, three budgets,
 * both formats, raw ids too; judged by validators that share nothing with what they judge.
 */
import { selectCut } from "../../src/core/cut.ts";
import { loadCounter } from "../../src/tokens/counter.ts";
import { hasCorpus, readCorpus, remember } from "./_corpus.ts";
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

/** Mean microseconds of the selector alone, over the points that it was asked about. */
class Stopwatch {
  #spent = 0;
  #times = 0;

  time(work: () => void): void {
    const start = performance.now();
    work();
    this.#spent += performance.now() - start;
    this.#times++;
  }

  get mean(): string {
    return (this.#spent * 1_000 / Math.max(1, this.#times)).toFixed(1);
  }
}

/**
 * Runs every way over the corpus and prints one table.
 *
 * @param options `step`: every how many messages a point is looked at; 1 is all of them.
 * @returns The tallies by the name of the way; empty where the corpus is not there.
 */
export async function measureSelection(
  { step = 1 }: { readonly step?: number } = {},
): Promise<ReadonlyMap<string, { readonly tally: Tally; readonly selection: string }>> {
  const tallies = new Map<string, { readonly tally: Tally; readonly selection: string }>();
  if (!hasCorpus()) return tallies;
  const counter = await loadCounter("o200k_base");
  const { measure, learn } = remember((text) => counter.count(text));
  const watches = new Map(WAYS.map((way) => [way.name, new Stopwatch()]));
  const sums = new Map(WAYS.map((way) => [way.name, new Tally()]));
  let points = 0;
  for (const transcript of readCorpus()) {
    learn(() => pointAt(transcript, transcript.messages.length, readOptions(transcript, measure, "ignore")));
    for (let length = FIRST_POINT; length <= transcript.messages.length; length++) {
      // Every Nth over all transcripts together, so that short ones do not weigh more than they do in the whole.
      if (points++ % step !== 0) continue;
      for (const thinking of ["auto", "ignore"] as const) {
        const point = pointAt(transcript, length, readOptions(transcript, measure, thinking));
        for (const way of WAYS.filter((way) => way.thinking === thinking)) {
          for (const share of SHARES) {
            const budget = Math.max(1, Math.floor(point.tokens * share));
            watches.get(way.name)?.time(() => selectCut(point.reading.transcript, { budget }));
            const found = way.run(point, budget);
            sums.get(way.name)?.add(found);
            note(way.name, point, { share, found });
          }
        }
      }
    }
  }
  for (const [name, tally] of sums) tallies.set(name, { tally, selection: watches.get(name)?.mean ?? "" });
  return tallies;
}

/** Prints the table; SELVAGE_BENCH_STEP=N looks at every Nth message. */
export async function run(): Promise<void> {
  const step = Number(Deno.env.get("SELVAGE_BENCH_STEP") ?? 1) || 1;
  const tallies = await measureSelection({ step });
  if (tallies.size === 0) return console.log("The recorded transcripts are not there: nothing to measure.");
  console.table(
    Object.fromEntries([...tallies].map(([name, { tally, selection }]) => [name, rowOf(tally, selection)])),
  );
  for (const [name, { tally }] of tallies) if (tally.reasons !== "") console.log(`${name}: ${tally.reasons}`);
  for (const example of examples.slice(0, 20)) console.log(example);
}
