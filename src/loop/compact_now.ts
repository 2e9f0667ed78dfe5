/**
 * A compaction that somebody asks for, between two turns, or the preview of one.
 *
 * @module
 */
import { applyCompaction, planCompaction } from "../compaction/compact.ts";
import { requireWithin } from "../compaction/budget.ts";
import { summaryText } from "../compaction/context.ts";
import { maxProse } from "../compaction/fit_ledger.ts";
import { pinnedEntries } from "../compaction/pins.ts";
import type { Rejection } from "../core/verify.ts";
import type { CompactionNote, Model, Usage } from "../ports.ts";
import type { TracedCompaction } from "../telemetry/compaction.ts";
import { loadTelemetry } from "../telemetry/telemetry.ts";
import type { ReadyAgent } from "./agent.ts";
import { withCompaction } from "./asked.ts";
import { atRest, readAtRest, type RestPlace } from "./at_rest.ts";
import { type Writing, writingOf } from "./background.ts";
import type { MeasuredSession } from "./measured.ts";
import { toolsOf } from "./recall.ts";
import { addUsage, tokensOf } from "./report.ts";
import { summarize, type SummaryAccount } from "./summarizer.ts";

/** How to compact. */
export interface CompactRequest {
  /** What the summarizer is to give most room to. */
  readonly focus?: string;
  /** Share of the usable window to aim at. Default: the agent's. */
  readonly compactTo?: number;
  /** Says what would come of it, and stores nothing; no model is asked. */
  readonly dryRun?: boolean;
  /** Ends the wait for the summarizer: nothing is compacted then. */
  readonly signal?: AbortSignal;
  /**
   * Called before a model is asked, with the name under which the lease is held; what it throws refuses the
   * compaction. Call what it returns when the model has answered.
   */
  readonly enter?: (turn: string) => Promise<() => Promise<void>>;
}

/** What came of it, or would. */
export interface CompactedSession extends Partial<Omit<CompactionNote, "resolved">> {
  /** What came of it. */
  readonly outcome: "applied" | "nothing" | "deferred" | "rejected";
  /** Whether nothing was stored. */
  readonly dryRun: boolean;
  /** Number of the view in force, or of the one that would be. */
  readonly view: number;
  /** Tokens of the context before. */
  readonly tokensBefore: number;
  /** Tokens of the context after. */
  readonly tokensAfter: number;
  /** Entries that leave the raw transcript: `e3`, `e5..e17`. */
  readonly refs?: readonly string[];
  /** What the summarizer was billed, where it was asked. */
  readonly usage?: Usage;
  /** The text of the summary. */
  readonly ledger?: string;
  /** Why no prose is in it, where a focus was given or a summarizer asked. */
  readonly summaryFailure?: string;
  /**
   * Why: of `applied` `asked_for`; of `nothing` `within_budget`, or `within_lookback` where there is more, but less than
   * a cut may keep; of `deferred` what bars the way (`open_call`, `atom_too_wide`, `pinned_too_big`); of `rejected` the
   * first code of its violations.
   */
  readonly reason: string;
  /** Legal cuts around the target. */
  readonly nearest?: { readonly before: number | null; readonly after: number | null };
  /** What was wrong with the view that was not used. */
  readonly violations?: readonly Rejection[];
}

/** Numbers of entries as refs, runs as ranges. */
function refsOf(seqs: readonly number[]): readonly string[] {
  const runs: { from: number; to: number }[] = [];
  for (const seq of [...seqs].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last?.to === seq - 1) last.to = seq;
    else runs.push({ from: seq, to: seq });
  }
  return runs.map(({ from, to }) => from === to ? `e${from}` : `e${from}..e${to}`);
}

/**
 * Compacts a session that is at rest.
 *
 * @param place The session, its agent, and where it is.
 * @param request How; with `dryRun` it is only said what would come of it, also while a turn runs.
 * @returns What came of it; that there is nothing to do is an answer.
 * @throws SelvageError `bad_budget` for a share that is out of the agent's limits; what {@link atRest} throws.
 */
export async function compactNow(place: RestPlace, request: CompactRequest = {}): Promise<CompactedSession> {
  const { compactTo, dryRun = false } = request;
  const there = compactTo === undefined ? place : { ...place, agent: aimingAt(place.agent, compactTo) };
  if (dryRun) {
    return (await compact(await readAtRest(there), { place: there, request, signal: null })).answer;
  }
  return await atRest(there, async (session, lost) => {
    const signal = request.signal === undefined ? lost : AbortSignal.any([lost, request.signal]);
    const { traceCompaction } = await loadTelemetry();
    const { answer, note } = await traceCompaction(place.key.session, async () => {
      const result = await compact(session, { place: there, request, signal });
      return { told: toldOf(result.answer), result };
    });
    if (note === undefined) return { change: {}, answer };
    const { context: { view, entries } } = session;
    const value = { ...view, made: { at: entries.length, note } };
    return { change: { view: { version: view.version, value }, flag: null }, answer };
  });
}

/** What telemetry is told. */
function toldOf({ outcome, ...facts }: CompactedSession): TracedCompaction {
  return { ...facts, phase: outcome };
}

/** Why a view was not used: its violations, and the code of the first. */
function rejectionOf(
  { violations }: { readonly violations: readonly Rejection[] },
): { readonly reason: string; readonly violations: readonly Rejection[] } {
  return { reason: violations[0]?.code ?? "invalid", violations };
}

/** The agent as one compaction has it. */
function aimingAt(agent: ReadyAgent, compactTo: number): ReadyAgent {
  const { compactionLimits: limits, compaction: own } = agent;
  requireWithin({ compactTo }, { limits, own, action: "compact the session", within: "" });
  return withCompaction(agent, { compactTo }, { field: "compactTo" });
}

/** Compacts a context; with a signal the summarizer is asked. Gives a note for the log where a view was made. */
async function compact(
  { context, meter, budget, head }: MeasuredSession,
  { place: { agent, clock }, request, signal }: {
    readonly place: RestPlace;
    readonly request: CompactRequest;
    readonly signal: AbortSignal | null;
  },
): Promise<{ readonly answer: CompactedSession; readonly note?: CompactionNote }> {
  const tokensBefore = await meter.estimate(context);
  const base = { dryRun: request.dryRun === true, view: context.view.version, tokensBefore };
  const planned = await planCompaction(context, {
    meter,
    budget,
    // Policy `backward` waits for the boundary between two turns, and here it is.
    policy: "full",
    pinned: pinnedEntries(context.entries, head.pins),
    tools: toolsOf(agent),
    force: false,
  });
  if (planned.kind !== "planned") {
    const { kind: outcome, ...rest } = planned;
    const { reason } = planned.kind === "rejected" ? rejectionOf(planned) : planned;
    return { answer: { ...base, outcome, tokensAfter: tokensBefore, ...rest, reason } };
  }
  const { summarizer: model } = agent;
  const measure = await context.measure();
  const { countSummary } = await loadTelemetry();
  let usage: Usage | null = null;
  const account: SummaryAccount = {
    hasLeft: () => usage === null || tokensOf(usage) < (agent.maxTokens ?? Infinity),
    billed: (bill, answered) => {
      usage = addUsage(usage ?? { inputTokens: 0, outputTokens: 0 }, bill);
      countSummary({ asked: model?.id ?? "", answered }, bill);
    },
  };
  // Whoever has asked waits for it.
  const write = (model: Model, signal: AbortSignal): Promise<Writing> =>
    writingOf(summarize({
      removed: planned.removed,
      earlier: planned.base.prose ?? "",
      maxTokens: maxProse(planned.reserve),
      measure,
      ownPrefix: null,
      ...(request.focus === undefined ? {} : { focus: request.focus }),
    }, { model, clock, signal, account }));
  let writing: Writing | null = null;
  if (model !== undefined && signal !== null) {
    const leave = await request.enter?.(head.lease?.turn ?? "");
    writing = await write(model, signal).finally(() => leave?.());
  }
  if (writing?.kind === "none") signal?.throwIfAborted();
  const outcome = await applyCompaction(context, planned, {
    meter,
    ...(writing?.kind === "prose" ? { prose: writing.prose } : {}),
  });
  if (outcome.kind === "rejected") {
    const bill = usage === null ? {} : { usage };
    const why = rejectionOf(outcome);
    return { answer: { ...base, outcome: "rejected", tokensAfter: tokensBefore, ...bill, ...why } };
  }
  const { kind, ...cut } = outcome;
  const isUnheard = request.focus !== undefined && model === undefined;
  const facts = {
    ...cut,
    reason: "asked_for",
    view: context.view.version,
    summary: context.view.prose === undefined ? "ledger" as const : "ledger+prose" as const,
    ...(isUnheard ? { summaryFailure: "no_summarizer" } : {}),
    ...(writing?.kind === "none" ? { summaryFailure: writing.reason } : {}),
  };
  const refs = refsOf(planned.removed.map(({ seq }) => seq));
  const ledger = summaryText(context.view, context.recall);
  return {
    answer: { ...base, ...facts, outcome: kind, refs, ...(usage === null ? {} : { usage }), ledger },
    note: facts,
  };
}
