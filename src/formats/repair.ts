/**
 * Repair: explicit, and every change reported. What is not broken comes back as the object that came in; calls
 * in flight are never touched.
 *
 * Over 300 lines: every mend is a few lines, and all must agree on one set of collected edits.
 *
 * @module
 */
import type { Pair, ViolationCode } from "../core/record.ts";
import { isHostedApart, isMisnamed } from "./check.ts";
import {
  APPROVAL,
  draftOf,
  isObject,
  type JsonObject,
  type Piece,
  type ResultToWrite,
  settleDrafts,
} from "./format.ts";
import { idFaults, resultsOf, startsOf } from "./ids.ts";
import type { Reading } from "./read.ts";

/** What a repair mended: the code of the violation that it was. */
export type RepairCode = ViolationCode;

/** One change. */
export interface Repair {
  /** What was mended. */
  readonly code: RepairCode;
  /** Index of the message in the input. */
  readonly at: number;
  /** Id of the call, where it has one. */
  readonly callId: string | null;
  /** A sentence that says what was done. */
  readonly message: string;
  /** Index of the message in the output that holds what came of it; null where nothing is left. */
  readonly to?: number | null;
}

/** A repaired transcript. */
export interface Repaired {
  /** The mended transcript; what was whole is the object that came in. */
  readonly messages: readonly JsonObject[];
  /** Each change. */
  readonly repairs: readonly Repair[];
  /** Which calls are left, in order: their indexes among the calls of the input. */
  readonly calls: readonly number[];
  /** Where each message comes from: the first message of the input that it was made of, and one past the last. */
  readonly sources: readonly { readonly from: number; readonly to: number }[];
}

const ABORTED = "Aborted: the call did not finish";
const CUT_OFF = "Not executed: the answer was cut off at the output limit, so the arguments are incomplete";
const BEGINNING = "[selvage: the conversation begins here]";
const NO_OUTPUT = "(no output)";
const EMPTY = "(empty)";

/** Messages of the input, from `from` up to, not including, `to`. */
type Source = Repaired["sources"][number];

/** A message that was made, and where it comes from. */
interface Made extends Source {
  readonly message: JsonObject;
}

/** A result to write, and where it comes from. */
interface Added extends Source {
  readonly result: ResultToWrite;
}

/** A user text to write, and the message that it comes from. */
interface Note {
  readonly text: string;
  readonly source: number;
}

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
  readonly #added = new Map<number, Added[]>();
  /** User texts to put in front of a message; the number of messages stands for the end. */
  readonly #notes = new Map<number, Note[]>();

  constructor(reading: Reading) {
    this.#reading = reading;
    this.#edited = [...reading.messages];
    this.#places = reading.pieces.flatMap((pieces, message) => pieces.map((piece) => ({ message, piece })));
    const calls = new Map([...reading.early].map(([result, call]) => [call, result]));
    this.#pairs = pairsByPart(reading.transcript.pairs, this.#places).map((pair): Pair => {
      const result = calls.get(pair.call);
      return result === undefined ? pair : { call: pair.call, result, state: "answered" };
    });
    const { messages } = reading;
    this.#starts = startsOf(reading);
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
    const made = this.#assemble();
    const places = placesIn(made);
    return {
      messages: made.map(({ message }) => message),
      repairs: this.#repairs.sort((a, b) => a.at - b.at).map((repair) => ({
        ...repair,
        to: places.get(repair.at) ?? null,
      })),
      calls,
      sources: made.map(({ from, to }) => ({ from, to })),
    };
  }

  #report(code: RepairCode, { message: at, piece }: Place, message: string): void {
    this.#repairs.push({ code, at, callId: piece.callId?.replace(APPROVAL, "") || null, message });
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

  #note(message: number, note: Note): void {
    push(this.#notes, message, note);
  }

  /** Ids that are missing, refused or there twice are rewritten on both sides, always in the same way. */
  #mendIds(): void {
    const { format } = this.#reading;
    const faults = Map.groupBy(idFaults(this.#reading), ({ record }) => record);
    const crowds = this.#namesakes();
    const answers = resultsOf(this.#reading);
    const taken = new Set(this.#places.map(({ piece }) => piece.callId ?? ""));
    const inTurn = new Map<string, number>();
    // Below this number every id of a base is taken.
    const next = new Map<string, number>();
    const freeId = (base: string, times: number): string => {
      let id = `${base}_${times}`;
      if (taken.has(id)) {
        let n = Math.max(times + 1, next.get(base) ?? 0);
        while (taken.has(`${base}_${n}`)) n++;
        id = `${base}_${n}`;
        next.set(base, n);
      }
      return id;
    };
    for (const pair of this.#pairs) {
      const call = this.#places[pair.call];
      if (call === undefined || call.piece.approval === true) continue;
      const results = (answers.get(pair.call) ?? []).flatMap((record) => {
        const place = this.#places[record];
        return place === undefined ? [] : [{ record, ...place }];
      });
      const old = call.piece.callId ?? "";
      const start = this.#starts[call.message];
      const key = `${start}:${old}`;
      const times = (inTurn.get(key) ?? 0) + 1;
      inTurn.set(key, times);
      const codes = faults.get(pair.call)?.map(({ code }) => code) ?? [];
      const crowd = old === "" && call.piece.idUse === "optional" ? crowds.get(start ?? 0) : undefined;
      const isAgain = old === "" ? crowd?.has(pair.call) === true : times > 1;
      const isRefused = codes.includes("invalid_call_id");
      if (old === "" ? codes.length === 0 && crowd === undefined : !isAgain && !isRefused) {
        for (const result of results) {
          if (!faults.has(result.record)) continue;
          this.#report("empty_call_id", result, `Gave the result the id of its call, ${old}`);
          this.#edit(result.message, (message) => format.withCallId(message, result.piece.part, old));
        }
        continue;
      }
      const plain = old.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
      const own = results.find(({ piece }) => piece.callId)?.piece.callId ?? "";
      const id = old === ""
        ? own || freeId(`call_${call.message}`, times)
        : isRefused && !isAgain && !taken.has(plain)
        ? plain
        : freeId(isRefused ? plain : old, times);
      taken.add(id);
      this.#ids.set(call, id);
      const others = results.filter(({ piece }) => piece.callId !== id);
      const both = others.length === 0 ? "the call" : "the call and its result";
      if (codes.includes("empty_call_id")) this.#report("empty_call_id", call, `Gave ${both} the id ${id}`);
      if (isRefused) this.#report("invalid_call_id", call, `Gave ${both} the id ${id} in place of ${old}`);
      if (isAgain) {
        const what = old === ""
          ? `Gave all calls of the message ids, as it has two without one of the name ${call.piece.name}`
          : `Gave ${both} the id ${id}, as ${old} is the id of another call too`;
        this.#report("duplicate_call_id", call, what);
      }
      this.#edit(call.message, (message) => format.withCallId(message, call.piece.part, id));
      for (const { message: at, piece } of others) {
        this.#edit(at, (message) => format.withCallId(message, piece.part, id));
      }
    }
  }

  /** Assistant messages with two calls of one name and no id: those behind the first one of each name. */
  #namesakes(): ReadonlyMap<number, ReadonlySet<number>> {
    const names = new Set<string>();
    const crowds = new Map<number, Set<number>>();
    for (const { call } of this.#pairs) {
      const { piece, message } = this.#places[call] ?? {};
      if (piece === undefined || message === undefined || piece.callId || piece.approval === true) continue;
      const start = this.#starts[message] ?? message;
      const key = `${start}:${piece.name}`;
      if (names.has(key)) crowds.set(start, (crowds.get(start) ?? new Set()).add(call));
      names.add(key);
    }
    return crowds;
  }

  /** Arguments that were cut off are kept as text in valid JSON; nobody can run such a call any more. */
  #mendArguments(): void {
    const { format } = this.#reading;
    for (const pair of this.#pairs) {
      const call = this.#places[pair.call];
      if (call?.piece.isMisshapen === true) {
        const { input } = call.piece;
        const written = isObject(input)
          ? input
          : input === undefined || input === null
          ? {}
          : { arguments: input };
        this.#report(
          "invalid_arguments",
          call,
          "Wrote the arguments as the JSON object that the format wants",
        );
        this.#edit(call.message, (message) => format.withArguments(message, call.piece.part, written));
      }
      if (call?.piece.isTruncated !== true) continue;
      const isOpen = pair.state !== "answered";
      this.#report(
        "truncated_arguments",
        call,
        `Kept the arguments that end too early as text${
          isOpen ? ", and answered the call with an error" : ""
        }`,
      );
      const input = { unparsed_arguments: call.piece.text };
      this.#edit(call.message, (message) => format.withArguments(message, call.piece.part, input));
      if (isOpen) this.#answer(call, CUT_OFF);
    }
  }

  /** Results with an empty text in them, and messages with nothing in them: before any of them moves. */
  #mendBlanks(): void {
    const { format } = this.#reading;
    for (const place of this.#places) {
      const { message, piece } = place;
      if (piece.isBlank !== true) continue;
      const isEmpty = piece.text.trim() === "" && !piece.files;
      const text = piece.kind === "tool_result" ? NO_OUTPUT : EMPTY;
      const isWritten = isEmpty || format.withoutBlanks === undefined;
      this.#report(
        "empty_text",
        place,
        isWritten ? `Wrote "${text}" in place of nothing` : "Took out an empty text",
      );
      this.#edit(
        message,
        (found) =>
          isWritten || format.withoutBlanks === undefined
            ? format.withText(found, piece.part, text)
            : format.withoutBlanks(found, piece.part),
      );
    }
  }

  #mendPairs(): void {
    // What a person has answered stands in front of what came of it.
    const isApproval = ({ call }: Pair): boolean => this.#places[call]?.piece.approval === true;
    if (this.#reading.format.name === "ai-sdk") {
      for (const pair of this.#pairs) if (isApproval(pair)) this.#mendPlace(pair);
    }
    const answers = resultsOf(this.#reading);
    for (const pair of this.#pairs) {
      const call = this.#places[pair.call];
      if (call === undefined || isApproval(pair)) continue;
      if (pair.state === "abandoned" && call.piece.isTruncated !== true) {
        const interim = this.#places[pair.result ?? -1]?.piece.text ?? "";
        const what = call.piece.isHosted
          ? "Took out the call, which nobody else can answer"
          : "Answered the call";
        this.#report(
          "missing_result",
          call,
          call.piece.isHosted ? what : `${what} with an error: it did not finish`,
        );
        this.#answer(call, interim === "" ? ABORTED : `${ABORTED}. Its last interim result: ${interim}`);
      }
      for (const record of answers.get(pair.call) ?? []) this.#mendName(call, record);
      this.#mendPlace(pair);
    }
  }

  /** A result names the tool of its call. */
  #mendName(call: Place, record: number): void {
    const { format } = this.#reading;
    const result = this.#places[record];
    const { withName } = format;
    const name = call.piece.name ?? "";
    if (format.rules.sameName !== true || withName === undefined || result === undefined) return;
    if (!isMisnamed(call.piece, result.piece)) return;
    this.#report("mismatched_name", result, `Wrote the tool of its call, ${name}, on the result`);
    this.#edit(result.message, (message) => withName(message, result.piece.part, name));
  }

  /** A result stands behind its call, with nothing but results between. */
  #mendPlace(pair: Pair): void {
    const call = this.#places[pair.call];
    const result = this.#places[pair.result ?? -1];
    if (call === undefined || result === undefined || pair.state === "abandoned") return;
    const pieces = this.#reading.pieces[result.message] ?? [];
    const isApart = this.#reading.format.name === "anthropic" &&
      isHostedApart(call.piece, { result: result.piece, pieces });
    if (!isApart && !this.#isMisplaced(pair)) return;
    if (call.piece.isHosted) {
      this.#report(
        "misplaced_result",
        result,
        "Took out the call and its result, and kept the result's text",
      );
      // What the provider ran it answers in the same message: apart, neither half is of any use.
      this.#remove(call);
      this.#remove(result);
      const text = `[selvage: a result apart from its call] ${result.piece.text}`;
      this.#note(result.message + 1, { text, source: result.message });
      return;
    }
    this.#report("misplaced_result", result, `Moved the result behind its call in message ${call.message}`);
    const raw = this.#reading.format.take(this.#edited[result.message] ?? {}, result.piece.part);
    this.#remove(result);
    this.#add(call, {
      callId: this.#idOf(call),
      name: call.piece.name ?? "",
      text: isApart ? result.piece.text : "",
      isError: isApart && result.piece.isError === true,
      call: call.piece,
      // The provider's own kind of result is none of a call that the client answers.
      ...(isApart ? {} : { raw }),
    }, result.message);
  }

  /** Whether anything but results stands between a call and its result (condition C3). */
  #isMisplaced(pair: Pair): boolean {
    const { transcript } = this.#reading;
    const call = transcript.records[pair.call];
    const result = transcript.records[pair.result ?? -1];
    if (call === undefined || result === undefined) return false;
    if (result.message <= call.message) return result.message < call.message;
    if (call.longRunning === true || result.interim === true) return false;
    return (this.#interrupts[result.message] ?? 0) > (this.#interrupts[call.message + 1] ?? 0);
  }

  #answer(call: Place, text: string): void {
    if (call.piece.isHosted) return this.#remove(call);
    const { format } = this.#reading;
    const result = {
      callId: this.#idOf(call),
      name: call.piece.name ?? "",
      text,
      isError: true,
      call: call.piece,
    };
    const { answerInPlace } = format;
    if (call.piece.isInPlace && answerInPlace !== undefined) {
      this.#edit(call.message, (message) => answerInPlace(message, call.piece.part, result));
    } else this.#add(call, result);
  }

  /** Puts a result behind the calls of a message; `source` is the message that it stood in, if it did in one. */
  #add({ message }: Place, result: ResultToWrite, source = message): void {
    push(this.#added, message, {
      result,
      from: Math.min(message, source),
      to: Math.max(message, source) + 1,
    });
  }

  /** The id of a call as it is after the repair of ids. */
  #idOf(call: Place): string {
    return this.#ids.get(call) ?? call.piece.callId ?? "";
  }

  /** Results that answer nothing leave their place; their text stays, as a user text after the round. */
  #mendStrays(): void {
    const { transcript, early } = this.#reading;
    // Each of them is a fault of the core, in the same order.
    const codes = transcript.faults.map(({ code }) => code).filter((code) =>
      code === "orphan_result" || code === "duplicate_result"
    ).values();
    const answered = new Map<string, Piece>();
    const nameOf = ({ callId, name }: Piece): string => callId ? callId.replace(APPROVAL, "") : name ?? "";
    const open = this.#pairs.filter((pair) => pair.state === "in_flight");
    let last = -1;
    for (const [record, place] of this.#places.entries()) {
      while ((this.#places[open[last + 1]?.call ?? -1]?.message ?? Infinity) <= place.message) last++;
      const { piece } = place;
      if (piece.kind !== "tool_result") continue;
      const key = `${piece.callId ? "#" : "@"}${piece.callId || piece.name || ""}`;
      if (transcript.pairOfResult(record) !== null) {
        answered.set(key, piece);
        continue;
      }
      const code = codes.next().value ?? "orphan_result";
      const isSecond = code === "duplicate_result";
      if (early.has(record)) continue;
      this.#remove(place);
      const files = piece.files ?? 0;
      const first = isSecond ? answered.get(key) : undefined;
      const isSame = first !== undefined && first.text === piece.text && files === 0;
      const name = nameOf(piece);
      if (isSame || (piece.text === "" && files === 0)) {
        this.#report(
          code,
          place,
          `Took out the result: it ${isSame ? "says what the first one says" : "is empty"}`,
        );
        continue;
      }
      const what = isSecond
        ? `a second result of ${name || "a call"}`
        : `a result without its call${name ? ` (${name})` : ""}`;
      const lost = files > 0 ? [`[${files === 1 ? "a file" : `${files} files`} left out]`] : [];
      const text = [`[selvage: ${what}]`, ...(piece.text === "" ? [] : [piece.text]), ...lost].join(" ");
      this.#report(code, place, "Took out the result, and kept its text as a user text after the round");
      // Behind the round; but nothing may come between an open call and the result that is still on its way.
      const at = this.#openRound(place, open[last]) ?? this.#roundEnds[place.message] ?? place.message + 1;
      this.#note(at, { text, source: place.message });
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
        this.#report(
          "reasoning_severed",
          { message, piece },
          "Took out reasoning that nothing of its own follows",
        );
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
      const isLeft = filled.has(message);
      this.#report(
        "empty_text",
        place,
        isLeft ? "Took out an empty text" : `Wrote "${EMPTY}" in place of nothing`,
      );
      if (isLeft) this.#remove(place);
      else this.#edit(message, (found) => format.withText(found, piece.part, EMPTY));
    }
    if (!format.rules.firstFromUser) return;
    const first = pieces.findIndex((message) => !message.every((piece) => piece.kind === "system"));
    const message = pieces[first];
    const [piece] = message ?? [];
    if (message === undefined || piece === undefined) return;
    const isOurs = this.#reading.messages[first]?.["role"] === "assistant";
    if (!isOurs && this.#isKept(first)) return;
    // Where the first message was taken out, that was reported already.
    if (isOurs) {
      this.#report(
        "first_not_user",
        { message: first, piece },
        "Put a user message in front of the first message",
      );
    }
    this.#notes.set(first, [{ text: BEGINNING, source: first }, ...(this.#notes.get(first) ?? [])]);
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
    if (late !== undefined) {
      this.#report(
        "results_not_first",
        { message: at, piece: late },
        "Moved the results to the front of the message",
      );
    }
    const order = [...left.keys()].sort((a, b) =>
      Number(left[a]?.kind !== "tool_result") - Number(left[b]?.kind !== "tool_result") || a - b
    );
    return format.reorder(message, order);
  }

  #assemble(): readonly Made[] {
    const { format, messages } = this.#reading;
    const out: Made[] = [];
    // Results wait here until the messages that answer the same round have passed.
    let pending: readonly Added[] = [];
    let call = -1;
    const settle = (): void => {
      if (pending.length > 0) {
        const before = out.length > call + 1 ? out.pop() ?? null : null;
        const source = spanOf(before === null ? pending : [before, ...pending]);
        const written = format.addResults(before?.message ?? null, pending.map(({ result }) => result));
        out.push(...written.map((message) => ({ message, ...source })));
      }
      pending = [];
    };
    const say = (notes: readonly Note[]): void => {
      const message = format.userText(notes.map(({ text }) => text).join("\n"));
      out.push({ message, ...spanOf(notes.map(({ source }) => ({ from: source, to: source + 1 }))) });
    };
    for (let at = 0; at < messages.length; at++) {
      const message = this.#finish(at);
      if (message !== null && !this.#joins(at) && !this.#answersRound(at)) settle();
      const notes = this.#notes.get(at);
      if (notes !== undefined) {
        settle();
        say(notes);
      }
      if (message !== null) out.push({ message, from: at, to: at + 1 });
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
    if (notes !== undefined) say(notes);
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

/** Where messages of the input are to be found in the output: in a message of their own, else in one they share. */
function placesIn(made: readonly Made[]): ReadonlyMap<number, number> {
  const places = new Map<number, number>();
  const shared = new Map<number, number>();
  for (const [index, { from, to }] of made.entries()) {
    if (to === from + 1) places.set(from, places.get(from) ?? index);
    else shared.set(from, index).set(to - 1, index);
  }
  return new Map([...shared, ...places]);
}

/** All that some messages were made of. */
function spanOf(sources: readonly Source[]): Source {
  return sources.reduce((all, { from, to }) => ({
    from: Math.min(all.from, from),
    to: Math.max(all.to, to),
  }));
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
