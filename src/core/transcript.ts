/**
 * One pass over the records of a transcript: pairs, atoms, legal cuts, token sums and faults. Appending costs
 * O(1) amortised, so the check inside every tool step stays cheap, and parsing from scratch is nothing but
 * appending: the two agree by construction.
 *
 * What is kept of every record, message and atom is kept as plain numbers: objects that live on are copied and
 * traversed again and again by the garbage collector, and large logs would pay for it.
 *
 * Over 300 lines: pairing, atoms and cuts are kept up to date by one append, and share its state.
 *
 * @module
 */
import { Numbers } from "./_numbers.ts";
import type { Atom, Pair, TranscriptRecord, Violation, ViolationCode } from "./record.ts";

/** What became of a call; it is kept as the index of its state. */
const STATES = [null, "in_flight", "answered", "abandoned"] as const;
const [NO_CALL, IN_FLIGHT, ANSWERED, ABANDONED] = [0, 1, 2, 3] as const;

/** A call that waits for its result, in the order in which results take the calls of one key. */
type Waiting = { readonly call: number; readonly step: number; next: Waiting | null };

/** Calls of one key that may still be answered. */
type KeyState = {
  /** The call that the next result answers: of the latest message that has one, the first. */
  first: Waiting | null;
  /** The last call of all: the next one of its message comes behind it. */
  last: Waiting | null;
  /** The call that goes on after a result, which a later one replaces; -1 for none. */
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
  readonly #records: TranscriptRecord[];
  /** By record: of a call its last result, of a result the call that it answers; -1 for none. */
  readonly #partners: Numbers;
  /** By record: the state of a call. */
  readonly #states: Numbers;
  /** The pairs, once somebody has asked for them; null as soon as they may have changed. */
  #pairs: readonly Pair[] | null = null;
  /** First messages of the atoms, which cover all messages, and are only ever joined at the end. */
  readonly #starts: Numbers;
  /** By atom: how many of its calls are in flight. */
  readonly #inFlight: Numbers;
  readonly #faults: Violation[] = [];
  /** By message, and for the end: tokens of all messages before it, system messages left out. */
  readonly #sums: Numbers;
  /** By id: only the ids that wait, so that it stays small however long the log is. */
  readonly #ids = new Map<string, KeyState>();
  /** Calls without an id are told apart by the name of their tool. */
  readonly #names = new Map<string, KeyState>();
  /** Any call without an id; for results that have neither id nor name, as only their position is left. */
  readonly #unnamed = newKey();
  /**
   * Keys of the results that answered something, with the message of the last such call; only once a result was
   * found that answers nothing.
   */
  #answered: Map<string, number> | null = null;
  /** The first call that is in flight is not before this record: a settled call never opens again. */
  #firstInFlight = 0;
  /** From this record on, calls that nobody has promised to answer have not been passed over. */
  #fresh = 0;
  /** Where the assistant message begins that the last message goes on with; else the last message itself. */
  #step = 0;
  /** The last message before this one that is more than results and begins something new. */
  #spoken = -1;
  /** Whether the last message is reasoning that stays with the message that follows it. */
  #sticks = false;
  /** Operations done so far, for tests that hold the cost to a multiple of the input. */
  #operations = 0;

  /**
   * Parses a transcript, by default an empty one.
   *
   * @param records The records of all messages, in order; every message has at least one.
   * @throws RangeError when the message indexes do not count up from 0 without a gap.
   */
  constructor(records: Iterable<TranscriptRecord> = []) {
    this.#records = [...records];
    const room = this.#records.length + 1;
    this.#partners = new Numbers(room);
    this.#states = new Numbers(room);
    this.#starts = new Numbers(room);
    this.#inFlight = new Numbers(room);
    this.#sums = new Numbers(room);
    this.#sums.push(0);
    for (let first = 0; first < this.#records.length;) first = this.#addMessage(first);
  }

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
    return this.#pairs ??= this.#records.flatMap((_, record) => this.#pairOf(record) ?? []);
  }

  /** What was found wrong while pairing; a call that is merely unanswered is not among it. */
  get faults(): readonly Violation[] {
    return this.#faults;
  }

  /** Tokens of all messages, system messages left out. */
  get tokens(): number {
    return this.#sums.at(this.messages) ?? 0;
  }

  /** Steps of work done, to hold against the number of records. */
  get operations(): number {
    return this.#operations;
  }

  /** The atoms, in order. */
  get atoms(): readonly Atom[] {
    let first = 0;
    return this.#starts.toArray().map((from, index) => {
      const to = this.atomStart(index + 1);
      while (this.#messageOf(first) < from) first++;
      const kind = kindOf(this.#records, first);
      return { from, to, kind, open: this.#isOpen(index), tokens: this.tokensBetween(from, to) };
    });
  }

  /** Number of atoms. */
  get atomCount(): number {
    return this.#starts.length;
  }

  /** First message of an atom; the number of messages for the index behind the last atom. */
  atomStart(atom: number): number {
    return this.#starts.at(atom) ?? this.messages;
  }

  /** The first message, and the one past the last, of the atom that holds a message; null where there is none. */
  atomAt(message: number): { readonly from: number; readonly to: number; readonly open: boolean } | null {
    if (!(message >= 0 && message < this.messages)) return null;
    const index = this.#atomOf(message);
    return { from: this.atomStart(index), to: this.atomStart(index + 1), open: this.#isOpen(index) };
  }

  /** A call is in flight, or reasoning at the very end waits for what it belongs to. */
  #isOpen(index: number): boolean {
    return (this.#inFlight.at(index) ?? 0) > 0 || (this.#sticks && index === this.#starts.length - 1);
  }

  /**
   * Tokens of the messages from `from` up to, not including, `to`; system messages left out.
   *
   * @param from First message index.
   * @param to One past the last message index.
   */
  tokensBetween(from: number, to: number): number {
    return (this.#sums.at(to) ?? this.tokens) - (this.#sums.at(from) ?? this.tokens);
  }

  /** First message of the first open atom, or null: behind it no cut is legal. */
  get firstOpen(): number | null {
    for (; this.#firstInFlight < this.#states.length; this.#firstInFlight++) {
      const call = this.#firstInFlight;
      if (this.#states.at(call) === IN_FLIGHT) return this.atomStart(this.#atomOfCall(call));
      this.#operations++;
    }
    return this.#sticks ? this.#starts.at(this.#starts.length - 1) ?? null : null;
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
    const cuts = this.#starts.toArray().filter((from) => from <= open);
    if (cuts[0] !== 0) cuts.unshift(0);
    if (this.firstOpen === null && this.messages > 0) cuts.push(this.messages);
    return cuts;
  }

  /** Pair of a result record, or null for one that answers nothing. */
  pairOfResult(record: number): Pair | null {
    return this.#pairOf(this.#partnerOf(record));
  }

  /** The pair of a call; null for a record that is none. */
  #pairOf(call: number): Pair | null {
    const state = STATES[this.#states.at(call) ?? NO_CALL] ?? null;
    const result = this.#partnerOf(call);
    return state === null ? null : { call, result: result < 0 ? null : result, state };
  }

  /** The last result of a call, the call of a result; -1 for none. */
  #partnerOf(record: number): number {
    return this.#partners.at(record) ?? -1;
  }

  /**
   * Appends the records of the next message.
   *
   * @param records At least one, each with `message` equal to the present number of messages.
   * @throws RangeError when a record names another message.
   */
  append(records: readonly TranscriptRecord[]): void {
    if (records.length === 0 || records.some(({ message }) => message !== this.messages)) {
      throw otherMessage(records[0], this.messages);
    }
    const first = this.#records.length;
    for (const record of records) this.#records.push(record);
    this.#addMessage(first);
  }

  /** Adds the next message, whose records begin at one; returns where those of the message behind it begin. */
  #addMessage(first: number): number {
    const message = this.messages;
    const head = this.#records[first];
    if (head?.message !== message) throw otherMessage(head, message);
    const kind = kindOf(this.#records, first);
    const joins = head.joins === true;
    this.#pairs = null;
    if (!joins) this.#step = message;
    if (kind === "assistant" && !joins) this.#passOver();
    if (this.#sticks && kind !== "assistant") this.#sever(first - 1);
    if (kind !== "stray") this.#place(message);
    let tokens = 0;
    let end = first;
    // Results beside text in a user message come first: the text passes over only what they leave unanswered.
    for (let record = this.#records[end]; record?.message === message; record = this.#records[++end]) {
      this.#operations++;
      this.#partners.push(-1);
      this.#states.push(NO_CALL);
      if (record.kind !== "system") tokens += record.tokens;
      if (record.kind === "tool_use") this.#call(end, record);
      if (record.kind === "tool_result") this.#result(end, record);
    }
    if (kind === "stray") this.#placeResults(message, first);
    else if (kind !== "assistant" && kind !== "system") this.#passOver();
    if (kind !== "stray" && !joins) this.#spoken = message;
    this.#sticks = this.#records[end - 1]?.sticks === true;
    this.#sums.push(this.tokens + tokens);
    return end;
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
    this.#pairs = null;
    this.#passOver();
  }

  /** Gives the message an atom, where it does not belong to the reasoning that waits for it. */
  #place(message: number): void {
    if (this.#sticks && this.#starts.length > 0) return;
    this.#starts.push(message);
    this.#inFlight.push(0);
  }

  /** Results belong to the atom of a call that they answer, which is the last one by now; others stand alone. */
  #placeResults(message: number, first: number): void {
    for (let index = first; index < this.#partners.length; index++) {
      if (this.#partnerOf(index) >= 0) return;
    }
    this.#place(message);
  }

  /** The reasoning that ended the transcript until now is followed by nothing of its own. */
  #sever(record: number): void {
    this.#sticks = false;
    const reasoning = this.#records[record];
    if (reasoning === undefined) return;
    this.#fault("reasoning_severed", "dialect", reasoning, "is not followed by its answer or call");
  }

  /** Later messages pass over calls that nobody has promised to answer: from now on they are abandoned. */
  #passOver(): void {
    for (; this.#fresh < this.#states.length; this.#fresh++) {
      const call = this.#fresh;
      this.#operations++;
      const record = this.#records[call];
      if (this.#states.at(call) !== IN_FLIGHT || record?.inFlight === true || record?.longRunning === true) {
        continue;
      }
      // One that has an interim result goes on, whatever passes it over; but not if that stands beside the call
      // itself, where nobody adds another one any more.
      if (this.#messageOf(this.#partnerOf(call)) > this.#messageOf(call)) continue;
      this.#states.set(call, ABANDONED);
      this.#count(this.#atomOfCall(call), -1);
    }
  }

  /** The message of a record; -1 for none. */
  #messageOf(record: number): number {
    return this.#records[record]?.message ?? -1;
  }

  #call(call: number, record: TranscriptRecord): void {
    const [keys, name] = this.#keysOf(record);
    let key = keys.get(name);
    if (key === undefined) keys.set(name, key = newKey());
    // Messages that are joined are one to their calls. Questions for approval are none, and stand for themselves.
    const step = record.approval === true ? record.message : this.#step;
    if (key.last?.step === step) {
      const what = record.callId
        ? "repeats the id of another call in its message"
        : "has no id, and neither has another call of its name in its message";
      this.#fault("duplicate_call_id", "dialect", record, what);
    }
    addCall(key, { call, step });
    if (!record.callId) addCall(this.#unnamed, { call, step });
    this.#states.set(call, IN_FLIGHT);
    this.#count(this.#inFlight.length - 1, 1);
  }

  #keysOf({ callId, name }: TranscriptRecord): readonly [Map<string, KeyState>, string] {
    return callId ? [this.#ids, callId] : [this.#names, name ?? ""];
  }

  /** The unanswered call of the nearest preceding message that has one; inside it first in, first out. */
  #take(key: KeyState): number {
    for (let waiting = key.first; waiting !== null; waiting = key.first) {
      this.#operations++;
      key.first = waiting.next;
      // Among the unnamed stand calls that may have been answered by name, and the other way round.
      if (this.#partnerOf(waiting.call) < 0) return waiting.call;
    }
    return -1;
  }

  #result(index: number, record: TranscriptRecord): void {
    const [keys, name] = this.#keysOf(record);
    const key = record.callId || record.name ? keys.get(name) : this.#unnamed;
    const taken = key === undefined ? -1 : this.#take(key);
    const found = taken >= 0 ? taken : key?.goingOn ?? -1;
    const asked = this.#records[found];
    if (key === undefined || asked === undefined) return this.#answersNothing(record);
    const goesOn = asked.longRunning === true || record.interim === true || key.goingOn === found;
    if (goesOn) key.goingOn = found;
    // C3: nothing but results may come between a call and its result.
    else if (this.#spoken > asked.message && record.message > asked.message) {
      this.#fault("misplaced_result", "C3", record, "does not follow its call directly");
      this.#fault("missing_result", "C1", asked, "is not answered by the messages that follow it");
    }
    // Inside one message the key stays: a second call with its id is a fault there.
    if (key.first === null && key.goingOn < 0 && (key.last?.step ?? 0) < this.#step) keys.delete(name);
    if (this.#answered !== null) noteAnswer(this.#answered, keyOf(record), asked.message);
    this.#partners.set(index, found);
    this.#partners.set(found, index);
    const atom = this.#atomOf(asked.message);
    if (record.interim !== true) {
      if (this.#states.at(found) === IN_FLIGHT) this.#count(atom, -1);
      this.#states.set(found, ANSWERED);
    }
    this.#joinInto(atom);
  }

  #answersNothing(record: TranscriptRecord): void {
    if (this.#answered === null) {
      this.#answered = new Map();
      for (const [index, answer] of this.#records.entries()) {
        const call = answer.kind === "tool_result" ? this.#partnerOf(index) : -1;
        if (call >= 0) noteAnswer(this.#answered, keyOf(answer), this.#messageOf(call));
      }
    }
    const call = this.#answered.get(keyOf(record));
    // Without an id it is a second result only in the round of the first one: names come again in every round.
    if (call !== undefined && (record.callId || call >= this.#spoken)) {
      this.#fault("duplicate_result", "C1", record, "answers a call that has its result already");
    } else this.#fault("orphan_result", "C2", record, "answers no call");
  }

  /** So many calls of an atom more are in flight. */
  #count(atom: number, calls: number): void {
    this.#inFlight.set(atom, (this.#inFlight.at(atom) ?? 0) + calls);
  }

  /** Joins all atoms behind one to it; each atom is joined once at the most, hence O(1) amortised. */
  #joinInto(index: number): void {
    while (this.#starts.length - 1 > index) {
      this.#operations++;
      this.#starts.pop();
      this.#count(index, this.#inFlight.pop() ?? 0);
    }
  }

  /**
   * Index of the atom that holds a message: the last one that begins at or before it. Searched from the end in
   * growing steps, as what is asked for is near it, or is joined with all that was passed.
   */
  #atomOf(message: number): number {
    let high = this.#starts.length - 1;
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

  #atomOfCall(call: number): number {
    return this.#atomOf(this.#messageOf(call));
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

/** Notes the last message that has a call which was answered under a key; late answers may come to earlier ones. */
function noteAnswer(answered: Map<string, number>, key: string, message: number): void {
  answered.set(key, Math.max(message, answered.get(key) ?? message));
}

/** What a result is matched by: an id, else a name, else its position alone. */
function keyOf({ callId, name }: TranscriptRecord): string {
  return callId ? `#${callId}` : name ? `@${name}` : "";
}

/** Behind the calls of the same message that wait, else in front of all: results take from the nearest message. */
function addCall(
  key: KeyState,
  { call, step }: { readonly call: number; readonly step: number },
): void {
  const before = key.first?.step === step ? key.last : null;
  const waiting = { call, step, next: before === null ? key.first : before.next };
  if (before === null) key.first = waiting;
  else before.next = waiting;
  key.last = waiting;
}

function otherMessage(found: TranscriptRecord | undefined, wanted: number): RangeError {
  return new RangeError(
    `Cannot append to the transcript: found records of message ${found?.message ?? "none"}, ` +
      `wanted at least one record, all of message ${wanted}`,
  );
}

/** Kind of an atom whose first message begins with that record; `stray` for a message of nothing but results. */
function kindOf(records: readonly TranscriptRecord[], first: number): Atom["kind"] {
  const message = records[first]?.message;
  let isResults = true;
  let isSystem = true;
  let isSummary = false;
  for (
    let record = records[first];
    record !== undefined && record.message === message;
    record = records[++first]
  ) {
    const { kind } = record;
    if (kind === "assistant" || kind === "reasoning" || kind === "tool_use") return "assistant";
    isResults &&= kind === "tool_result";
    isSystem &&= kind === "system";
    isSummary ||= kind === "summary";
  }
  return isSummary ? "summary" : isResults ? "stray" : isSystem ? "system" : "user";
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
  return new Transcript(records);
}
