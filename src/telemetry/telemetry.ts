/**
 * What is traced and counted of turns, where anybody listens. OpenTelemetry's API is fifty files, a good part of a
 * start: it is loaded with the first turn that finds something registered with it. Without that nothing is told, and
 * nothing of it runs.
 *
 * @module
 */
import type { countSummary, traceCompaction } from "./compaction.ts";
import type { TracedTurn, TurnSpans } from "./turn.ts";

/** Spans and metrics of one turn. */
export type TurnTelemetry = Pick<TurnSpans, keyof TurnSpans>;

/** Begins what is traced. */
export interface Telemetry {
  readonly traceTurn: (traced: TracedTurn) => TurnTelemetry;
  readonly traceCompaction: typeof traceCompaction;
  readonly countSummary: typeof countSummary;
}

/** The place that every version 1 of the API, and Deno's own OpenTelemetry, keeps in common for what is registered. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

const UNHEARD: TurnTelemetry = {
  within: (run) => run(),
  goesOn: () => {},
  step: () => {},
  answered: () => {},
  tool: (_, run) => run(),
  compaction: () => {},
  error: () => {},
  finish: () => {},
  end: () => {},
};

const SILENT: Telemetry = {
  traceTurn: () => UNHEARD,
  traceCompaction: async (_, run) => (await run()).result,
  countSummary: () => {},
};

/** The telemetry of what begins now: a provider may be registered at any time. */
export async function loadTelemetry(): Promise<Telemetry> {
  if (!(REGISTERED in globalThis)) return SILENT;
  const [{ TurnSpans }, { traceCompaction, countSummary }] = await Promise.all([
    import("./turn.ts"),
    import("./compaction.ts"),
  ]);
  return { traceTurn: (traced) => new TurnSpans(traced), traceCompaction, countSummary };
}
