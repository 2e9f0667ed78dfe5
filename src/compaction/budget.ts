/**
 * Budgets: from a model's window to the three thresholds of compaction.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { layered } from "../core/options.ts";
import { summaryReserve } from "../core/cut.ts";
import type { CompactionLimits, CompactionSettings } from "../core/settings.ts";
import { MIN_PROGRESS } from "../core/verify.ts";

export type { CompactionLimits, CompactionSettings };

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

/** Shares of the usable window where nothing else is set. */
const SHARES = { compactAt: 0.65, stopAt: 0.92, compactTo: 0.35 };

/** A compaction that is due must be able to save what makes it worth while, or it would be rejected each time. */
const MOST_AFTER = 1 - MIN_PROGRESS;

/** Less room for messages, or for one message of the user, is no agent. */
const MIN_USABLE = 1_000;
const MIN_INPUT = 100;
/** Share of the budget for raw messages by which a cut may miss its target. */
const LOOKBACK = 0.15;

/**
 * Computes the thresholds.
 *
 * @param model Window and output limit, in tokens.
 * @param options Tokens of system text and tool schemas; shares of the usable window.
 * @throws SelvageError `bad_budget` when the shares are out of order or too close, or too little is left for
 *   messages.
 */
export function computeBudget(
  model: { readonly window: number; readonly maxOutput: number },
  { fixed, settings = {} }: { readonly fixed: number; readonly settings?: CompactionSettings },
): Budget {
  const { compactAt, stopAt, compactTo } = layered(SHARES, settings);
  const most = MOST_AFTER * compactAt;
  if (!(0 < compactTo && compactTo <= most && compactAt < stopAt && stopAt <= 1)) {
    throw new SelvageError(
      "bad_budget",
      `Cannot set up compaction: found compactTo ${compactTo}, compactAt ${compactAt}, stopAt ${stopAt}, ` +
        `wanted 0 < compactTo <= ${MOST_AFTER} of compactAt, compactAt < stopAt <= 1`,
    );
  }
  const maxOutput = Math.min(model.maxOutput, Math.floor(model.window * 0.2));
  const usable = model.window - maxOutput - fixed;
  if (!(maxOutput > 0 && usable >= MIN_USABLE && usable < Infinity)) {
    throw new SelvageError(
      "bad_budget",
      `Cannot use a window of ${model.window} tokens: found ${usable} of them for messages (answer ` +
        `${maxOutput}, system text and tools about ${fixed}), wanted at least ${MIN_USABLE}`,
    );
  }
  const target = Math.floor(usable * compactTo);
  const reserve = summaryReserve(target);
  const minTail = Math.floor(usable * 0.1);
  const maxInput = Math.floor(0.8 * compactAt * usable) - reserve - minTail;
  if (maxInput < MIN_INPUT) {
    throw new SelvageError(
      "bad_budget",
      `Cannot set up compaction: found ${maxInput} tokens for an input (compactAt ${compactAt} of ${usable}, less ` +
        `${reserve} for the summary and ${minTail} for the tail), wanted at least ${MIN_INPUT}`,
    );
  }
  return {
    window: model.window,
    maxOutput,
    usable,
    compactAt: fixed + Math.floor(usable * compactAt),
    stopAt: fixed + Math.floor(usable * stopAt),
    compactTo: target,
    reserve,
    minTail,
    maxInput,
    maxResult: Math.min(Math.floor(usable * 0.2), MAX_RESULT_TOKENS),
  };
}

/** What a request may set where an agent says nothing else. */
const LIMITS: Required<CompactionLimits> = {
  compactAt: [0.3, 0.9],
  stopAt: [0.4, 0.95],
  compactTo: [0.1, 0.6],
  policy: ["full", "backward"],
};

/**
 * Checks what a request sets against what it may, and against what the agent sets that it leaves alone.
 *
 * @param settings What the request sets.
 * @param options `limits`: what the agent allows, in place of the defaults; `own`: the agent's settings; `action`: what
 *   cannot be done otherwise; `within`: the field of the request that holds the settings, empty for the request itself.
 * @throws SelvageError `bad_budget` with the field of the request that is out of its bounds.
 */
export function requireWithin(
  settings: CompactionSettings,
  { limits = {}, own = {}, action = "start the turn", within = "compaction" }: {
    readonly limits?: CompactionLimits | undefined;
    readonly own?: CompactionSettings | undefined;
    readonly action?: string;
    readonly within?: string;
  } = {},
): void {
  const bounds = layered(LIMITS, limits);
  const fail = (name: string, found: number | string, wanted: string): never => {
    const field = within === "" ? name : `${within}.${name}`;
    const value = typeof found === "string" ? JSON.stringify(found) : String(found);
    const message = `Cannot ${action}: found ${field} ${value}, wanted ${wanted}`;
    throw new SelvageError("bad_budget", message, { fields: { field } });
  };
  for (const name of ["compactAt", "stopAt", "compactTo"] as const) {
    const share = settings[name];
    const [least, most] = bounds[name];
    if (share !== undefined && !(share >= least && share <= most)) fail(name, share, `${least} to ${most}`);
  }
  const { policy } = settings;
  if (policy !== undefined && !bounds.policy.includes(policy)) {
    fail("policy", policy, bounds.policy.join(" or ") || "none");
  }
  // What is wrong between two shares is said of one that was asked for: the other may be none of the caller's.
  const { compactAt, stopAt, compactTo } = layered(SHARES, own, settings);
  if (compactTo > MOST_AFTER * compactAt) {
    if (settings.compactTo !== undefined) {
      fail(
        "compactTo",
        compactTo,
        `at most ${shown(MOST_AFTER * compactAt)}, ${MOST_AFTER} of compactAt ${compactAt}`,
      );
    }
    fail(
      "compactAt",
      compactAt,
      `at least ${shown(compactTo / MOST_AFTER)}, as compactTo ${compactTo} is at most ${MOST_AFTER} of it`,
    );
  }
  if (compactAt >= stopAt) {
    if (settings.compactAt !== undefined) fail("compactAt", compactAt, `less than stopAt ${stopAt}`);
    fail("stopAt", stopAt, `more than compactAt ${compactAt}`);
  }
}

/** A share in three decimals, without what binary fractions add to it. */
function shown(share: number): number {
  return Math.round(share * 1_000) / 1_000;
}

/** Tokens of system text and tools, as they were given to {@link computeBudget}. */
function fixedOf(budget: Budget): number {
  return budget.window - budget.maxOutput - budget.usable;
}

/**
 * Tokens of messages to keep when some are pinned: the target, or what reserve, pins and the least tail need.
 *
 * @param budget The thresholds.
 * @param pinned Tokens of the pinned messages.
 * @param options `force`: anything that stays under the ceiling will do.
 * @returns The budget for the cut selector, or null where pins leave too little room for compaction to help.
 */
export function keepBudget(
  budget: Budget,
  pinned: number,
  { force = false }: { readonly force?: boolean } = {},
): number | null {
  const needed = budget.reserve + pinned + budget.minTail;
  const isTooBig = force ? needed > budget.stopAt - fixedOf(budget) : pinned > budget.maxInput;
  return isTooBig ? null : Math.max(budget.compactTo, needed);
}

/**
 * By how much a cut may pass what is to be kept: the usual share, or less where the compaction would then save
 * too little to be worth while.
 *
 * @param budget The thresholds.
 * @param keep What {@link keepBudget} gave.
 */
export function lookbackWithin(budget: Budget, keep: number): number {
  const most = (1 - MIN_PROGRESS) * (budget.compactAt - fixedOf(budget));
  return Math.min(LOOKBACK, Math.max(0, most / keep - 1));
}
