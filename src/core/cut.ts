/**
 * The cut selector: from a parsed transcript and a policy to a legal cut, to "nothing to do", or to a reasoned
 * deferral. The one place where the invariant is enforced: a cut is legal or it is not.
 *
 * @module
 */
import type { Transcript } from "./transcript.ts";

/** What a cut may cost and how far it may miss its target. */
export interface CutPolicy {
  /** `full` looks both ways, then trims, then goes forward; `backward` only ever keeps more, else it defers. */
  readonly kind?: "full" | "backward";
  /** Tokens of messages to keep, the reserve for the summary included, system messages left out. */
  readonly budget: number;
  /** Share of the budget for raw messages that a cut may keep beyond it. Default 0.15. */
  readonly lookback?: number;
  /** Share of the budget for raw messages that a cut may leave unused. Default 0.15. */
  readonly lookahead?: number;
  /** Tokens charged for the summary in every plan. Default {@link summaryReserve}. */
  readonly reserve?: number;
  /** First message that is still raw: what lies before it is an earlier summary and its pinned messages. */
  readonly from?: number;
  /** Messages that stay verbatim wherever the cut falls. */
  readonly pinned?: readonly number[];
  /** Whether results of an open atom may be trimmed, which the model has not read yet. Default true. */
  readonly trimOpen?: boolean;
  /** No result is trimmed below this many tokens. Default {@link TRIM_FLOOR}. */
  readonly trimFloor?: number;
  /** Takes the best legal cut there is, however far from the target: for a context that must shrink now. */
  readonly force?: boolean;
}

/** A result that is to be shown shortened. */
export interface TrimPlan {
  /** Index of the result's record. */
  readonly record: number;
  /** Index of its message. */
  readonly message: number;
  /** Tokens it may take from now on. */
  readonly tokens: number;
}

/** Which way a cut was found. */
export type CutMethod = "near" | "trim" | "forward";

/** What {@link selectCut} answers. */
export type CutPlan =
  | {
    readonly kind: "cut";
    /** The first message that stays raw. */
    readonly at: number;
    /** Tokens kept: reserve, pinned messages, tail after trimming. */
    readonly keptTokens: number;
    /** `keptTokens` minus the budget: negative where less is kept. */
    readonly distance: number;
    readonly method: CutMethod;
    readonly trims: readonly TrimPlan[];
  }
  | {
    readonly kind: "nothing";
    /** Whether all is within the budget, or over it by no more than a cut may keep. */
    readonly reason: "within_budget" | "within_lookback";
    readonly keptTokens: number;
  }
  | {
    readonly kind: "defer";
    readonly reason: "open_call" | "atom_too_wide" | "pinned_too_big";
    /** The legal cuts around the target, null where there is none. */
    readonly nearest: { readonly before: number | null; readonly after: number | null };
  };

/** No summary says anything in fewer tokens: what frames it takes most of them. A test holds the ledger to it. */
const LEAST_SUMMARY = 110;

/** No result is trimmed below this many tokens, unless a policy says otherwise. */
export const TRIM_FLOOR = 200;

/**
 * Tokens to keep free for a summary: 15 % of the budget, 300 to 4,000, never more than a third of it: where every
 * token counts, a wide newest round needs them more. What a summary cannot do without is kept up to half.
 *
 * @param budget Tokens of messages to keep.
 *
 * @example
 * ```ts
 * import { summaryReserve } from "@selvage/selvage/core";
 *
 * console.log(summaryReserve(10_000)); // 1500
 * ```
 */
export function summaryReserve(budget: number): number {
  const most = Math.max(budget / 3, Math.min(LEAST_SUMMARY, budget / 2));
  return Math.floor(Math.min(Math.max(300, budget * 0.15), 4_000, most));
}

/** The policy with its defaults filled in, and sums over the pinned messages. */
class Plan {
  readonly from: number;
  readonly reserve: number;
  readonly behind: number;
  readonly ahead: number;
  readonly #pinned: readonly number[];
  readonly #isPinned: ReadonlySet<number>;
  readonly #pinnedSums: readonly number[];

  readonly transcript: Transcript;
  readonly policy: CutPolicy;

  constructor(transcript: Transcript, policy: CutPolicy) {
    this.transcript = transcript;
    this.policy = policy;
    this.from = policy.from ?? 0;
    this.reserve = policy.reserve ?? summaryReserve(policy.budget);
    const raw = Math.max(0, policy.budget - this.reserve);
    this.behind = share(policy.lookback ?? 0.15, raw);
    this.ahead = share(policy.lookahead ?? 0.15, raw);
    this.#pinned = pinnedMessages(transcript, policy.pinned ?? []);
    this.#isPinned = new Set(this.#pinned);
    const sums = [0];
    for (const message of this.#pinned) {
      sums.push((sums.at(-1) ?? 0) + transcript.tokensBetween(message, message + 1));
    }
    this.#pinnedSums = sums;
  }

  /** Whether a message stays verbatim. */
  isPinned(message: number): boolean {
    return this.#isPinned.has(message);
  }

  /** Tokens of the pinned messages before a cut. */
  pinnedBefore(cut: number): number {
    let low = 0;
    let high = this.#pinned.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#pinned[middle] ?? 0) < cut) low = middle + 1;
      else high = middle;
    }
    return this.#pinnedSums[low] ?? 0;
  }

  /** Tokens that stay when everything before `cut` is summarised. Never grows with the cut. */
  kept(cut: number): number {
    return this.reserve + this.pinnedBefore(cut) +
      this.transcript.tokensBetween(cut, this.transcript.messages);
  }

  /** Tokens of raw messages that a cut takes away. */
  removed(cut: number): number {
    const pinned = this.pinnedBefore(cut) - this.pinnedBefore(this.from);
    return this.transcript.tokensBetween(this.from, cut) - pinned;
  }
}

/** A share of tokens in whole ones; 0.15 of 100 is 15, whatever binary fractions make of it. */
function share(part: number, tokens: number): number {
  return Math.floor(part * tokens + 1e-6);
}

/**
 * The messages that pins keep: whole atoms, since half a pair is none (conditions C1 and C2).
 *
 * @param transcript The transcript that the pins index.
 * @param pinned Message indexes.
 */
export function pinnedMessages(transcript: Transcript, pinned: readonly number[]): readonly number[] {
  const messages = new Set<number>();
  for (const pin of pinned) {
    const atom = transcript.atomAt(pin);
    for (let message = atom?.from ?? 0; message < (atom?.to ?? 0); message++) messages.add(message);
  }
  return [...messages].sort((a, b) => a - b);
}

/** The first index in [low, high) for which `test` holds, `high` where there is none; `test` is monotone. */
function firstIndex(low: number, high: number, test: (index: number) => boolean): number {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Chooses where to cut. O(log n) over the parsed transcript, plus the messages kept when results are trimmed.
 *
 * @param transcript The transcript as it is shown now; token counts are those of what is shown.
 * @param policy Budget and bounds.
 * @returns A legal cut, `nothing` or a deferral with its reason. A cut applied with a summary that fits the
 *   reserve makes the next answer `nothing` (condition C5).
 * @throws RangeError when the budget is not a positive number.
 *
 * @example
 * ```ts
 * import { parseTranscript, selectCut } from "@selvage/selvage/core";
 *
 * const transcript = parseTranscript([
 *   { kind: "user", message: 0, tokens: 900 },
 *   { kind: "tool_use", message: 1, tokens: 100, callId: "a", name: "read" },
 *   { kind: "tool_result", message: 2, tokens: 900, callId: "a" },
 *   { kind: "assistant", message: 3, tokens: 500 },
 * ]);
 * console.log(selectCut(transcript, { budget: 900, reserve: 300 })); // cuts at 3, never between 1 and 2
 * ```
 */
export function selectCut(transcript: Transcript, policy: CutPolicy): CutPlan {
  if (!(policy.budget > 0)) {
    throw new RangeError(`Cannot select a cut: found a budget of ${policy.budget}, wanted a positive number`);
  }
  const plan = new Plan(transcript, policy);
  const { budget } = policy;
  const total = plan.kept(plan.from);
  if (total <= budget + share(policy.lookback ?? 0.15, budget)) {
    const reason = total <= budget ? "within_budget" : "within_lookback";
    return { kind: "nothing", reason, keptTokens: total };
  }

  // Candidates are starts of atoms behind `from` with no open atom before them; 0 and the end are never chosen,
  // so the last atom always stays: the model may not have read its results yet.
  const open = transcript.firstOpen ?? transcript.messages;
  const start = firstIndex(0, transcript.atomCount, (a) => transcript.atomStart(a) >= Math.max(plan.from, 1));
  const end = firstIndex(start, transcript.atomCount, (a) => transcript.atomStart(a) > open);
  const under = firstIndex(start, end, (a) => plan.kept(transcript.atomStart(a)) <= budget);
  const before = under > start ? transcript.atomStart(under - 1) : null;
  const after = under < end ? transcript.atomStart(under) : null;
  const nearest = { before, after };

  const isFilled = plan.reserve + plan.pinnedBefore(transcript.messages) >= budget;
  const exact = after !== null && plan.kept(after) === budget ? after : null;
  const cut = isFilled
    ? null
    : policy.kind === "backward"
    ? near(plan, before, exact)
    : near(plan, before, after) ?? trim(plan, before) ?? forward(plan, after);
  if (cut !== null) return cut;
  if (policy.force === true) {
    const last = end > start ? transcript.atomStart(end - 1) : null;
    const forced = forward(plan, after) ?? trim(plan, last, "as far as it goes") ?? forward(plan, last);
    if (forced !== null) return forced;
  }
  if (isFilled) return { kind: "defer", reason: "pinned_too_big", nearest };
  const blocked = transcript.firstOpen !== null && after === null;
  return { kind: "defer", reason: blocked ? "open_call" : "atom_too_wide", nearest };
}

function cutAt(plan: Plan, at: number, method: CutMethod): CutPlan & { kind: "cut" } {
  const keptTokens = plan.kept(at);
  return { kind: "cut", at, keptTokens, distance: keptTokens - plan.policy.budget, method, trims: [] };
}

/** The legal cut nearest to the target within the bounds on both sides, charged with the tokens really kept. */
function near(plan: Plan, before: number | null, after: number | null): CutPlan | null {
  const over = before !== null && plan.removed(before) > 0
    ? plan.kept(before) - plan.policy.budget
    : Infinity;
  const left = after !== null && plan.removed(after) > 0 ? plan.policy.budget - plan.kept(after) : Infinity;
  const mayKeepMore = before !== null && over <= plan.behind;
  const mayKeepLess = after !== null && left <= plan.ahead;
  if (mayKeepMore && (over <= left || !mayKeepLess)) return cutAt(plan, before, "near");
  return mayKeepLess ? cutAt(plan, after, "near") : null;
}

/** The next legal cut that keeps less, however much less. */
function forward(plan: Plan, after: number | null): CutPlan | null {
  return after !== null && plan.removed(after) > 0 ? cutAt(plan, after, "forward") : null;
}

/** A cut that keeps too much, with kept results shortened, oldest first, until the tail fits. */
function trim(
  plan: Plan,
  at: number | null,
  until: "it fits" | "as far as it goes" = "it fits",
): CutPlan | null {
  if (at === null) return null;
  const { transcript, policy } = plan;
  let excess = plan.kept(at) - policy.budget;
  const trims: TrimPlan[] = [];
  const floor = policy.trimFloor ?? TRIM_FLOOR;
  for (
    let record = firstRecordOf(transcript, at);
    record < transcript.records.length && excess > 0;
    record++
  ) {
    const found = transcript.records[record];
    if (found?.kind !== "tool_result" || found.tokens <= floor || plan.isPinned(found.message)) continue;
    if (policy.trimOpen === false && transcript.atomAt(found.message)?.open === true) continue;
    const tokens = Math.max(floor, found.tokens - excess);
    trims.push({ record, message: found.message, tokens });
    excess -= found.tokens - tokens;
  }
  if (trims.length === 0 || (excess > 0 && until === "it fits")) return null;
  return { kind: "cut", at, keptTokens: policy.budget + excess, distance: excess, method: "trim", trims };
}

function firstRecordOf({ records }: Transcript, message: number): number {
  return firstIndex(0, records.length, (record) => (records[record]?.message ?? 0) >= message);
}
