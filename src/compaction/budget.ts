/**
 * Budgets: from a model's window to the three thresholds of compaction.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { summaryReserve } from "../core/cut.ts";

/** Shares of the usable window; `compactTo < compactAt < stopAt`. */
export interface CompactionSettings {
  /** Over this share a compaction is due. Default 0.65. */
  readonly compactAt?: number;
  /** Over this share the model is not called any more. Default 0.92. */
  readonly stopAt?: number;
  /** What a compaction aims at. Default 0.35. */
  readonly compactTo?: number;
  /** `full` (default), or `backward`: keep more or wait for the turn boundary. */
  readonly policy?: "full" | "backward";
}

/** Thresholds in the provider's tokens. */
export interface Budget {
  readonly window: number;
  /** The most tokens that an answer may take. */
  readonly maxOutput: number;
  /** Window less reserved output, system text and tools: what messages can take. */
  readonly usable: number;
  /** The same limits over everything that is sent, system text and tools included. */
  readonly compactAt: number;
  readonly stopAt: number;
  /** Tokens of messages that a compaction aims at, reserve and pinned messages included. */
  readonly compactTo: number;
  /** Tokens kept free for the summary. */
  readonly reserve: number;
  /** The least tokens for the raw tail. */
  readonly minTail: number;
  /** Largest user message that a turn can start with. */
  readonly maxInput: number;
  /** Largest share of the room that one result may take when it is appended. */
  readonly maxResult: number;
}

/** No result is shown with more tokens than this, whatever the window. */
export const MAX_RESULT_TOKENS = 25_000;

/**
 * Computes the thresholds.
 *
 * @param model Window and output limit, in tokens.
 * @param fixed Tokens of system text and tool schemas.
 * @param settings Shares of the usable window.
 * @throws SelvageError `bad_budget` when the shares are out of order or nothing is left for messages.
 */
export function computeBudget(
  model: { readonly window: number; readonly maxOutput: number },
  { fixed, settings = {} }: { readonly fixed: number; readonly settings?: CompactionSettings },
): Budget {
  const { compactAt = 0.65, stopAt = 0.92, compactTo = 0.35 } = settings;
  if (!(0 < compactTo && compactTo < compactAt && compactAt < stopAt && stopAt <= 1)) {
    throw new SelvageError(
      "bad_budget",
      `Cannot set up compaction: found compactTo ${compactTo}, compactAt ${compactAt}, stopAt ${stopAt}, ` +
        "wanted 0 < compactTo < compactAt < stopAt <= 1",
    );
  }
  const maxOutput = Math.min(model.maxOutput, Math.floor(model.window * 0.2));
  const usable = model.window - maxOutput - fixed;
  if (usable < 1_000) {
    throw new SelvageError(
      "bad_budget",
      `Cannot set up the agent: found ${usable} tokens for messages (window ${model.window}, answer ` +
        `${maxOutput}, system text and tools about ${fixed}), wanted at least 1000`,
    );
  }
  const target = Math.floor(usable * compactTo);
  const reserve = summaryReserve(target);
  const minTail = Math.floor(usable * 0.1);
  return {
    window: model.window,
    maxOutput,
    usable,
    compactAt: fixed + Math.floor(usable * compactAt),
    stopAt: fixed + Math.floor(usable * stopAt),
    compactTo: target,
    reserve,
    minTail,
    maxInput: Math.floor(0.8 * compactAt * usable) - reserve - minTail,
    maxResult: Math.min(Math.floor(usable * 0.2), MAX_RESULT_TOKENS),
  };
}

/**
 * Tokens of messages to keep when some are pinned: the target, or what reserve, pins and the least tail need.
 *
 * @param budget The thresholds.
 * @param pinned Tokens of the pinned messages.
 * @returns The budget for the cut selector, or null where pins leave too little room for compaction to help.
 */
export function keepBudget(budget: Budget, pinned: number): number | null {
  if (pinned > budget.maxInput) return null;
  return Math.max(budget.compactTo, budget.reserve + pinned + budget.minTail);
}
