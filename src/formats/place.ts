/**
 * Pairs that ids do not tell: an id on one side only, a result in front of its call.
 *
 * @module
 */
import { groupBy } from "../core/group_by.ts";
import type { Transcript } from "../core/transcript.ts";
import type { Piece } from "./format.ts";
import { isRound } from "./pieces.ts";

/** What a transcript is looked at for. */
interface Pieces {
  readonly pieces: readonly (readonly Piece[])[];
  /** Where the assistant message begins that each message goes on with; else the message itself. */
  readonly starts: readonly number[];
}

/** A call or a result with its index among all records. */
interface Found {
  readonly record: number;
  readonly piece: Piece;
}

/**
 * Finds the ids that calls and results without one are meant to have: those of what they pair with by name and
 * position, among what is left of a round once its ids are paired.
 *
 * @returns Ids by record, only where the part itself has none.
 */
export function idsByPlace({ pieces, starts }: Pieces): ReadonlyMap<number, string> {
  const ids = new Map<number, string>();
  const known = new Set(pieces.flat().map((piece) => piece.kind === "tool_use" ? piece.callId : undefined));
  let calls: Found[] = [];
  let results: Found[] = [];
  const settle = (): void => {
    pairRound({ calls, results, known }, ids);
    calls = [];
    results = [];
  };
  let record = 0;
  for (const [at, message] of pieces.entries()) {
    const hasResults = message.some((piece) => piece.kind === "tool_result");
    const isAnswer = hasResults && !message.some(isRound);
    if (!isAnswer && starts[at] === at) settle();
    for (const piece of message) {
      const found = { record: record++, piece };
      if (piece.approval === true || piece.isInPlace === true) continue;
      if (piece.kind === "tool_use") calls.push(found);
      if (piece.kind === "tool_result") results.push(found);
    }
    // What is said behind the results of a round ends it.
    if (isAnswer && message.some((piece) => piece.kind !== "tool_result")) settle();
  }
  settle();
  return ids;
}

function pairRound(
  { calls, results, known }: {
    readonly calls: readonly Found[];
    readonly results: readonly Found[];
    readonly known: ReadonlySet<string | undefined>;
  },
  ids: Map<number, string>,
): void {
  const hasId = ({ piece }: Found): boolean => Boolean(piece.callId);
  // Mostly all have ids, or none has: then the core pairs them.
  if (calls.every(hasId) ? results.every(hasId) : !calls.some(hasId) && !results.some(hasId)) return;
  const answered = new Map<string, number>();
  for (const { piece } of results) {
    if (piece.callId) answered.set(piece.callId, (answered.get(piece.callId) ?? 0) + 1);
  }
  const waiting = calls.filter(({ piece }) => {
    const left = answered.get(piece.callId ?? "") ?? 0;
    if (left > 0) answered.set(piece.callId ?? "", left - 1);
    return left === 0;
  });
  const queues = new Map<string, Iterator<Found, undefined>>();
  const byName = groupBy(waiting, ({ piece }) => piece.name ?? "");
  const taken = new Set<Found>();
  /** The next call of a name, any for none; with `idless` only one that has no id. */
  const next = (name: string, idless: boolean): Found | undefined => {
    const key = `${idless} ${name}`;
    const queue = queues.get(key) ?? (name === "" ? waiting : byName.get(name) ?? []).values();
    queues.set(key, queue);
    let call = queue.next().value;
    while (call !== undefined && (taken.has(call) || (idless && hasId(call)))) call = queue.next().value;
    return call;
  };
  // Where not every call of a name has its result, those without an id come first: the result of another would have one.
  const bare = groupBy(results.filter((result) => !hasId(result)), ({ piece }) => piece.name ?? "");
  const isShort = (name: string): boolean =>
    (bare.get(name)?.length ?? 0) < (name === "" ? waiting : byName.get(name) ?? []).length;
  const used = new Set<string>();
  for (const { record, piece } of results) {
    const { callId, name = "" } = piece;
    if (callId && (known.has(callId) || used.has(callId))) continue;
    const first = callId || isShort(name) ? next(name, true) : undefined;
    const call = first ?? (callId ? undefined : next(name, false));
    if (call === undefined) continue;
    taken.add(call);
    if (callId) {
      used.add(callId);
      ids.set(call.record, callId);
    } else if (call.piece.callId) ids.set(record, call.piece.callId);
  }
}

/**
 * Finds results that stand directly in front of their calls: nothing else has their id, and only results lie
 * between.
 *
 * @returns Records of the calls, by the records of such results.
 */
export function earlyResults(
  transcript: Transcript,
  { pieces, starts }: Pieces,
): ReadonlyMap<number, number> {
  const early = new Map<number, number>();
  const { records, pairs } = transcript;
  const strays: number[] = [];
  const times = new Map<string, number>();
  for (const [index, { kind, callId, approval }] of records.entries()) {
    if (kind !== "tool_result" || !callId || approval === true) continue;
    times.set(callId, (times.get(callId) ?? 0) + 1);
    if (transcript.pairOfResult(index) === null) strays.push(index);
  }
  if (strays.length === 0) return early;
  const calls = new Map<string, number | null>();
  for (const [index, { call }] of pairs.entries()) {
    const id = records[call]?.callId;
    if (id) calls.set(id, calls.has(id) ? null : index);
  }
  // How many messages before each are more than results.
  const others: number[] = [0];
  for (const [at, message] of pieces.entries()) {
    others.push((others[at] ?? 0) + (message.every(({ kind }) => kind === "tool_result") ? 0 : 1));
  }
  for (const stray of strays) {
    const { callId = "", message = 0 } = records[stray] ?? {};
    const pair = pairs[calls.get(callId) ?? -1];
    const call = records[pair?.call ?? -1];
    if (pair === undefined || call === undefined || pair.result !== null || times.get(callId) !== 1) continue;
    const start = starts[call.message] ?? 0;
    const isNext = start > message && others[start] === others[message + 1];
    if (isNext && !pieces[message]?.some(isRound)) early.set(stray, pair.call);
  }
  return early;
}
