/**
 * The live loop on recorded sessions, through the engine and over HTTP: each is done again in windows of 20, 35 and
 * 50 % of its tokens, wherever no message is larger than 20 % of the window (what is larger has to be capped when it
 * comes, which results are, and what users say is not).
 */
import type { Play } from "../support/play.ts";
import { scenario } from "../support/scenario.ts";
import { hasCorpus, readCorpus } from "./_corpus.ts";
import { type EngineRun, playOf, runEngine, SERVICES } from "./_engine.ts";
import { WINDOWS } from "./_live.ts";

const LARGEST = 0.2;
/** The least tokens for messages that an agent can be set up with. */
const LEAST = 1_100;
/** With fewer tokens than this for messages the summary takes most of what a compaction keeps. */
const ROOMY = 4_000;

function rowOf(runs: readonly EngineRun[]): Record<string, string | number> {
  const sum = (of: (run: EngineRun) => number): number => runs.reduce((total, run) => total + of(run), 0);
  const [attempts, deferred] = [sum((run) => run.attempts), sum((run) => run.deferred)];
  return {
    runs: runs.length,
    requests: sum((run) => run.requests),
    calls: sum((run) => run.calls),
    invalid: sum((run) => run.invalid.length),
    overruns: sum((run) => run.overruns.length),
    attempts,
    deferred: `${deferred} (${(deferred / Math.max(1, attempts) * 100).toFixed(1)} %)`,
    rejected: sum((run) => run.rejected),
    repeated: sum((run) => run.repeated),
    "ended well": sum(({ ends }) => ends.every((end) => end === "stop") ? 1 : 0),
  };
}

/** Runs them all and prints one table. */
export async function run(): Promise<void> {
  const plays: readonly (readonly [Play, number])[] = !hasCorpus()
    ? []
    : readCorpus().filter(({ format, raw }) => format === "openai-chat" && !raw).flatMap((transcript) => {
      const play = playOf(transcript);
      return WINDOWS.map((share) => [play, Math.floor(play.tokens * share)] as const);
    }).filter(([{ largest }, usable]) => usable >= LEAST && largest <= LARGEST * usable);
  if (plays.length === 0) {
    console.log("The recorded transcripts are not there: only the long session is played.");
  }
  const runs: EngineRun[] = [];
  for (const [play, usable] of [[scenario(), 12_000] as const, ...plays]) {
    for (const service of SERVICES) runs.push(await runEngine(play, { service, usable }));
  }
  const isRoomy = ({ usable }: EngineRun): boolean => usable >= ROOMY;
  console.table({
    [`${ROOMY} tokens for messages or more`]: rowOf(runs.filter(isRoomy)),
    "less": rowOf(runs.filter((run) => !isRoomy(run))),
  });
}
