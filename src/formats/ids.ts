/**
 * Ids of calls and results: which ones a provider refuses, and what they become. One list, so that a check names
 * what a repair changes.
 *
 * @module
 */
import type { ViolationCode } from "../core/record.ts";
import { push } from "./_push.ts";
import type { Piece } from "./format.ts";
import { type Place, placesOf } from "./pieces.ts";
import type { Reading } from "./read.ts";

/** An id that is wrong. */
export interface IdFault {
  readonly code: Extract<ViolationCode, "empty_call_id" | "duplicate_call_id" | "invalid_call_id">;
  /** Record index of the call or result. */
  readonly record: number;
  /** Message index. */
  readonly at: number;
  /** The id as it is. */
  readonly callId: string | null;
  /** A sentence for people. */
  readonly message: string;
}

/** One half of a pair. */
interface Half extends Place {
  readonly record: number;
}

/**
 * The results of each call by its record, in order: interim ones, the last one, and one that stands in front. Answers
 * in the part of the call are left out, as they have nothing of their own.
 */
export function resultsOf({ pieces, transcript, early }: Reading): ReadonlyMap<number, readonly number[]> {
  const results = new Map<number, number[]>();
  let record = -1;
  for (const message of pieces) {
    for (const piece of message) {
      record++;
      if (piece.kind !== "tool_result" || piece.isInPlace === true) continue;
      const call = early.get(record) ?? transcript.pairOfResult(record)?.call;
      if (call !== undefined) push(results, call, record);
    }
  }
  return results;
}

/** All calls but approvals, with their results. */
function callsOf(reading: Reading): readonly { readonly call: Half; readonly results: readonly Half[] }[] {
  const flat = placesOf(reading.pieces);
  const results = resultsOf(reading);
  const half = (record: number): readonly Half[] => {
    const found = flat[record];
    return found === undefined ? [] : [{ ...found, record }];
  };
  return reading.transcript.pairs.flatMap((pair) => {
    const [call] = half(pair.call);
    if (call === undefined || call.piece.approval === true) return [];
    return [{ call, results: (results.get(pair.call) ?? []).flatMap(half) }];
  });
}

/** Whether a call and its results have to have an id. */
function needsIds(call: Piece, results: readonly Half[]): boolean {
  // Where the format lets them go without one they do, unless one of them has it.
  if (call.idUse === undefined || results.some(({ piece }) => piece.idUse === undefined)) return true;
  return results.length > 0 && [call, ...results.map(({ piece }) => piece)].some(({ callId }) => callId);
}

function say({ piece }: Half): string {
  const noun = piece.kind === "tool_use" ? "call" : "result";
  return piece.name ? `The ${noun} of ${piece.name}` : `The ${noun}`;
}

/**
 * Finds ids that are missing, not of the kind that the format wants, or used again where the format wants them to be
 * unique in the whole transcript. Ids twice in one message are the core's to find.
 *
 * @param reading The transcript as it was read.
 */
export function idFaults(reading: Reading): readonly IdFault[] {
  const { rules } = reading.format;
  const faults: IdFault[] = [];
  for (const { call, results } of callsOf(reading)) {
    const fault = (code: IdFault["code"], half: Half, what: string): void => {
      const { record, message: at, piece } = half;
      faults.push({ code, record, at, callId: piece.callId || null, message: `${say(half)} ${what}` });
    };
    const id = call.piece.callId ?? "";
    if (needsIds(call.piece, results)) {
      if (id === "") fault("empty_call_id", call, "has no id");
      for (const result of id === "" ? [] : results) {
        if (!result.piece.callId) fault("empty_call_id", result, "has no id, as its call does");
      }
    }
    if (id === "") continue;
    if (rules.ids !== undefined && call.piece.isHosted !== true && !rules.ids.test(id)) {
      fault(
        "invalid_call_id",
        call,
        `has the id ${JSON.stringify(id)}, wanted one of letters, digits, _ and -`,
      );
    }
  }
  return faults;
}
