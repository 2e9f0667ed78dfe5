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
  deferred = 0;
  failed = 0;
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
  if (error !== null) tally.failed++;
  if (isDeferred) tally.deferred++;
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

function rowOf(tally: Tally): Record<string, string | number> {
  const { points, distances } = tally;
  const sorted = distances.toSorted((a, b) => a - b);
  const at = (share: number): string => `${((sorted[Math.floor(points * share)] ?? 0) * 100).toFixed(0)} %`;
  const { facts, read, reached } = tally.facts.of("all");
  return {
    points,
    "invalid: OpenAI": percent(tally.openai, points),
    "invalid: Anthropic": percent(tally.anthropic, points),
    "says not now": percent(tally.deferred, points),
    threw: percent(tally.failed, points),
    "over budget by 15 %": percent(tally.over, points),
    "distance p10, p50, p90": `${at(0.1)}, ${at(0.5)}, ${at(0.9)}`,
    "2nd run changes": percent(tally.changedAgain, points),
    "facts read": percent(read, facts),
    "facts by recall": percent(reached, facts),
  };
}

/** Prints one row a way. */
export async function run(): Promise<void> {
  const step = Number(Deno.env.get("SELVAGE_BENCH_STEP") ?? STEP) || STEP;
  const counter = await loadCounter("o200k_base");
  const { measure } = remember((text) => counter.count(text));
  const recorded = hasCorpus()
    ? readCorpus().filter(({ format, raw }) => format === "openai-chat" && !raw).map(({ messages }) =>
      messages
    )
    : [];
  if (recorded.length === 0) {
    console.log("The recorded transcripts are not there: only generated ones are judged.");
  }
  const transcripts = [...[40, 90, 184].map((calls) => messagesOf(scenario(calls))), ...recorded];
  await using peers = startPeers();
  const tallies = new Map(waysOf(measure, peers).map((way) => [way, new Tally()]));
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
  console.table(Object.fromEntries([...tallies].map(([{ name }, tally]) => [name, rowOf(tally)])));
}
