/**
 * What a compaction of a transcript from elsewhere answers, with a cut and without one.
 *
 * @module
 */
import type { CutMethod, CutPlan, CutPolicy } from "../core/cut.ts";
import type { Violation } from "../core/record.ts";
import { checkMessages } from "../formats/check.ts";
import type { JsonObject } from "../formats/format.ts";
import type { Repair } from "../formats/repair.ts";
import type { Mended } from "./mended.ts";
import type { AppliedCut, CutToMake } from "./wire_apply.ts";
import type { LedgerPair } from "./wire_ledger.ts";
import type { CompactTranscriptOptions } from "./wire_options.ts";
import type { Trimmed } from "./wire_trims.ts";

/** What a compaction came to. */
export interface CompactedTranscript {
  /** `deferred`: no legal cut now, one may come. `refused`: no cut can help. */
  readonly outcome: "applied" | "nothing" | "deferred" | "refused";
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
  /**
   * Why nothing was removed; of a cut that it is a last resort, `inside_signed_reasoning`. `nothing` says
   * `within_budget`, or of what is over it `within_lookback` where a cut may keep as much, and `too_little_to_gain`
   * where the best cut would take away less than a tenth.
   */
  readonly reason: string | null;
  /** The legal cuts around the target of a compaction that was deferred or refused. */
  readonly nearest: { readonly before: number | null; readonly after: number | null } | null;
  /** With `plan`: the messages that the cut would summarise. */
  readonly toSummarise?: readonly JsonObject[];
}

/** A cut that is tried: how it was found, and what came of it. */
export interface Attempt {
  readonly plan: CutToMake;
  readonly applied: AppliedCut;
}

/** The answer with a cut that was made. */
export function compacted(
  mended: Mended,
  options: CompactTranscriptOptions,
  { plan, applied }: Attempt,
): CompactedTranscript {
  const { removed } = applied;
  const { input } = mended;
  const wanted = new Set(options.pinned);
  const isPlan = options.plan === true;
  return {
    outcome: "applied",
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
export function putOff(
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
export function unchanged(
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
