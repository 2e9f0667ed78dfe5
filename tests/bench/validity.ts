/**
 * What ways to shorten a transcript make of it, judged by two strict services: at trigger points of generated sessions
 * and, where they are there, of recorded ones; also in the middle of a round, judged after the rest of its results has
 * come, since that is what is sent.
 */
import { loadCounter } from "../../src/tokens/counter.ts";
import { faultsInBoth } from "../support/dialects.ts";
import type { Json } from "../support/wire_json.ts";
import { messagesOf, scenario } from "../support/scenario.ts";
import { hasCorpus, readCorpus, remember } from "./_corpus.ts";
import { reader } from "./_facts.ts";
import { startPeers } from "./_peers.ts";
import { FIRST_POINT, SHARES } from "./_points.ts";
import { recallable, tokensOf, type Way, waysOf } from "./_ways.ts";
import { FactTally, percent, removedFacts } from "./facts.ts";

/** Every how many messages a point is looked at, if SELVAGE_BENCH_STEP does not say otherwise. */
const STEP = 29;

/** Sums over the points of one way. */
class Tally {
  points = 0;
  openai = 0;
  anthropic = 0;
  /** It said that it cannot now, or threw. */
  unable = 0;
  over = 0;
  changedAgain = 0;
  readonly distances: number[] = [];
  readonly facts = new FactTally();
}

/** Results that come before anything else is sent. */
function restOf(messages: readonly Json[], length: number): readonly Json[] {
  const rest = messages.slice(length);
  const end = rest.findIndex(({ role }) => role !== "tool");
  return end < 0 ? rest : rest.slice(0, end);
}

async function judge(
  way: Way,
  tally: Tally,
  { messages, length, budget, measure }: {
    readonly messages: readonly Json[];
    readonly length: number;
    readonly budget: number;
    readonly measure: (text: string) => number;
  },
): Promise<void> {
  const input = messages.slice(0, length);
  const { messages: output, isDeferred, error } = await way.run(input, budget);
  tally.points++;
  if (isDeferred || error !== null) tally.unable++;
  const faults = faultsInBoth("openai-chat", [...output, ...restOf(messages, length)], { ids: "unique" });
  if (faults.some((fault) => fault.startsWith("openai"))) tally.openai++;
  if (faults.some((fault) => fault.startsWith("anthropic"))) tally.anthropic++;
  const distance = tokensOf(output, measure) / budget - 1;
  tally.distances.push(distance);
  if (distance > 0.15) tally.over++;
  // What it has said to be small enough it should leave alone.
  const again = output.some(({ role }) => role === "undefined") ? null : await way.run(output, budget);
  if (!isDeferred && again !== null && JSON.stringify(again.messages) !== JSON.stringify(output)) {
    tally.changedAgain++;
  }
  const [isRead, isReached] = [reader(output), recallable(input, output)];
  for (const fact of removedFacts(input, { budget, measure })) {
    tally.facts.add(fact, { isRead: isRead(fact), isReached: isReached(fact.at) });
  }
}

/** What the columns of the table are called. */
const COLUMNS = [
  "way",
  "OpenAI refuses",
  "Anthropic refuses",
  "says it cannot",
  "distance to budget: p10, p50, p90",
  "over budget by 15 %",
  "changed by a second run",
  "facts still read",
  "facts in reach",
] as const;

function rowOf(name: string, tally: Tally): readonly string[] {
  const { points, distances } = tally;
  const sorted = distances.toSorted((a, b) => a - b);
  const at = (share: number): string => ((sorted[Math.floor(points * share)] ?? 0) * 100).toFixed(0);
  const { facts, read, reached } = tally.facts.of("all");
  return [
    name,
    percent(tally.openai, points),
    percent(tally.anthropic, points),
    percent(tally.unable, points),
    `${at(0.1)}, ${at(0.5)}, ${at(0.9)} %`,
    percent(tally.over, points),
    percent(tally.changedAgain, points),
    percent(read, facts),
    percent(reached, facts),
  ];
}

/** A table as Markdown has it: what README shows is what is printed. */
function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = COLUMNS.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  return [line(COLUMNS), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

/** What to judge ways by. */
export interface JudgeTranscripts {
  readonly measure: (text: string) => number;
  /** Every how many messages a point is looked at. Default 29. */
  readonly step?: number;
}

/** Generated sessions of one long turn each, of 40, 90 and 184 calls. */
export function generated(): readonly (readonly Json[])[] {
  return [40, 90, 184].map((calls) => messagesOf(scenario(calls)));
}

/** Judges ways by transcripts: the table as Markdown, and how many points there were. */
export async function judgeAll(
  ways: readonly Way[],
  transcripts: readonly (readonly Json[])[],
  { measure, step = STEP }: JudgeTranscripts,
): Promise<{ readonly table: string; readonly points: number }> {
  const tallies = ways.map((way) => [way, new Tally()] as const);
  let point = 0;
  for (const messages of transcripts) {
    for (let length = FIRST_POINT; length <= messages.length; length++) {
      // Every Nth over all transcripts together, so that short ones do not weigh more than they do in the whole.
      if (point++ % step !== 0) continue;
      const tokens = tokensOf(messages.slice(0, length), measure);
      for (const share of SHARES) {
        const budget = Math.max(1, Math.floor(tokens * share));
        for (const [way, tally] of tallies) await judge(way, tally, { messages, length, budget, measure });
      }
    }
  }
  return {
    table: tableOf(tallies.map(([{ name }, tally]) => rowOf(name, tally))),
    points: tallies[0]?.[1].points ?? 0,
  };
}

/** Prints one row a way: of generated sessions, and of recorded ones where they are there. */
export async function run(): Promise<void> {
  const step = Number(Deno.env.get("SELVAGE_BENCH_STEP") ?? STEP) || STEP;
  const counter = await loadCounter("o200k_base");
  const { measure } = remember((text) => counter.count(text));
  await using peers = await startPeers();
  const ways = waysOf(measure, peers);
  const print = async (kind: string, transcripts: readonly (readonly Json[])[]): Promise<void> => {
    const { table, points } = await judgeAll(ways, transcripts, { measure, step });
    console.log(
      `${transcripts.length} ${kind} sessions, shortened ${points} times by each way:\n\n${table}\n`,
    );
  };
  await print("generated", generated());
  if (!hasCorpus()) return console.log("There are no recorded transcripts here to judge.");
  const recorded = readCorpus().filter(({ format, raw }) => format === "openai-chat" && !raw);
  await print("recorded", recorded.map(({ messages }) => messages));
}
