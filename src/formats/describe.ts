/**
 * What is to be said of a transcript, as one JSON document: the answer of the service and of the command.
 *
 * @module
 */
import type { Atom, Violation } from "../core/record.ts";
import { checkMessages, noticesOf, type OpenCall, openCalls } from "./check.ts";
import type { CallName } from "./calls.ts";
import type { FormatName } from "./format.ts";
import type { Reading } from "./read.ts";

/** A checked transcript. Message indexes are those of the input. */
export interface CheckDocument {
  /** Whether nothing is wrong. */
  readonly valid: boolean;
  /** The format that it was read in. */
  readonly format: FormatName;
  /** What is wrong. */
  readonly violations: readonly Violation[];
  /** What a repair mends although it makes nothing invalid. */
  readonly notices: readonly Violation[];
  /** Every atom. */
  readonly atoms: readonly {
    readonly from: number;
    /** One past the last message. */
    readonly to: number;
    readonly kind: Atom["kind"];
    readonly state: "open" | "closed";
    readonly tokens: number;
  }[];
  /** Messages before which it may be cut. */
  readonly legalCuts: readonly number[];
  /** Calls in flight, by id, those without one by place. */
  readonly pending: readonly CallName[];
  /** Calls that nobody will answer any more. */
  readonly abandoned: readonly CallName[];
  /** Calls without a result. */
  readonly openCalls: readonly OpenCall[];
}

/** Checks a transcript and describes its atoms, its legal cuts and its open calls. */
export function describeTranscript(reading: Reading): CheckDocument {
  const { transcript, format } = reading;
  const violations = checkMessages(reading);
  const open = openCalls(reading);
  const named = (state: OpenCall["state"]): readonly CallName[] =>
    open.filter((found) => found.state === state).map(({ at, call, callId }) => callId ?? { at, call });
  return {
    valid: violations.length === 0,
    format: format.name,
    violations,
    notices: noticesOf(reading),
    atoms: transcript.atoms.map(({ from, to, kind, open, tokens }) => ({
      from,
      to,
      kind,
      state: open ? "open" : "closed",
      tokens,
    })),
    legalCuts: transcript.legalCuts,
    pending: named("in_flight"),
    abandoned: named("abandoned"),
    openCalls: open,
  };
}
