/**
 * Repair: explicit, and every change reported. What is not broken comes back as the object that came in; calls
 * in flight are never touched.
 *
 * Over 300 lines: every mend is a few lines, and all must agree on one set of collected edits.
 *
 * @module
 */
import type { Pair } from "../core/record.ts";
import { draftOf, type JsonObject, type Piece, type ResultToWrite, settleDrafts } from "./format.ts";
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
  /** What was mended. */
  readonly code: RepairCode;
  /** Index of the message in the input. */
  readonly at: number;
  /** Id of the call, where it has one. */
  readonly callId: string | null;
}

/** A repaired transcript. */
export interface Repaired {
  /** The mended transcript; what was whole is the object that came in. */
  readonly messages: readonly JsonObject[];
  /** Each change. */
  readonly repairs: readonly Repair[];
  /** Which calls are left, in order: their indexes among the calls of the input. */
  readonly calls: readonly number[];
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
class Mender {
  readonly #reading: Reading;
  readonly #places: readonly Place[];
  readonly #pairs: readonly Pair[];
  readonly #repairs: Repair[] = [];
  /** Messages with the edits that keep the indexes of their parts. */
  readonly #edited: JsonObject[];
  /** Those of them that are drafts. */
  readonly #drafts = new Map<number, JsonObject>();
  /** Ids that were rewritten. */
  readonly #ids = new Map<Place, string>();
  /** Where the assistant message begins that a message goes on with; else the message itself. */
  readonly #starts: readonly number[];
  /** `#interrupts[at]`: messages before `at` that are more than results and begin something new. */
  readonly #interrupts: readonly number[];
  /** `#roundEnds[at]`: the first message behind `at` that has no results for the calls before it. */
  readonly #roundEnds: readonly number[];
  readonly #removed = new Map<number, Set<number | null>>();
  /** Results to put behind those of a message with calls. */
  readonly #added = new Map<number, ResultToWrite[]>();
  /** User texts to put in front of a message; the number of messages stands for the end. */
  readonly #notes = new Map<number, string[]>();

  constructor(reading: Reading) {
    this.#reading = reading;
    this.#edited = [...reading.messages];
    this.#places = reading.pieces.flatMap((pieces, message) => pieces.map((piece) => ({ message, piece })));
    this.#pairs = pairsByPart(reading.transcript.pairs, this.#places);
    const { format, messages } = reading;
    let start = 0;
    this.#starts = messages.map((message, at) => {
      if (format.joins?.(message, messages[at - 1]) !== true) start = at;
      return start;
    });
    let interrupts = 0;
    this.#interrupts = reading.pieces.map((pieces, at) => {
      const before = interrupts;
      if (!this.#joins(at) && pieces.some((piece) => piece.kind !== "tool_result")) interrupts++;
      return before;
    });
    let end = messages.length;
    this.#roundEnds = reading.pieces.map((_, index) => {
      const at = messages.length - 1 - index;
      const before = end;
      if (!isRest(reading.pieces[at] ?? [])) end = at;
      return before;
    }).reverse();
  }

  #joins(at: number): boolean {
    return this.#starts[at] !== at;
  }

  mend(): Repaired {
    this.#mendIds();
    this.#mendArguments();
    this.#mendBlanks();
    this.#mendPairs();
    this.#mendStrays();
    this.#mendReasoning();
    this.#mendTexts();
    settleDrafts(this.#drafts.values());
    const calls = [...this.#reading.transcript.pairs.keys()].filter((index) => this.#hasCall(index));
    return { messages: this.#assemble(), repairs: this.#repairs.sort((a, b) => a.at - b.at), calls };
  }

  #report(code: RepairCode, { message, piece }: Place): void {
    this.#repairs.push({ code, at: message, callId: piece.callId || null });
  }

  #edit(message: number, change: (message: JsonObject) => JsonObject): void {
    const found = this.#edited[message];
    if (found === undefined) return;
    const draft = this.#drafts.get(message) ?? draftOf(found);
    this.#drafts.set(message, draft);
    this.#edited[message] = change(found === this.#reading.messages[message] ? draft : found);
  }

  #remove({ message, piece }: Place): void {
    const gone = this.#removed.get(message) ?? new Set();
    this.#removed.set(message, gone.add(piece.part));
  }

  /** Whether a call has stayed. */
  #hasCall(index: number): boolean {
    const call = this.#places[this.#reading.transcript.pairs[index]?.call ?? -1];
    return call !== undefined && this.#removed.get(call.message)?.has(call.piece.part) !== true;
  }

  #note(message: number, text: string): void {
    push(this.#notes, message, text);
  }

  /** Empty ids, and ids twice in one message, are rewritten on both sides, always in the same way. */
  #mendIds(): void {
    const { format } = this.#reading;
    const taken = new Set(this.#places.map(({ piece }) => piece.callId ?? ""));
    const inTurn = new Map<string, number>();
    const namesakes = new Map<string, number>();
    for (const { message, piece } of this.#places) {
      if (piece.kind !== "tool_use") continue;
      const key = `${message}:${piece.name}`;
      namesakes.set(key, (namesakes.get(key) ?? 0) + 1);
    }
    // Ids are optional in Gemini: there they are only needed to tell two calls of one name apart.
    const needsId = ({ message, piece }: Place): boolean =>
      format.name !== "gemini" || namesakes.get(`${message}:${piece.name}`) !== 1;
    // Below this number every id of a base is taken.
    const next = new Map<string, number>();
    for (const pair of this.#pairs) {
      const call = this.#places[pair.call];
      if (call === undefined || call.piece.approval === true) continue;
      const key = `${this.#starts[call.message]}:${call.piece.callId}`;
      const times = (inTurn.get(key) ?? 0) + 1;
      inTurn.set(key, times);
      const isEmpty = !call.piece.callId;
      if (isEmpty ? !needsId(call) : times === 1) continue;
      const base = call.piece.callId || `call_${call.message}`;
      let id = `${base}_${times}`;
      if (taken.has(id)) {
        let n = Math.max(times + 1, next.get(base) ?? 0);
        while (taken.has(`${base}_${n}`)) n++;
        id = `${base}_${n}`;
        next.set(base, n);
      }
      taken.add(id);
      this.#ids.set(call, id);
      this.#report(isEmpty && times === 1 ? "empty_call_id" : "duplicate_call_id", call);
      this.#edit(call.message, (message) => format.withCallId(message, call.piece.part, id));
      const result = pair.result === null ? undefined : this.#places[pair.result];
      if (result === undefined || result.piece.isInPlace) continue;
      this.#edit(result.message, (message) => format.withCallId(message, result.piece.part, id));
    }
  }

  /** Arguments that were cut off are kept as text in valid JSON; nobody can run such a call any more. */
  #mendArguments(): void {
    const { format } = this.#reading;
    for (const pair of this.#pairs) {
      const call = this.#places[pair.call];
      if (call?.piece.isTruncated !== true) continue;
      this.#report("truncated_arguments", call);
      const input = { unparsed_arguments: call.piece.text };
      this.#edit(call.message, (message) => format.withArguments(message, call.piece.part, input));
      if (pair.state !== "answered") this.#answer(call, CUT_OFF);
    }
  }

  /** Results with an empty text in them, and messages with nothing in them: before any of them moves. */
  #mendBlanks(): void {
    const { format } = this.#reading;
    for (const place of this.#places) {
      const { message, piece } = place;
      if (piece.isBlank !== true) continue;
      this.#report("empty_text", place);
      const isEmpty = piece.text.trim() === "" && !piece.files;
      const text = piece.kind === "tool_result" ? NO_OUTPUT : EMPTY;
      this.#edit(
        message,
        (found) =>
          isEmpty || format.withoutBlanks === undefined
            ? format.withText(found, piece.part, text)
            : format.withoutBlanks(found, piece.part),
      );
    }
  }

  #mendPairs(): void {
    for (const pair of this.#pairs) {
      const call = this.#places[pair.call];
      if (call === undefined || call.piece.approval === true) continue;
      if (pair.state === "abandoned" && call.piece.isTruncated !== true) {
        this.#report("missing_result", call);
        this.#answer(call, ABORTED);
      }
      const result = pair.result === null ? undefined : this.#places[pair.result];
      if (result === undefined || !this.#isMisplaced(pair)) continue;
      this.#report("misplaced_result", result);
      if (call.piece.isHosted) {
        // What the provider ran it answers in the same message: apart, neither half is of any use.
        this.#remove(call);
        this.#remove(result);
        this.#note(result.message + 1, `[selvage: a result apart from its call] ${result.piece.text}`);
        continue;
      }
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
    const { transcript } = this.#reading;
    const call = transcript.records[pair.call];
    const result = transcript.records[pair.result ?? -1];
    if (call === undefined || result === undefined || call.longRunning === true || result.interim === true) {
      return false;
    }
    if (result.message <= call.message) return false;
    return (this.#interrupts[result.message] ?? 0) > (this.#interrupts[call.message + 1] ?? 0);
  }

  #answer(call: Place, text: string): void {
    if (call.piece.isHosted) return this.#remove(call);
    const { format } = this.#reading;
    const result = { callId: this.#idOf(call), name: call.piece.name ?? "", text, isError: true };
    const { answerInPlace } = format;
    if (call.piece.isInPlace && answerInPlace !== undefined) {
      this.#edit(call.message, (message) => answerInPlace(message, call.piece.part, result));
    } else this.#add(call, result);
  }

  #add(call: Place, result: ResultToWrite): void {
    push(this.#added, call.message, result);
  }

  /** The id of a call as it is after the repair of ids. */
  #idOf(call: Place): string {
    return this.#ids.get(call) ?? call.piece.callId ?? "";
  }

  /** Results that answer nothing leave their place; their text stays, as a user text after the round. */
  #mendStrays(): void {
    const { transcript } = this.#reading;
    const answers = new Map(this.#pairs.flatMap((pair) => {
      const result = this.#places[pair.result ?? -1];
      return result === undefined ? [] : [[result.piece.callId ?? "", result.piece.text] as const];
    }));
    const open = this.#pairs.filter((pair) => pair.state === "in_flight");
    let last = -1;
    for (const [record, place] of this.#places.entries()) {
      while ((this.#places[open[last + 1]?.call ?? -1]?.message ?? Infinity) <= place.message) last++;
      if (place.piece.kind !== "tool_result" || transcript.pairOfResult(record) !== null) continue;
      const { callId = "", text } = place.piece;
      const isSecond = answers.has(callId);
      this.#report(isSecond ? "duplicate_result" : "orphan_result", place);
      this.#remove(place);
      if (text === "" || answers.get(callId) === text) continue;
      const what = isSecond
        ? `a second result of ${callId}`
        : `a result without its call${callId ? ` (${callId})` : ""}`;
      // Behind the round; but nothing may come between an open call and the result that is still on its way.
      const at = this.#openRound(place, open[last]) ?? this.#roundEnds[place.message] ?? place.message + 1;
      this.#note(at, `[selvage: ${what}] ${text}`);
    }
  }

  /** Where the round of an open call begins, if a place is in it. */
  #openRound(place: Place, open: Pair | undefined): number | null {
    const { transcript } = this.#reading;
    const call = transcript.records[open?.call ?? -1];
    if (open === undefined || call === undefined) return null;
    const isPromised = call.inFlight === true || call.longRunning === true || open.result !== null;
    const isInRound = this.#interrupts[place.message] === this.#interrupts[call.message + 1];
    return !isPromised || isInRound ? this.#starts[call.message] ?? null : null;
  }

  #mendReasoning(): void {
    const { pieces } = this.#reading;
    const isAnswer = ({ kind }: Piece): boolean =>
      kind === "assistant" || kind === "reasoning" || kind === "tool_use";
    // What waits at the end for its answer will not get it where the calls beside it are answered already.
    const answered = new Set([...this.#added.keys()].map((at) => this.#starts[at]));
    // From the end, so that reasoning before reasoning that goes is seen to be severed as well.
    let next: readonly Piece[] | undefined;
    for (let message = pieces.length - 1; message >= 0; message--) {
      const piece = pieces[message]?.at(-1);
      const isSevered = next === undefined ? answered.has(this.#starts[message]) : !next.some(isAnswer);
      if (piece?.sticks === true && isSevered) {
        this.#report("reasoning_severed", { message, piece });
        this.#remove({ message, piece });
      } else next = pieces[message];
    }
  }

  #mendTexts(): void {
    const { format, pieces } = this.#reading;
    // White space alone is refused as no text is.
    const isNothing = (piece: Piece): boolean => piece.isText === true && piece.text.trim() === "";
    // Empty texts go, unless nothing else is left of their message.
    const filled = new Set(
      this.#places.filter(({ piece }) => !isNothing(piece)).map(({ message }) => message),
    );
    for (const place of this.#places) {
      const { message, piece } = place;
      if (!isNothing(piece) || !format.rules.noEmptyText) continue;
      this.#report("empty_text", place);
      if (filled.has(message)) this.#remove(place);
      else this.#edit(message, (found) => format.withText(found, piece.part, EMPTY));
    }
    if (!format.rules.firstFromUser) return;
    const first = pieces.findIndex((message) => !message.every((piece) => piece.kind === "system"));
    const message = pieces[first];
    const [piece] = message ?? [];
    if (message === undefined || piece === undefined) return;
    if (this.#reading.messages[first]?.["role"] !== "assistant" && this.#isKept(first)) return;
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
      if (message !== null && !this.#joins(at) && !this.#answersRound(at)) settle();
      const notes = this.#notes.get(at);
      if (notes !== undefined) {
        settle();
        out.push(format.userText(notes.join("\n")));
      }
      if (message !== null) out.push(message);
      // What is said behind the results of a round ends it.
      const isEnd = this.#answersRound(at) &&
        this.#reading.pieces[at]?.some(({ kind }) => kind !== "tool_result") === true;
      if (isEnd) settle();
      const added = this.#added.get(at);
      if (added === undefined) continue;
      // Calls of one message are answered behind the last of them.
      if (!this.#joins(at)) settle();
      pending = [...pending, ...added];
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
    const pieces = this.#reading.pieces[at] ?? [];
    return isRest(pieces) &&
      pieces.some(({ kind, part }) => kind === "tool_result" && gone?.has(part) !== true);
  }
}

/** Whether a message holds results for the calls of a message before it. */
function isRest(pieces: readonly Piece[]): boolean {
  return pieces.some(({ kind }) => kind === "tool_result") &&
    !pieces.some(({ kind }) => kind === "assistant" || kind === "tool_use");
}

function push<Value>(lists: Map<number, Value[]>, key: number, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
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
