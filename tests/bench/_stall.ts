/**
 * One turn whose context has to be compacted, with a summarizer that needs five seconds: in virtual time, so that what
 * is measured is what the turn waits for and not what the machine is doing.
 */
import type { TurnEvent } from "../../src/loop/events.ts";
import type { Model } from "../../src/ports.ts";
import { loadCounter } from "../../src/tokens/counter.ts";
import { Bench, calls, eventsOf, finish, modelOf, prose, replies, tool } from "../support/turns.ts";

/**
 * Who summarises: nobody; a model, while the turn goes on; or a model that the same loop waits for before it asks its
 * own model again, as other runtimes do.
 */
export type Summary = "none" | "background" | "blocking";

/** What a turn came to. */
export interface StallRun {
  /** Milliseconds of the whole turn. */
  readonly ms: number;
  /** Compactions that were applied, and those of them with prose. */
  readonly compactions: number;
  readonly withProse: number;
  /** The most tokens of the context, against those over which the model is not called. */
  readonly peak: number;
  readonly events: readonly TurnEvent[];
}

/** Milliseconds that a summary takes. */
export const SUMMARY_MS = 5_000;
/** Milliseconds of one call of the tool. */
const TOOL_MS = 1_000;

/** Plays a turn of so many calls. */
export async function measureStall(summary: Summary, steps = 120): Promise<StallRun> {
  let writing: Promise<void> | null = null;
  const summarizer = modelOf(async function* (_, signal) {
    writing = bench.clock.sleep(SUMMARY_MS, signal);
    await writing;
    yield finish(JSON.stringify({ narrative: "The files were read.", outcomes: {} }));
  });
  const bench: Bench = new Bench({
    window: 8_000,
    script: replies(...Array.from({ length: steps }, (_, at) => calls("read", { at }))),
    tools: [tool("read", async (input, { signal }) => {
      await bench.clock.sleep(TOOL_MS, signal);
      return prose(600, Number(input["at"]));
    })],
  });
  const { model } = bench.agent;
  const waiting: Model = {
    ...model,
    async *stream(request, signal) {
      if (summary === "blocking") await writing;
      yield* model.stream(request, signal);
    },
  };
  const agent = {
    ...bench.agent,
    model: waiting,
    maxSteps: steps + 1,
    ...(summary === "none" ? {} : { summarizer }),
  };
  // What is loaded on first use takes real time, in which the clock would go on.
  await loadCounter("o200k_base");
  const start = bench.clock.now();
  let end: number | null = null;
  const running = bench.run("Read all of it", { agent }).finally(() => end = bench.clock.now());
  while (end === null) await bench.clock.advance(250);
  const events = await running;
  const applied = eventsOf(events, "compaction").filter(({ phase }) => phase === "applied");
  return {
    ms: end - start,
    compactions: applied.length,
    withProse: applied.filter(({ summary }) => summary === "ledger+prose").length,
    peak: Math.max(...eventsOf(events, "context").map(({ tokens, stopAt }) => tokens / stopAt)),
    events,
  };
}
