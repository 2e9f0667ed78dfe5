/**
 * One compaction: plan, write the ledger, verify, apply. A rejected one leaves everything as it was.
 *
 * @module
 */
import { type CutMethod, type CutPolicy, selectCut } from "../core/cut.ts";
import { type Rejection, verify } from "../core/verify.ts";
import { cutView } from "../core/view.ts";
import type { Tool } from "../ports.ts";
import type { ContextMeter } from "../tokens/meter.ts";
import { type Budget, keepBudget, lookbackWithin } from "./budget.ts";
import type { Context, StoredView } from "./context.ts";
import { fitLedger, ledgerLines, pairsIn, recordsPair } from "./ledger.ts";

/** What a compaction came to. Cuts are entry numbers of the log. */
export type Compaction =
  | { readonly kind: "nothing" }
  | {
    readonly kind: "applied";
    readonly method: CutMethod;
    readonly cut: number;
    readonly distance: number;
    /** Pairs that went from the raw transcript into the ledger. */
    readonly pairs: number;
    readonly tokensBefore: number;
    readonly tokensAfter: number;
  }
  | {
    readonly kind: "deferred";
    readonly reason: "open_call" | "atom_too_wide" | "pinned_too_big";
    readonly nearest: { readonly before: number | null; readonly after: number | null };
  }
  | { readonly kind: "rejected"; readonly violations: readonly Rejection[] };

/** What {@link compact} needs beside the context. */
export interface CompactOptions {
  readonly meter: ContextMeter;
  readonly budget: Budget;
  readonly policy: "full" | "backward";
  /** Entries that stay verbatim. */
  readonly pinned: readonly number[];
  readonly tools: readonly Tool[];
  /** Takes the best legal cut there is, however far from the target. */
  readonly force: boolean;
}

/**
 * Compacts a context, if a legal cut allows it.
 *
 * @param context The context; changed only when the outcome is `applied`.
 * @param options Meter, thresholds, pins.
 */
export async function compact(context: Context, options: CompactOptions): Promise<Compaction> {
  const { meter, budget, pinned } = options;
  await meter.learn(context);
  const before = await context.transcript();
  const from = context.head;
  // The transcript counts tokens, the thresholds are the provider's: one factor lies between them.
  const counted = (tokens: number): number => Math.floor(tokens / meter.factor);
  const positions = context.positionsOf(pinned);
  const pins = positions.reduce((total, at) => total + before.tokensBetween(at, at + 1), 0);
  const keep = keepBudget(budget, Math.ceil(pins * meter.factor), { force: options.force });
  if (keep === null) {
    return { kind: "deferred", reason: "pinned_too_big", nearest: { before: null, after: null } };
  }
  const policy: CutPolicy = {
    kind: options.policy,
    budget: counted(keep),
    reserve: counted(budget.reserve),
    lookback: lookbackWithin(budget, keep),
    from,
    pinned: positions,
    trimOpen: false,
    force: options.force,
  };
  const plan = selectCut(before, policy);
  const seq = (at: number | null): number | null => at === null ? null : context.view.cut + at - from;
  if (plan.kind === "nothing") return { kind: "nothing" };
  if (plan.kind === "defer") {
    const nearest = { before: seq(plan.nearest.before), after: seq(plan.nearest.after) };
    return { kind: "deferred", reason: plan.reason, nearest };
  }

  const next = cutView(context.view, before, { at: plan.at, from, pinned });
  const measure = await context.measure();
  const written = ledgerLines(removedEntries(context, next.cut, pinned), options.tools);
  const lines = [...context.view.ledger, ...written];
  const ledger = fitLedger(lines, { tokens: counted(budget.reserve), measure });
  const trims = new Map(context.view.trims.filter(([at]) => at >= next.cut));
  for (const { message, tokens } of plan.trims) {
    const at = context.seqOf(message);
    if (at !== null) trims.set(at, tokens);
  }
  const view: StoredView = { ...next, trims: [...trims], ledger };

  // A range only says between which entries it counts: that nothing fell out of the count is seen here.
  const isCounted = pairsIn(ledger) === pairsIn(lines);
  const refs = new Set(written.flatMap((line) => line.kind === "pair" ? [line.ref] : []));
  const after = await context.preview(view);
  const violations = verify({
    before,
    after: after.transcript,
    at: plan.at,
    from: after.head,
    policy,
    pinned: pinnedPositions(view, pinned),
    records: (call) => {
      const ref = before.records[call]?.callId ?? "";
      return isCounted && refs.has(ref) && recordsPair(ledger, ref);
    },
  });
  if (violations.length > 0) return { kind: "rejected", violations };

  const tokensBefore = await meter.estimate(context);
  const pairs = before.pairs.filter((pair) => {
    const at = before.records[pair.call]?.message ?? 0;
    return at >= from && at < plan.at;
  }).length;
  await context.apply(view);
  meter.invalidate();
  const tokensAfter = await meter.estimate(context);
  return {
    kind: "applied",
    method: plan.method,
    cut: view.cut,
    distance: Math.round(plan.distance * meter.factor),
    pairs,
    tokensBefore,
    tokensAfter,
  };
}

/** Entries that leave the raw transcript: the newly cut ones, and pins of earlier views that are released now. */
function removedEntries(context: Context, cut: number, pinned: readonly number[]): Context["entries"] {
  const released = context.view.pinned.filter((seq) => seq < context.view.cut);
  const gone = [...released, ...range(context.view.cut, cut)].filter((seq) => !pinned.includes(seq));
  return gone.flatMap((seq) => context.entries[seq] ?? []);
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}

/** Where the pinned entries stand in a view: after the summary, or in the tail. */
function pinnedPositions(view: StoredView, pinned: readonly number[]): readonly number[] {
  const start = view.ledger.length > 0 ? 1 : 0;
  const head = view.pinned.filter((seq) => seq < view.cut).sort((a, b) => a - b);
  return pinned.flatMap((seq) => {
    if (seq < view.cut) return head.includes(seq) ? [start + head.indexOf(seq)] : [];
    return [start + head.length + seq - view.cut];
  });
}
