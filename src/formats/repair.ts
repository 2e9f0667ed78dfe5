/**
 * Repair: explicit, and every change reported. What is not broken comes back as the object that came in; calls
 * in flight are never touched.
 *
 * @module
 */
import type { Pair } from "../core/record.ts";
import type { JsonObject, Piece, ResultToWrite } from "./format.ts";
import type { Reading } from "./read.ts";

/** What a repair mended. */
export type RepairCode =
  | "missing_result"
  | "misplaced_result"
  | "orphan_result"
  | "duplicate_result"
  | "duplicate_call_id"
  | "empty_call_id"
  | "truncated_arguments"
  | "results_not_first"
  | "empty_text"
  | "first_not_user"
  | "reasoning_severed";

/** One change. */
export interface Repair {
  readonly code: RepairCode;
  /** Index of the message in the input. */
  readonly at: number;
  readonly callId: string | null;
}

/** A repaired transcript. */
export interface Repaired {
  readonly messages: readonly JsonObject[];
  readonly repairs: readonly Repair[];
}

const ABORTED = "Aborted: the call did not finish";
const CUT_OFF = "Not executed: the answer was cut off at the output limit, so the arguments are incomplete";
const BEGINNING = "[selvage: the conversation begins here]";
const NO_OUTPUT = "(no output)";
const EMPTY = "(empty)";

/** One record with its place. */
interface Place {
  readonly message: number;
  readonly piece: Piece;
}

/** The changes of one transcript, collected first and applied message by message. */
class Mender {
  readonly #reading: Reading;
  readonly #places: readonly Place[];
  readonly #repairs: Repair[] = [];
  /** Messages with the edits that keep the indexes of their parts. */
  readonly #edited: JsonObject[];
  readonly #removed = new Map<number, Set<number | null>>();
  /** Results to put behind those of a message with calls. */
  readonly #added = new Map<number, ResultToWrite[]>();
  /** User texts to put in front of a message; the number of messages stands for the end. */
  readonly #notes = new Map<number, string[]>();

  constructor(reading: Reading) {
    this.#reading = reading;
    this.#edited = [...reading.messages];
    this.#places = reading.pieces.flatMap((pieces, message) => pieces.map((piece) => ({ message, piece })));
  }

  mend(): Repaired {
    this.#mendIds();
    this.#mendArguments();
    this.#mendPairs();
    this.#mendStrays();
    this.#mendReasoning();
    this.#mendTexts();
    return { messages: this.#assemble(), repairs: this.#repairs.sort((a, b) => a.at - b.at) };
  }

  #report(code: RepairCode, { message, piece }: Place): void {
    this.#repairs.push({ code, at: message, callId: piece.callId || null });
  }

  #edit(message: number, change: (message: JsonObject) => JsonObject): void {
    const found = this.#edited[message];
    if (found !== undefined) this.#edited[message] = change(found);
  }

  #remove({ message, piece }: Place): void {
    const gone = this.#removed.get(message) ?? new Set();
    this.#removed.set(message, gone.add(piece.part));
  }

  #note(message: number, text: string): void {
    this.#notes.set(message, [...(this.#notes.get(message) ?? []), text]);
  }

  /** Empty ids, and ids twice in one message, are rewritten on both sides, always in the same way. */
  #mendIds(): void {
    const { format, transcript } = this.#reading;
    const taken = new Set(this.#places.map(({ piece }) => piece.callId ?? ""));
    const inMessage = new Map<string, number>();
    // Ids are optional in Gemini: there they are only needed to tell two calls of one name apart.
    const needsId = (place: Place): boolean =>
      format.name !== "gemini" ||
      this.#reading.pieces[place.message]?.filter((piece) =>
          piece.kind === "tool_use" && piece.name === place.piece.name
        )
          .length !== 1;
    for (const pair of transcript.pairs) {
      const call = this.#places[pair.call];
      if (call === undefined || call.piece.approval === true) continue;
      const key = `${call.message}:${call.piece.callId}`;
      const times = (inMessage.get(key) ?? 0) + 1;
      inMessage.set(key, times);
      const isEmpty = !call.piece.callId;
      if (isEmpty ? !needsId(call) : times === 1) continue;
      const base = call.piece.callId || `call_${call.message}`;
      let id = `${base}_${times}`;
      for (let n = times + 1; taken.has(id); n++) id = `${base}_${n}`;
      taken.add(id);
      this.#report(isEmpty && times === 1 ? "empty_call_id" : "duplicate_call_id", call);
      this.#edit(call.message, (message) => format.withCallId(message, call.piece.part, id));
      const result = pair.result === null ? undefined : this.#places[pair.result];
      if (result === undefined || result.piece.isInPlace) continue;
      this.#edit(result.message, (message) => format.withCallId(message, result.piece.part, id));
    }
  }

  /** Arguments that were cut off are kept as text in valid JSON; nobody can run such a call any more. */
  #mendArguments(): void {
    const { format, transcript } = this.#reading;
    for (const pair of transcript.pairs) {
      const call = this.#places[pair.call];
      if (call?.piece.isTruncated !== true) continue;
      this.#report("truncated_arguments", call);
      const input = { unparsed_arguments: call.piece.text };
      this.#edit(call.message, (message) => format.withArguments(message, call.piece.part, input));
      if (pair.state !== "answered") this.#answer(call, CUT_OFF);
    }
  }

  #mendPairs(): void {
    const { transcript } = this.#reading;
    for (const pair of transcript.pairs) {
      const call = this.#places[pair.call];
      if (call === undefined || call.piece.approval === true) continue;
      if (pair.state === "abandoned" && call.piece.isTruncated !== true) {
        this.#report("missing_result", call);
        this.#answer(call, ABORTED);
      }
      const result = pair.result === null ? undefined : this.#places[pair.result];
      if (result === undefined || !this.#isMisplaced(pair)) continue;
      this.#report("misplaced_result", result);
      const raw = this.#reading.format.take(this.#edited[result.message] ?? {}, result.piece.part);
      this.#remove(result);
      this.#add(call, {
        callId: this.#idOf(call),
        name: call.piece.name ?? "",
        text: "",
        isError: false,
        raw,
      });
    }
  }

  /** Whether anything but results stands between a call and its result (condition C3). */
  #isMisplaced(pair: Pair): boolean {
    const { transcript, pieces, format, messages } = this.#reading;
    const call = transcript.records[pair.call];
    const result = transcript.records[pair.result ?? -1];
    if (call === undefined || result === undefined || call.longRunning === true || result.interim === true) {
      return false;
    }
    for (let at = call.message + 1; at < result.message; at++) {
      const joins = format.joins?.(messages[at] ?? {}, messages[at - 1]) === true;
      if (!joins && pieces[at]?.some((piece) => piece.kind !== "tool_result") === true) return true;
    }
    return false;
  }

  #answer(call: Place, text: string): void {
    const { format } = this.#reading;
    const result = { callId: this.#idOf(call), name: call.piece.name ?? "", text, isError: true };
    const { answerInPlace } = format;
    if (call.piece.isInPlace && answerInPlace !== undefined) {
      this.#edit(call.message, (message) => answerInPlace(message, call.piece.part, result));
    } else this.#add(call, result);
  }

  #add(call: Place, result: ResultToWrite): void {
    this.#added.set(call.message, [...(this.#added.get(call.message) ?? []), result]);
  }

  /** The id of a call as it is after the repair of ids. */
  #idOf(call: Place): string {
    const message = this.#edited[call.message];
    if (message === undefined) return "";
    const read = this.#reading.format.read(message, call.message);
    return read.find((piece) => piece.kind === "tool_use" && piece.part === call.piece.part)?.callId ?? "";
  }

  /** Results that answer nothing leave their place; their text stays, as a user text after the round. */
  #mendStrays(): void {
    const { transcript } = this.#reading;
    const answers = new Map(transcript.pairs.flatMap((pair) => {
      const result = this.#places[pair.result ?? -1];
      return result === undefined ? [] : [[result.piece.callId ?? "", result.piece.text] as const];
    }));
    for (const [record, place] of this.#places.entries()) {
      if (place.piece.kind !== "tool_result" || transcript.pairOfResult(record) !== null) continue;
      const { callId = "", text } = place.piece;
      const isSecond = answers.has(callId);
      this.#report(isSecond ? "duplicate_result" : "orphan_result", place);
      this.#remove(place);
      if (text === "" || answers.get(callId) === text) continue;
      const atom = transcript.atomAt(place.message);
      const what = isSecond
        ? `a second result of ${callId}`
        : `a result without its call${callId ? ` (${callId})` : ""}`;
      // Behind the round; but nothing may come between an open call and the result that is still on its way.
      this.#note((atom?.open ? atom.from : atom?.to) ?? place.message + 1, `[selvage: ${what}] ${text}`);
    }
  }

  #mendReasoning(): void {
    const { pieces } = this.#reading;
    for (const place of this.#places) {
      const next = pieces[place.message + 1];
      if (place.piece.sticks !== true || next === undefined) continue;
      if (
        next.some((piece) => piece.kind !== "user" && piece.kind !== "tool_result" && piece.kind !== "system")
      ) continue;
      this.#report("reasoning_severed", place);
      this.#remove(place);
    }
  }

  #mendTexts(): void {
    const { format, pieces } = this.#reading;
    for (const place of this.#places) {
      const { message, piece } = place;
      if (piece.isBlank === true && piece.text === "") {
        this.#report("empty_text", place);
        this.#edit(message, (found) => format.withText(found, piece.part, NO_OUTPUT));
      } else if (piece.isText === true && piece.text === "" && format.rules.noEmptyText) {
        this.#report("empty_text", place);
        const left = pieces[message]?.filter((other) => other.isText !== true || other.text !== "") ?? [];
        if (left.length > 0) this.#remove(place);
        else this.#edit(message, (found) => format.withText(found, piece.part, EMPTY));
      }
    }
    if (!format.rules.firstFromUser) return;
    const first = pieces.findIndex((message) => !message.every((piece) => piece.kind === "system"));
    const message = pieces[first];
    const [piece] = message ?? [];
    if (message === undefined || piece === undefined) return;
    const isUser = message.some(({ kind }) =>
      kind === "user" || kind === "summary" || kind === "tool_result"
    );
    if (isUser && this.#isKept(first)) return;
    this.#report("first_not_user", { message: first, piece });
    this.#notes.set(first, [BEGINNING, ...(this.#notes.get(first) ?? [])]);
  }

  #isKept(message: number): boolean {
    const gone = this.#removed.get(message);
    return this.#reading.pieces[message]?.some((piece) => gone?.has(piece.part) !== true) === true;
  }

  /** A message with its parts removed and, where its format wants it, its results in front. */
  #finish(at: number): JsonObject | null {
    const { format, pieces } = this.#reading;
    const gone = this.#removed.get(at) ?? new Set();
    let message: JsonObject | null = this.#edited[at] ?? null;
    if (message !== null && gone.size > 0) message = format.without(message, [...gone]);
    if (message === null || !format.rules.resultsFirst) return message;
    const left = (pieces[at] ?? []).filter((piece) => !gone.has(piece.part));
    const other = left.findIndex((piece) => piece.kind !== "tool_result");
    const isLate = other >= 0 && left.slice(other).some((piece) => piece.kind === "tool_result");
    if (!isLate || left.some((piece) => piece.kind === "assistant" || piece.kind === "tool_use")) {
      return message;
    }
    const late = left.find((piece) => piece.kind === "tool_result");
    if (late !== undefined) this.#report("results_not_first", { message: at, piece: late });
    const order = [...left.keys()].sort((a, b) =>
      Number(left[a]?.kind !== "tool_result") - Number(left[b]?.kind !== "tool_result") || a - b
    );
    return format.reorder(message, order);
  }

  #assemble(): readonly JsonObject[] {
    const { format, messages } = this.#reading;
    const out: JsonObject[] = [];
    // Results wait here until the messages that answer the same round have passed.
    let pending: readonly ResultToWrite[] = [];
    let call = -1;
    const settle = (): void => {
      if (pending.length > 0) {
        out.push(...format.addResults(out.length > call + 1 ? out.pop() ?? null : null, pending));
      }
      pending = [];
    };
    for (let at = 0; at < messages.length; at++) {
      const message = this.#finish(at);
      if (message !== null && !this.#answersRound(at)) settle();
      const notes = this.#notes.get(at);
      if (notes !== undefined) {
        settle();
        out.push(format.userText(notes.join("\n")));
      }
      if (message !== null) out.push(message);
      const added = this.#added.get(at);
      if (added === undefined) continue;
      settle();
      pending = added;
      call = out.length - 1;
    }
    settle();
    const notes = this.#notes.get(messages.length);
    if (notes !== undefined) out.push(format.userText(notes.join("\n")));
    return out;
  }

  /** Whether a message holds results that are where they belong. */
  #answersRound(at: number): boolean {
    const gone = this.#removed.get(at);
    return this.#reading.pieces[at]?.some((piece) =>
      piece.kind === "tool_result" && gone?.has(piece.part) !== true
    ) === true;
  }
}

/**
 * Repairs a transcript.
 *
 * @param reading The transcript as it was read.
 * @returns The messages, and each change with the message of the input that it mended: an abandoned call gets
 *   one error result, a misplaced result moves behind its call, a second or orphan result becomes a marked user
 *   text, ids that are empty or clash are rewritten on both sides.
 *
 * @example
 * ```ts
 * import { readTranscript, repairTranscript } from "@selvage/selvage/core";
 *
 * const { messages, repairs } = repairTranscript(readTranscript([
 *   { role: "user", content: "Run it." },
 *   { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: { name: "run", arguments: "{}" } }] },
 *   { role: "user", content: "Stop." },
 * ]));
 * console.log(repairs[0]?.code, messages.length); // missing_result 4
 * ```
 */
export function repairTranscript(reading: Reading): Repaired {
  return new Mender(reading).mend();
}
