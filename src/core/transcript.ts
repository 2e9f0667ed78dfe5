/**
 * One pass over the records of a transcript: pairs, atoms, legal cuts, token sums and faults. Appending costs
 * O(1) amortised, so the check inside every tool step stays cheap, and parsing from scratch is nothing but
 * appending: the two agree by construction.
 *
 * Over 300 lines: pairing, atoms and cuts are kept up to date by one append, and share its state.
 *
 * @module
 */
import type { Atom, Pair, TranscriptRecord, Violation, ViolationCode } from "./record.ts";

type MutablePair = { call: number; result: number | null; state: Pair["state"] };
/** Messages from `from` up to the next atom; of its calls, `inFlight` are. */
type AtomState = { readonly from: number; readonly kind: Atom["kind"]; inFlight: number };
/** A call that waits for its result, in the order in which results take the calls of one key. */
type Waiting = { readonly pair: number; readonly message: number; next: Waiting | null };

/** Calls of one key that may still be answered. */
type KeyState = {
  /** The call that the next result answers: of the latest message that has one, the first. */
  first: Waiting | null;
  /** The last call of all: the next one of its message comes behind it. */
  last: Waiting | null;
  /** The pair of a call that goes on after a result, which a later one replaces; -1 for none. */
  goingOn: number;
};

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
  /** They cover all messages, and are only ever joined at the end: hence no links between them. */
  readonly #atoms: AtomState[] = [];
  readonly #faults: Violation[] = [];
  /** `#sums[m]`: tokens of all messages before `m`, system messages left out. */
  readonly #sums: number[] = [0];
  /** By id: only the ids that wait, so that it stays small however long the log is. */
  readonly #ids = new Map<string, KeyState>();
  /** Calls without an id are told apart by the name of their tool. */
  readonly #names = new Map<string, KeyState>();
  /** Any call without an id; for results that have neither id nor name, as only their position is left. */
  readonly #unnamed = newKey();
  /** Keys of the results that answered something; only once a result was found that answers nothing. */
  #answered: Set<string> | null = null;
  /** The pair that each record answers; -1 for records that are no such result. */
  readonly #answers: number[] = [];
  /** The first pair that is in flight is not before this one: a settled pair never opens again. */
  #firstInFlight = 0;
  /** Calls of the last assistant message that only stay in flight until a message passes them over. */
  #fresh: number[] = [];
  /** The last message before this one that is more than results and begins something new. */
  #spoken = -1;
  /** Whether the last message is reasoning that stays with the message that follows it. */
  #sticks = false;
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
    return this.#atoms.map(({ from, kind }, index) => {
      const to = this.atomStart(index + 1);
      return { from, to, kind, open: this.#isOpen(index), tokens: this.tokensBetween(from, to) };
    });
  }

  /** Number of atoms. */
  get atomCount(): number {
    return this.#atoms.length;
  }

  /** First message of an atom; the number of messages for the index behind the last atom. */
  atomStart(atom: number): number {
    return this.#atoms[atom]?.from ?? this.messages;
  }

  /** The first message, and the one past the last, of the atom that holds a message; null where there is none. */
  atomAt(message: number): { readonly from: number; readonly to: number; readonly open: boolean } | null {
    if (!(message >= 0 && message < this.messages)) return null;
    const index = this.#atomOf(message);
    return { from: this.atomStart(index), to: this.atomStart(index + 1), open: this.#isOpen(index) };
  }

  /** A call is in flight, or reasoning at the very end waits for what it belongs to. */
  #isOpen(index: number): boolean {
    return (this.#atoms[index]?.inFlight ?? 0) > 0 || (this.#sticks && index === this.#atoms.length - 1);
  }

  /**
   * Tokens of the messages from `from` up to, not including, `to`; system messages left out.
   *
   * @param from First message index.
   * @param to One past the last message index.
   */
  tokensBetween(from: number, to: number): number {
    return (this.#sums[to] ?? this.tokens) - (this.#sums[from] ?? this.tokens);
  }

  /** First message of the first open atom, or null: behind it no cut is legal. */
  get firstOpen(): number | null {
    for (; this.#firstInFlight < this.#pairs.length; this.#firstInFlight++) {
      const pair = this.#pairs[this.#firstInFlight];
      if (pair?.state === "in_flight") return this.atomStart(this.#atomOfCall(pair));
      this.#operations++;
    }
    return this.#sticks ? this.#atoms.at(-1)?.from ?? null : null;
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
    return at === this.messages || this.atomStart(this.#atomOf(at)) === at;
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
    return this.#pairs[this.#answers[record] ?? -1] ?? null;
  }

  /**
   * Appends the records of the next message.
   *
   * @param records At least one, each with `message` equal to the present number of messages.
   * @throws RangeError when a record names another message.
   */
  append(records: readonly TranscriptRecord[]): void {
    const message = this.messages;
    const [head] = records;
    if (head === undefined || !isAllOf(records, message)) {
      throw new RangeError(
        `Cannot append to the transcript: found records of message ${head?.message ?? "none"}, ` +
          `wanted at least one record, all of message ${message}`,
      );
    }
    let isResults = true;
    let isAssistant = false;
    for (const { kind } of records) {
      isResults &&= kind === "tool_result";
      isAssistant ||= kind === "assistant" || kind === "reasoning" || kind === "tool_use";
    }
    const joins = head.joins === true;
    if (isAssistant && !joins) this.#passOver();
    const first = this.#records.length;
    if (this.#sticks && !isAssistant) this.#sever();
    if (!isResults) this.#place(message, isAssistant ? "assistant" : kindOf(records));
    let tokens = 0;
    // Results beside text in a user message come first: the text passes over only what they leave unanswered.
    for (const record of records) {
      this.#operations++;
      this.#records.push(record);
      this.#answers.push(-1);
      if (record.kind !== "system") tokens += record.tokens;
      if (record.kind === "tool_use") this.#call(this.#records.length - 1, record);
      if (record.kind === "tool_result") this.#result(this.#records.length - 1, record);
    }
    if (isResults) this.#placeResults(message, first);
    else if (!isAssistant && kindOf(records) !== "system") this.#passOver();
    if (!isResults && !joins) this.#spoken = message;
    this.#sticks = records.at(-1)?.sticks === true;
    this.#sums.push((this.#sums[message] ?? 0) + tokens);
  }

  /**
   * Joins the atom of a message with all behind it: for what must stay together although its pairs do not ask
   * for it, as the rounds of a tool loop that signed reasoning began.
   */
  joinFrom(message: number): void {
    if (message < this.messages) this.#joinInto(this.#atomOf(message));
  }

  /** Gives up on calls that are only open because nothing has followed them: from now on they are abandoned. */
  abandonOpen(): void {
    this.#passOver();
  }

  /** Gives the message an atom, where it does not belong to the reasoning that waits for it. */
  #place(message: number, kind: Atom["kind"]): void {
    if (!this.#sticks || this.#atoms.length === 0) this.#atoms.push({ from: message, kind, inFlight: 0 });
  }

  /** Results belong to the atom of a call that they answer, which is the last one by now; others stand alone. */
  #placeResults(message: number, first: number): void {
    for (let index = first; index < this.#answers.length; index++) {
      if ((this.#answers[index] ?? -1) >= 0) return;
    }
    this.#place(message, "stray");
  }

  /** The reasoning that ended the transcript until now is followed by nothing of its own. */
  #sever(): void {
    this.#sticks = false;
    const reasoning = this.#records.at(-1);
    if (reasoning === undefined) return;
    this.#fault("reasoning_severed", "dialect", reasoning, "is not followed by its answer or call");
  }

  /** Later messages pass over calls that nobody has promised to answer: from now on they are abandoned. */
  #passOver(): void {
    for (const index of this.#fresh) {
      this.#operations++;
      const pair = this.#pairs[index];
      // One that has an interim result goes on, whatever passes it over.
      if (pair?.state !== "in_flight" || pair.result !== null) continue;
      pair.state = "abandoned";
      this.#settle(this.#atomOfCall(pair));
    }
    this.#fresh = [];
  }

  #call(index: number, record: TranscriptRecord): void {
    const pair = this.#pairs.length;
    const [keys, name] = this.#keysOf(record);
    let key = keys.get(name);
    if (key === undefined) keys.set(name, key = newKey());
    if (key.last?.message === record.message) {
      this.#fault("duplicate_call_id", "dialect", record, "repeats the id of another call in its message");
    }
    addCall(key, { pair, message: record.message });
    if (!record.callId) addCall(this.#unnamed, { pair, message: record.message });
    this.#pairs.push({ call: index, result: null, state: "in_flight" });
    if (record.inFlight !== true && record.longRunning !== true) this.#fresh.push(pair);
    const atom = this.#atoms.at(-1);
    if (atom !== undefined) atom.inFlight++;
  }

  #keysOf({ callId, name }: TranscriptRecord): readonly [Map<string, KeyState>, string] {
    return callId ? [this.#ids, callId] : [this.#names, name ?? ""];
  }

  /** The unanswered call of the nearest preceding message that has one; inside it first in, first out. */
  #take(key: KeyState): number {
    for (let call = key.first; call !== null; call = key.first) {
      this.#operations++;
      key.first = call.next;
      // Among the unnamed stand calls that may have been answered by name, and the other way round.
      if (this.#pairs[call.pair]?.result === null) return call.pair;
    }
    return -1;
  }

  #result(index: number, record: TranscriptRecord): void {
    const [keys, name] = this.#keysOf(record);
    const key = record.callId || record.name ? keys.get(name) : this.#unnamed;
    const taken = key === undefined ? -1 : this.#take(key);
    const found = taken >= 0 ? taken : key?.goingOn ?? -1;
    const pair = this.#pairs[found];
    const asked = pair === undefined ? undefined : this.#records[pair.call];
    if (key === undefined || pair === undefined || asked === undefined) return this.#answersNothing(record);
    const goesOn = asked.longRunning === true || record.interim === true || key.goingOn === found;
    if (goesOn) key.goingOn = found;
    // C3: nothing but results may come between a call and its result.
    else if (this.#spoken > asked.message && record.message > asked.message) {
      this.#fault("misplaced_result", "C3", record, "does not follow its call directly");
      this.#fault("missing_result", "C1", asked, "is not answered by the messages that follow it");
    }
    // Inside one message the key stays: a second call with its id is a fault there.
    if (key.first === null && key.goingOn < 0 && (key.last?.message ?? 0) < record.message) keys.delete(name);
    this.#answered?.add(keyOf(record));
    this.#answers[index] = found;
    pair.result = index;
    const atom = this.#atomOfCall(pair);
    if (record.interim !== true) {
      if (pair.state === "in_flight") this.#settle(atom);
      pair.state = "answered";
    }
    this.#joinInto(atom);
  }

  #answersNothing(record: TranscriptRecord): void {
    this.#answered ??= new Set(
      this.#answers.flatMap((pair, index) => {
        const answer = this.#records[index];
        return pair < 0 || answer === undefined ? [] : [keyOf(answer)];
      }),
    );
    if (this.#answered.has(keyOf(record))) {
      this.#fault("duplicate_result", "C1", record, "answers a call that has its result already");
    } else this.#fault("orphan_result", "C2", record, "answers no call");
  }

  /** One call less of the atom is in flight. */
  #settle(index: number): void {
    const atom = this.#atoms[index];
    if (atom !== undefined) atom.inFlight--;
  }

  /** Joins all atoms behind one to it; each atom is joined once at the most, hence O(1) amortised. */
  #joinInto(index: number): void {
    const into = this.#atoms[index];
    if (into === undefined) return;
    while (this.#atoms.length - 1 > index) {
      this.#operations++;
      into.inFlight += this.#atoms.pop()?.inFlight ?? 0;
    }
  }

  /**
   * Index of the atom that holds a message: the last one that begins at or before it. Searched from the end in
   * growing steps, as what is asked for is near it, or is joined with all that was passed.
   */
  #atomOf(message: number): number {
    let high = this.#atoms.length - 1;
    let low = high;
    for (let step = 1; low > 0 && this.atomStart(low) > message; step *= 2) {
      this.#operations++;
      high = low - 1;
      low = Math.max(0, low - step);
    }
    while (low < high) {
      this.#operations++;
      const middle = (low + high + 1) >> 1;
      if (this.atomStart(middle) > message) high = middle - 1;
      else low = middle;
    }
    return low;
  }

  #atomOfCall(pair: MutablePair): number {
    return this.#atomOf(this.#records[pair.call]?.message ?? 0);
  }

  #fault(
    code: ViolationCode,
    condition: Violation["condition"],
    record: TranscriptRecord,
    what: string,
  ): void {
    const callId = record.callId ?? null;
    const name = callId ?? record.name ?? "without an id";
    const noun = record.kind === "tool_use" ? "call" : record.kind === "reasoning" ? "reasoning" : "result";
    this.#faults.push({
      code,
      condition,
      at: record.message,
      callId,
      message: `The ${noun} ${name} ${what}`,
    });
  }
}

function newKey(): KeyState {
  return { first: null, last: null, goingOn: -1 };
}

/** What a result is matched by: an id, else a name, else its position alone. */
function keyOf({ callId, name }: TranscriptRecord): string {
  return callId ? `#${callId}` : name ? `@${name}` : "";
}

/** Behind the calls of the same message that wait, else in front of all: results take from the nearest message. */
function addCall(
  key: KeyState,
  { pair, message }: { readonly pair: number; readonly message: number },
): void {
  const before = key.first?.message === message ? key.last : null;
  const call = { pair, message, next: before === null ? key.first : before.next };
  if (before === null) key.first = call;
  else before.next = call;
  key.last = call;
}

function isAllOf(records: readonly TranscriptRecord[], message: number): boolean {
  for (const record of records) if (record.message !== message) return false;
  return true;
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
    if (message[0]?.message === record.message) message.push(record);
    else {
      if (message.length > 0) transcript.append(message);
      message = [record];
    }
  }
  if (message.length > 0) transcript.append(message);
  return transcript;
}
