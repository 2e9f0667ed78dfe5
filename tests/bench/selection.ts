/**
 * Benchmark of selection on real transcripts: every message from the twelfth on as a trigger point, three budgets,
 * both formats, raw ids too; judged by validators that share nothing with what they judge.
 */
import { selectCut } from "../../src/core/cut.ts";
import { loadCounter } from "../../src/tokens/counter.ts";
import { hasCorpus, readCorpus, remember } from "./_corpus.ts";
import { isWithin, type LiveRun, runLive, WINDOWS } from "./_live.ts";
import {
  compactPoint,
  FIRST_POINT,
  keepLast,
  type Outcome,
  type Point,
  pointAt,
  pointsInside,
  readOptions,
  SHARES,
  Tally,
} from "./_points.ts";

type Thinking = "auto" | "ignore";

/** One way to shorten a transcript. */
interface Way {
  readonly name: string;
  readonly thinking: Thinking;
  readonly policy?: { readonly kind: "backward" };
  readonly run: (point: Point, budget: number) => Outcome;
}

/** The way that has to keep the gates. */
const FULL = "full";
const IGNORED = "full, thinking ignored";
/** The same at points that are no messages: some results of a round are in, in one message with the rest. */
const INSIDE = "full, some results of a round in";

const WAYS: readonly Way[] = [
  { name: FULL, thinking: "auto", run: (point, budget) => compactPoint(point, { budget }) },
  {
    name: IGNORED,
    thinking: "ignore",
    run: (point, budget) => compactPoint(point, { budget }),
  },
  {
    name: "backward",
    policy: { kind: "backward" },
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

/** What of the whole a point belongs to. */
function partsOf({ transcript: { format, raw } }: Point, share: number): readonly string[] {
  return [`budget ${share * 100} %`, format, raw ? "raw ids" : "ids made unique"];
}

const percent = (share: number): string => `${(share * 100).toFixed(2)} %`;

function rowOf(tally: Tally, selection: string): Record<string, string | number> {
  return {
    points: tally.points,
    deferred: percent(tally.deferredShare),
    invalid: percent(tally.invalid / Math.max(1, tally.points)),
    "tail 0.85-1.15": percent(tally.tailShare),
    "kept/budget": tally.charged.toFixed(3),
    "as it is": tally.kept.toFixed(3),
    "2nd run nothing": tally.seconds === 0 ? "–" : percent(tally.settledShare),
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
    (found.second !== null && found.second !== "nothing" ? `the second run answers ${found.second}` : null);
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
  const add = (name: string, found: Outcome): void => {
    const sum = sums.get(name) ?? new Tally();
    sums.set(name, sum);
    sum.add(found);
  };
  let points = 0;
  for (const transcript of readCorpus()) {
    learn(() => pointAt(transcript, transcript.messages.length, readOptions(transcript, measure, "ignore")));
    for (let length = FIRST_POINT; length <= transcript.messages.length; length++) {
      // Every Nth over all transcripts together, so that short ones do not weigh more than they do in the whole.
      if (points++ % step !== 0) continue;
      const point = pointAt(transcript, length, readOptions(transcript, measure, "auto"));
      // Without signed reasoning both readings are the same, and so is what comes of them.
      const isSigned = point.reading.pieces.some((message) =>
        message.some((piece) => piece.isSigned === true)
      );
      const plain = isSigned
        ? pointAt(transcript, length, readOptions(transcript, measure, "ignore"))
        : point;
      for (const share of SHARES) {
        const budget = Math.max(1, Math.floor(point.tokens * share));
        let last: Outcome | undefined;
        for (const way of WAYS) {
          const seen = way.thinking === "auto" ? point : plain;
          watches.get(way.name)?.time(() => selectCut(seen.reading.transcript, { budget, ...way.policy }));
          const found = last !== undefined && way.name === IGNORED && !isSigned
            ? last
            : way.run(seen, budget);
          last ??= found;
          add(way.name, found);
          note(way.name, point, { share, found });
          if (way.name !== FULL) continue;
          for (const part of partsOf(point, share)) add(`${FULL}: ${part}`, found);
        }
      }
      for (const point of pointsInside(transcript, length, readOptions(transcript, measure, "auto"))) {
        for (const share of SHARES) {
          const found = compactPoint(point, { budget: Math.max(1, Math.floor(point.tokens * share)) });
          add(INSIDE, found);
          note(INSIDE, point, { share, found });
        }
      }
    }
  }
  for (const [name, tally] of sums) tallies.set(name, { tally, selection: watches.get(name)?.mean ?? "" });
  return tallies;
}

/**
 * Runs transcripts through windows that are too small for them.
 *
 * @param names Names of transcripts; all, by default.
 */
export async function measureLive(names?: readonly string[]): Promise<readonly LiveRun[]> {
  const counter = await loadCounter("o200k_base");
  const { measure, learn } = remember((text) => counter.count(text));
  return readCorpus(names).filter(({ raw }) => !raw).flatMap((transcript) => {
    const options = readOptions(transcript, measure, "auto");
    learn(() => pointAt(transcript, transcript.messages.length, options));
    return WINDOWS.map((share) => runLive(transcript, share, options));
  });
}

function liveRow(runs: readonly LiveRun[]): Record<string, string | number> {
  const sum = (of: (run: LiveRun) => number): number => runs.reduce((total, run) => total + of(run), 0);
  const most = (of: (run: LiveRun) => number): string => Math.max(0, ...runs.map(of)).toFixed(2);
  return {
    runs: runs.length,
    "passed the window": runs.filter(({ peak }) => peak > 1).length,
    "sent too much": runs.filter(({ sent }) => sent > 1).length,
    "highest peak": most(({ peak }) => peak),
    "most sent": most(({ sent }) => sent),
    compactions: sum(({ compactions }) => compactions),
    "found no cut": sum(({ deferrals }) => deferrals),
    "results capped": sum(({ capped }) => capped),
  };
}

/** What has to hold, and whether it does. */
function gatesOf(
  { full, invalid }: { readonly full: Tally; readonly invalid: number },
  live: readonly LiveRun[],
): Record<string, Record<string, string>> {
  const gate = (wanted: string, measured: string, met: boolean): Record<string, string> => {
    return { wanted, measured, met: met ? "yes" : "NO" };
  };
  const passed = live.filter((run) => isWithin(run) && run.peak > 1).length;
  return {
    "outputs invalid in a dialect": gate("0", String(invalid), invalid === 0),
    "points deferred": gate("<= 1 %", percent(full.deferredShare), full.deferredShare <= 0.01),
    "tails within 0.85-1.15": gate(">= 95 %", percent(full.tailShare), full.tailShare >= 0.95),
    "mean kept to budget": gate(
      "0.95-1.02",
      `${full.charged.toFixed(3)} (${full.kept.toFixed(3)} with the summary as it is)`,
      full.charged >= 0.95 && full.charged <= 1.02 && full.kept >= 0.95 && full.kept <= 1.02,
    ),
    "second runs that answer nothing": gate("100 %", percent(full.settledShare), full.settledShare === 1),
    "live runs that pass the window": gate("0", String(passed), passed === 0),
  };
}

/** Prints the table; SELVAGE_BENCH_STEP=N looks at every Nth message. */
export async function run(): Promise<void> {
  const step = Number(Deno.env.get("SELVAGE_BENCH_STEP") ?? 1) || 1;
  if (!hasCorpus()) return console.log("The recorded transcripts are not there: nothing to measure.");
  const tallies = await measureSelection({ step });
  console.table(
    Object.fromEntries([...tallies].map(([name, { tally, selection }]) => [name, rowOf(tally, selection)])),
  );
  for (const [name, { tally }] of tallies) if (tally.reasons !== "") console.log(`${name}: ${tally.reasons}`);
  for (const example of examples.slice(0, 20)) console.log(example);
  const live = await measureLive();
  const rows = [
    { what: "no message over 20 % of the window", runs: live.filter(isWithin) },
    { what: "some are: no cap can help", runs: live.filter((run) => !isWithin(run)) },
  ];
  console.table(Object.fromEntries(rows.map(({ what, runs }) => [what, liveRow(runs)])));
  const [full, inside] = [tallies.get(FULL)?.tally, tallies.get(INSIDE)?.tally];
  if (full !== undefined) {
    console.table(gatesOf({ full, invalid: full.invalid + (inside?.invalid ?? 0) }, live));
  }
}
