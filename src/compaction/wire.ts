/**
 * Compaction of a transcript from elsewhere: the selector, the ledger and the verification of the loop, on
 * messages in their own format.
 *
 * @module
 */
import { type CutMethod, type CutPolicy, selectCut, summaryReserve } from "../core/cut.ts";
import { SelvageError } from "../core/errors.ts";
import type { JsonObject } from "../formats/format.ts";
import { type Reading, readTranscript } from "../formats/read.ts";
import type { Repair } from "../formats/repair.ts";
import { asItCame, type Mended, mendFirst } from "./mended.ts";
import { parseLedger } from "./parse_ledger.ts";
import { applyCut } from "./wire_apply.ts";
import { type LedgerPair, rawFrom } from "./wire_ledger.ts";
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
  /** Messages that stay verbatim. */
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
  /** The transcript from now on. */
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
  /** Why nothing was removed, where it was due. */
  readonly reason: string | null;
  /** The legal cuts around the target of a compaction that was deferred or refused. */
  readonly nearest: { readonly before: number | null; readonly after: number | null } | null;
  /** With `plan`: the messages that the cut would summarise. */
  readonly toSummarise?: readonly JsonObject[];
}

/** Reads a transcript so that summaries of earlier compactions are known as such. */
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
function policyOf({ made, placeOf }: Mended, options: CompactTranscriptOptions): CutPolicy {
  const from = rawFrom(made);
  // Pins keep whole atoms; one for each is enough. What lies before the raw messages stays as it is anyway.
  const atoms = (options.pinned ?? []).map((pin) => made.transcript.atomAt(placeOf(pin) ?? -1));
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
 *   for `thinking` and no cut is found, it is tried again with `steps`, then with `ignore`.
 * @param options Budget and policy, in tokens as `reading.measure` counts them. The transcript is repaired first,
 *   so that what a repair adds is counted too; all positions are those of `reading`.
 * @returns The outcome. Only `compacted` removes messages; `nothing`, `deferred` and `refused` give back the
 *   transcript, repaired where that is asked for. A second run on what came out answers `nothing`; after a forced
 *   cut that is over the budget it may defer, or go on where a repair has made cuts legal that were not.
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
  const { made, cutInInput } = mended;
  const policy = policyOf(mended, options);
  const first = selectCut(made.transcript, policy);
  // A whole loop with signed reasoning is too wide. Next best is a tail that begins with such reasoning; and any
  // legal cut is better than a context that grows until nothing fits.
  const isSigned = made.pieces.some((message) => message.some((piece) => piece.isSigned === true));
  if (first.kind === "defer" && isSigned && (reading.options.thinking ?? "auto") === "auto") {
    const again = (thinking: "steps" | "ignore", force: boolean): CompactedTranscript =>
      compactTranscript(readTranscript(reading.messages, { ...reading.options, thinking }), {
        ...options,
        force,
      });
    const inFront = again("steps", false);
    return inFront.cut === null ? again("ignore", options.force === true) : inFront;
  }
  // Nobody comes back here after the next step: rather than keep far too little, or give up, results are shortened
  // to the least that still says what was left out.
  const isPoor = first.kind === "defer" || (first.kind === "cut" && first.method === "forward");
  const second = isPoor && options.policy !== "backward"
    ? selectCut(made.transcript, { ...policy, trimFloor: LEAST_TRIM })
    : first;
  const isForced = second.kind === "defer" && options.force === true;
  const plan = isForced
    ? selectCut(made.transcript, { ...policy, trimFloor: LEAST_TRIM, force: true })
    : second;
  if (plan.kind === "nothing") return unchanged(mended, options, { outcome: "nothing" });
  if (plan.kind === "defer") {
    const { reason, nearest: { before, after } } = plan;
    return unchanged(mended, options, {
      outcome: isHopeless(mended, policy, reason) ? "refused" : "deferred",
      reason,
      nearest: {
        before: before === null ? null : cutInInput(before),
        after: after === null ? null : cutInInput(after),
      },
    });
  }
  const applied = applyCut(mended, {
    plan,
    policy: { ...policy, force: isForced },
    isChecked: options.repair !== false,
    ...(options.summary === undefined ? {} : { summary: options.summary.trim() }),
  });
  if (applied.broken !== null) {
    return unchanged(mended, options, { outcome: "refused", reason: `rejected:${applied.broken}` });
  }
  const { removed } = applied;
  const wanted = new Set(options.pinned);
  const isPlan = options.plan === true;
  return {
    outcome: "compacted",
    messages: isPlan ? reading.messages : applied.messages,
    cut: {
      at: cutInInput(plan.at),
      method: plan.method,
      distance: plan.distance,
      lookbackUsed: plan.method === "near" ? Math.max(0, plan.distance) : 0,
    },
    tokens: { before: reading.transcript.tokens, after: applied.tokens, budget: options.budget },
    ledger: applied.pairs,
    trims: applied.trims,
    repairs: isPlan ? [] : mended.repairs.filter(({ at }) => !removed.has(at) || wanted.has(at)),
    reason: null,
    nearest: null,
    ...(isPlan ? { toSummarise: reading.messages.filter((_, at) => removed.has(at)) } : {}),
  };
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
