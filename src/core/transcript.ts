/**
 * One pass over the records of a transcript: pairs, atoms, legal cuts, token sums and faults. Appending costs
 * O(1) amortised, so the check inside every tool step stays cheap, and parsing from scratch is nothing but
 * appending: the two agree by construction.
 *
 * @module
 */
import type { Atom, Pair, TranscriptRecord, Violation, ViolationCode } from "./record.ts";

interface OpenCall {
  readonly pair: number;
  readonly message: number;
}

type MutablePair = { call: number; result: number | null; state: Pair["state"] };
type MutableAtom = { from: number; to: number; kind: Atom["kind"]; inFlight: number };

/** Calls without an id are told apart by name; the prefix keeps the two kinds of keys from meeting. */
function pairingKey(record: TranscriptRecord): string {
  return record.callId ? `id:${record.callId}` : `name:${record.name ?? ""}`;
}

/**
 * A parsed transcript that can grow.
 *
 * @example
 * ```ts
 * import { Transcript } from "@selvage/selvage/core";
 *
 * const transcript = new Transcript();
 * transcript.append([{ kind: "user", message: 0, tokens: 4 }]);
 * transcript.append([{ kind: "tool_use", message: 1, tokens: 9, callId: "a", name: "read" }]);
 * console.log(transcript.isLegalCut(1), transcript.isLegalCut(2)); // true false
 * ```
 */
export class Transcript {
  readonly #records: TranscriptRecord[] = [];
  readonly #pairs: MutablePair[] = [];
  readonly #atoms: MutableAtom[] = [];
  readonly #faults: Violation[] = [];
  /** `#sums[m]`: tokens of all messages before `m`, system messages left out. */
  readonly #sums: number[] = [0];
  /** Unanswered calls by key, the latest message last; inside one message in order of the calls. */
  readonly #unanswered = new Map<string, OpenCall[][]>();
  readonly #answered = new Set<string>();
  /** Record index of a result -> the pair it answers. */
  readonly #resultPair = new Map<number, number>();
  /** Calls of the last assistant message that only stay in flight until a message passes them over. */
  #fresh: number[] = [];
  /** The first pair that is in flight is not before this one: a settled pair never opens again. */
  #firstInFlight = 0;
  /** Operations done so far, for tests that hold the cost to a multiple of the input. */
  #operations = 0;

  /** Number of messages. */
  get messages(): number {
    return this.#sums.length - 1;
  }

  /** The records, in order. */
  get records(): readonly TranscriptRecord[] {
    return this.#records;
  }

  /** Calls with their results, in order of the calls. */
  get pairs(): readonly Pair[] {
    return this.#pairs;
  }

  /** What was found wrong while pairing; a call that is merely unanswered is not among it. */
  get faults(): readonly Violation[] {
    return this.#faults;
  }

  /** Tokens of all messages, system messages left out. */
  get tokens(): number {
    return this.#sums[this.messages] ?? 0;
  }

  /** Steps of work done, to hold against the number of records. */
  get operations(): number {
    return this.#operations;
  }

  /** The atoms, in order. */
  get atoms(): readonly Atom[] {
    return this.#atoms.map((atom) => ({
      from: atom.from,
      to: atom.to,
      kind: atom.kind,
      open: atom.inFlight > 0,
      tokens: this.tokensBetween(atom.from, atom.to),
    }));
  }

  /** Number of atoms. */
  get atomCount(): number {
    return this.#atoms.length;
  }

  /** First message of an atom; the number of messages for the index behind the last atom. */
  atomStart(atom: number): number {
    return this.#atoms[atom]?.from ?? this.messages;
  }

  /**
   * Tokens of the messages from `from` up to, not including, `to`; system messages left out.
   *
   * @param from First message index.
   * @param to One past the last message index.
   */
  tokensBetween(from: number, to: number): number {
    return (this.#sums[to] ?? this.tokens) - (this.#sums[from] ?? 0);
  }

  /** First message of the first open atom, or null: behind it no cut is legal. */
  get firstOpen(): number | null {
    while (this.#pairs[this.#firstInFlight] !== undefined) {
      const pair = this.#pairs[this.#firstInFlight];
      if (pair?.state === "in_flight") {
        return this.#atoms[this.#atomOf(this.#records[pair.call]?.message ?? 0)]?.from ?? null;
      }
      this.#operations++;
      this.#firstInFlight++;
    }
    return null;
  }

  /**
   * Says whether a cut in front of a message severs nothing: it lies between two atoms with no open atom before.
   *
   * @param at Message index; 0 and the number of messages are legal for pairing when no atom before is open.
   */
  isLegalCut(at: number): boolean {
    if (!Number.isInteger(at) || at < 0 || at > this.messages) return false;
    const open = this.firstOpen;
    if (open !== null && at > open) return false;
    return at === this.messages || this.#atoms[this.#atomOf(at)]?.from === at;
  }

  /** All legal cuts, 0 and the number of messages included where they are legal. */
  get legalCuts(): readonly number[] {
    const open = this.firstOpen ?? this.messages;
    const cuts = this.#atoms.map((atom) => atom.from).filter((from) => from <= open);
    if (cuts[0] !== 0) cuts.unshift(0);
    if (this.firstOpen === null && this.messages > 0) cuts.push(this.messages);
    return cuts;
  }

  /** Pair of a result record, or null for one that answers nothing. */
  pairOfResult(record: number): Pair | null {
    const pair = this.#resultPair.get(record);
    return pair === undefined ? null : this.#pairs[pair] ?? null;
  }

  /**
   * Appends the records of the next message.
   *
   * @param records At least one, each with `message` equal to the present number of messages.
   * @throws RangeError when a record names another message.
   */
  append(records: readonly TranscriptRecord[]): void {
    const message = this.messages;
    if (records.length === 0 || records.some((record) => record.message !== message)) {
      throw new RangeError(
        `Cannot append to the transcript: found records of message ${records[0]?.message ?? "none"}, ` +
          `wanted at least one record, all of message ${message}`,
      );
    }
    const isResults = records.every((record) => record.kind === "tool_result");
    const isAssistant = records.some((r) =>
      r.kind === "assistant" || r.kind === "reasoning" || r.kind === "tool_use"
    );
    let tokens = 0;
    if (!isResults) this.#open(message, isAssistant ? "assistant" : kindOf(records));
    // Results go first: what comes beside them in a user message passes over only what they left unanswered.
    const first = this.#records.length;
    for (const [offset, record] of records.entries()) {
      this.#operations++;
      this.#records.push(record);
      if (record.kind !== "system") tokens += record.tokens;
      if (record.kind === "tool_use") this.#call(first + offset, record);
      if (record.kind === "tool_result") this.#result(first + offset, record);
    }
    if (!isResults && !isAssistant && records.some((record) => record.kind !== "system")) this.#passOver();
    this.#extendTo(message);
    this.#sums.push((this.#sums[message] ?? 0) + tokens);
  }

  /** Starts the atom of a message that is more than results. */
  #open(message: number, kind: Atom["kind"]): void {
    if (kind === "assistant") this.#passOver();
    this.#atoms.push({ from: message, to: message + 1, kind, inFlight: 0 });
  }

  /** Later messages pass over calls that nobody has promised to answer: from now on they are abandoned. */
  #passOver(): void {
    for (const index of this.#fresh) {
      const pair = this.#pairs[index];
      if (pair?.state !== "in_flight") continue;
      pair.state = "abandoned";
      this.#settle(this.#atomOf(this.#records[pair.call]?.message ?? 0));
    }
    this.#fresh = [];
  }

  #call(index: number, record: TranscriptRecord): void {
    const key = pairingKey(record);
    const stack = this.#unanswered.get(key) ?? [];
    const group = stack.at(-1);
    const call = { pair: this.#pairs.length, message: record.message };
    if (group?.[0]?.message === record.message) {
      this.#fault("duplicate_call_id", "dialect", record, "repeats the id of another call in its message");
      group.push(call);
    } else stack.push([call]);
    this.#unanswered.set(key, stack);
    this.#pairs.push({ call: index, result: null, state: "in_flight" });
    if (record.inFlight !== true) this.#fresh.push(call.pair);
    const atom = this.#atoms.at(-1);
    if (atom !== undefined) atom.inFlight++;
  }

  #result(index: number, record: TranscriptRecord): void {
    const key = pairingKey(record);
    const stack = this.#unanswered.get(key);
    // The nearest preceding message that has an unanswered call of the id; inside it first in, first out.
    const call = stack?.at(-1)?.shift();
    if (stack?.at(-1)?.length === 0) stack.pop();
    const pair = call === undefined ? undefined : this.#pairs[call.pair];
    if (call === undefined || pair === undefined) {
      const seen = this.#answered.has(key);
      if (seen) this.#fault("duplicate_result", "C1", record, "answers a call that has its result already");
      else this.#fault("orphan_result", "C2", record, "answers no call");
      return;
    }
    this.#answered.add(key);
    this.#resultPair.set(index, call.pair);
    const atom = this.#atomOf(call.message);
    if (pair.state === "in_flight") this.#settle(atom);
    // C3: something else than results came between the call and this.
    const between = this.#atoms.length - 1 - atom;
    const own = this.#atoms.at(-1)?.from === record.message ? 1 : 0;
    if (between - own > 0) {
      this.#fault("misplaced_result", "C3", record, "does not follow its call directly");
      const missing = this.#records[pair.call];
      if (missing) {
        this.#fault("missing_result", "C1", missing, "is not answered by the messages that follow it");
      }
    }
    pair.state = "answered";
    pair.result = index;
    this.#mergeFrom(atom);
  }

  /** One call of an atom is no longer in flight. */
  #settle(atom: number): void {
    const found = this.#atoms[atom];
    if (found !== undefined) found.inFlight--;
  }

  /** Joins all atoms behind `atom` to it; each atom is joined once at the most, hence O(1) amortised. */
  #mergeFrom(atom: number): void {
    const into = this.#atoms[atom];
    if (into === undefined) return;
    while (this.#atoms.length - 1 > atom) {
      this.#operations++;
      const last = this.#atoms.pop();
      if (last === undefined) return;
      into.inFlight += last.inFlight;
      into.to = last.to;
    }
  }

  /** The message belongs to the last atom if one of its results does; results that answer nothing stand alone. */
  #extendTo(message: number): void {
    const last = this.#atoms.at(-1);
    if (last !== undefined && last.to > message) return;
    const answers = this.#records.findLastIndex((record) => record.message !== message) + 1;
    let joins = false;
    for (let index = answers; index < this.#records.length; index++) joins ||= this.#resultPair.has(index);
    if (joins && last !== undefined) last.to = message + 1;
    else this.#atoms.push({ from: message, to: message + 1, kind: "stray", inFlight: 0 });
  }

  /** Index of the atom that holds a message; the last one where it is behind all. */
  #atomOf(message: number): number {
    let low = 0;
    let high = this.#atoms.length - 1;
    while (low < high) {
      this.#operations++;
      const middle = (low + high + 1) >> 1;
      if ((this.#atoms[middle]?.from ?? 0) <= message) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #fault(
    code: ViolationCode,
    condition: Violation["condition"],
    record: TranscriptRecord,
    what: string,
  ): void {
    const callId = record.callId ?? null;
    const name = callId ?? record.name ?? "without an id";
    const noun = record.kind === "tool_use" ? "call" : "result";
    this.#faults.push({
      code,
      condition,
      at: record.message,
      callId,
      message: `The ${noun} ${name} ${what}`,
    });
  }
}

function kindOf(records: readonly TranscriptRecord[]): Atom["kind"] {
  if (records.some((record) => record.kind === "summary")) return "summary";
  return records.every((record) => record.kind === "system") ? "system" : "user";
}

/**
 * Parses a transcript from scratch.
 *
 * @param records The records of all messages, in order; every message has at least one.
 * @returns The parsed transcript, to which more can be appended.
 * @throws RangeError when the message indexes do not count up from 0 without a gap.
 *
 * @example
 * ```ts
 * import { parseTranscript } from "@selvage/selvage/core";
 *
 * const transcript = parseTranscript([
 *   { kind: "user", message: 0, tokens: 4 },
 *   { kind: "tool_use", message: 1, tokens: 9, callId: "a", name: "read" },
 *   { kind: "tool_result", message: 2, tokens: 50, callId: "a" },
 *   { kind: "assistant", message: 3, tokens: 8 },
 * ]);
 * console.log(transcript.legalCuts); // [0, 1, 3, 4]
 * ```
 */
export function parseTranscript(records: Iterable<TranscriptRecord>): Transcript {
  const transcript = new Transcript();
  let message: TranscriptRecord[] = [];
  for (const record of records) {
    if (message[0] !== undefined && record.message !== message[0].message) {
      transcript.append(message);
      message = [];
    }
    message.push(record);
  }
  if (message.length > 0) transcript.append(message);
  return transcript;
}
