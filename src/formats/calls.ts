/**
 * Names of calls. Ids may repeat, be empty or be missing, so a call is also named by its place.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { push } from "./_push.ts";
import { APPROVAL, type Piece } from "./format.ts";

/** A call, by id (its last unanswered occurrence) or by place. */
export type CallName = string | {
  /** Index of the message. */
  readonly at: number;
  /** Index among the calls of the message; approvals are no calls and count from -1 downwards. */
  readonly call: number;
};

type CallPlace = Exclude<CallName, string>;

/** Option in which calls are named. */
export type CallField = "inFlight" | "longRunning";

/** The calls of a transcript in order, as its pairs are. */
export class Calls {
  /** Record index of each call. */
  readonly records: readonly number[];
  readonly #places: readonly CallPlace[];
  readonly #byId = new Map<string, number[]>();
  readonly #inMessage = new Map<number, number[]>();
  readonly #approvals = new Map<number, number[]>();

  constructor(pieces: readonly (readonly Piece[])[]) {
    const records: number[] = [];
    const places: CallPlace[] = [];
    let record = -1;
    for (const [at, message] of pieces.entries()) {
      for (const piece of message) {
        record++;
        if (piece.kind !== "tool_use") continue;
        push(this.#byId, piece.callId ?? "", records.length);
        const index = push(piece.approval === true ? this.#approvals : this.#inMessage, at, records.length);
        places.push({ at, call: piece.approval === true ? -1 - index : index });
        records.push(record);
      }
    }
    this.records = records;
    this.#places = places;
  }

  /**
   * The calls of a name, as indexes among all calls.
   *
   * @param name An id or a place.
   * @param field Who asks, for the error.
   * @throws SelvageError `unknown_call` when a place holds no call.
   */
  named(name: CallName, field: CallField): readonly number[] {
    if (typeof name === "string") return this.#byId.get(name) ?? this.#byId.get(APPROVAL + name) ?? [];
    const call = name.call < 0
      ? this.#approvals.get(name.at)?.[-1 - name.call]
      : this.#inMessage.get(name.at)?.[name.call];
    if (call === undefined) throw unknownCall(name, field);
    return [call];
  }

  /** The place of a call. */
  placeOf(call: number): CallPlace {
    const place = this.#places[call];
    if (place === undefined) {
      throw new RangeError(`Cannot place call ${call}: found ${this.#places.length} of them`);
    }
    return place;
  }

  /** The places of calls that are told by their records. */
  placesOf(records: ReadonlySet<number>): readonly CallPlace[] {
    return this.#places.filter((_, call) => records.has(this.records[call] ?? -1));
  }
}

/** Complains about a name that no call has. */
export function unknownCall(name: CallName, field: CallField): SelvageError {
  const isId = typeof name === "string";
  const shown = isId ? JSON.stringify(name.slice(0, 100)) : `${name.call} of message ${name.at}`;
  return new SelvageError(
    "unknown_call",
    `Cannot find the call ${shown}: wanted the id of a call in the messages, or the index of its message and its own`,
    { fields: { field, ...(isId ? {} : { at: name.at }) } },
  );
}
