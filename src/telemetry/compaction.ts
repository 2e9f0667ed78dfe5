/**
 * `agent.compact`: the span of one compaction, in a turn or between two, and what is counted of it.
 *
 * @module
 */
import { type Attributes, type Context, context, type Span, type TimeInput } from "@opentelemetry/api";
import { SelvageError } from "../core/errors.ts";
import type { Usage } from "../core/usage.ts";
import { instruments, tracer } from "./instruments.ts";
import { fail, inside, recordTokens } from "./spans.ts";

/** What is told of a compaction. */
export interface TracedCompaction {
  readonly phase: "started" | "applied" | "deferred" | "rejected" | "exhausted" | "nothing";
  readonly reason: string;
  readonly method?: string;
  readonly cut?: number;
  readonly distance?: number;
  readonly pairs?: number;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  readonly resolved?: string;
  readonly summary?: string;
  readonly summaryFailure?: string;
}

/**
 * Starts the span.
 *
 * @param session Whose context is compacted.
 * @param options When it began, and the context that it stands in; default: now, and what is active.
 */
export function startCompaction(
  session: string,
  { startTime, within = context.active() }: { readonly startTime?: TimeInput; readonly within?: Context } =
    {},
): Span {
  return tracer().startSpan("agent.compact", {
    ...(startTime === undefined ? {} : { startTime }),
    attributes: { "gen_ai.conversation.id": session },
  }, within);
}

/** Says in a span what became of its compaction, and counts it; one that has only started is not counted yet. */
export function tellCompaction(span: Span, told: TracedCompaction): void {
  const { phase, reason, method, summary } = told;
  span.setAttributes(compactionAttributes(told));
  if (phase === "started" || phase === "nothing") return;
  if (phase === "rejected" || phase === "exhausted") fail(span, reason);
  const { compactions, deferrals } = instruments();
  if (phase === "deferred") deferrals.add(1, { "selvage.compaction.reason": reason });
  else {
    compactions.add(1, {
      "selvage.compaction.phase": phase,
      ...(method === undefined ? {} : { "selvage.compaction.method": method }),
      ...(summary === undefined ? {} : { "selvage.compaction.summary": summary }),
    });
  }
}

/**
 * Runs a compaction that somebody asks for between two turns, inside a span of its own.
 *
 * @param session Whose context is compacted.
 * @param run Does it, and says what became of it.
 */
export async function traceCompaction<Result>(
  session: string,
  run: () => Promise<{ readonly told: TracedCompaction; readonly result: Result }>,
): Promise<Result> {
  const span = startCompaction(session);
  try {
    const { told, result } = await context.with(inside(context.active(), span), run);
    tellCompaction(span, told);
    return result;
  } catch (error) {
    fail(span, error instanceof SelvageError ? error.code : "internal");
    throw error;
  } finally {
    span.end();
  }
}

/** Counts what a summarizer was billed for a call. */
export function countSummary(
  { asked, answered }: { readonly asked: string; readonly answered: string },
  usage: Usage,
): void {
  recordTokens({
    "gen_ai.request.model": asked,
    "gen_ai.response.model": answered,
    "gen_ai.operation.name": "summarize",
  }, usage);
}

function compactionAttributes(told: TracedCompaction): Attributes {
  const { phase, reason, method, cut, distance, pairs, tokensBefore, tokensAfter } = told;
  const { resolved, summary, summaryFailure } = told;
  const all: Readonly<Record<string, string | number | undefined>> = {
    phase,
    reason,
    method,
    cut,
    distance,
    pairs,
    "tokens.before": tokensBefore,
    "tokens.after": tokensAfter,
    resolved,
    summary,
    "summary.failure": summaryFailure,
  };
  const set = Object.entries(all).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [`selvage.compaction.${name}`, value]));
}
