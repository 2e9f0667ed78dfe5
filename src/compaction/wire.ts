/**
 * Compaction of a transcript from elsewhere: the selector, the ledger and the verification of the loop, on
 * messages in their own format.
 *
 * @module
 */
import { type CutMethod, type CutPlan, type CutPolicy, selectCut, summaryReserve } from "../core/cut.ts";
import { SelvageError } from "../core/errors.ts";
import type { Violation } from "../core/record.ts";
import { MIN_PROGRESS } from "../core/verify.ts";
import { checkMessages } from "../formats/check.ts";
import type { JsonObject } from "../formats/format.ts";
import { type Reading, readTranscript } from "../formats/read.ts";
import type { Repair } from "../formats/repair.ts";
import { asItCame, type Mended, mendFirst } from "./mended.ts";
import { parseLedger } from "./parse_ledger.ts";
import { type AppliedCut, applyCut, type CutToMake } from "./wire_apply.ts";
import { isLedgerAt, type LedgerPair, rawFrom } from "./wire_ledger.ts";
import type { Trimmed } from "./wire_trims.ts";

export type { LedgerPair } from "./wire_ledger.ts";
export type { Trimmed } from "./wire_trims.ts";

/** How to compact. */
export interface CompactTranscriptOptions {
  /** Tokens of messages to keep, the reserve for the summary included, system messages left out. */
  readonly budget: number;
  /** Default `full`. */
  readonly policy?: "full" | "backward";
  /** Share of the budget by which a cut may keep more. Default 0.15. */
  readonly lookback?: number;
  /** Share of the budget by which a cut may keep less. Default 0.15. */
  readonly lookahead?: number;
  /** Tokens kept free for the summary. Default 15 % of the budget, 300 to 4,000. */
  readonly summaryReserve?: number;
  /** Messages that stay verbatim; ledgers of earlier compactions go into the new one all the same. */
  readonly pinned?: readonly number[];
  /**
   * Takes the best legal cut there is where none keeps to the budget: for a context that has to shrink now. What
   * comes out may be over the budget; a second run then finds no other cut.
   */
  readonly force?: boolean;
  /** Prose of the caller's own, put behind the ledger. */
  readonly summary?: string;
  /** Mends what is broken in the messages that are kept. Default true. */
  readonly repair?: boolean;
  /** Gives the cut and the ledger, and changes nothing. */
  readonly plan?: boolean;
}

/** Tokens to which a result may be shortened where a cut cannot be had otherwise: a note takes about 40. */
const LEAST_TRIM = 64;

/** What a compaction came to. */
export interface CompactedTranscript {
  /** `deferred`: no legal cut now, one may come. `refused`: no cut can help. */
  readonly outcome: "compacted" | "nothing" | "deferred" | "refused";
  /** The transcript from now on. A ledger counts messages as they were before anything was cut away. */
  readonly messages: readonly JsonObject[];
  /** The first message of the input that stays raw, how it was found, tokens beyond the budget; null without a cut. */
  readonly cut:
    | {
      readonly at: number;
      readonly method: CutMethod;
      readonly distance: number;
      readonly lookbackUsed: number;
    }
    | null;
  /** Tokens of messages, system messages left out. */
  readonly tokens: { readonly before: number; readonly after: number; readonly budget: number };
  /** The removed pairs. */
  readonly ledger: readonly LedgerPair[];
  /** Results that are shown shortened. */
  readonly trims: readonly Trimmed[];
  /** What was mended. */
  readonly repairs: readonly Repair[];
  /** Kept messages with reasoning that a provider has signed: newer models refuse it behind another beginning. */
  readonly signed: readonly number[];
  /** What is wrong with the messages; after a repair nothing. */
  readonly violations: readonly Violation[];
  /** Why nothing was removed, where it was due; of a cut that it is a last resort, `inside_signed_reasoning`. */
  readonly reason: string | null;
  /** The legal cuts around the target of a compaction that was deferred or refused. */
  readonly nearest: { readonly before: number | null; readonly after: number | null } | null;
  /** With `plan`: the messages that the cut would summarise. */
  readonly toSummarise?: readonly JsonObject[];
}

/** Whether a text is a ledger that an earlier compaction wrote, by header and checksum: pass it as `isSummary`. */
export function isLedger(text: string): boolean {
  return parseLedger(text) !== null;
}

/** Complains about options that cannot be meant. */
function refuseOptions(
  { messages }: Reading,
  { budget, pinned = [], summary }: CompactTranscriptOptions,
): void {
  if (!(budget > 0)) {
    throw new SelvageError(
      "bad_budget",
      `Cannot compact: found a budget of ${budget} tokens, wanted more than 0`,
      { fields: { field: "budget" } },
    );
  }
  for (const pin of pinned) {
    if (!Number.isInteger(pin) || pin < 0 || pin >= messages.length) {
      const wanted = messages.length === 0 ? "no pin, as there is no message" : `0 to ${messages.length - 1}`;
      throw new SelvageError("bad_pin", `Cannot pin message ${pin}: wanted ${wanted}`, {
        fields: { field: "pinned", at: pin },
      });
    }
  }
  if (summary !== undefined && summary.trim() === "") {
    throw new SelvageError(
      "summary_blank",
      "Cannot use the summary: found only white space, wanted text or no summary",
      { fields: { field: "summary" } },
    );
  }
}

/** The policy in positions of what is compacted. */
function policyOf({ input, made, placeOf }: Mended, options: CompactTranscriptOptions): CutPolicy {
  const from = rawFrom(made);
  // Pins keep whole atoms; one for each is enough. What lies before the raw messages stays as it is anyway, and what
  // an earlier ledger records goes into the next one.
  const pins = (options.pinned ?? []).filter((pin) => !isLedgerAt(input, pin));
  const atoms = pins.map((pin) => made.transcript.atomAt(placeOf(pin) ?? -1));
  const pinned = [...new Set(atoms.flatMap((atom) => atom !== null && atom.to > from ? [atom.from] : []))];
  return {
    budget: options.budget,
    reserve: options.summaryReserve ?? summaryReserve(options.budget),
    from,
    ...(options.policy === undefined ? {} : { kind: options.policy }),
    ...(options.lookback === undefined ? {} : { lookback: options.lookback }),
    ...(options.lookahead === undefined ? {} : { lookahead: options.lookahead }),
    ...(pinned.length === 0 ? {} : { pinned }),
  };
}

/**
 * Compacts a transcript.
 *
 * @param reading The transcript as it was read; pass `isSummary: isLedger` when reading, so that an earlier
 *   compaction is gone on with instead of summarised as if somebody had said it. Where it was read with the default
 *   for `thinking` and no cut is found, it is tried again with `steps`, then with `ignore`; a cut that is found so
 *   has the reason `inside_signed_reasoning`.
 * @param options Budget and policy, in tokens as `reading.measure` counts them. The transcript is repaired first,
 *   so that what a repair adds is counted too; all positions are those of `reading`.
 * @returns The outcome. Only `compacted` removes messages; `nothing`, `deferred` and `refused` give back the
 *   transcript, repaired where that is asked for. What fits the budget is left alone. What comes out of a cut has at
 *   most 1.15 of the budget (or `lookback` beyond it, where that is more) and a tenth less than before; where that
 *   cannot be had the answer is `nothing`, or `refused` with the reason `budget_too_small`. A second run on what came
 *   out answers `nothing`; after a forced cut that is over the budget it may defer or refuse, or go on where a repair
 *   has made cuts legal that were not.
 * @throws SelvageError `bad_budget`, `bad_pin`, `summary_blank`, `summary_too_large`.
 *
 * @example
 * ```ts
 * import { compactTranscript, readTranscript } from "@selvage/selvage/core";
 *
 * const messages = Array.from({ length: 40 }, (_, index) => ({
 *   role: index % 2 === 0 ? "user" : "assistant",
 *   content: `Message ${index}: ${"word ".repeat(200)}`,
 * }));
 * const { outcome, cut } = compactTranscript(readTranscript(messages), { budget: 4_000 });
 * console.log(outcome, cut?.method);
 * ```
 */
export function compactTranscript(reading: Reading, options: CompactTranscriptOptions): CompactedTranscript {
  refuseOptions(reading, options);
  const mended = options.repair === false ? asItCame(reading) : mendFirst(reading);
  const { made } = mended;
  if (made.transcript.tokens <= options.budget) return unchanged(mended, options, { outcome: "nothing" });
  const policy = policyOf(mended, options);
  const first = selectCut(made.transcript, policy);
  // A whole loop with signed reasoning is too wide. Next best is a tail that begins with such reasoning; and any
  // legal cut is better than a context that grows until nothing fits. It is said where that was done.
  const isSigned = made.pieces.some((message) => message.some((piece) => piece.isSigned === true));
  if (first.kind === "defer" && isSigned && (reading.options.thinking ?? "auto") === "auto") {
    const again = (thinking: "steps" | "ignore", force: boolean): CompactedTranscript =>
      compactTranscript(readTranscript(reading.messages, { ...reading.options, thinking }), {
        ...options,
        force,
      });
    const inFront = again("steps", false);
    const found = inFront.cut === null ? again("ignore", options.force === true) : inFront;
    const isInside = found.cut !== null && !reading.transcript.isLegalCut(found.cut.at);
    return isInside ? { ...found, reason: "inside_signed_reasoning" } : found;
  }
  return makeCut(mended, { options, policy, first });
}

/** A cut that is tried: how it was found, and what came of it. */
interface Attempt {
  readonly plan: CutToMake;
  readonly applied: AppliedCut;
}

/** Makes the cut that was selected, or a tighter one where what comes out would be too large. */
function makeCut(
  mended: Mended,
  { options, policy, first }: {
    readonly options: CompactTranscriptOptions;
    readonly policy: CutPolicy;
    readonly first: CutPlan;
  },
): CompactedTranscript {
  const { tokens } = mended.made.transcript;
  const most = options.budget * (1 + Math.max(0.15, options.lookback ?? 0.15));
  const isGood = ({ applied }: Attempt): boolean =>
    applied.broken === null && applied.tokens <= most && applied.tokens <= tokens * (1 - MIN_PROGRESS);
  const attempt = (plan: CutToMake, isForced: boolean): Attempt => ({
    plan,
    applied: applyCut(mended, {
      plan,
      policy: { ...policy, force: isForced },
      isChecked: options.repair !== false,
      ...(options.summary === undefined ? {} : { summary: options.summary.trim() }),
    }),
  });

  const found = planCut(mended, { options, policy, first });
  if (found.plan.kind === "defer") return putOff(mended, { options, policy, plan: found.plan });
  if (found.plan.kind === "nothing") {
    if (tokens <= most) return unchanged(mended, options, { outcome: "nothing" });
    // An earlier summary was written for a larger budget: it alone can be made smaller.
    const plan = refit(mended, policy);
    const tried = plan === null ? null : attempt(plan, options.force === true);
    return tried !== null && isGood(tried)
      ? compacted(mended, options, tried)
      : unchanged(mended, options, { outcome: "refused", reason: "budget_too_small" });
  }
  const tried = attempt(found.plan, found.isForced);
  if (isGood(tried)) return compacted(mended, options, tried);
  // The summary may take more than was kept free for it, and what lies beyond the target may be too much then.
  const reserve = Math.max(policy.reserve ?? 0, tried.applied.summaryTokens);
  const tight = { ...policy, lookback: 0, reserve };
  const next = planCut(mended, {
    options,
    policy: tight,
    first: selectCut(mended.made.transcript, tight),
  });
  const tighter = next.plan.kind === "cut" ? attempt(next.plan, next.isForced) : null;
  if (tighter !== null && isGood(tighter)) return compacted(mended, options, tighter);
  if (options.force === true) {
    const [best] = [tried, ...(tighter === null ? [] : [tighter])]
      .filter(({ applied }) => applied.broken === null && applied.tokens < tokens)
      .sort((a, b) => a.applied.tokens - b.applied.tokens);
    if (best !== undefined) return compacted(mended, options, best);
  }
  if (tokens <= most) return unchanged(mended, options, { outcome: "nothing" });
  if (next.plan.kind === "defer") return putOff(mended, { options, policy: tight, plan: next.plan });
  const { broken } = tighter?.applied ?? tried.applied;
  return unchanged(mended, options, {
    outcome: "refused",
    reason: broken === null ? "budget_too_small" : `rejected:${broken}`,
  });
}

/** Goes on from what the selector has found, to what can be done where nobody comes back after the next step. */
function planCut(
  { made }: Mended,
  { options, policy, first }: {
    readonly options: CompactTranscriptOptions;
    readonly policy: CutPolicy;
    readonly first: CutPlan;
  },
): { readonly plan: CutPlan; readonly isForced: boolean } {
  // Rather than keep far too little, or give up, results are shortened to the least that still says what was left
  // out.
  const isPoor = first.kind === "defer" || (first.kind === "cut" && first.method === "forward");
  const second = isPoor && options.policy !== "backward"
    ? selectCut(made.transcript, { ...policy, trimFloor: LEAST_TRIM })
    : first;
  const isForced = second.kind === "defer" && options.force === true;
  const plan = isForced
    ? selectCut(made.transcript, { ...policy, trimFloor: LEAST_TRIM, force: true })
    : second;
  return { plan, isForced };
}

/** A cut that takes nothing but the earlier summary, to write it anew; null where there is none. */
function refit({ made }: Mended, { from = 0, budget, reserve = 0 }: CutPolicy): CutToMake | null {
  const { transcript } = made;
  if (from === 0 || from >= transcript.messages || !isLedgerAt(made, from - 1)) return null;
  if (!transcript.isLegalCut(from)) return null;
  const keptTokens = reserve + transcript.tokensBetween(from, transcript.messages);
  return { kind: "cut", at: from, keptTokens, distance: keptTokens - budget, method: "near", trims: [] };
}

/** The answer with a cut that was made. */
function compacted(
  mended: Mended,
  options: CompactTranscriptOptions,
  { plan, applied }: Attempt,
): CompactedTranscript {
  const { removed } = applied;
  const { input } = mended;
  const wanted = new Set(options.pinned);
  const isPlan = options.plan === true;
  return {
    outcome: "compacted",
    messages: isPlan ? input.messages : applied.messages,
    cut: {
      at: mended.cutInInput(plan.at),
      method: plan.method,
      distance: plan.distance,
      lookbackUsed: plan.method === "near" ? Math.max(0, plan.distance) : 0,
    },
    tokens: { before: input.transcript.tokens, after: applied.tokens, budget: options.budget },
    ledger: applied.pairs,
    trims: applied.trims,
    repairs: isPlan ? [] : mended.repairs.filter(({ at }) => !removed.has(at) || wanted.has(at)),
    signed: applied.signed,
    violations: applied.violations,
    reason: null,
    nearest: null,
    ...(isPlan ? { toSummarise: input.messages.filter((_, at) => removed.has(at)) } : {}),
  };
}

/** The answer where there is no cut, with the legal ones around the target. */
function putOff(
  mended: Mended,
  { options, policy, plan }: {
    readonly options: CompactTranscriptOptions;
    readonly policy: CutPolicy;
    readonly plan: CutPlan & { readonly kind: "defer" };
  },
): CompactedTranscript {
  const { cutInInput } = mended;
  const { nearest: { before, after } } = plan;
  // Without a pin it is the summary alone that fills the budget.
  const isFull = plan.reason === "pinned_too_big" && policy.pinned === undefined;
  const reason = isFull ? "budget_too_small" : plan.reason;
  return unchanged(mended, options, {
    outcome: isHopeless(mended, policy, plan.reason) ? "refused" : "deferred",
    reason,
    nearest: {
      before: before === null ? null : cutInInput(before),
      after: after === null ? null : cutInInput(after),
    },
  });
}

/** The transcript with all its messages, repaired where that is asked for. */
function unchanged(
  { input, made, repairs }: Mended,
  options: CompactTranscriptOptions,
  answer: Pick<CompactedTranscript, "outcome"> & Partial<Pick<CompactedTranscript, "reason" | "nearest">>,
): CompactedTranscript {
  const shown = options.plan === true ? input : made;
  return {
    messages: shown.messages,
    cut: null,
    tokens: {
      before: input.transcript.tokens,
      after: shown.transcript.tokens,
      budget: options.budget,
    },
    ledger: [],
    trims: [],
    repairs: options.plan === true ? [] : repairs,
    signed: [],
    violations: checkMessages(shown),
    reason: null,
    nearest: null,
    ...answer,
  };
}

/**
 * Whether no later cut can help. An open call will be answered, and then a cut may be there, as it may be in what a
 * repair gives back; a pin, or one wide atom, stays what it is.
 */
function isHopeless({ made, hasMoreCuts }: Mended, policy: CutPolicy, reason: string): boolean {
  if (reason !== "atom_too_wide") return reason === "pinned_too_big";
  const { transcript } = made;
  const last = transcript.tokensBetween(transcript.atomStart(transcript.atomCount - 1), transcript.messages);
  return !hasMoreCuts && (policy.reserve ?? 0) + last > policy.budget * (1 + (policy.lookback ?? 0.15));
}
