/**
 * Compaction of a transcript from elsewhere: the selector, the ledger and the verification of the loop, on
 * messages in their own format.
 *
 * @module
 */
import { type CutPlan, type CutPolicy, selectCut } from "../core/cut.ts";
import { MIN_PROGRESS } from "../core/verify.ts";
import { type Reading, readTranscript } from "../formats/read.ts";
import { asItCame, type Mended, mendFirst } from "./mended.ts";
import { parseLedger } from "./parse_ledger.ts";
import { type Attempt, compacted, type CompactedTranscript, putOff, unchanged } from "./wire_answer.ts";
import { applyCut, type CutToMake } from "./wire_apply.ts";
import { isLedgerAt } from "./wire_ledger.ts";
import { type CompactTranscriptOptions, policyOf, refuseOptions } from "./wire_options.ts";

export type { CompactedTranscript } from "./wire_answer.ts";
export type { LedgerPair } from "./wire_ledger.ts";
export type { CompactTranscriptOptions } from "./wire_options.ts";
export type { Trimmed } from "./wire_trims.ts";

/** Tokens to which a result may be shortened where a cut cannot be had otherwise: a note takes about 40. */
const LEAST_TRIM = 64;

/**
 * Whether a text is a ledger that an earlier compaction wrote, by header and checksum: pass it as `isSummary`.
 *
 * @example
 * ```ts
 * import { isLedger, readTranscript } from "@selvage/selvage/core";
 *
 * console.log(isLedger("Summary: we read two files.")); // false
 * const messages = [{ role: "user", content: "Go on." }];
 * console.log(readTranscript(messages, { isSummary: isLedger }).transcript.messages); // 1
 * ```
 */
export function isLedger(text: string): boolean {
  return parseLedger(text) !== null;
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
 * @returns The outcome. Only `applied` removes messages; `nothing`, `deferred` and `refused` give back the
 *   transcript, repaired where that is asked for. What fits the budget is left alone. What comes out of a cut has at
 *   most 1.15 of the budget (or `lookback` beyond it, where that is more) and a tenth less than before; where that
 *   cannot be had the answer is `nothing`, or `refused` with the reason `budget_too_small`. A second run on what came
 *   out answers `nothing`; after a forced cut that is over the budget it may defer or refuse, or go on where a repair
 *   has made cuts legal that were not.
 * @throws TypeError where an option is unknown or of another kind; SelvageError `bad_budget`, `bad_pin`, `summary_blank`, `summary_too_large`.
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
  if (made.transcript.tokens <= options.budget) {
    return unchanged(mended, options, { outcome: "nothing", reason: "within_budget" });
  }
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
    if (tokens <= most) return unchanged(mended, options, { outcome: "nothing", reason: "within_lookback" });
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
  if (tokens <= most) {
    return unchanged(mended, options, { outcome: "nothing", reason: "too_little_to_gain" });
  }
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
