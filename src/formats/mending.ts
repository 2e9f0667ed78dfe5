/**
 * A repair under way: what each mend says and changes is collected here, to be applied when all is known.
 *
 * @module
 */
import type { Pair } from "../core/record.ts";
import { push } from "./_push.ts";
import { EditedMessages } from "./edits.ts";
import { APPROVAL, type JsonObject, type ResultToWrite } from "./format.ts";
import { resultsOf } from "./ids.ts";
import { isRest, type Place, placesOf, startsOf } from "./pieces.ts";
import type { Reading } from "./read.ts";
import type { Repair, RepairCode, Repaired } from "./repair.ts";

/** Messages of the input, from `from` up to, not including, `to`. */
export type Source = Repaired["sources"][number];

/** A result to write, and where it comes from. */
export interface Added extends Source {
  readonly result: ResultToWrite;
}

/** A user text to write, and the message that it comes from. */
export interface Note {
  readonly text: string;
  readonly source: number;
}

/** The pairs; an answer in the part of a call is the answer of that call, whatever the ids in its message say. */
function pairsByPart(pairs: readonly Pair[], places: readonly Place[]): readonly Pair[] {
  const own = new Map<string, number>();
  for (const [record, { message, piece }] of places.entries()) {
    if (piece.isInPlace && piece.kind === "tool_result") own.set(`${message}:${piece.part}`, record);
  }
  if (own.size === 0) return pairs;
  const out = [...pairs];
  const holders = new Map(pairs.map((pair, index) => [pair.result, index]));
  for (const [index, { call }] of pairs.entries()) {
    const mine = own.get(`${places[call]?.message}:${places[call]?.piece.part}`);
    const holder = holders.get(mine ?? -1);
    const pair = out[index];
    const other = out[holder ?? -1];
    if (mine === undefined || holder === undefined || pair?.result === mine || !pair || !other) continue;
    out[index] = { call: pair.call, result: other.result, state: other.state };
    out[holder] = { call: other.call, result: pair.result, state: pair.state };
    holders.set(mine, index).set(pair.result, holder);
  }
  return out;
}

/** The changes of one transcript, collected first and applied message by message. */
export class Mending {
  /** What is repaired. */
  readonly reading: Reading;
  /** Its records. */
  readonly places: readonly Place[];
  /** Its pairs, results that stand in front of their calls among them. */
  readonly pairs: readonly Pair[];
  /** The results of each call, by records. */
  readonly results: ReadonlyMap<number, readonly number[]>;
  /** What was done so far. */
  readonly repairs: Repair[] = [];
  /** Messages with the edits that keep the indexes of their parts. */
  readonly edited: EditedMessages;
  /** Ids that were rewritten. */
  readonly ids = new Map<Place, string>();
  /** Where the assistant message begins that a message goes on with; else the message itself. */
  readonly starts: readonly number[];
  /** `interrupts[at]`: messages before `at` that are more than results and begin something new. */
  readonly interrupts: readonly number[];
  /** `roundEnds[at]`: the first message behind `at` that has no results for the calls before it. */
  readonly roundEnds: readonly number[];
  /** Parts that are gone, by message. */
  readonly removed = new Map<number, Set<number | null>>();
  /** Results to put behind those of a message with calls. */
  readonly added = new Map<number, Added[]>();
  /** User texts to put in front of a message; the number of messages stands for the end. */
  readonly notes = new Map<number, Note[]>();

  constructor(reading: Reading) {
    this.reading = reading;
    this.edited = new EditedMessages(reading.messages);
    this.places = placesOf(reading.pieces);
    const calls = new Map([...reading.early].map(([result, call]) => [call, result]));
    this.pairs = pairsByPart(reading.transcript.pairs, this.places).map((pair): Pair => {
      const result = calls.get(pair.call);
      return result === undefined ? pair : { call: pair.call, result, state: "answered" };
    });
    const { messages } = reading;
    this.results = resultsOf(reading);
    this.starts = startsOf(reading);
    let interrupts = 0;
    this.interrupts = reading.pieces.map((pieces, at) => {
      const before = interrupts;
      if (!this.joins(at) && pieces.some((piece) => piece.kind !== "tool_result")) interrupts++;
      return before;
    });
    let end = messages.length;
    this.roundEnds = reading.pieces.map((_, index) => {
      const at = messages.length - 1 - index;
      const before = end;
      if (!isRest(reading.pieces[at] ?? [])) end = at;
      return before;
    }).reverse();
  }

  /** Whether a message goes on with the assistant message before it. */
  joins(at: number): boolean {
    return this.starts[at] !== at;
  }

  /** Says what was done. */
  report(code: RepairCode, { message: at, piece }: Place, message: string): void {
    this.repairs.push({ code, at, callId: piece.callId?.replace(APPROVAL, "") || null, message });
  }

  /** Changes a message; the indexes of its parts stay. */
  edit(message: number, change: (message: JsonObject) => JsonObject): void {
    this.edited.edit(message, change);
  }

  /** Takes a part out, in the end. */
  remove({ message, piece }: Place): void {
    const gone = this.removed.get(message) ?? new Set();
    this.removed.set(message, gone.add(piece.part));
  }

  /** Whether a call has stayed. */
  hasCall(index: number): boolean {
    const call = this.places[this.reading.transcript.pairs[index]?.call ?? -1];
    return call !== undefined && this.removed.get(call.message)?.has(call.piece.part) !== true;
  }

  /** Puts a user text in front of a message. */
  note(message: number, note: Note): void {
    push(this.notes, message, note);
  }

  /** Puts a result behind the calls of a message; `source` is the message that it stood in, if it did in one. */
  add({ message }: Place, result: ResultToWrite, source = message): void {
    push(this.added, message, {
      result,
      from: Math.min(message, source),
      to: Math.max(message, source) + 1,
    });
  }

  /** Answers a call with an error; one that the provider runs goes, as nobody else can answer it. */
  answer(call: Place, text: string): void {
    if (call.piece.isHosted) return this.remove(call);
    const { format } = this.reading;
    const result = {
      callId: this.idOf(call),
      name: call.piece.name ?? "",
      text,
      isError: true,
      call: call.piece,
    };
    const { answerInPlace } = format;
    if (call.piece.isInPlace && answerInPlace !== undefined) {
      this.edit(call.message, (message) => answerInPlace(message, call.piece.part, result));
    } else this.add(call, result);
  }

  /** The id of a call as it is after the repair of ids. */
  idOf(call: Place): string {
    return this.ids.get(call) ?? call.piece.callId ?? "";
  }
}
