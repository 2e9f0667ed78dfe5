/**
 * One compaction: plan, write the ledger, verify, apply. A rejected one leaves everything as it was. Between the plan
 * and its application the log may grow: cuts of our own log are monotone.
 *
 * @module
 */
import { type CutMethod, type CutPolicy, selectCut } from "../core/cut.ts";
import { type Rejection, verify } from "../core/verify.ts";
import { cutView } from "../core/view.ts";
import type { Tool } from "../ports.ts";
import type { ContextMeter } from "../tokens/meter.ts";
import { retainedResults, wholeAtoms } from "./pins.ts";
import { type Budget, keepBudget, lookbackWithin } from "./budget.ts";
import type { Context, StoredView } from "./context.ts";
import { fitLedger, maxProse } from "./fit_ledger.ts";
import { type LedgerLine, ledgerLines, pairsIn, recordsPair, renderProse } from "./ledger.ts";

/** Where a cut lies, and what it takes away. */
interface CutFacts {
  readonly method: CutMethod;
  /** Number of the first entry that stays raw. */
  readonly cut: number;
  /** Tokens kept beyond the target, negative where less is kept. */
  readonly distance: number;
  /** Pairs that go from the raw transcript into the ledger. */
  readonly pairs: number;
}

/** Why there is no cut. Positions are entry numbers of the log. */
export type NoCut =
  | { readonly kind: "nothing"; readonly reason: "within_budget" | "within_lookback" }
  | {
    readonly kind: "deferred";
    readonly reason: "open_call" | "atom_too_wide" | "pinned_too_big";
    readonly nearest: { readonly before: number | null; readonly after: number | null };
  }
  | { readonly kind: "rejected"; readonly violations: readonly Rejection[] };

/** A compaction that was verified and waits to be applied. */
export type PlannedCompaction = CutFacts & {
  readonly kind: "planned";
  /** The view that it was made from: it can be applied to no other. */
  readonly base: StoredView;
  /** The new view, with the ledger alone. */
  readonly view: StoredView;
  /** Entries that leave the raw transcript. */
  readonly removed: Context["entries"];
  /** Every line of the ledger, before it was made to fit. */
  readonly lines: readonly LedgerLine[];
  /** Calls whose lines hold what their tools want retained. */
  readonly told: ReadonlySet<string>;
  /** Tokens for ledger and prose together, as our own counter counts. */
  readonly reserve: number;
  readonly policy: CutPolicy;
  /** What an item counts at the least for a byte. */
  readonly floor: number;
  /** Entries that stay verbatim, whole atoms: what was pinned then, and what tools want retained. */
  readonly pinned: readonly number[];
  /** Entries of the log when it was planned. */
  readonly length: number;
};

/** What a compaction came to. */
export type Compaction =
  | NoCut
  | (CutFacts & {
    readonly kind: "applied";
    readonly tokensBefore: number;
    readonly tokensAfter: number;
  });

/** Share of what a compaction aims at that retained results may take. */
const RETAINED_SHARE = 0.25;

/** What {@link planCompaction} needs beside the context. */
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
 * Plans a compaction, and verifies it.
 *
 * @param context The context; not changed.
 * @param options Meter, thresholds, pins.
 */
export async function planCompaction(
  context: Context,
  options: CompactOptions,
): Promise<NoCut | PlannedCompaction> {
  const { meter, budget } = options;
  await meter.learn(context);
  const { floor } = meter;
  const before = await context.transcript(floor);
  const from = context.head;
  // The transcript counts tokens, the thresholds are the provider's: one factor lies between them.
  const counted = (tokens: number): number => Math.floor(tokens / meter.factor);
  const tokensOf = (seqs: readonly number[]): number =>
    context.positionsOf(seqs).reduce((total, at) => total + before.tokensBetween(at, at + 1), 0);
  const asked = wholeAtoms(context.entries, options.pinned);
  const room = Math.min(budget.compactTo * RETAINED_SHARE, budget.maxInput - tokensOf(asked) * meter.factor);
  const retained = retainedResults(context.entries, options.tools, {
    room: counted(room),
    sizeOf: (seqs) => context.positionsOf(seqs).length === seqs.length ? tokensOf(seqs) : null,
  });
  const pinned = wholeAtoms(context.entries, [...asked, ...retained.kept]);
  const positions = context.positionsOf(pinned);
  const pins = tokensOf(pinned);
  const keep = keepBudget(budget, Math.ceil(pins * meter.factor), { force: options.force });
  if (keep === null) {
    return { kind: "deferred", reason: "pinned_too_big", nearest: { before: null, after: null } };
  }
  const reserve = counted(budget.reserve);
  const policy: CutPolicy = {
    kind: options.policy,
    budget: counted(keep),
    reserve,
    lookback: lookbackWithin(budget, keep),
    from,
    pinned: positions,
    trimOpen: false,
    force: options.force,
  };
  const plan = selectCut(before, policy);
  const seq = (at: number | null): number | null => at === null ? null : context.view.cut + at - from;
  if (plan.kind === "nothing") return { kind: "nothing", reason: plan.reason };
  if (plan.kind === "defer") {
    const nearest = { before: seq(plan.nearest.before), after: seq(plan.nearest.after) };
    return { kind: "deferred", reason: plan.reason, nearest };
  }

  const next = cutView(context.view, before, { at: plan.at, from, pinned });
  const removed = removedEntries(context, next.cut, pinned);
  const { told } = retained;
  // As many bytes as the reserve has tokens: about a quarter of it.
  const lines = [...context.view.ledger, ...ledgerLines(removed, options.tools, { told, bytes: reserve })];
  // What stays is shown as it was: whole again, a pinned result would take more than the plan has charged for it.
  const trims = new Map(context.view.trims.filter(([at]) => at >= next.cut || next.pinned.includes(at)));
  for (const { message, tokens } of plan.trims) {
    const at = context.seqOf(message);
    if (at !== null) trims.set(at, await context.limitOf(message, { tokens, floor }));
  }
  const bare = { ...next, trims: [...trims], ledger: [] };
  // Prose of an earlier pass stays while it fits; lines of its time stay in the ledger all the same.
  const view = await withSummary(context, bare, {
    lines,
    told,
    prose: context.view.prose ?? "",
    reserve,
    floor,
  });
  const planned: PlannedCompaction = {
    kind: "planned",
    method: plan.method,
    cut: view.cut,
    distance: Math.round(plan.distance * meter.factor),
    pairs: before.pairs.filter((pair) => {
      const at = before.records[pair.call]?.message ?? 0;
      return at >= from && at < plan.at;
    }).length,
    base: context.view,
    view,
    removed,
    lines,
    told,
    reserve,
    policy,
    floor,
    pinned,
    length: context.entries.length,
  };
  const violations = await verifyView(context, { planned, view });
  return violations.length > 0 ? { kind: "rejected", violations } : planned;
}

/**
 * Applies a planned compaction to the context as it is now.
 *
 * @param context The context; changed only when the outcome is `applied`.
 * @param planned What was planned on it; it may have grown since.
 * @param options The meter, and prose that a model has written beside the ledger.
 */
export async function applyCompaction(
  context: Context,
  planned: PlannedCompaction,
  { meter, prose }: { readonly meter: ContextMeter; readonly prose?: string },
): Promise<Extract<Compaction, { kind: "applied" | "rejected" }>> {
  const { method, cut, distance, pairs } = planned;
  const view = prose === undefined
    ? planned.view
    : await withSummary(context, planned.view, { ...planned, prose });
  if (context.view !== planned.base) {
    const message = "Another compaction was applied since this one was planned";
    return { kind: "rejected", violations: [{ code: "invalid", condition: "C5", message }] };
  }
  // What was planned was verified then; what has come since is verified now.
  const isSame = prose === undefined && context.entries.length === planned.length;
  const violations = isSame ? [] : await verifyView(context, { planned, view, isLater: true });
  if (violations.length > 0) return { kind: "rejected", violations };
  // The bill of what goes is history: both are counted, or the view might seem to grow where a bill was lower.
  meter.invalidate();
  const tokensBefore = await meter.estimate(context);
  await context.apply(view);
  const tokensAfter = await meter.estimate(context);
  return { kind: "applied", method, cut, distance, pairs, tokensBefore, tokensAfter };
}

/** A view with its summary: prose where it fits, and as much of the ledger as the reserve has room for beside it. */
async function withSummary(
  context: Context,
  view: StoredView,
  { lines, told, prose, reserve, floor }: Pick<PlannedCompaction, "lines" | "told" | "reserve" | "floor"> & {
    readonly prose: string;
  },
): Promise<StoredView> {
  const measure = await context.measure(floor);
  const proseTokens = prose === "" ? 0 : measure(renderProse(prose)) + 2;
  const fits = proseTokens > 0 && proseTokens <= maxProse(reserve);
  const tokens = reserve - (fits ? proseTokens : 0);
  const { prose: _, ...rest } = view;
  return {
    ...rest,
    ledger: fitLedger(lines, { tokens, measure, told, recall: context.recall }),
    ...(fits ? { prose } : {}),
  };
}

/** Verifies a view that would be put in force; `isLater` where the log has grown since the cut was selected. */
async function verifyView(
  context: Context,
  { planned: { base, cut, lines, policy, floor, pinned }, view, isLater = false }: {
    readonly planned: PlannedCompaction;
    readonly view: StoredView;
    readonly isLater?: boolean;
  },
): Promise<readonly Rejection[]> {
  const before = await context.transcript(floor);
  const after = await context.preview(view, floor);
  // A range only says between which entries it counts: that nothing fell out of the count is seen here.
  const isCounted = pairsIn(view.ledger) === pairsIn(lines);
  const refs = new Set(lines.flatMap((line) => line.kind === "pair" ? [line.ref] : []));
  return verify({
    before,
    after: after.transcript,
    at: context.head + cut - base.cut,
    from: after.head,
    // What came later may well be worth another compaction: that this one is stable was verified when it was planned.
    policy: isLater ? { ...policy, budget: Number.MAX_SAFE_INTEGER } : policy,
    ...(isLater ? { minProgress: 0 } : {}),
    pinned: pinnedPositions(view, pinned),
    records: (call) => {
      const ref = before.records[call]?.callId ?? "";
      return isCounted && refs.has(ref) && recordsPair(view.ledger, ref);
    },
  });
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
