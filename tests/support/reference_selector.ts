/**
 * The oracle of the core's tests: pairing, legal cuts, violations and the selector, each written from its
 * definition as a naive search over all positions, and in nothing after the core's own code. Over 300 lines: each
 * part is judged by the one before it.
 *
 * @module
 */
import type { CutPolicy, TranscriptRecord, TrimPlan, ViolationCode } from "../../src/core/mod.ts";
import { messagesOf, place } from "./logs.ts";

type Log = readonly TranscriptRecord[];

/** A call with the result that answers it, as record indexes. */
export interface NaivePair {
  readonly call: number;
  readonly result: number | null;
  readonly state: "answered" | "in_flight" | "abandoned";
}

/** What a result is matched by: its id, or the name of its tool where it has none. */
function sameCall(a: TranscriptRecord, b: TranscriptRecord): boolean {
  const left = a.callId ?? "";
  const right = b.callId ?? "";
  return left === right && (left !== "" || a.name === b.name);
}

type Message = readonly TranscriptRecord[];

function isAssistant(message: Message): boolean {
  return message.some(({ kind }) => kind === "assistant" || kind === "reasoning" || kind === "tool_use");
}

function continues(message: Message): boolean {
  return isAssistant(message) && message[0]?.joins === true;
}

/** A message that ends the waiting for results: it says something new, and is more than results. */
function speaks(message: Message): boolean {
  return !continues(message) && message.some(({ kind }) => kind !== "system" && kind !== "tool_result");
}

/** Where the assistant message begins that each message goes on with: joined messages are one to their calls. */
function stepsOf(records: Log): readonly number[] {
  const steps: number[] = [];
  for (const [at, message] of messagesOf(records).entries()) {
    steps.push(at > 0 && continues(message) ? steps[at - 1] ?? at : at);
  }
  return steps;
}

function messageOf(records: Log, record: number | null): number {
  return record === null ? -1 : records[record]?.message ?? -1;
}

/**
 * Pairs by occurrence: a result answers the nearest preceding message that has an unanswered call, inside it the
 * first one; where there is none it may be a further result of a call that goes on, whose last result counts.
 */
export function naivePairs(records: Log): readonly NaivePair[] {
  const answers = new Map<number, number[]>();
  const steps = stepsOf(records);
  for (const [index, record] of records.entries()) {
    if (record.kind !== "tool_result") continue;
    const calls = records
      .map((call, at) => ({ call, at, results: answers.get(at) ?? [] }))
      .filter(({ call, at }) => at < index && call.kind === "tool_use" && sameCall(call, record));
    const waiting = calls.filter(({ results }) => results.length === 0);
    const goingOn = calls.filter(({ call, results }) =>
      call.longRunning === true || results.some((result) => records[result]?.interim === true)
    );
    const pool = waiting.length > 0 ? waiting : goingOn;
    // Questions for approval are no calls: they stand for themselves.
    const stepOf = (call: TranscriptRecord): number =>
      call.approval === true ? call.message : steps[call.message] ?? 0;
    const nearest = Math.max(...pool.map(({ call }) => stepOf(call)));
    const answered = pool.find(({ call }) => stepOf(call) === nearest);
    if (answered !== undefined) answers.set(answered.at, [...answered.results, index]);
  }
  const messages = messagesOf(records);
  return records.flatMap((record, call): NaivePair[] => {
    if (record.kind !== "tool_use") return [];
    const results = answers.get(call) ?? [];
    const result = results.at(-1) ?? null;
    if (results.some((found) => records[found]?.interim !== true)) {
      return [{ call, result, state: "answered" }];
    }
    // An interim result beside its call promises nothing: once it is passed over nobody adds another one.
    const goesOn = messageOf(records, result) > record.message;
    const promised = goesOn || record.inFlight === true || record.longRunning === true;
    const waits = promised || !messages.slice(record.message + 1).some(speaks);
    return [{ call, result, state: waits ? "in_flight" : "abandoned" }];
  });
}

/** Whether exactly one half of some pair is shown when the view shows these messages. */
export function severs(records: Log, shown: readonly number[]): boolean {
  return naivePairs(records).some(({ call, result, state }) => {
    const callShown = shown.includes(messageOf(records, call));
    if (state === "in_flight" && !callShown) return true;
    return result !== null && callShown !== shown.includes(messageOf(records, result));
  });
}

/** Reasoning that is a message of its own and waits for the answer or call that follows it. */
function sticks(message: Message | undefined): boolean {
  return message?.at(-1)?.sticks === true;
}

/** Starts of atoms: positions with no pair on both sides, nor between reasoning and what it belongs to. */
function atomStarts(records: Log): readonly number[] {
  const pairs = naivePairs(records);
  const messages = messagesOf(records);
  return messages.map((_, at) => at).filter((at) =>
    !(sticks(messages[at - 1]) && isAssistant(messages[at] ?? [])) &&
    !pairs.some(({ call, result }) =>
      result !== null && messageOf(records, call) < at && at <= messageOf(records, result)
    )
  );
}

/** Every position from 0 to the number of messages that severs nothing and has nothing open before it. */
export function naiveCuts(records: Log): readonly number[] {
  const messages = messagesOf(records);
  const open = naivePairs(records)
    .filter(({ state }) => state === "in_flight")
    .map(({ call }) => messageOf(records, call));
  if (sticks(messages.at(-1))) open.push(messages.length - 1);
  return [...atomStarts(records), messages.length].filter((at) => !open.some((message) => message < at));
}

/** Messages of the atoms that hold some of these messages. */
export function wholeAtoms(records: Log, some: readonly number[]): readonly number[] {
  const starts = atomStarts(records);
  const atomOf = (message: number) => starts.findLast((start) => start <= message);
  const atoms = some.map(atomOf);
  return messagesOf(records).map((_, message) => message).filter((message) =>
    atoms.includes(atomOf(message))
  );
}

/** A violation without its sentence. */
export interface NaiveViolation {
  readonly code: ViolationCode;
  readonly at: number;
  readonly callId: string | null;
}

/** C1, C2, C3 and the rule that ids are unique inside a message, each by its own search. */
export function naiveViolations(records: Log): readonly NaiveViolation[] {
  const pairs = naivePairs(records);
  const messages = messagesOf(records);
  const steps = stepsOf(records);
  // Nothing but results, and what goes on with a message, may stand between a call and its result.
  const isApart = (call: number, result: number): boolean =>
    messages.slice(messageOf(records, call) + 1, messageOf(records, result))
      .some((message) => !continues(message) && message.some(({ kind }) => kind !== "tool_result"));
  return records.flatMap((record, index): NaiveViolation[] => {
    const found = (...codes: ViolationCode[]): NaiveViolation[] =>
      codes.map((code) => ({ code, at: record.message, callId: record.callId ?? null }));
    const before = [...records.keys()].slice(0, index).filter((call) =>
      records[call]?.kind === "tool_use" && sameCall(records[call], record)
    );
    const pair = pairs.find(({ call, result }) => call === index || result === index);
    const goesOn = pair !== undefined && records[pair.call]?.longRunning === true;
    const late = pair !== undefined && !goesOn && pair.result !== null && isApart(pair.call, pair.result);
    if (record.kind === "tool_use") {
      return [
        ...(before.some((call) => steps[messageOf(records, call)] === steps[record.message])
          ? found("duplicate_call_id")
          : []),
        ...(late || pair?.state === "abandoned" ? found("missing_result") : []),
      ];
    }
    if (record.kind === "reasoning") {
      const follower = messages[record.message + 1];
      const severed = record.sticks === true && records[index + 1]?.message !== record.message &&
        follower !== undefined && !isAssistant(follower);
      return severed ? found("reasoning_severed") : [];
    }
    if (record.kind !== "tool_result" || (pair === undefined && isFurther(records, index))) return [];
    // Ids are told apart everywhere; names come again in every round, and answer for their own one only.
    const isSecond = before.some((call) => record.callId || !isApart(call, index));
    if (pair === undefined) return found(isSecond ? "duplicate_result" : "orphan_result");
    return late ? found("misplaced_result") : [];
  });
}

/** Whether a result belongs to a call that went on after it. */
function isFurther(records: Log, result: number): boolean {
  const record = records[result];
  return record !== undefined &&
    records.slice(0, result).some((call) => call.longRunning === true && sameCall(call, record));
}

/** What the selector has to answer; `ats` holds more than one cut where several keep the same. */
export type NaivePlan =
  | { readonly kind: "nothing"; readonly kept: number }
  | {
    readonly kind: "defer";
    readonly reason: string;
    readonly nearest: { readonly before: number | null; readonly after: number | null };
  }
  | {
    readonly kind: "cut";
    readonly method: "near" | "trim" | "forward";
    readonly ats: readonly number[];
    readonly kept: number;
    readonly trims: readonly TrimPlan[];
  };

/** What is kept, and what is removed, by each candidate of a policy. */
export class NaiveCosts {
  readonly from: number;
  readonly reserve: number;
  readonly pinned: readonly number[];
  readonly costs: readonly number[];

  constructor(readonly records: Log, readonly policy: CutPolicy) {
    const { budget } = policy;
    this.from = policy.from ?? 0;
    // A third of the budget, or 110 tokens where half of it has them, whichever is more.
    const most = budget / 3 >= 110 ? budget / 3 : Math.min(110, budget / 2);
    this.reserve = policy.reserve ?? Math.floor(Math.min(Math.max(300, 0.15 * budget), 4_000, most));
    // A pin keeps its whole atom: half a pair is none.
    this.pinned = wholeAtoms(records, policy.pinned ?? []);
    this.costs = messagesOf(records).map((parts) => {
      return parts.reduce((sum, { kind, tokens }) => kind === "system" ? sum : sum + tokens, 0);
    });
  }

  /** Tokens of the reserve, the pinned messages before the cut and everything from the cut on. */
  kept(cut: number): number {
    const shown = this.costs.map((cost, at) => at >= cut || this.pinned.includes(at) ? cost : 0);
    return this.reserve + shown.reduce((sum, cost) => sum + cost, 0);
  }

  /** Tokens that a cut takes out of the raw messages. */
  removed(cut: number): number {
    return this.kept(this.from) - this.kept(cut);
  }

  /** Legal cuts that may be chosen: neither 0 nor the end, nothing before the first raw message. */
  candidates(): readonly number[] {
    return naiveCuts(this.records).filter((cut) => cut >= Math.max(1, this.from) && cut < this.costs.length);
  }

  /** The results of a tail that are shortened, oldest first, to take `excess` tokens away; and what is left of it. */
  trims(cut: number, excess: number): { trims: TrimPlan[]; excess: number } {
    const open = this.policy.trimOpen === false ? openMessages(this.records) : [];
    const trims: TrimPlan[] = [];
    for (const [record, { kind, message, tokens }] of this.records.entries()) {
      if (kind !== "tool_result" || message < cut || tokens <= 200 || excess <= 0) continue;
      if (this.pinned.includes(message) || open.includes(message)) continue;
      const less = Math.min(excess, tokens - 200);
      trims.push({ record, message, tokens: tokens - less });
      excess -= less;
    }
    return { trims, excess };
  }
}

/** Messages of atoms that hold a call in flight. */
function openMessages(records: Log): readonly number[] {
  const open = naivePairs(records).filter(({ state }) => state === "in_flight");
  return wholeAtoms(records, open.map(({ call }) => messageOf(records, call)));
}

/** The selector by its definition: every candidate is weighed, method after method. */
export function naivePlan(records: Log, policy: CutPolicy): NaivePlan {
  const costs = new NaiveCosts(records, policy);
  const { budget, lookback = 0.15, lookahead = 0.15 } = policy;
  const total = costs.kept(costs.from);
  // In whole tokens: 0.29 * 100 is 28.999999999999996.
  const reach = (share: number, of: number) => Math.floor(Number((share * of).toFixed(6)));
  if (total <= budget + reach(lookback, budget)) return { kind: "nothing", kept: total };
  const candidates = costs.candidates();
  const keeping = (kept: number) => candidates.filter((cut) => costs.kept(cut) === kept);
  const over = candidates.filter((cut) => costs.kept(cut) > budget);
  const under = candidates.filter((cut) => costs.kept(cut) <= budget);
  const cut = (method: "near" | "forward", kept: number): NaivePlan => {
    return { kind: "cut", method, ats: keeping(kept), kept, trims: [] };
  };
  const trim = (at: number | undefined, mayMiss: boolean): NaivePlan | null => {
    if (at === undefined) return null;
    const { trims, excess } = costs.trims(at, costs.kept(at) - budget);
    if (excess > 0 && !mayMiss) return null;
    if (trims.length === 0 && costs.removed(at) === 0) return null;
    return { kind: "cut", method: "trim", ats: [at], kept: budget + excess, trims };
  };

  const tooBig = costs.kept(costs.costs.length) >= budget;
  if (!tooBig) {
    const raw = Math.max(0, budget - costs.reserve);
    const near = candidates
      .filter((at) => costs.removed(at) > 0)
      .map((at) => costs.kept(at))
      .filter((kept) => kept - budget <= reach(lookback, raw))
      .filter((kept) => budget - kept <= (policy.kind === "backward" ? 0 : reach(lookahead, raw)))
      // The nearest one; of two that are equally near the one that keeps more.
      .sort((a, b) => Math.abs(a - budget) - Math.abs(b - budget) || b - a)[0];
    if (near !== undefined) return cut("near", near);
    if (policy.kind !== "backward") {
      const found = trim(over.at(-1), false);
      if (found !== null) return found;
      if (under.length > 0) return cut("forward", Math.max(...under.map((at) => costs.kept(at))));
    }
  }
  if (policy.force === true) {
    if (under.length > 0) return cut("forward", Math.max(...under.map((at) => costs.kept(at))));
    const found = trim(over.at(-1), true);
    if (found !== null) return found;
  }
  const nearest = { before: over.at(-1) ?? null, after: under[0] ?? null };
  if (tooBig) return { kind: "defer", reason: "pinned_too_big", nearest };
  const open = !naiveCuts(records).includes(messagesOf(records).length);
  const reason = open && under.length === 0 ? "open_call" : "atom_too_wide";
  return { kind: "defer", reason, nearest };
}

/** A compaction carried out. */
export interface Applied {
  readonly records: Log;
  /** First raw message. */
  readonly from: number;
  /** Where the pinned messages stand now. */
  readonly pinned: readonly number[];
}

/** Carries a cut out as it should be: a summary, the pinned messages before the cut in their order, the tail. */
export function applyCut(
  records: Log,
  cut: {
    readonly at: number;
    readonly trims: readonly { readonly record: number; readonly tokens: number }[];
    readonly pinned: readonly number[];
    readonly summary: number;
  },
): Applied {
  const planned = new Map(cut.trims.map(({ record, tokens }) => [record, tokens]));
  const messages = messagesOf(records.map((record, index) => {
    return { ...record, tokens: planned.get(index) ?? record.tokens };
  }));
  const pinned = wholeAtoms(records, cut.pinned);
  const replaced = pinned.filter((message) => message < cut.at);
  const from = 1 + replaced.length;
  return {
    records: place([
      [{ kind: "summary", tokens: cut.summary }],
      ...replaced.map((message) => messages[message] ?? []),
      ...messages.slice(cut.at),
    ]),
    from,
    pinned: pinned.map((message, index) => message < cut.at ? 1 + index : message - cut.at + from),
  };
}
