// Made by `deno task page:build`; the sources are the modules beside this folder.
var LEAST_SUMMARY = 110;
var TRIM_FLOOR = 200;
function summaryReserve(budget) {
  const most = Math.max(budget / 3, Math.min(LEAST_SUMMARY, budget / 2));
  return Math.floor(Math.min(Math.max(300, budget * 0.15), 4e3, most));
}
var Plan = class {
  from;
  reserve;
  behind;
  ahead;
  #pinned;
  #isPinned;
  #pinnedSums;
  transcript;
  policy;
  constructor(transcript, policy) {
    this.transcript = transcript;
    this.policy = policy;
    this.from = policy.from ?? 0;
    this.reserve = policy.reserve ?? summaryReserve(policy.budget);
    const raw = Math.max(0, policy.budget - this.reserve);
    this.behind = share(policy.lookback ?? 0.15, raw);
    this.ahead = share(policy.lookahead ?? 0.15, raw);
    this.#pinned = pinnedMessages(transcript, policy.pinned ?? []);
    this.#isPinned = new Set(this.#pinned);
    const sums = [
      0
    ];
    for (const message of this.#pinned) {
      sums.push((sums.at(-1) ?? 0) + transcript.tokensBetween(message, message + 1));
    }
    this.#pinnedSums = sums;
  }
  /** Whether a message stays verbatim. */
  isPinned(message) {
    return this.#isPinned.has(message);
  }
  /** Tokens of the pinned messages before a cut. */
  pinnedBefore(cut) {
    let low = 0;
    let high = this.#pinned.length;
    while (low < high) {
      const middle = low + high >> 1;
      if ((this.#pinned[middle] ?? 0) < cut) low = middle + 1;
      else high = middle;
    }
    return this.#pinnedSums[low] ?? 0;
  }
  /** Tokens that stay when everything before `cut` is summarised. Never grows with the cut. */
  kept(cut) {
    return this.reserve + this.pinnedBefore(cut) + this.transcript.tokensBetween(cut, this.transcript.messages);
  }
  /** Tokens of raw messages that a cut takes away. */
  removed(cut) {
    const pinned = this.pinnedBefore(cut) - this.pinnedBefore(this.from);
    return this.transcript.tokensBetween(this.from, cut) - pinned;
  }
};
function share(part, tokens) {
  return Math.floor(part * tokens + 1e-6);
}
function pinnedMessages(transcript, pinned) {
  const messages = /* @__PURE__ */ new Set();
  for (const pin of pinned) {
    const atom = transcript.atomAt(pin);
    for (let message = atom?.from ?? 0; message < (atom?.to ?? 0); message++) messages.add(message);
  }
  return [
    ...messages
  ].sort((a, b) => a - b);
}
function firstIndex(low, high, test) {
  while (low < high) {
    const middle = low + high >> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
function selectCut(transcript, policy) {
  if (!(policy.budget > 0)) {
    throw new RangeError(`Cannot select a cut: found a budget of ${policy.budget}, wanted a positive number`);
  }
  const plan = new Plan(transcript, policy);
  const { budget } = policy;
  const total = plan.kept(plan.from);
  if (total <= budget + share(policy.lookback ?? 0.15, budget)) {
    const reason = total <= budget ? "within_budget" : "within_lookback";
    return {
      kind: "nothing",
      reason,
      keptTokens: total
    };
  }
  const open = transcript.firstOpen ?? transcript.messages;
  const start = firstIndex(0, transcript.atomCount, (a) => transcript.atomStart(a) >= Math.max(plan.from, 1));
  const end = firstIndex(start, transcript.atomCount, (a) => transcript.atomStart(a) > open);
  const under = firstIndex(start, end, (a) => plan.kept(transcript.atomStart(a)) <= budget);
  const before = under > start ? transcript.atomStart(under - 1) : null;
  const after = under < end ? transcript.atomStart(under) : null;
  const nearest = {
    before,
    after
  };
  const isFilled = plan.reserve + plan.pinnedBefore(transcript.messages) >= budget;
  const exact = after !== null && plan.kept(after) === budget ? after : null;
  const cut = isFilled ? null : policy.kind === "backward" ? near(plan, before, exact) : near(plan, before, after) ?? trim(plan, before) ?? forward(plan, after);
  if (cut !== null) return cut;
  if (policy.force === true) {
    const last = end > start ? transcript.atomStart(end - 1) : null;
    const forced = forward(plan, after) ?? trim(plan, last, "as far as it goes") ?? forward(plan, last);
    if (forced !== null) return forced;
  }
  if (isFilled) return {
    kind: "defer",
    reason: "pinned_too_big",
    nearest
  };
  const blocked = transcript.firstOpen !== null && after === null;
  return {
    kind: "defer",
    reason: blocked ? "open_call" : "atom_too_wide",
    nearest
  };
}
function cutAt(plan, at, method) {
  const keptTokens = plan.kept(at);
  return {
    kind: "cut",
    at,
    keptTokens,
    distance: keptTokens - plan.policy.budget,
    method,
    trims: []
  };
}
function near(plan, before, after) {
  const over = before !== null && plan.removed(before) > 0 ? plan.kept(before) - plan.policy.budget : Infinity;
  const left = after !== null && plan.removed(after) > 0 ? plan.policy.budget - plan.kept(after) : Infinity;
  const mayKeepMore = before !== null && over <= plan.behind;
  const mayKeepLess = after !== null && left <= plan.ahead;
  if (mayKeepMore && (over <= left || !mayKeepLess)) return cutAt(plan, before, "near");
  return mayKeepLess ? cutAt(plan, after, "near") : null;
}
function forward(plan, after) {
  return after !== null && plan.removed(after) > 0 ? cutAt(plan, after, "forward") : null;
}
function trim(plan, at, until = "it fits") {
  if (at === null) return null;
  const { transcript, policy } = plan;
  let excess = plan.kept(at) - policy.budget;
  const trims = [];
  const floor = policy.trimFloor ?? TRIM_FLOOR;
  for (let record = firstRecordOf(transcript, at); record < transcript.records.length && excess > 0; record++) {
    const found = transcript.records[record];
    if (found?.kind !== "tool_result" || found.tokens <= floor || plan.isPinned(found.message)) continue;
    if (policy.trimOpen === false && transcript.atomAt(found.message)?.open === true) continue;
    const tokens = Math.max(floor, found.tokens - excess);
    trims.push({
      record,
      message: found.message,
      tokens
    });
    excess -= found.tokens - tokens;
  }
  if (trims.length === 0 || excess > 0 && until === "it fits") return null;
  return {
    kind: "cut",
    at,
    keptTokens: policy.budget + excess,
    distance: excess,
    method: "trim",
    trims
  };
}
function firstRecordOf({ records }, message) {
  return firstIndex(0, records.length, (record) => (records[record]?.message ?? 0) >= message);
}

function checkTranscript(transcript) {
  const violations = [
    ...transcript.faults
  ];
  for (const pair of transcript.pairs) {
    if (pair.state !== "abandoned") continue;
    const call = transcript.records[pair.call];
    if (call === void 0 || call.approval === true) continue;
    violations.push({
      code: "missing_result",
      condition: "C1",
      at: call.message,
      callId: call.callId ?? null,
      message: `The call ${call.callId ?? call.name ?? "without an id"} is passed over without a result`
    });
  }
  return violations.sort((a, b) => a.at - b.at);
}

var MIN_PROGRESS = 0.1;
function verify(input) {
  const { before, after, at, from, policy } = input;
  const rejections = checkTranscript(after).map(({ condition, message }) => ({
    code: "invalid",
    condition,
    message
  }));
  if (!before.isLegalCut(at)) {
    rejections.push({
      code: "invalid",
      condition: "C2",
      message: `The cut at message ${at} is not a legal one`
    });
  }
  const pins = pinnedMessages(before, policy.pinned ?? []).filter((message) => message < at);
  const was = (message) => message >= at ? `t${message - at}` : `p${pins.indexOf(message)}`;
  const shown = [
    ...input.pinned
  ].filter((message) => message < from).sort((x, y) => x - y);
  const is = (message) => message >= from ? `t${message - from}` : `p${shown.indexOf(message)}`;
  const pinned = new Set(pins);
  const kept = [];
  for (const pair of before.pairs) {
    const call = before.records[pair.call];
    const message = call?.message ?? 0;
    if (message >= at || pinned.has(message)) kept.push(signature(before, {
      pair,
      position: was
    }));
    else if (pair.state === "in_flight") {
      const sentence = `The cut leaves the call ${nameOf(call)} in flight behind`;
      rejections.push({
        code: "invalid",
        condition: "C2",
        message: sentence
      });
    } else if (call?.approval !== true && !input.records(pair.call)) {
      const sentence = `The summary does not record the call ${nameOf(call)}`;
      rejections.push({
        code: "pair_unrecorded",
        condition: "C4",
        message: sentence
      });
    }
  }
  const now = after.pairs.map((pair) => signature(after, {
    pair,
    position: is
  }));
  const hasTail = after.messages - from === before.messages - at;
  if (!hasTail || kept.join() !== now.join()) {
    rejections.push({
      code: "pair_changed",
      condition: "C1",
      message: `The kept messages hold ${kept.length} pairs before and ${now.length} after, or others`
    });
  }
  const progress = input.minProgress ?? MIN_PROGRESS;
  if (after.tokens > before.tokens * (1 - progress)) {
    rejections.push({
      code: "not_smaller",
      condition: "progress",
      message: `The context would have ${after.tokens} tokens after ${before.tokens}, wanted ${progress * 100} % less`
    });
  }
  const again = selectCut(after, {
    ...policy,
    force: false,
    from,
    pinned: input.pinned
  });
  if (again.kind !== "nothing" && !(policy.force === true && again.kind === "defer")) {
    rejections.push({
      code: "not_idempotent",
      condition: "C5",
      message: `A second compaction would answer "${again.kind}", wanted "nothing"`
    });
  }
  return rejections;
}
function nameOf(call) {
  return call?.callId || call?.name || "without an id";
}
function signature(transcript, { pair, position }) {
  const call = transcript.records[pair.call];
  const result = pair.result === null ? void 0 : transcript.records[pair.result];
  const at = result === void 0 ? "" : position(result.message);
  return `${position(call?.message ?? 0)}:${call?.callId ?? ""}>${at}`;
}

var SelvageError = class extends Error {
  /** The name of the class. */
  name = "SelvageError";
  /** A stable, machine-readable code. */
  code;
  /** Facts a caller can act on, by name. */
  fields;
  /**
   * Makes an error.
   *
   * @param code A stable, machine-readable code in snake case.
   * @param message What was done, what was found, what is wanted.
   * @param options The cause and further fields.
   */
  constructor(code, message, options = {}) {
    super(message, options.cause === void 0 ? void 0 : {
      cause: options.cause
    });
    this.code = code;
    this.fields = options.fields ?? {};
  }
};

var Numbers = class {
  #values;
  #length = 0;
  /** Begins empty, with room for so many numbers, so that a known number of them is never moved. */
  constructor(room) {
    this.#values = new Float64Array(Math.max(16, room));
  }
  /** How many there are. */
  get length() {
    return this.#length;
  }
  /** The number at an index; undefined where there is none. */
  at(index) {
    return index < this.#length ? this.#values[index] : void 0;
  }
  /** Replaces the number at an index that is there already. */
  set(index, value) {
    this.#values[index] = value;
  }
  /** Appends a number; O(1) amortised, as the room doubles. */
  push(value) {
    if (this.#length === this.#values.length) {
      const values = new Float64Array(2 * this.#length);
      values.set(this.#values);
      this.#values = values;
    }
    this.#values[this.#length++] = value;
  }
  /** Takes the last number away and returns it; undefined where there is none. */
  pop() {
    return this.#length === 0 ? void 0 : this.#values[--this.#length];
  }
  /** All of them. */
  toArray() {
    return Array.from(this.#values.subarray(0, this.#length));
  }
};

var STATES = [
  null,
  "in_flight",
  "answered",
  "abandoned"
];
var [NO_CALL, IN_FLIGHT, ANSWERED, ABANDONED] = [
  0,
  1,
  2,
  3
];
var Transcript = class {
  #records;
  /** By record: of a call its last result, of a result the call that it answers; -1 for none. */
  #partners;
  /** By record: the state of a call. */
  #states;
  /** The pairs, once somebody has asked for them; null as soon as they may have changed. */
  #pairs = null;
  /** First messages of the atoms, which cover all messages, and are only ever joined at the end. */
  #starts;
  /** By atom: how many of its calls are in flight. */
  #inFlight;
  #faults = [];
  /** By message, and for the end: tokens of all messages before it, system messages left out. */
  #sums;
  /** By id: only the ids that wait, so that it stays small however long the log is. */
  #ids = /* @__PURE__ */ new Map();
  /** Calls without an id are told apart by the name of their tool. */
  #names = /* @__PURE__ */ new Map();
  /** Any call without an id; for results that have neither id nor name, as only their position is left. */
  #unnamed = newKey();
  /**
   * Keys of the results that answered something, with the message of the last such call; only once a result was
   * found that answers nothing.
   */
  #answered = null;
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
  constructor(records = []) {
    this.#records = [
      ...records
    ];
    const room = this.#records.length + 1;
    this.#partners = new Numbers(room);
    this.#states = new Numbers(room);
    this.#starts = new Numbers(room);
    this.#inFlight = new Numbers(room);
    this.#sums = new Numbers(room);
    this.#sums.push(0);
    for (let first = 0; first < this.#records.length; ) first = this.#addMessage(first);
  }
  /** Number of messages. */
  get messages() {
    return this.#sums.length - 1;
  }
  /** The records, in order. */
  get records() {
    return this.#records;
  }
  /** Calls with their results, in order of the calls. */
  get pairs() {
    return this.#pairs ??= this.#records.flatMap((_, record) => this.#pairOf(record) ?? []);
  }
  /** What was found wrong while pairing; a call that is merely unanswered is not among it. */
  get faults() {
    return this.#faults;
  }
  /** Tokens of all messages, system messages left out. */
  get tokens() {
    return this.#sums.at(this.messages) ?? 0;
  }
  /** Steps of work done, to hold against the number of records. */
  get operations() {
    return this.#operations;
  }
  /** The atoms, in order. */
  get atoms() {
    let first = 0;
    return this.#starts.toArray().map((from, index) => {
      const to = this.atomStart(index + 1);
      while (this.#messageOf(first) < from) first++;
      const kind = kindOf(this.#records, first);
      return {
        from,
        to,
        kind,
        open: this.#isOpen(index),
        tokens: this.tokensBetween(from, to)
      };
    });
  }
  /** Number of atoms. */
  get atomCount() {
    return this.#starts.length;
  }
  /** First message of an atom; the number of messages for the index behind the last atom. */
  atomStart(atom) {
    return this.#starts.at(atom) ?? this.messages;
  }
  /** The first message, and the one past the last, of the atom that holds a message; null where there is none. */
  atomAt(message) {
    if (!(message >= 0 && message < this.messages)) return null;
    const index = this.#atomOf(message);
    return {
      from: this.atomStart(index),
      to: this.atomStart(index + 1),
      open: this.#isOpen(index)
    };
  }
  /** A call is in flight, or reasoning at the very end waits for what it belongs to. */
  #isOpen(index) {
    return (this.#inFlight.at(index) ?? 0) > 0 || this.#sticks && index === this.#starts.length - 1;
  }
  /**
   * Tokens of the messages from `from` up to, not including, `to`; system messages left out.
   *
   * @param from First message index.
   * @param to One past the last message index.
   */
  tokensBetween(from, to) {
    return (this.#sums.at(to) ?? this.tokens) - (this.#sums.at(from) ?? this.tokens);
  }
  /** First message of the first open atom, or null: behind it no cut is legal. */
  get firstOpen() {
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
  isLegalCut(at) {
    if (!Number.isInteger(at) || at < 0 || at > this.messages) return false;
    const open = this.firstOpen;
    if (open !== null && at > open) return false;
    return at === this.messages || this.atomStart(this.#atomOf(at)) === at;
  }
  /** All legal cuts, 0 and the number of messages included where they are legal. */
  get legalCuts() {
    const open = this.firstOpen ?? this.messages;
    const cuts = this.#starts.toArray().filter((from) => from <= open);
    if (cuts[0] !== 0) cuts.unshift(0);
    if (this.firstOpen === null && this.messages > 0) cuts.push(this.messages);
    return cuts;
  }
  /** Pair of a result record, or null for one that answers nothing. */
  pairOfResult(record) {
    return this.#pairOf(this.#partnerOf(record));
  }
  /** The pair of a call; null for a record that is none. */
  #pairOf(call) {
    const state = STATES[this.#states.at(call) ?? NO_CALL] ?? null;
    const result = this.#partnerOf(call);
    return state === null ? null : {
      call,
      result: result < 0 ? null : result,
      state
    };
  }
  /** The last result of a call, the call of a result; -1 for none. */
  #partnerOf(record) {
    return this.#partners.at(record) ?? -1;
  }
  /**
   * Appends the records of the next message.
   *
   * @param records At least one, each with `message` equal to the present number of messages.
   * @throws RangeError when a record names another message.
   */
  append(records) {
    if (records.length === 0 || records.some(({ message }) => message !== this.messages)) {
      throw otherMessage(records[0], this.messages);
    }
    const first = this.#records.length;
    for (const record of records) this.#records.push(record);
    this.#addMessage(first);
  }
  /** Adds the next message, whose records begin at one; returns where those of the message behind it begin. */
  #addMessage(first) {
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
  joinFrom(message) {
    if (message < this.messages) this.#joinInto(this.#atomOf(message));
  }
  /** Gives up on calls that are only open because nothing has followed them: from now on they are abandoned. */
  abandonOpen() {
    this.#pairs = null;
    this.#passOver();
  }
  /** Gives the message an atom, where it does not belong to the reasoning that waits for it. */
  #place(message) {
    if (this.#sticks && this.#starts.length > 0) return;
    this.#starts.push(message);
    this.#inFlight.push(0);
  }
  /** Results belong to the atom of a call that they answer, which is the last one by now; others stand alone. */
  #placeResults(message, first) {
    for (let index = first; index < this.#partners.length; index++) {
      if (this.#partnerOf(index) >= 0) return;
    }
    this.#place(message);
  }
  /** The reasoning that ended the transcript until now is followed by nothing of its own. */
  #sever(record) {
    this.#sticks = false;
    const reasoning = this.#records[record];
    if (reasoning === void 0) return;
    this.#fault("reasoning_severed", "dialect", reasoning, "is not followed by its answer or call");
  }
  /** Later messages pass over calls that nobody has promised to answer: from now on they are abandoned. */
  #passOver() {
    for (; this.#fresh < this.#states.length; this.#fresh++) {
      const call = this.#fresh;
      this.#operations++;
      const record = this.#records[call];
      if (this.#states.at(call) !== IN_FLIGHT || record?.inFlight === true || record?.longRunning === true) {
        continue;
      }
      if (this.#messageOf(this.#partnerOf(call)) > this.#messageOf(call)) continue;
      this.#states.set(call, ABANDONED);
      this.#count(this.#atomOfCall(call), -1);
    }
  }
  /** The message of a record; -1 for none. */
  #messageOf(record) {
    return this.#records[record]?.message ?? -1;
  }
  #call(call, record) {
    const [keys, name] = this.#keysOf(record);
    let key = keys.get(name);
    if (key === void 0) keys.set(name, key = newKey());
    const step = record.approval === true ? record.message : this.#step;
    if (key.last?.step === step) {
      const what = record.callId ? "repeats the id of another call in its message" : "has no id, and neither has another call of its name in its message";
      this.#fault("duplicate_call_id", "dialect", record, what);
    }
    addCall(key, {
      call,
      step
    });
    if (!record.callId) addCall(this.#unnamed, {
      call,
      step
    });
    this.#states.set(call, IN_FLIGHT);
    this.#count(this.#inFlight.length - 1, 1);
  }
  #keysOf({ callId, name }) {
    return callId ? [
      this.#ids,
      callId
    ] : [
      this.#names,
      name ?? ""
    ];
  }
  /** The unanswered call of the nearest preceding message that has one; inside it first in, first out. */
  #take(key) {
    for (let waiting = key.first; waiting !== null; waiting = key.first) {
      this.#operations++;
      key.first = waiting.next;
      if (this.#partnerOf(waiting.call) < 0) return waiting.call;
    }
    return -1;
  }
  #result(index, record) {
    const [keys, name] = this.#keysOf(record);
    const key = record.callId || record.name ? keys.get(name) : this.#unnamed;
    const taken = key === void 0 ? -1 : this.#take(key);
    const found = taken >= 0 ? taken : key?.goingOn ?? -1;
    const asked = this.#records[found];
    if (key === void 0 || asked === void 0) return this.#answersNothing(record);
    const goesOn2 = asked.longRunning === true || record.interim === true || key.goingOn === found;
    if (goesOn2) key.goingOn = found;
    else if (this.#spoken > asked.message && record.message > asked.message) {
      this.#fault("misplaced_result", "C3", record, "does not follow its call directly");
      this.#fault("missing_result", "C1", asked, "is not answered by the messages that follow it");
    }
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
  #answersNothing(record) {
    if (this.#answered === null) {
      this.#answered = /* @__PURE__ */ new Map();
      for (const [index, answer2] of this.#records.entries()) {
        const call2 = answer2.kind === "tool_result" ? this.#partnerOf(index) : -1;
        if (call2 >= 0) noteAnswer(this.#answered, keyOf(answer2), this.#messageOf(call2));
      }
    }
    const call = this.#answered.get(keyOf(record));
    if (call !== void 0 && (record.callId || call >= this.#spoken)) {
      this.#fault("duplicate_result", "C1", record, "answers a call that has its result already");
    } else this.#fault("orphan_result", "C2", record, "answers no call");
  }
  /** So many calls of an atom more are in flight. */
  #count(atom, calls2) {
    this.#inFlight.set(atom, (this.#inFlight.at(atom) ?? 0) + calls2);
  }
  /** Joins all atoms behind one to it; each atom is joined once at the most, hence O(1) amortised. */
  #joinInto(index) {
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
  #atomOf(message) {
    let high = this.#starts.length - 1;
    let low = high;
    for (let step = 1; low > 0 && this.atomStart(low) > message; step *= 2) {
      this.#operations++;
      high = low - 1;
      low = Math.max(0, low - step);
    }
    while (low < high) {
      this.#operations++;
      const middle = low + high + 1 >> 1;
      if (this.atomStart(middle) > message) high = middle - 1;
      else low = middle;
    }
    return low;
  }
  #atomOfCall(call) {
    return this.#atomOf(this.#messageOf(call));
  }
  #fault(code, condition, record, what) {
    const callId = record.callId ?? null;
    const name = callId ?? record.name ?? "without an id";
    const noun = record.kind === "tool_use" ? "call" : record.kind === "reasoning" ? "reasoning" : "result";
    this.#faults.push({
      code,
      condition,
      at: record.message,
      callId,
      message: `The ${noun} ${name} ${what}`
    });
  }
};
function newKey() {
  return {
    first: null,
    last: null,
    goingOn: -1
  };
}
function noteAnswer(answered, key, message) {
  answered.set(key, Math.max(message, answered.get(key) ?? message));
}
function keyOf({ callId, name }) {
  return callId ? `#${callId}` : name ? `@${name}` : "";
}
function addCall(key, { call, step }) {
  const before = key.first?.step === step ? key.last : null;
  const waiting = {
    call,
    step,
    next: before === null ? key.first : before.next
  };
  if (before === null) key.first = waiting;
  else before.next = waiting;
  key.last = waiting;
}
function otherMessage(found, wanted) {
  return new RangeError(`Cannot append to the transcript: found records of message ${found?.message ?? "none"}, wanted at least one record, all of message ${wanted}`);
}
function kindOf(records, first) {
  const message = records[first]?.message;
  let isResults = true;
  let isSystem2 = true;
  let isSummary = false;
  for (let record = records[first]; record !== void 0 && record.message === message; record = records[++first]) {
    const { kind } = record;
    if (kind === "assistant" || kind === "reasoning" || kind === "tool_use") return "assistant";
    isResults &&= kind === "tool_result";
    isSystem2 &&= kind === "system";
    isSummary ||= kind === "summary";
  }
  return isSummary ? "summary" : isResults ? "stray" : isSystem2 ? "system" : "user";
}

function sayValue(value) {
  if (value === void 0) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "function") return "a function";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return String(value);
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}\u2026` : value);
}
function rule(wanted, isFit) {
  return (value) => isFit(value) ? null : {
    field: "",
    found: sayValue(value),
    wanted
  };
}
var anything = () => null;
var text = rule("text", (value) => typeof value === "string");
var aName = rule("a name", (value) => typeof value === "string" && value !== "");
var yesOrNo = rule("true or false", (value) => typeof value === "boolean");
var aFunction = rule("a function", (value) => typeof value === "function");
var aClock = rule("a clock with now() and sleep()", (value) => hasMethods(value, [
  "now",
  "sleep"
]));
function number(wanted, { least, most = Infinity }) {
  return rule(wanted, (value) => typeof value === "number" && value >= least && value <= most);
}
function oneOf(...words) {
  return rule(words.map((word) => JSON.stringify(word)).join(" or "), (value) => words.includes(value));
}
function hasMethods(value, names) {
  return (typeof value === "object" || typeof value === "function") && value !== null && names.every((name) => typeof value[name] === "function");
}
function listOf(wanted, member) {
  return (value) => {
    if (!Array.isArray(value)) return {
      field: "",
      found: sayValue(value),
      wanted
    };
    return firstFault(value.map((item, at) => [
      `[${at}]`,
      item,
      member
    ]));
  };
}
function optionsOf(rules2, needed = []) {
  const names = Object.keys(rules2);
  return (value) => {
    if (!isPlain(value)) {
      const of = needed.length === 0 ? names : needed;
      return {
        field: "",
        found: sayValue(value),
        wanted: `an object with ${of.join(", ")}`
      };
    }
    const unknown = Object.keys(value).find((name) => !Object.hasOwn(rules2, name));
    if (unknown !== void 0) {
      const wanted = `only ${names.join(", ")}`;
      return {
        field: unknown.slice(0, 60),
        found: "an option that nobody knows",
        wanted
      };
    }
    return firstFault(Object.entries(rules2).flatMap(([name, of]) => value[name] === void 0 && !needed.includes(name) ? [] : [
      [
        name,
        value[name],
        of
      ]
    ]));
  };
}
function isPlain(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function firstFault(items) {
  for (const [name, value, of] of items) {
    const fault = of(value);
    if (fault === null) continue;
    const joint = fault.field === "" || fault.field.startsWith("[") ? "" : ".";
    return {
      ...fault,
      field: `${name}${joint}${fault.field}`
    };
  }
  return null;
}
function requireOptions(action, options, of) {
  const fault = of(options);
  if (fault === null) return;
  const { field, found, wanted } = fault;
  throw new TypeError(`Cannot ${action}: ${field === "" ? "" : `${field}: `}found ${found}, wanted ${wanted}`);
}

var APPROVAL = "approval:";
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

var MAX_LEVELS = 1e4;
function shapeOf(text2, levels) {
  const closers = [];
  let depth = 0;
  let marks = 0;
  let begin = null;
  for (let at = 0; at < text2.length; at++) {
    const unit = text2.charCodeAt(at);
    if (unit === QUOTE) {
      at = endOfString(text2, at);
    } else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      if (depth < levels) closers[depth] = unit === OPEN_LIST ? "]" : "}";
      else begin ??= `${text2.slice(0, at)}[]${closers.toReversed().join("")}`;
      depth++;
      marks++;
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) {
      depth = Math.max(0, depth - 1);
    } else if (unit === COMMA) {
      marks++;
    }
  }
  return {
    deep: begin === null ? null : {
      begin,
      isClosed: depth === 0
    },
    marks
  };
}
function findDeep(text2, levels) {
  return shapeOf(text2, levels).deep;
}
var [QUOTE, COMMA] = [
  34,
  44
];
var [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [
  91,
  93,
  123,
  125
];
function endOfString(text2, at) {
  for (let end = text2.indexOf('"', at + 1); end >= 0; end = text2.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text2[end - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text2.length;
}
function parseExact(text2) {
  if (findDeep(text2, MAX_LEVELS) !== null) {
    throw new SyntaxError(`found JSON nested more than ${MAX_LEVELS} levels deep, wanted at most that`);
  }
  return parseScanned(text2);
}
function parseScanned(text2) {
  const value = JSON.parse(text2);
  const { parse, rawJSON } = JSON;
  if (rawJSON === void 0 || !hasLongNumber(text2)) return value;
  try {
    return parse(text2, (_, found, { source }) => {
      return typeof found === "number" && source !== void 0 && String(found) !== source ? rawJSON(source) : found;
    });
  } catch (error) {
    if (error instanceof RangeError) return value;
    throw error;
  }
}
function hasLongNumber(text2) {
  return /\d{16}/.test(text2);
}

function badMessage(at, field, { found, wanted }) {
  return new SelvageError("bad_message", `Cannot read message ${at}: found ${sayValue(found)} in ${field}, wanted ${wanted}`, {
    fields: {
      at,
      field
    }
  });
}
function objectAt(value, at, field) {
  if (!isObject(value)) throw badMessage(at, field, {
    found: value,
    wanted: "an object"
  });
  return value;
}
function textAt(value, at, field, fallback) {
  if (typeof value === "string") return value;
  if ((value === void 0 || value === null) && fallback !== void 0) return fallback;
  throw badMessage(at, field, {
    found: value,
    wanted: "a string"
  });
}
function listAt(value, at, field, wanted = "a list") {
  if (!Array.isArray(value)) throw badMessage(at, field, {
    found: value,
    wanted
  });
  return value.map((item, index) => objectAt(item, at, `${field}[${index}]`));
}
var MAX_DEPTH = 1e3;
function wayTooDeep(value, left) {
  if (typeof value !== "object" || value === null) return null;
  if (left === 0) return [];
  for (const [key, inner] of Object.entries(value)) {
    const way = wayTooDeep(inner, left - 1);
    if (way !== null) return [
      key,
      ...way
    ];
  }
  return null;
}
function refuseDeep(value, at, field = "") {
  const way = wayTooDeep(value, MAX_DEPTH);
  if (way === null) return;
  const names = way.slice(0, 3).map((key) => /^\d+$/.test(key) ? `[${key}]` : `.${key.slice(0, 40)}`).join("");
  throw new SelvageError("bad_message", `Cannot read message ${at}: found JSON nested more than ${MAX_DEPTH} levels deep in ${(field + names).replace(/^\./, "")}, wanted at most that`, {
    fields: {
      at,
      field: (field + names).replace(/^\./, "")
    }
  });
}
function jsonText(value, at, field) {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    throw badMessage(at, field, {
      found: value,
      wanted: "a JSON value"
    });
  }
}
function parseArguments(value, at, field) {
  if (typeof value !== "string") {
    return {
      input: isObject(value) ? value : value ?? {},
      isMisshapen: true
    };
  }
  if (value.trim() === "") return {
    input: {}
  };
  const input = parseWhole(value, at, field);
  if (input === void 0) return {
    input: value,
    isTruncated: true
  };
  return isObject(input) ? {
    input
  } : {
    input,
    isMisshapen: true
  };
}
function objectArguments(value, at, field) {
  if (isObject(value)) return {
    input: value
  };
  if (typeof value !== "string") return {
    input: value,
    isMisshapen: true
  };
  const input = parseWhole(value, at, field);
  if (input === void 0) return {
    input: value,
    isTruncated: true
  };
  return {
    input,
    isMisshapen: true
  };
}
function parseWhole(text2, at, field) {
  const deep = findDeep(text2, MAX_DEPTH);
  if (deep?.isClosed === false) return void 0;
  let value;
  try {
    value = parseScanned(deep?.begin ?? text2);
  } catch {
    return void 0;
  }
  refuseDeep(value, at, field);
  return value;
}

function readInput(input, at, field) {
  const read = objectArguments(input, at, field);
  return typeof input === "string" && !/^\s*[{[]/.test(input) ? {
    input
  } : read;
}
function hasSignature(options) {
  return options !== void 0 && /"(signature|redactedData|reasoningEncryptedContent|thoughtSignature)"/.test(JSON.stringify(options));
}
var UNANSWERED = [
  "input-streaming",
  "input-available",
  "approval-requested",
  "approval-responded"
];
var SOURCES = [
  "source-url",
  "source-document",
  "custom",
  "steering-message"
];
function readToolPart(found, at, { part, type }) {
  const field = `parts[${part}]`;
  const state = textAt(found["state"], at, `${field}.state`, "input-available");
  const callId = textAt(found["toolCallId"], at, `${field}.toolCallId`, "");
  const name = type === "dynamic-tool" ? textAt(found["toolName"], at, `${field}.toolName`, "") : type.slice("tool-".length);
  const input = found["input"] ?? {};
  const call = {
    kind: "tool_use",
    part,
    callId,
    name,
    text: jsonText(input, at, `${field}.input`),
    // What is still streaming is whole once it has come.
    ...state === "input-streaming" ? {
      input
    } : readInput(input, at, `${field}.input`),
    isInPlace: true
  };
  const answered = {
    kind: "tool_result",
    part,
    callId,
    name,
    isInPlace: true
  };
  switch (state) {
    case "output-available":
      return [
        call,
        {
          ...answered,
          text: jsonText(found["output"] ?? "", at, `${field}.output`),
          ...found["preliminary"] === true ? {
            interim: true
          } : {}
        }
      ];
    case "output-error":
      return [
        call,
        {
          ...answered,
          text: textAt(found["errorText"], at, `${field}.errorText`, ""),
          isError: true
        }
      ];
    case "output-denied":
      return [
        call,
        {
          ...answered,
          text: "denied",
          isError: true
        }
      ];
    default:
      if (UNANSWERED.includes(state)) return [
        call
      ];
      throw badMessage(at, `${field}.state`, {
        found: state,
        wanted: "a state of tool parts, as input-available or output-available"
      });
  }
}
function readUi(message, at) {
  const role = message["role"];
  if (role !== "user" && role !== "assistant" && role !== "system") {
    throw badMessage(at, "role", {
      found: role,
      wanted: '"user", "assistant" or "system"'
    });
  }
  const pieces = listAt(message["parts"], at, "parts").flatMap((found, part) => {
    const type = textAt(found["type"], at, `parts[${part}].type`);
    if (type === "text") {
      return [
        {
          kind: role,
          part,
          text: textAt(found["text"], at, `parts[${part}].text`),
          isText: true
        }
      ];
    }
    if (type === "reasoning") {
      const isSigned = hasSignature(found["providerMetadata"]);
      return [
        {
          kind: "reasoning",
          part,
          text: textAt(found["text"], at, `parts[${part}].text`, ""),
          isSigned
        }
      ];
    }
    if (type === "dynamic-tool" || type.startsWith("tool-")) {
      if (role === "assistant") return readToolPart(found, at, {
        part,
        type
      });
      throw badMessage(at, `parts[${part}]`, {
        found: type,
        wanted: "tool parts in assistant messages only"
      });
    }
    if (type === "step-start" || type.startsWith("data-")) return [];
    if (type === "file" || type === "reasoning-file") return [
      {
        kind: role,
        part,
        text: "",
        files: 1
      }
    ];
    if (SOURCES.includes(type)) return [
      {
        kind: role,
        part,
        text: jsonText(found, at, `parts[${part}]`)
      }
    ];
    throw badMessage(at, `parts[${part}].type`, {
      found: type,
      wanted: 'a type of parts that UI messages have, as "text" or "dynamic-tool"'
    });
  });
  return pieces.length > 0 ? pieces : [
    {
      kind: role,
      part: null,
      text: ""
    }
  ];
}

var drafts = /* @__PURE__ */ new WeakSet();
function draftOf(message) {
  const draft = Object.fromEntries(Object.entries(message).map(([key, value]) => [
    key,
    Array.isArray(value) ? [
      ...value
    ] : value
  ]));
  drafts.add(draft);
  return draft;
}
var EditedMessages = class {
  #messages;
  #drafts = /* @__PURE__ */ new Map();
  constructor(messages) {
    this.#messages = [
      ...messages
    ];
  }
  /** A message as it is by now. */
  at(index) {
    return this.#messages[index];
  }
  /** Changes a message by an edit of its {@link Format}. */
  edit(index, change) {
    const found = this.#messages[index];
    if (found === void 0) return;
    if (this.#drafts.has(index)) {
      this.#messages[index] = change(found);
      return;
    }
    const draft = draftOf(found);
    this.#drafts.set(index, draft);
    this.#messages[index] = change(draft);
  }
  /** All messages; from now on an edit of one of them gives a new message again. */
  settle() {
    for (const draft of this.#drafts.values()) drafts.delete(draft);
    return this.#messages;
  }
};
function partEdits(key) {
  const partsOf = (message) => {
    const parts2 = message[key];
    return Array.isArray(parts2) ? parts2 : [];
  };
  return {
    take: (message, part) => part === null ? message : partsOf(message)[part],
    without(message, gone) {
      const all = new Set(gone);
      if (all.has(null)) return null;
      const left = partsOf(message).filter((_, index) => !all.has(index));
      return left.length === 0 ? null : {
        ...message,
        [key]: left
      };
    },
    reorder: (message, order) => ({
      ...message,
      [key]: order.map((index) => partsOf(message)[index])
    }),
    edit(message, part, change) {
      if (part === null) return change(message);
      const parts2 = message[key];
      if (!Array.isArray(parts2) || part >= parts2.length) return message;
      const isDraft = drafts.has(message);
      const edited = isDraft ? parts2 : [
        ...parts2
      ];
      edited[part] = change(edited[part]);
      return isDraft ? message : {
        ...message,
        [key]: edited
      };
    },
    insert(message, index, added) {
      return {
        ...message,
        [key]: [
          ...partsOf(message).slice(0, index),
          ...added,
          ...partsOf(message).slice(index)
        ]
      };
    }
  };
}

function placesOf(pieces) {
  return pieces.flatMap((found, message) => found.map((piece) => ({
    message,
    piece
  })));
}
function isMade({ kind }) {
  return kind === "tool_use" || kind === "reasoning";
}
function isRound({ kind }) {
  return kind === "assistant" || kind === "reasoning" || kind === "tool_use";
}
function isSystem(message) {
  return message?.every(({ kind }) => kind === "system") === true;
}
function isRest(message) {
  return message.some(({ kind }) => kind === "tool_result") && !message.some(({ kind }) => kind === "assistant" || kind === "tool_use");
}
function hasLateResults(message) {
  if (!isRest(message)) return false;
  const other = message.findIndex(({ kind }) => kind !== "tool_result");
  return other >= 0 && message.slice(other).some(({ kind }) => kind === "tool_result");
}
function startsOf({ format, messages }) {
  const starts = [];
  for (const [at, message] of messages.entries()) {
    const joins = format.joins?.(message, messages[at - 1]) === true;
    starts.push(joins ? starts[at - 1] ?? at : at);
  }
  return starts;
}

var content = partEdits("content");
var parts = partEdits("parts");
function isUi(message) {
  return Array.isArray(message["parts"]);
}
function editsOf(message) {
  return isUi(message) ? parts : content;
}
function readOutput(output, at, field) {
  if (!isObject(output)) return {
    text: jsonText(output ?? "", at, field)
  };
  const type = String(output["type"]);
  const isError = type.startsWith("error") || type === "execution-denied";
  if (type !== "content") {
    return {
      text: jsonText(output["value"] ?? output["reason"] ?? "", at, field),
      isError
    };
  }
  const items = listAt(output["value"], at, field);
  const texts = items.map((item) => typeof item["text"] === "string" ? item["text"] : "").filter((text2) => text2 !== "");
  return {
    text: texts.join("\n"),
    files: items.filter((item) => typeof item["text"] !== "string").length
  };
}
function readModelPart(found, at, { role, part }) {
  const field = `content[${part}]`;
  const kind = role === "assistant" ? "assistant" : "user";
  const callId = typeof found["toolCallId"] === "string" ? found["toolCallId"] : "";
  const name = typeof found["toolName"] === "string" ? found["toolName"] : "";
  const type = textAt(found["type"], at, `${field}.type`);
  switch (type) {
    case "text":
      return {
        kind,
        part,
        text: textAt(found["text"], at, `${field}.text`),
        isText: true
      };
    case "reasoning":
      return {
        kind: "reasoning",
        part,
        text: textAt(found["text"], at, `${field}.text`, ""),
        isSigned: hasSignature(found["providerOptions"])
      };
    case "tool-call": {
      const input = found["input"] ?? found["args"] ?? {};
      return {
        kind: "tool_use",
        part,
        callId,
        name,
        text: jsonText(input, at, `${field}.input`),
        ...readInput(input, at, `${field}.input`),
        ...found["providerExecuted"] === true ? {
          isHosted: true
        } : {}
      };
    }
    case "tool-result":
      return {
        kind: "tool_result",
        part,
        callId,
        name,
        ...readOutput(found["output"] ?? found["result"], at, `${field}.output`)
      };
    case "tool-approval-request":
      return {
        kind: "tool_use",
        part,
        text: "",
        callId: approvalId(found, at, field),
        approval: true
      };
    case "tool-approval-response":
      return {
        kind: "tool_result",
        part,
        text: "",
        callId: approvalId(found, at, field),
        approval: true
      };
    case "image":
    case "file":
    case "reasoning-file":
      return {
        kind,
        part,
        text: "",
        files: 1
      };
    case "custom":
      return {
        kind,
        part,
        text: jsonText(found, at, field)
      };
    default:
      throw badMessage(at, `${field}.type`, {
        found: type,
        wanted: 'a type of parts that the AI SDK has, as "text" or "tool-call"'
      });
  }
}
function approvalId(found, at, field) {
  return `${APPROVAL}${textAt(found["approvalId"], at, `${field}.approvalId`, "")}`;
}
var aiSdk = {
  name: "ai-sdk",
  rules: {
    resultsFirst: false,
    firstFromUser: false,
    noEmptyText: false
  },
  isTypical(message) {
    const { parts: parts2, content: content2 } = message;
    if (Array.isArray(parts2)) {
      return parts2.length > 0 ? parts2.some((part) => isObject(part) && typeof part["type"] === "string") : message["role"] === "assistant" || "id" in message;
    }
    return Array.isArray(content2) && content2.some((part) => {
      if (!isObject(part)) return false;
      const type = String(part["type"]);
      return /^tool-(call|result|approval)|^reasoning$|^reasoning-file$/.test(type) || type === "image" && "image" in part || type === "file" && "mediaType" in part;
    });
  },
  read(message, at) {
    if (isUi(message)) return readUi(message, at);
    const role = message["role"];
    if (role !== "user" && role !== "assistant" && role !== "system" && role !== "tool") {
      throw badMessage(at, "role", {
        found: role,
        wanted: '"system", "user", "assistant" or "tool"'
      });
    }
    if (typeof message["content"] === "string" && role !== "tool") {
      return [
        {
          kind: role,
          part: null,
          text: message["content"],
          isText: true
        }
      ];
    }
    const pieces = listAt(message["content"], at, "content", role === "tool" ? "a list" : "text or a list").map((found, part) => readModelPart(found, at, {
      role,
      part
    }));
    const made = role === "assistant" ? void 0 : pieces.find(isMade);
    if (made !== void 0) {
      throw badMessage(at, `content[${made.part}]`, {
        found: made.kind === "reasoning" ? "reasoning" : "a tool call",
        wanted: "it in assistant messages only"
      });
    }
    return pieces.length > 0 ? pieces : [
      {
        kind: role === "assistant" ? "assistant" : "user",
        part: null,
        text: "",
        isBlank: role !== "tool"
      }
    ];
  },
  addResults(message, results) {
    const written = results.map(({ callId, name, text: text2, isError, raw }) => raw ?? {
      type: "tool-result",
      toolCallId: callId,
      toolName: name,
      output: {
        type: isError ? "error-text" : "text",
        value: text2
      }
    });
    if (message === null) return [
      {
        role: "tool",
        content: written
      }
    ];
    const found = message["content"];
    return [
      content.insert(message, Array.isArray(found) ? found.length : 0, written)
    ];
  },
  userText: (text2) => ({
    role: "user",
    content: [
      {
        type: "text",
        text: text2
      }
    ]
  }),
  take: (message, part) => editsOf(message).take(message, part),
  without: (message, gone) => editsOf(message).without(message, gone),
  reorder: (message, order) => editsOf(message).reorder(message, order),
  withCallId: (message, part, id) => editsOf(message).edit(message, part, (found) => ({
    ...found,
    toolCallId: id
  })),
  withName: (message, part, name) => content.edit(message, part, (found) => ({
    ...found,
    toolName: name
  })),
  withArguments: (message, part, input) => editsOf(message).edit(message, part, (found) => ({
    ...found,
    input
  })),
  withText(message, part, text2) {
    if (isUi(message)) {
      return parts.edit(message, part, (found) => {
        if (found["type"] === "text") return {
          ...found,
          text: text2
        };
        return found["state"] === "output-error" ? {
          ...found,
          errorText: text2
        } : {
          ...found,
          output: text2
        };
      });
    }
    if (part === null) return {
      ...message,
      content: text2
    };
    return content.edit(message, part, (found) => {
      if (found["type"] !== "tool-result") return {
        ...found,
        text: text2
      };
      const output = isObject(found["output"]) ? found["output"] : {};
      const type = String(output["type"]).startsWith("error") ? "error-text" : "text";
      return {
        ...found,
        output: {
          type,
          value: text2
        }
      };
    });
  },
  answerInPlace: (message, part, result) => parts.edit(message, part, (found) => {
    const { output: _, preliminary: __, approval, ...call } = objectAt(found, 0, "parts");
    const approved = isObject(approval) ? approval["approved"] : void 0;
    if (approved === false) return {
      ...call,
      state: "output-denied",
      approval
    };
    const answered = {
      ...call,
      ...approved === true ? {
        approval
      } : {}
    };
    return result.isError ? {
      ...answered,
      state: "output-error",
      errorText: result.text
    } : {
      ...answered,
      state: "output-available",
      output: result.text
    };
  })
};
var aiSdkUi = {
  ...aiSdk,
  userText: (text2) => ({
    id: `selvage-${text2.length}`,
    role: "user",
    parts: [
      {
        type: "text",
        text: text2
      }
    ]
  })
};

function push(lists, key, value) {
  const list = lists.get(key) ?? [];
  if (list.length === 0) lists.set(key, list);
  return list.push(value) - 1;
}

var Calls = class {
  /** Record index of each call. */
  records;
  #places;
  #byId = /* @__PURE__ */ new Map();
  #inMessage = /* @__PURE__ */ new Map();
  #approvals = /* @__PURE__ */ new Map();
  constructor(pieces) {
    const records = [];
    const places = [];
    let record = -1;
    for (const [at, message] of pieces.entries()) {
      for (const piece of message) {
        record++;
        if (piece.kind !== "tool_use") continue;
        push(this.#byId, piece.callId ?? "", records.length);
        const index = push(piece.approval === true ? this.#approvals : this.#inMessage, at, records.length);
        places.push({
          at,
          call: piece.approval === true ? -1 - index : index
        });
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
  named(name, field) {
    if (typeof name === "string") return this.#byId.get(name) ?? this.#byId.get(APPROVAL + name) ?? [];
    const call = name.call < 0 ? this.#approvals.get(name.at)?.[-1 - name.call] : this.#inMessage.get(name.at)?.[name.call];
    if (call === void 0) throw unknownCall(name, field);
    return [
      call
    ];
  }
  /** The place of a call. */
  placeOf(call) {
    const place2 = this.#places[call];
    if (place2 === void 0) {
      throw new RangeError(`Cannot place call ${call}: found ${this.#places.length} of them`);
    }
    return place2;
  }
  /** The places of calls that are told by their records. */
  placesOf(records) {
    return this.#places.filter((_, call) => records.has(this.records[call] ?? -1));
  }
};
function unknownCall(name, field) {
  const isId = typeof name === "string";
  const shown = isId ? JSON.stringify(name.slice(0, 100)) : `${name.call} of message ${name.at}`;
  return new SelvageError("unknown_call", `Cannot find the call ${shown}: wanted the id of a call in the messages, or the index of its message and its own`, {
    fields: {
      field,
      ...isId ? {} : {
        at: name.at
      }
    }
  });
}

var edits = partEdits("content");
var FILES = [
  "image",
  "document",
  "container_upload"
];
function isResult(block) {
  return isObject(block) && typeof block["type"] === "string" && /tool_result$/.test(block["type"]);
}
function readContent(content2, at, field) {
  if (content2 === void 0 || content2 === null) return {
    text: "",
    files: 0
  };
  if (typeof content2 === "string") return {
    text: content2,
    files: 0
  };
  if (!Array.isArray(content2)) return {
    text: jsonText(content2, at, field),
    files: 0
  };
  let files = 0;
  const texts = listAt(content2, at, field, "text or a list").map((block) => {
    if (block["type"] === "text") return textAt(block["text"], at, `${field}.text`, "");
    if (!FILES.includes(String(block["type"]))) return jsonText(block, at, field);
    files++;
    return "";
  });
  return {
    text: texts.filter((text2) => text2 !== "").join("\n"),
    files
  };
}
function isBlankText(block) {
  return isObject(block) && block["type"] === "text" && typeof block["text"] === "string" && block["text"].trim() === "";
}
function readBlock(block, at, { role, part }) {
  const field = `content[${part}]`;
  const type = textAt(block["type"], at, `${field}.type`);
  if (type === "text") {
    const text2 = textAt(block["text"], at, `${field}.text`);
    return {
      kind: role === "assistant" ? "assistant" : role === "system" ? "system" : "user",
      part,
      text: text2,
      isText: true
    };
  }
  if (type === "thinking" || type === "redacted_thinking") {
    const text2 = textAt(block["thinking"] ?? block["data"], at, `${field}.thinking`, "");
    const isSigned = type === "redacted_thinking" || typeof block["signature"] === "string" && block["signature"] !== "";
    return {
      kind: "reasoning",
      part,
      text: text2,
      isSigned
    };
  }
  if (/tool_use$/.test(type)) {
    const input = block["input"];
    const callId = textAt(block["id"], at, `${field}.id`, "");
    const name = textAt(block["name"], at, `${field}.name`, "");
    return {
      kind: "tool_use",
      part,
      text: jsonText(input ?? {}, at, `${field}.input`),
      callId,
      name,
      ...objectArguments(input, at, `${field}.input`),
      ...type === "tool_use" ? {} : {
        isHosted: true
      }
    };
  }
  if (isResult(block)) {
    const content2 = block["content"];
    const isBlank = Array.isArray(content2) && content2.some(isBlankText);
    const callId = textAt(block["tool_use_id"], at, `${field}.tool_use_id`, "");
    return {
      kind: "tool_result",
      part,
      callId,
      isError: block["is_error"] === true,
      ...isBlank ? {
        isBlank
      } : {},
      ...type === "tool_result" ? {} : {
        isHosted: true
      },
      ...readContent(block["content"], at, `${field}.content`)
    };
  }
  const kind = role === "assistant" ? "assistant" : "user";
  return FILES.includes(type) ? {
    kind,
    part,
    text: "",
    files: 1
  } : {
    kind,
    part,
    text: jsonText(block, at, field)
  };
}
function writeResult({ callId, text: text2, isError, raw }) {
  return raw ?? {
    type: "tool_result",
    tool_use_id: callId,
    content: text2,
    ...isError ? {
      is_error: true
    } : {}
  };
}
var anthropic = {
  name: "anthropic",
  rules: {
    resultsFirst: true,
    firstFromUser: true,
    noEmptyText: true,
    ids: /^[a-zA-Z0-9_-]+$/
  },
  isTypical(message) {
    const content2 = message["content"];
    return Array.isArray(content2) && content2.some((block) => isObject(block) && typeof block["type"] === "string" && (/^(thinking|redacted_thinking|\w*tool_use|\w*tool_result)$/.test(block["type"]) || FILES.includes(block["type"]) && isObject(block["source"])));
  },
  isLikely: (message) => "stop_reason" in message,
  read(message, at) {
    const role = message["role"];
    if (role !== "user" && role !== "assistant" && role !== "system") {
      throw badMessage(at, "role", {
        found: role,
        wanted: '"user", "assistant" or "system"'
      });
    }
    const content2 = message["content"];
    if (typeof content2 === "string") return [
      {
        kind: role,
        part: null,
        text: content2,
        isText: true
      }
    ];
    const pieces = listAt(content2, at, "content", "text or a list").map((block, part) => readBlock(block, at, {
      role,
      part
    }));
    const made = role === "assistant" ? void 0 : pieces.find(isMade);
    if (made !== void 0) {
      throw badMessage(at, `content[${made.part}]`, {
        found: made.kind === "reasoning" ? "thinking" : "a tool call",
        wanted: "it in assistant messages only"
      });
    }
    return pieces.length > 0 ? pieces : [
      {
        kind: role,
        part: null,
        text: "",
        isBlank: true
      }
    ];
  },
  addResults(message, results) {
    const written = results.map(writeResult);
    if (message === null) return [
      {
        role: "user",
        content: written
      }
    ];
    const content2 = message["content"];
    const last = Array.isArray(content2) ? content2.findLastIndex(isResult) : -1;
    return [
      edits.insert(message, last + 1, written)
    ];
  },
  userText: (text2) => ({
    role: "user",
    content: text2
  }),
  take: edits.take,
  without: edits.without,
  reorder: edits.reorder,
  withCallId: (message, part, id) => edits.edit(message, part, (block) => ({
    ...block,
    [isResult(block) ? "tool_use_id" : "id"]: id
  })),
  withArguments: (message, part, input) => edits.edit(message, part, (block) => ({
    ...block,
    input
  })),
  withText: (message, part, text2) => edits.edit(message, part, (block) => {
    if (part === null || isResult(block)) return {
      ...block,
      content: text2
    };
    return {
      ...objectAt(block, 0, "content"),
      text: text2
    };
  }),
  withoutBlanks: (message, part) => edits.edit(message, part, (block) => {
    const content2 = block["content"];
    return Array.isArray(content2) ? {
      ...block,
      content: content2.filter((found) => !isBlankText(found))
    } : block;
  })
};

var edits2 = partEdits("parts");
function readResponse(response, at, field) {
  if (!isObject(response)) return jsonText(response ?? "", at, field);
  const [[key, value] = [], ...more] = Object.entries(response);
  const isPlain2 = more.length === 0 && typeof value === "string" && /^(output|result|error)$/.test(key ?? "");
  return isPlain2 ? value : jsonText(response, at, field);
}
function readPart(part, at, { role, index }) {
  const field = `parts[${index}]`;
  const kind = role === "model" ? "assistant" : role === "system" ? "system" : "user";
  const signed = typeof part["thoughtSignature"] === "string" ? {
    isSigned: true
  } : {};
  if (part["functionCall"] !== void 0) {
    const call = objectAt(part["functionCall"], at, `${field}.functionCall`);
    const input = call["args"] ?? {};
    const callId = textAt(call["id"], at, `${field}.functionCall.id`, "");
    return {
      kind: "tool_use",
      part: index,
      text: jsonText(input, at, `${field}.functionCall.args`),
      callId,
      name: textAt(call["name"], at, `${field}.functionCall.name`, ""),
      idUse: "optional",
      ...objectArguments(input, at, `${field}.functionCall.args`),
      ...signed
    };
  }
  if (part["functionResponse"] !== void 0) {
    const answer2 = objectAt(part["functionResponse"], at, `${field}.functionResponse`);
    return {
      kind: "tool_result",
      part: index,
      text: readResponse(answer2["response"], at, `${field}.functionResponse.response`),
      idUse: "optional",
      callId: textAt(answer2["id"], at, `${field}.functionResponse.id`, ""),
      name: textAt(answer2["name"], at, `${field}.functionResponse.name`, ""),
      isError: isObject(answer2["response"]) && "error" in answer2["response"],
      ...answer2["willContinue"] === true ? {
        interim: true
      } : {}
    };
  }
  if (typeof part["text"] === "string") {
    if (part["thought"] === true) return {
      kind: "reasoning",
      part: index,
      text: part["text"],
      ...signed
    };
    return {
      kind,
      part: index,
      text: part["text"],
      isText: true,
      ...signed
    };
  }
  if ("inlineData" in part || "fileData" in part) return {
    kind,
    part: index,
    text: "",
    files: 1
  };
  return {
    kind,
    part: index,
    text: jsonText(part, at, field)
  };
}
var gemini = {
  name: "gemini",
  rules: {
    resultsFirst: false,
    firstFromUser: false,
    noEmptyText: false
  },
  isTypical({ parts: parts2, role, id }) {
    if (!Array.isArray(parts2)) return false;
    return parts2.length > 0 ? !parts2.some((part) => isObject(part) && typeof part["type"] === "string") : role !== "assistant" && id === void 0;
  },
  read(message, at) {
    const role = message["role"] ?? "user";
    if (role !== "user" && role !== "model" && role !== "function" && role !== "system") {
      throw badMessage(at, "role", {
        found: role,
        wanted: '"user" or "model"'
      });
    }
    const pieces = listAt(message["parts"], at, "parts").map((part, index) => readPart(part, at, {
      role,
      index
    }));
    const made = role === "model" ? void 0 : pieces.find((piece) => piece.kind === "tool_use");
    if (made !== void 0) {
      throw badMessage(at, `parts[${made.part}]`, {
        found: "a functionCall",
        wanted: 'it in contents of the role "model" only'
      });
    }
    return pieces.length > 0 ? pieces : [
      {
        kind: role === "model" ? "assistant" : "user",
        part: null,
        text: "",
        isBlank: true
      }
    ];
  },
  addResults(message, results) {
    const written = results.map(({ callId, name, text: text2, isError, raw }) => raw ?? {
      functionResponse: {
        name,
        response: {
          [isError ? "error" : "output"]: text2
        },
        ...callId === "" ? {} : {
          id: callId
        }
      }
    });
    if (message === null) return [
      {
        role: "user",
        parts: written
      }
    ];
    const parts2 = message["parts"];
    const last = Array.isArray(parts2) ? parts2.findLastIndex((part) => isObject(part) && "functionResponse" in part) : -1;
    return [
      edits2.insert(message, last + 1, written)
    ];
  },
  userText: (text2) => ({
    role: "user",
    parts: [
      {
        text: text2
      }
    ]
  }),
  take: edits2.take,
  without: edits2.without,
  reorder: edits2.reorder,
  withCallId: (message, part, id) => editInner(message, part, (inner) => ({
    ...inner,
    id
  })),
  withName: (message, part, name) => editInner(message, part, (inner) => ({
    ...inner,
    name
  })),
  withArguments: (message, part, args) => editInner(message, part, (inner) => ({
    ...inner,
    args
  })),
  withText(message, part, text2) {
    if (part === null) return {
      ...message,
      parts: [
        {
          text: text2
        }
      ]
    };
    return edits2.edit(message, part, (found) => {
      const answer2 = found["functionResponse"];
      if (!isObject(answer2)) return {
        ...found,
        text: text2
      };
      const failed = isObject(answer2["response"]) && "error" in answer2["response"];
      return {
        ...found,
        functionResponse: {
          ...answer2,
          response: {
            [failed ? "error" : "output"]: text2
          }
        }
      };
    });
  }
};
function editInner(message, part, change) {
  return edits2.edit(message, part, (found) => {
    const key = "functionCall" in found ? "functionCall" : "functionResponse";
    const inner = found[key];
    return {
      ...found,
      [key]: change(isObject(inner) ? inner : {})
    };
  });
}

var edits3 = partEdits("content");
var calls = partEdits("tool_calls");
var CALLS = 1e6;
var OLD_CALL = -1;
var FILES2 = /^(image|audio|video|file|document|input_audio|input_image)$|_url$/;
var OTHERS = /^(thinking|reference|audio_transcript)$/;
function readContent2(content2, at, kind) {
  if (content2 === void 0 || content2 === null) return [];
  if (typeof content2 === "string") return [
    {
      kind,
      part: null,
      text: content2,
      isText: true
    }
  ];
  return listAt(content2, at, "content", "text or a list").map((item, part) => {
    const field = `content[${part}]`;
    const type = textAt(item["type"], at, `${field}.type`);
    if (type === "text" || type === "refusal") {
      return {
        kind,
        part,
        text: textAt(item[type], at, `${field}.${type}`),
        isText: type === "text"
      };
    }
    if (FILES2.test(type)) return {
      kind,
      part,
      text: "",
      files: 1
    };
    if (OTHERS.test(type)) return {
      kind,
      part,
      text: jsonText(item, at, field)
    };
    throw badMessage(at, `${field}.type`, {
      found: type,
      wanted: '"text", "refusal", "image_url", "input_audio" or "file"'
    });
  });
}
function readCall(call, at, index) {
  const isCustom = call["function"] === void 0 || call["function"] === null;
  const kind = isCustom && call["custom"] !== void 0 ? "custom" : "function";
  const field = `tool_calls[${index}]`;
  const made = objectAt(call[kind], at, `${field}.${kind}`);
  const callId = textAt(call["id"], at, `${field}.id`, "");
  const name = textAt(made["name"], at, `${field}.${kind}.name`, "");
  const base = {
    kind: "tool_use",
    part: CALLS + index,
    callId,
    name
  };
  if (kind === "custom") {
    const text3 = jsonText(made["input"] ?? "", at, `${field}.custom.input`);
    return {
      ...base,
      text: text3,
      input: text3
    };
  }
  const written = `${field}.function.arguments`;
  const text2 = jsonText(made["arguments"] ?? "", at, written);
  return {
    ...base,
    text: text2,
    ...parseArguments(made["arguments"], at, written)
  };
}
function readOldCall(found, at) {
  const made = objectAt(found, at, "function_call");
  const field = "function_call.arguments";
  return {
    kind: "tool_use",
    part: OLD_CALL,
    idUse: "none",
    text: jsonText(made["arguments"] ?? "", at, field),
    name: textAt(made["name"], at, "function_call.name", ""),
    ...parseArguments(made["arguments"], at, field)
  };
}
var SAID = [
  "refusal",
  "audio"
];
function readResult(message, at) {
  const pieces = readContent2(message["content"], at, "tool_result");
  const name = message["name"];
  return {
    kind: "tool_result",
    part: null,
    text: pieces.map((piece) => piece.text).join("\n"),
    files: pieces.reduce((sum, piece) => sum + (piece.files ?? 0), 0),
    callId: textAt(message["tool_call_id"], at, "tool_call_id", ""),
    ...typeof name === "string" ? {
      name
    } : {},
    ...message["role"] === "function" ? {
      idUse: "none"
    } : {}
  };
}
function hasOwnPart(content2) {
  return Array.isArray(content2) && content2.some((part) => {
    if (!isObject(part)) return false;
    return /^(image_url|input_audio)$/.test(String(part["type"])) || isObject(part["file"]);
  });
}
var openaiChat = {
  name: "openai-chat",
  rules: {
    resultsFirst: false,
    firstFromUser: false,
    noEmptyText: false
  },
  isTypical: (message) => "tool_calls" in message || message["role"] === "tool" && "tool_call_id" in message || isObject(message["function_call"]) || message["role"] === "function" && "name" in message || hasOwnPart(message["content"]),
  isLikely: (message) => message["role"] === "developer" && message["type"] === void 0,
  read(message, at) {
    const role = message["role"];
    switch (role) {
      case "system":
      case "developer":
        return nonEmpty(readContent2(message["content"], at, "system"), "system");
      case "user":
        return nonEmpty(readContent2(message["content"], at, "user"), "user");
      case "assistant": {
        const made = message["tool_calls"];
        const found = made === void 0 || made === null ? [] : listAt(made, at, "tool_calls");
        const old = message["function_call"];
        const read = [
          ...found.map((call, index) => readCall(call, at, index)),
          ...old === void 0 || old === null ? [] : [
            readOldCall(old, at)
          ]
        ];
        const text2 = readContent2(message["content"], at, "assistant");
        const reasoning = message["reasoning_content"] ?? message["reasoning"];
        const all = [
          ...typeof reasoning === "string" ? [
            {
              kind: "reasoning",
              part: null,
              text: reasoning
            }
          ] : [],
          // An empty text beside calls is how many servers say "no text": it is nothing.
          ...read.length > 0 ? text2.filter((piece) => piece.text !== "" || piece.files !== void 0) : text2,
          ...read
        ];
        if (text2.length > 0 || read.length > 0) return all;
        const isSaid = SAID.some((field) => message[field] !== void 0 && message[field] !== null);
        return [
          ...all,
          {
            kind: "assistant",
            part: null,
            text: "",
            ...isSaid ? {} : {
              isBlank: true
            }
          }
        ];
      }
      case "tool":
      case "function":
        return [
          readResult(message, at)
        ];
      default:
        throw badMessage(at, "role", {
          found: role,
          wanted: '"system", "developer", "user", "assistant" or "tool"'
        });
    }
  },
  addResults: (message, results) => [
    ...message === null ? [] : [
      message
    ],
    ...results.map(({ callId, name, text: text2, isError, raw, call }) => {
      if (isObject(raw)) return raw;
      const content2 = isError ? `Error: ${text2}` : text2;
      return call?.idUse === "none" && callId === "" ? {
        role: "function",
        name,
        content: content2
      } : {
        role: "tool",
        tool_call_id: callId,
        content: content2
      };
    })
  ],
  userText: (text2) => ({
    role: "user",
    content: text2
  }),
  take: (message, part) => part !== null && part >= CALLS ? calls.take(message, part - CALLS) : edits3.take(message, part),
  without(message, parts2) {
    if (parts2.includes(null)) return null;
    const gone = parts2.filter((part) => part !== null);
    return edits3.without(message, gone.filter((part) => part >= 0 && part < CALLS));
  },
  reorder: edits3.reorder,
  withCallId(message, part, id) {
    if (part === null) {
      if (message["role"] !== "function") return {
        ...message,
        tool_call_id: id
      };
      const { name: _, ...rest } = message;
      return {
        ...rest,
        role: "tool",
        tool_call_id: id
      };
    }
    if (part === OLD_CALL) {
      const { function_call: made, ...rest } = message;
      const others = Array.isArray(message["tool_calls"]) ? message["tool_calls"] : [];
      return {
        ...rest,
        tool_calls: [
          ...others,
          {
            id,
            type: "function",
            function: made
          }
        ]
      };
    }
    return calls.edit(message, part - CALLS, (call) => ({
      ...call,
      id
    }));
  },
  withArguments(message, part, input) {
    const written = JSON.stringify(input);
    const old = message["function_call"];
    if (part === OLD_CALL && isObject(old)) {
      return {
        ...message,
        function_call: {
          ...old,
          arguments: written
        }
      };
    }
    const made = message["tool_calls"];
    const index = part === OLD_CALL ? (Array.isArray(made) ? made.length : 0) - 1 : (part ?? CALLS) - CALLS;
    return calls.edit(message, index, (call) => ({
      ...call,
      function: {
        ...isObject(call["function"]) ? call["function"] : {},
        arguments: written
      }
    }));
  },
  withText: (message, part, text2) => part === null ? {
    ...message,
    content: text2
  } : edits3.edit(message, part, (item) => ({
    ...item,
    text: text2
  }))
};
function nonEmpty(pieces, kind) {
  return pieces.length > 0 ? pieces : [
    {
      kind,
      part: null,
      text: "",
      isBlank: true
    }
  ];
}

var edits4 = partEdits("content");
var OUTPUTS = {
  function_call: "function_call_output",
  custom_tool_call: "custom_tool_call_output",
  computer_call: "computer_call_output",
  local_shell_call: "local_shell_call_output",
  shell_call: "shell_call_output",
  apply_patch_call: "apply_patch_call_output"
};
var OTHERS2 = [
  "reasoning",
  "file_search_call",
  "web_search_call",
  "code_interpreter_call",
  "image_generation_call",
  "tool_search_call",
  "tool_search_output",
  "mcp_list_tools",
  "mcp_call",
  "mcp_approval_request",
  "mcp_approval_response",
  "program",
  "program_output",
  "additional_tools",
  "configuration_update",
  "item_reference",
  "compaction",
  "compaction_trigger",
  "compaction_summary",
  "context_compaction",
  "ghost_snapshot"
];
var ITEMS = /* @__PURE__ */ new Set([
  ...OTHERS2,
  ...Object.entries(OUTPUTS).flat()
]);
var CONTENT = /^(input|output)_(text|image|file|audio)$/;
var NO_SCREENSHOT = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=";
function isAssistantItem(item) {
  const type = String(item["type"] ?? "message");
  return type === "message" ? item["role"] === "assistant" : type !== "compaction" && !/_(output|response)$/.test(type);
}
function readPart2(part, at, field) {
  const text2 = part["text"] ?? part["refusal"];
  if (typeof text2 === "string") return {
    text: text2,
    isText: true
  };
  const isFile = /image|file|audio|screenshot/.test(String(part["type"]));
  return isFile ? {
    text: "",
    files: 1
  } : {
    text: jsonText(part, at, field)
  };
}
function readMessage(item, at) {
  const role = item["role"];
  const kind = role === "developer" ? "system" : role;
  if (kind !== "system" && kind !== "user" && kind !== "assistant") {
    throw badMessage(at, "role", {
      found: role,
      wanted: '"system", "developer", "user" or "assistant"'
    });
  }
  const content2 = item["content"];
  if (typeof content2 === "string") return [
    {
      kind,
      part: null,
      text: content2,
      isText: true
    }
  ];
  const pieces = listAt(content2, at, "content", "text or a list").map((part, index) => ({
    kind,
    part: index,
    ...readPart2(part, at, `content[${index}]`)
  }));
  return pieces.length > 0 ? pieces : [
    {
      kind,
      part: null,
      text: "",
      isBlank: true
    }
  ];
}
function readOutput2(item, at) {
  const { output, status } = item;
  const parts2 = Array.isArray(output) ? listAt(output, at, "output") : isObject(output) ? [
    output
  ] : [];
  const read = parts2.map((part, index) => readPart2(part, at, `output[${index}]`));
  const texts = read.map(({ text: text2 }) => text2).filter((text2) => text2 !== "");
  return {
    kind: "tool_result",
    part: null,
    itemType: String(item["type"]),
    text: parts2.length > 0 || Array.isArray(output) ? texts.join("\n") : jsonText(output ?? "", at, "output"),
    files: read.reduce((sum, { files = 0 }) => sum + files, 0),
    // Published types name the call of a local shell in `id`, the service does in `call_id`.
    callId: textAt(item["call_id"] ?? (item["type"] === "local_shell_call_output" ? item["id"] : void 0), at, "call_id", ""),
    isError: status === "incomplete" || status === "failed"
  };
}
function readCall2(item, at, type) {
  const piece = {
    kind: "tool_use",
    part: null,
    itemType: type,
    callId: textAt(item["call_id"], at, "call_id", "")
  };
  if (type === "function_call") {
    const made = item["arguments"];
    const parsed = parseArguments(made, at, "arguments");
    const text2 = jsonText(made ?? "", at, "arguments");
    return {
      ...piece,
      text: text2,
      name: textAt(item["name"], at, "name", ""),
      ...parsed
    };
  }
  if (type === "custom_tool_call") {
    const text2 = jsonText(item["input"] ?? item["arguments"] ?? "", at, "input");
    return {
      ...piece,
      text: text2,
      input: text2,
      name: textAt(item["name"], at, "name", "")
    };
  }
  const input = item["action"] ?? item["actions"] ?? item["operation"] ?? {};
  return {
    ...piece,
    text: jsonText(item, at, type),
    input,
    name: type
  };
}
function writeResult2({ callId, text: text2, isError, raw, call }) {
  if (isObject(raw)) return raw;
  const type = OUTPUTS[call?.itemType ?? ""] ?? "function_call_output";
  const said = isError ? `Error: ${text2}` : text2;
  const item = {
    type,
    call_id: callId
  };
  switch (type) {
    case "computer_call_output":
      return {
        ...item,
        output: outputOf(type, said),
        ...isError ? {
          status: "incomplete"
        } : {}
      };
    case "local_shell_call_output":
      return {
        ...item,
        id: callId,
        output: said,
        ...isError ? {
          status: "incomplete"
        } : {}
      };
    case "apply_patch_call_output":
      return {
        ...item,
        status: isError ? "failed" : "completed",
        output: said
      };
    case "shell_call_output": {
      const outcome = {
        type: "exit",
        exit_code: isError ? 1 : 0
      };
      return {
        ...item,
        output: [
          {
            stdout: isError ? "" : text2,
            stderr: isError ? said : "",
            outcome
          }
        ]
      };
    }
    default:
      return {
        ...item,
        output: said
      };
  }
}
function outputOf(type, text2, before) {
  if (type === "computer_call_output") return {
    type: "computer_screenshot",
    image_url: NO_SCREENSHOT
  };
  if (type !== "shell_call_output") return text2;
  const last = Array.isArray(before) ? before.at(-1) : void 0;
  const outcome = isObject(last) && isObject(last["outcome"]) ? last["outcome"] : {
    type: "exit",
    exit_code: 0
  };
  return [
    {
      stdout: text2,
      stderr: "",
      outcome
    }
  ];
}
var openaiResponses = {
  name: "openai-responses",
  rules: {
    resultsFirst: false,
    firstFromUser: false,
    noEmptyText: false
  },
  isTypical(item) {
    if (typeof item["type"] === "string" && ITEMS.has(item["type"]) && !("parts" in item)) return true;
    const content2 = item["content"];
    return Array.isArray(content2) && content2.some((part) => isObject(part) && CONTENT.test(String(part["type"])));
  },
  isLikely: (item) => item["type"] === "message" && !("stop_reason" in item),
  joins: (item, previous) => previous !== void 0 && isAssistantItem(item) && isAssistantItem(previous),
  read(item, at) {
    const type = textAt(item["type"], at, "type", "message");
    if (type === "message") return readMessage(item, at);
    if (OUTPUTS[type] !== void 0) return [
      readCall2(item, at, type)
    ];
    if (type === "reasoning") {
      const text2 = jsonText(item["summary"] ?? item["content"] ?? "", at, "summary");
      return [
        {
          kind: "reasoning",
          part: null,
          text: text2,
          isSigned: "encrypted_content" in item,
          sticks: true
        }
      ];
    }
    if (/_call_output$/.test(type)) return [
      readOutput2(item, at)
    ];
    if (type === "mcp_approval_request") {
      const callId = `${APPROVAL}${textAt(item["id"], at, "id", "")}`;
      const name = textAt(item["name"], at, "name", "");
      return [
        {
          kind: "tool_use",
          part: null,
          text: jsonText(item, at, type),
          callId,
          name,
          approval: true
        }
      ];
    }
    if (type === "mcp_approval_response") {
      const callId = `${APPROVAL}${textAt(item["approval_request_id"], at, "approval_request_id", "")}`;
      return [
        {
          kind: "tool_result",
          part: null,
          text: "",
          callId,
          approval: true
        }
      ];
    }
    if (ITEMS.has(type) || /_call$/.test(type)) {
      return [
        {
          kind: "assistant",
          part: null,
          text: jsonText(item, at, type)
        }
      ];
    }
    throw badMessage(at, "type", {
      found: type,
      wanted: "a type of items that the Responses API has"
    });
  },
  link(pieces, messages) {
    const ids = /* @__PURE__ */ new Map();
    const known = /* @__PURE__ */ new Set();
    for (const [at, item] of messages.entries()) {
      const { type, id, call_id: callId } = item;
      if (pieces[at]?.[0]?.kind !== "tool_use" || typeof callId !== "string") continue;
      known.add(callId);
      if (type === "local_shell_call" && typeof id === "string") ids.set(id, callId);
    }
    return pieces.map((found) => found.map((piece) => {
      const callId = piece.kind === "tool_result" ? ids.get(piece.callId ?? "") : void 0;
      return callId === void 0 || known.has(piece.callId ?? "") ? piece : {
        ...piece,
        callId
      };
    }));
  },
  addResults: (item, results) => [
    ...item === null ? [] : [
      item
    ],
    ...results.map(writeResult2)
  ],
  userText: (text2) => ({
    type: "message",
    role: "user",
    content: text2
  }),
  take: edits4.take,
  without: edits4.without,
  reorder: edits4.reorder,
  withCallId(item, _, id) {
    const isShell = item["type"] === "local_shell_call_output" && "id" in item;
    return {
      ...item,
      ...isShell ? {
        id
      } : {},
      ...isShell && !("call_id" in item) ? {} : {
        call_id: id
      }
    };
  },
  withArguments: (item, _, input) => ({
    ...item,
    arguments: JSON.stringify(input)
  }),
  withText(item, part, text2) {
    if (part !== null) return edits4.edit(item, part, (found) => ({
      ...found,
      text: text2
    }));
    const type = String(item["type"]);
    return /_output$/.test(type) ? {
      ...item,
      output: outputOf(type, text2, item["output"])
    } : {
      ...item,
      content: text2
    };
  }
};

var FORMATS = [
  aiSdk,
  gemini,
  anthropic,
  openaiChat,
  openaiResponses
];
var FORMAT_NAMES = FORMATS.map((format) => format.name);
var WRAPPERS = [
  "message",
  "payload",
  "item",
  "data",
  "body"
];
function wrapperOf(message) {
  return WRAPPERS.find((field) => {
    const inner = message[field];
    if (!isObject(inner) || "role" in message || "content" in message || "parts" in message) return false;
    return [
      "role",
      "type",
      "content",
      "parts"
    ].some((key) => key in inner);
  }) ?? null;
}
function mostTypical(messages, isOf) {
  const votes = FORMATS.map((format) => messages.filter((message) => isOf(format, message)).length);
  const most = Math.max(...votes);
  return most === 0 ? null : FORMATS[votes.indexOf(most)]?.name ?? null;
}
function detectFormat(messages) {
  const typical = mostTypical(messages, (format, message) => format.isTypical(message));
  if (typical !== null) return typical;
  const strange = messages.findIndex((message) => typeof message["role"] !== "string" || !("content" in message));
  if (strange < 0) {
    return mostTypical(messages, (format, message) => format.isLikely?.(message) === true) ?? "openai-chat";
  }
  const wrapped = messages.findIndex((message) => wrapperOf(message) !== null);
  const wrapper = wrapperOf(messages[wrapped] ?? {});
  const { role, type } = messages[strange] ?? {};
  const found = type === void 0 ? `${sayValue(role)} in role and no content` : `${sayValue(type)} in type and ${sayValue(role)} in role`;
  throw new SelvageError("unknown_format", wrapper === null ? `Cannot tell the format of the messages: found ${typeof role === "string" && type === void 0 ? `the role ${sayValue(role)} without content` : found} in message ${strange}, wanted messages of one of ${FORMAT_NAMES.join(", ")}` : `Cannot tell the format of the messages: found what seem to be lines of a log with the messages inside \`${wrapper}\` (message ${wrapped}), wanted the messages themselves`, {
    fields: wrapper === null ? {
      at: strange,
      field: typeof role === "string" ? "content" : "role"
    } : {
      at: wrapped,
      field: wrapper,
      inside: wrapper
    }
  });
}

function groupBy(items, keyOf2) {
  const groups = /* @__PURE__ */ new Map();
  for (const item of items) {
    const key = keyOf2(item);
    const group = groups.get(key);
    if (group === void 0) groups.set(key, [
      item
    ]);
    else group.push(item);
  }
  return groups;
}

function idsByPlace({ pieces, starts }) {
  const ids = /* @__PURE__ */ new Map();
  const known = new Set(pieces.flat().map((piece) => piece.kind === "tool_use" ? piece.callId : void 0));
  let calls2 = [];
  let results = [];
  const settle = () => {
    pairRound({
      calls: calls2,
      results,
      known
    }, ids);
    calls2 = [];
    results = [];
  };
  let record = 0;
  for (const [at, message] of pieces.entries()) {
    const hasResults = message.some((piece) => piece.kind === "tool_result");
    const isAnswer = hasResults && !message.some(isRound);
    if (!isAnswer && starts[at] === at) settle();
    for (const piece of message) {
      const found = {
        record: record++,
        piece
      };
      if (piece.approval === true || piece.isInPlace === true) continue;
      if (piece.kind === "tool_use") calls2.push(found);
      if (piece.kind === "tool_result") results.push(found);
    }
    if (isAnswer && message.some((piece) => piece.kind !== "tool_result")) settle();
  }
  settle();
  return ids;
}
function pairRound({ calls: calls2, results, known }, ids) {
  const hasId = ({ piece }) => Boolean(piece.callId);
  if (calls2.every(hasId) ? results.every(hasId) : !calls2.some(hasId) && !results.some(hasId)) return;
  const answered = /* @__PURE__ */ new Map();
  for (const { piece } of results) {
    if (piece.callId) answered.set(piece.callId, (answered.get(piece.callId) ?? 0) + 1);
  }
  const waiting = calls2.filter(({ piece }) => {
    const left = answered.get(piece.callId ?? "") ?? 0;
    if (left > 0) answered.set(piece.callId ?? "", left - 1);
    return left === 0;
  });
  const queues = /* @__PURE__ */ new Map();
  const byName = groupBy(waiting, ({ piece }) => piece.name ?? "");
  const taken = /* @__PURE__ */ new Set();
  const next = (name, idless) => {
    const key = `${idless} ${name}`;
    const queue = queues.get(key) ?? (name === "" ? waiting : byName.get(name) ?? []).values();
    queues.set(key, queue);
    let call = queue.next().value;
    while (call !== void 0 && (taken.has(call) || idless && hasId(call))) call = queue.next().value;
    return call;
  };
  const bare = groupBy(results.filter((result) => !hasId(result)), ({ piece }) => piece.name ?? "");
  const isShort = (name) => (bare.get(name)?.length ?? 0) < (name === "" ? waiting : byName.get(name) ?? []).length;
  const used = /* @__PURE__ */ new Set();
  for (const { record, piece } of results) {
    const { callId, name = "" } = piece;
    if (callId && (known.has(callId) || used.has(callId))) continue;
    const first = callId || isShort(name) ? next(name, true) : void 0;
    const call = first ?? (callId ? void 0 : next(name, false));
    if (call === void 0) continue;
    taken.add(call);
    if (callId) {
      used.add(callId);
      ids.set(call.record, callId);
    } else if (call.piece.callId) ids.set(record, call.piece.callId);
  }
}
function earlyResults(transcript, { pieces, starts }) {
  const early = /* @__PURE__ */ new Map();
  const { records, pairs } = transcript;
  const strays = [];
  const times = /* @__PURE__ */ new Map();
  for (const [index, { kind, callId, approval }] of records.entries()) {
    if (kind !== "tool_result" || !callId || approval === true) continue;
    times.set(callId, (times.get(callId) ?? 0) + 1);
    if (transcript.pairOfResult(index) === null) strays.push(index);
  }
  if (strays.length === 0) return early;
  const calls2 = /* @__PURE__ */ new Map();
  for (const [index, { call }] of pairs.entries()) {
    const id = records[call]?.callId;
    if (id) calls2.set(id, calls2.has(id) ? null : index);
  }
  const others = [
    0
  ];
  for (const [at, message] of pieces.entries()) {
    others.push((others[at] ?? 0) + (message.every(({ kind }) => kind === "tool_result") ? 0 : 1));
  }
  for (const stray of strays) {
    const { callId = "", message = 0 } = records[stray] ?? {};
    const pair = pairs[calls2.get(callId) ?? -1];
    const call = records[pair?.call ?? -1];
    if (pair === void 0 || call === void 0 || pair.result !== null || times.get(callId) !== 1) continue;
    const start = starts[call.message] ?? 0;
    const isNext = start > message && others[start] === others[message + 1];
    if (isNext && !pieces[message]?.some(isRound)) early.set(stray, pair.call);
  }
  return early;
}

function counted(number2, noun, many = `${noun}s`) {
  return `${number2} ${number2 === 1 ? noun : many}`;
}

var FILE_TOKENS = 1600;
var OVERHEAD = 4;
function estimateTokens(text2) {
  return Math.ceil(text2.length / 4);
}
function priceOf(pieces, { measure, total }) {
  if (total === void 0) {
    return pieces.map((piece) => measure(piece.text) + measure(piece.name ?? "") + (piece.files ?? 0) * FILE_TOKENS + OVERHEAD);
  }
  const weights = pieces.map((piece) => piece.text.length + (piece.files ?? 0) * FILE_TOKENS * 4 + 1);
  const sum = weights.reduce((a, b) => a + b, 0);
  const shares = weights.map((weight) => Math.floor(total * weight / sum));
  return shares.map((tokens, index) => index === 0 ? tokens + total - shares.reduce((a, b) => a + b, 0) : tokens);
}
function refuseTokens(tokens, messages) {
  const bad = tokens.findIndex((count) => count !== void 0 && !(count >= 0 && count <= Number.MAX_SAFE_INTEGER));
  if (tokens.length === messages && bad < 0) return;
  const found = bad < 0 ? `${tokens.length} for ${counted(messages, "message")}` : `${tokens[bad]} for message ${bad}`;
  throw new SelvageError("bad_tokens", `Cannot use the token counts: found ${found}, wanted one number a message, 0 or more`, {
    fields: {
      field: "tokens",
      ...bad < 0 ? {} : {
        at: bad
      }
    }
  });
}

var NO_PROMISES = {
  promised: /* @__PURE__ */ new Set(),
  interim: /* @__PURE__ */ new Set(),
  settled: /* @__PURE__ */ new Set()
};
function findCall(name, { calls: calls2, lasting, transcript }) {
  const { records, pairs } = transcript;
  const named = calls2.named(name, "inFlight");
  const found = named.findLast((call2) => pairs[call2]?.state !== "answered") ?? named.at(-1);
  if (found === void 0) throw unknownCall(name, "inFlight");
  const { call = 0, result = null, state } = pairs[found] ?? {};
  const record = calls2.records[found] ?? call;
  if (state !== "answered" || lasting.has(record)) return record;
  const shown = typeof name === "string" ? JSON.stringify(name.slice(0, 100)) : `${name.call}`;
  throw new SelvageError("call_answered", `Cannot take the call ${shown} of message ${records[call]?.message} as in flight: found its result in message ${records[result ?? -1]?.message}, wanted a call without one, or one that is named as long-running too`, {
    fields: {
      field: "inFlight",
      at: records[call]?.message
    }
  });
}
function promisesOf(transcript, { calls: calls2, inFlight, lasting }) {
  const promised = new Set((inFlight ?? []).map((name) => findCall(name, {
    calls: calls2,
    lasting,
    transcript
  })));
  const interim = /* @__PURE__ */ new Set();
  const settled = /* @__PURE__ */ new Set();
  if (inFlight === void 0) return NO_PROMISES;
  for (const [index, record] of transcript.records.entries()) {
    const pair = record.kind === "tool_result" ? transcript.pairOfResult(index) : null;
    if (pair === null) continue;
    const { call } = pair;
    if (lasting.has(call)) {
      if (promised.has(call)) interim.add(index);
    } else if (record.interim === true && !promised.has(call)) {
      if (transcript.records[call]?.message !== record.message) settled.add(index).add(call);
    }
  }
  return {
    promised,
    interim,
    settled
  };
}

function readPieces(messages, { format, options }) {
  const { isSummary = () => false } = options;
  const pieces = messages.map((message, at) => {
    try {
      const read = format.read(message, at);
      const [only] = read;
      return read.length === 1 && only?.kind === "user" && isSummary(only.text) ? [
        {
          ...only,
          kind: "summary"
        }
      ] : read;
    } catch (error) {
      throw error instanceof SelvageError ? explain(error, message, {
        format,
        options
      }) : error;
    }
  });
  return format.link?.(pieces, messages) ?? pieces;
}
function explain(error, message, { format, options }) {
  const wrapper = wrapperOf(message);
  const inside = wrapper === null ? "" : `; the message itself seems to be inside \`${wrapper}\``;
  const how = options.format === void 0 ? ", which the messages look like; `format` (--format) names another one" : ", as it was named";
  return new SelvageError(error.code, `${error.message}${inside} (read as ${format.name}${how})`, {
    cause: error,
    fields: {
      ...error.fields,
      ...wrapper === null ? {} : {
        inside: wrapper
      }
    }
  });
}
function chooseFormat(messages, name) {
  const wanted = name ?? detectFormat(messages);
  if (wanted === "ai-sdk") {
    return messages.some((message) => Array.isArray(message["parts"])) ? aiSdkUi : aiSdk;
  }
  const format = FORMATS.find((format2) => format2.name === wanted);
  if (format === void 0) {
    throw new SelvageError("unknown_format", `Cannot read the format ${JSON.stringify(wanted.slice(0, 40))}: wanted ${FORMAT_NAMES.join(", ")}`, {
      fields: {
        field: "format"
      }
    });
  }
  return format;
}
function signedLoop(pieces) {
  const isPrompt = (message) => message.some((piece) => piece.kind === "user" || piece.kind === "summary") && !message.some((piece) => piece.kind === "tool_result");
  const from = pieces.findLastIndex(isPrompt) + 1;
  const loop = pieces.slice(from);
  const last = loop.findLastIndex((message) => message.some((piece) => piece.kind === "tool_use" || piece.kind === "tool_result"));
  if (last < 0 || !loop.slice(0, last + 1).some((message) => message.some((piece) => piece.isSigned === true))) return null;
  return {
    from,
    to: from + last + 1
  };
}
function isInside(loop, message) {
  return loop !== null && message > loop.from && message < loop.to;
}
function readTranscript(messages, options = {}) {
  if (!Array.isArray(messages)) {
    throw new SelvageError("bad_transcript", "Cannot read the transcript: found no list of messages, wanted one", {
      fields: {
        field: "messages"
      }
    });
  }
  const objects = messages.map((message, at) => {
    if (!isObject(message)) {
      throw badMessage(at, `messages[${at}]`, {
        found: message,
        wanted: "an object"
      });
    }
    refuseDeep(message, at);
    return message;
  });
  const { tokens, measure = estimateTokens } = options;
  if (tokens !== void 0) refuseTokens(tokens, objects.length);
  const format = chooseFormat(objects, options.format);
  const pieces = readPieces(objects, {
    format,
    options
  });
  const prices = pieces.map((message, at) => priceOf(message, {
    measure,
    total: tokens?.[at]
  }));
  const loop = options.thinking === "ignore" ? null : signedLoop(pieces);
  const { inFlight } = options;
  const calls2 = new Calls(pieces);
  const lasting = lastingCalls(calls2, {
    pieces,
    named: options.longRunning ?? []
  });
  const starts = startsOf({
    format,
    messages: objects
  });
  const ids = idsByPlace({
    pieces,
    starts
  });
  const parse = ({ promised, interim, settled }, fronts) => {
    const transcript = new Transcript();
    let record = -1;
    let step = loop?.from ?? 0;
    for (const [message, found] of pieces.entries()) {
      const isJoined = starts[message] !== message;
      const isSigned = !isJoined && found.some((piece) => piece.isSigned === true);
      if (options.thinking === "steps" && isSigned && isInside(loop, message)) {
        transcript.joinFrom(step);
        step = message;
      }
      transcript.append(found.map((piece, index) => {
        record++;
        const callId = piece.callId || ids.get(record);
        const isInterim = piece.interim === true && !settled.has(record) || interim.has(record);
        const isLasting = lasting.has(record) || settled.has(record) && piece.kind === "tool_use";
        return {
          kind: piece.kind,
          message,
          tokens: prices[message]?.[index] ?? 0,
          ...callId ? {
            callId
          } : {},
          ...piece.name ? {
            name: piece.name
          } : {},
          ...piece.approval ? {
            approval: true
          } : {},
          ...isInterim ? {
            interim: true
          } : {},
          ...piece.sticks ? {
            sticks: true
          } : {},
          ...isJoined ? {
            joins: true
          } : {},
          ...isLasting ? {
            longRunning: true
          } : {},
          ...promised.has(record) ? {
            inFlight: true
          } : {}
        };
      }));
      const front = fronts.get(message);
      if (front !== void 0) transcript.joinFrom(front);
      if (loop !== null && message === loop.to - 1) transcript.joinFrom(step);
    }
    if (inFlight !== void 0) transcript.abandonOpen();
    return transcript;
  };
  const first = parse(NO_PROMISES, /* @__PURE__ */ new Map());
  const early = earlyResults(first, {
    pieces,
    starts
  });
  const promises = promisesOf(first, {
    calls: calls2,
    inFlight,
    lasting
  });
  const isLast = early.size + promises.promised.size + promises.interim.size + promises.settled.size === 0;
  return {
    format,
    messages: objects,
    pieces,
    transcript: isLast ? first : parse(promises, frontsOf(first, early)),
    early,
    measure,
    options: {
      ...options,
      format: format.name,
      // By place from now on: ids may repeat, and places can be moved along with the messages.
      ...inFlight === void 0 ? {} : {
        inFlight: calls2.placesOf(promises.promised)
      },
      ...lasting.size === 0 ? {} : {
        longRunning: calls2.placesOf(lasting)
      }
    }
  };
}
function lastingCalls(calls2, { pieces, named }) {
  const hasSummary = pieces.some((message) => message.some((piece) => piece.kind === "summary"));
  return new Set([
    ...new Set(named)
  ].flatMap((name) => {
    const found = calls2.named(name, "longRunning");
    if (found.length === 0 && !hasSummary) throw unknownCall(name, "longRunning");
    return found.map((call) => calls2.records[call] ?? -1);
  }));
}
function frontsOf({ records }, early) {
  const fronts = /* @__PURE__ */ new Map();
  for (const [result, call] of early) {
    const front = records[result]?.message ?? 0;
    const message = records[call]?.message ?? 0;
    fronts.set(message, Math.min(fronts.get(message) ?? front, front));
  }
  return fronts;
}

function assemble(mending) {
  const { format, pieces } = mending.reading;
  const messages = mending.edited.settle();
  const out = [];
  let pending = [];
  let call = -1;
  const settle = () => {
    if (pending.length > 0) {
      const before = out.length > call + 1 ? out.pop() ?? null : null;
      const source = spanOf(before === null ? pending : [
        before,
        ...pending
      ]);
      const written = format.addResults(before?.message ?? null, pending.map(({ result }) => result));
      out.push(...written.map((message) => ({
        message,
        ...source
      })));
    }
    pending = [];
  };
  const say2 = (notes2) => {
    const message = format.userText(notes2.map(({ text: text2 }) => text2).join("\n"));
    out.push({
      message,
      ...spanOf(notes2.map(({ source }) => ({
        from: source,
        to: source + 1
      })))
    });
  };
  for (const [at, edited] of messages.entries()) {
    const message = finish(mending, {
      at,
      edited
    });
    if (message !== null && !mending.joins(at) && !answersRound(mending, at)) settle();
    const notes2 = mending.notes.get(at);
    if (notes2 !== void 0) {
      settle();
      say2(notes2);
    }
    if (message !== null) out.push({
      message,
      from: at,
      to: at + 1
    });
    const isEnd = answersRound(mending, at) && pieces[at]?.some(({ kind }) => kind !== "tool_result") === true;
    if (isEnd) settle();
    const added = mending.added.get(at);
    if (added === void 0) continue;
    if (!mending.joins(at)) settle();
    pending = [
      ...pending,
      ...added
    ];
    call = out.length - 1;
  }
  settle();
  const notes = mending.notes.get(messages.length);
  if (notes !== void 0) say2(notes);
  return out;
}
function finish(mending, { at, edited }) {
  const { format, pieces } = mending.reading;
  const gone = mending.removed.get(at) ?? /* @__PURE__ */ new Set();
  const message = gone.size > 0 ? format.without(edited, [
    ...gone
  ]) : edited;
  if (message === null || !format.rules.resultsFirst) return message;
  const left = (pieces[at] ?? []).filter((piece) => !gone.has(piece.part));
  if (!hasLateResults(left)) return message;
  const late = left.find((piece) => piece.kind === "tool_result");
  if (late !== void 0) {
    mending.report("results_not_first", {
      message: at,
      piece: late
    }, "Moved the results to the front of the message");
  }
  const order = [
    ...left.keys()
  ].sort((a, b) => Number(left[a]?.kind !== "tool_result") - Number(left[b]?.kind !== "tool_result") || a - b);
  return format.reorder(message, order);
}
function answersRound(mending, at) {
  const gone = mending.removed.get(at);
  const pieces = mending.reading.pieces[at] ?? [];
  return isRest(pieces) && pieces.some(({ kind, part }) => kind === "tool_result" && gone?.has(part) !== true);
}
function placesIn(made) {
  const places = /* @__PURE__ */ new Map();
  const shared = /* @__PURE__ */ new Map();
  for (const [index, { from, to }] of made.entries()) {
    if (to === from + 1) places.set(from, places.get(from) ?? index);
    else shared.set(from, index).set(to - 1, index);
  }
  return new Map([
    ...shared,
    ...places
  ]);
}
function spanOf(sources) {
  return sources.reduce((all, { from, to }) => ({
    from: Math.min(all.from, from),
    to: Math.max(all.to, to)
  }));
}

function resultsOf({ pieces, transcript, early }) {
  const results = /* @__PURE__ */ new Map();
  let record = -1;
  for (const message of pieces) {
    for (const piece of message) {
      record++;
      if (piece.kind !== "tool_result" || piece.isInPlace === true) continue;
      const call = early.get(record) ?? transcript.pairOfResult(record)?.call;
      if (call !== void 0) push(results, call, record);
    }
  }
  return results;
}
function callsOf(reading) {
  const flat = placesOf(reading.pieces);
  const results = resultsOf(reading);
  const half = (record) => {
    const found = flat[record];
    return found === void 0 ? [] : [
      {
        ...found,
        record
      }
    ];
  };
  return reading.transcript.pairs.flatMap((pair) => {
    const [call] = half(pair.call);
    if (call === void 0 || call.piece.approval === true) return [];
    return [
      {
        call,
        results: (results.get(pair.call) ?? []).flatMap(half)
      }
    ];
  });
}
function needsIds(call, results) {
  if (call.idUse === void 0 || results.some(({ piece }) => piece.idUse === void 0)) return true;
  return results.length > 0 && [
    call,
    ...results.map(({ piece }) => piece)
  ].some(({ callId }) => callId);
}
function say({ piece }) {
  const noun = piece.kind === "tool_use" ? "call" : "result";
  return piece.name ? `The ${noun} of ${piece.name}` : `The ${noun}`;
}
function idFaults(reading) {
  const { rules: rules2 } = reading.format;
  const faults = [];
  for (const { call, results } of callsOf(reading)) {
    const fault = (code, half, what) => {
      const { record, message: at, piece } = half;
      faults.push({
        code,
        record,
        at,
        callId: piece.callId || null,
        message: `${say(half)} ${what}`
      });
    };
    const id = call.piece.callId ?? "";
    if (needsIds(call.piece, results)) {
      if (id === "") fault("empty_call_id", call, "has no id");
      for (const result of id === "" ? [] : results) {
        if (!result.piece.callId) fault("empty_call_id", result, "has no id, as its call does");
      }
    }
    if (id === "") continue;
    if (rules2.ids !== void 0 && call.piece.isHosted !== true && !rules2.ids.test(id)) {
      fault("invalid_call_id", call, `has the id ${JSON.stringify(id)}, wanted one of letters, digits, _ and -`);
    }
  }
  return faults;
}

function mendIds(mending) {
  const { format } = mending.reading;
  const faults = groupBy(idFaults(mending.reading), ({ record }) => record);
  const crowds = namesakes(mending);
  const taken = new Set(mending.places.map(({ piece }) => piece.callId ?? ""));
  const inTurn = /* @__PURE__ */ new Map();
  const next = /* @__PURE__ */ new Map();
  const freeId = (base, times) => {
    let id = `${base}_${times}`;
    if (taken.has(id)) {
      let n = Math.max(times + 1, next.get(base) ?? 0);
      while (taken.has(`${base}_${n}`)) n++;
      id = `${base}_${n}`;
      next.set(base, n);
    }
    return id;
  };
  for (const pair of mending.pairs) {
    const call = mending.places[pair.call];
    if (call === void 0 || call.piece.approval === true) continue;
    const results = (mending.results.get(pair.call) ?? []).flatMap((record) => {
      const place2 = mending.places[record];
      return place2 === void 0 ? [] : [
        {
          record,
          ...place2
        }
      ];
    });
    const old = call.piece.callId ?? "";
    const start = mending.starts[call.message];
    const key = `${start}:${old}`;
    const times = (inTurn.get(key) ?? 0) + 1;
    inTurn.set(key, times);
    const codes = faults.get(pair.call)?.map(({ code }) => code) ?? [];
    const crowd = old === "" && call.piece.idUse === "optional" ? crowds.get(start ?? 0) : void 0;
    const isAgain = old === "" ? crowd?.has(pair.call) === true : times > 1;
    const isRefused = codes.includes("invalid_call_id");
    if (old === "" ? codes.length === 0 && crowd === void 0 : !isAgain && !isRefused) {
      for (const result of results) {
        if (!faults.has(result.record)) continue;
        mending.report("empty_call_id", result, `Gave the result the id of its call, ${old}`);
        mending.edit(result.message, (message) => format.withCallId(message, result.piece.part, old));
      }
      continue;
    }
    const plain2 = old.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
    const own = results.find(({ piece }) => piece.callId)?.piece.callId ?? "";
    const id = old === "" ? own || freeId(`call_${call.message}`, times) : isRefused && !isAgain && !taken.has(plain2) ? plain2 : freeId(isRefused ? plain2 : old, times);
    taken.add(id);
    mending.ids.set(call, id);
    const others = results.filter(({ piece }) => piece.callId !== id);
    const both = others.length === 0 ? "the call" : "the call and its result";
    if (codes.includes("empty_call_id")) mending.report("empty_call_id", call, `Gave ${both} the id ${id}`);
    if (isRefused) mending.report("invalid_call_id", call, `Gave ${both} the id ${id} in place of ${old}`);
    if (isAgain) {
      const what = old === "" ? `Gave all calls of the message ids, as it has two without one of the name ${call.piece.name}` : `Gave ${both} the id ${id}, as ${old} is the id of another call too`;
      mending.report("duplicate_call_id", call, what);
    }
    mending.edit(call.message, (message) => format.withCallId(message, call.piece.part, id));
    for (const { message: at, piece } of others) {
      mending.edit(at, (message) => format.withCallId(message, piece.part, id));
    }
  }
}
function namesakes(mending) {
  const names = /* @__PURE__ */ new Set();
  const crowds = /* @__PURE__ */ new Map();
  for (const { call } of mending.pairs) {
    const { piece, message } = mending.places[call] ?? {};
    if (piece === void 0 || message === void 0 || piece.callId || piece.approval === true) continue;
    if (mending.results.get(call)?.some((record) => mending.places[record]?.piece.callId)) continue;
    const start = mending.starts[message] ?? message;
    const key = `${start}:${piece.name}`;
    if (names.has(key)) crowds.set(start, (crowds.get(start) ?? /* @__PURE__ */ new Set()).add(call));
    names.add(key);
  }
  return crowds;
}

function dialectViolation(code, at, message) {
  return {
    code,
    condition: "dialect",
    at,
    callId: null,
    message
  };
}
function isHostedApart({ format, pieces }, { call, result: { piece, message } }) {
  return format.name === "anthropic" && (call.isHosted === true || piece.isHosted === true) && piece.isInPlace !== true && pieces[message]?.some(isRound) !== true;
}
function pairViolations(reading) {
  const { format, pieces, early } = reading;
  const flat = placesOf(pieces);
  const found = [];
  for (const [call, results] of resultsOf(reading)) {
    const asked = flat[call]?.piece;
    if (asked === void 0 || asked.approval === true) continue;
    for (const record of results) {
      const result = flat[record];
      if (result === void 0) continue;
      const { piece, message } = result;
      const callId = piece.callId || null;
      const name = `The result ${callId ?? "without an id"}`;
      if (isHostedApart(reading, {
        call: asked,
        result
      })) {
        const text2 = `${name} of a tool that the provider runs is not in the message of its call`;
        found.push({
          code: "misplaced_result",
          condition: "C3",
          at: message,
          callId,
          message: text2
        });
      }
      if (format.withName !== void 0 && isMisnamed(asked, piece)) {
        const [own, wanted] = [
          piece.name ?? "",
          asked.name
        ].map((name2) => JSON.stringify(name2));
        const text2 = `${name} names the tool ${own}, and its call ${wanted}`;
        found.push({
          code: "mismatched_name",
          condition: "dialect",
          at: message,
          callId,
          message: text2
        });
      }
    }
  }
  for (const [result] of early) {
    const { message, piece } = flat[result] ?? {
      message: 0,
      piece: void 0
    };
    const text2 = `The result ${piece?.callId} stands in front of its call`;
    found.push({
      code: "misplaced_result",
      condition: "C3",
      at: message,
      callId: piece?.callId ?? null,
      message: text2
    });
  }
  return found;
}
function isMisnamed(call, result) {
  return Boolean(call.name) && (result.name ?? "") !== call.name && result.isInPlace !== true;
}
function argumentViolations({ pieces, transcript }) {
  const flat = placesOf(pieces);
  return transcript.pairs.flatMap(({ call, state }) => {
    const { piece, message } = flat[call] ?? {};
    if (piece === void 0 || message === void 0) return [];
    const callId = piece.callId || null;
    const name = piece.callId || piece.name || "without an id";
    const violation = (code, text2) => [
      {
        code,
        condition: "dialect",
        at: message,
        callId,
        message: `The call ${name} has arguments ${text2}`
      }
    ];
    if (piece.isMisshapen === true) {
      return violation("invalid_arguments", "in a shape that its format refuses");
    }
    return piece.isTruncated === true && state !== "in_flight" ? violation("truncated_arguments", "that end too early to be JSON") : [];
  });
}
function severedChains({ pieces, transcript }) {
  const severed = new Set(transcript.faults.filter(({ code }) => code === "reasoning_severed").map(({ at }) => at));
  const found = [];
  for (let at = pieces.length - 1; at > 0; at--) {
    if (!severed.has(at) || pieces[at]?.length !== 1 || pieces[at - 1]?.at(-1)?.sticks !== true) continue;
    severed.add(at - 1);
    found.push(dialectViolation("reasoning_severed", at - 1, "The reasoning without an id is not followed by its answer or call"));
  }
  return found;
}
function coreViolations({ format, transcript, early, pieces }) {
  const fronts = new Set([
    ...early.keys()
  ].map((record) => {
    const { message, callId } = transcript.records[record] ?? {};
    return `${message} ${callId}`;
  }));
  const needing = /* @__PURE__ */ new Set();
  for (const [at, message] of pieces.entries()) {
    if (message.some(({ kind, idUse }) => kind === "tool_use" && idUse === void 0)) needing.add(at);
  }
  const kept = checkTranscript(transcript).filter(({ code, at, callId }) => {
    if (code === "orphan_result") return !fronts.has(`${at} ${callId}`);
    if (code === "duplicate_call_id" && !callId) return !needing.has(at);
    if (callId?.startsWith(APPROVAL) !== true || code === "duplicate_result") return true;
    return code === "misplaced_result" && format.name === "ai-sdk";
  });
  return kept.map((violation) => ({
    ...violation,
    callId: violation.callId?.replace(APPROVAL, "") ?? null,
    message: violation.message.replace(APPROVAL, "")
  }));
}
function checkMessages(reading) {
  const { format, messages, pieces } = reading;
  const violations = [
    ...coreViolations(reading),
    ...pairViolations(reading),
    ...idFaults(reading).map(({ code, at, callId, message }) => ({
      code,
      condition: "dialect",
      at,
      callId,
      message
    })),
    ...argumentViolations(reading),
    ...severedChains(reading)
  ];
  if (format.rules.resultsFirst) {
    for (const [at, message] of pieces.entries()) {
      if (!hasLateResults(message)) continue;
      violations.push(dialectViolation("results_not_first", at, `Message ${at} has something in front of its results`));
    }
  }
  for (const [at, message] of pieces.entries()) {
    const isEmpty = message.some((piece) => piece.kind !== "tool_result" && (piece.isBlank === true || format.rules.noEmptyText && piece.isText === true && piece.text.trim() === ""));
    if (isEmpty) violations.push(dialectViolation("empty_text", at, `Message ${at} has an empty text`));
  }
  if (format.rules.firstFromUser) {
    const first = pieces.findIndex((message) => !isSystem(message));
    if (messages[first]?.["role"] === "assistant") {
      violations.push(dialectViolation("first_not_user", first, `Message ${first} is the first one and not from the user`));
    }
  }
  return violations.sort((a, b) => a.at - b.at);
}
function noticesOf(reading) {
  const { pieces, transcript } = reading;
  const flat = placesOf(pieces);
  const cut = transcript.pairs.flatMap(({ call, state }) => {
    const { piece, message } = flat[call] ?? {};
    if (piece?.isTruncated !== true || message === void 0 || state !== "in_flight") return [];
    const name = piece.callId || piece.name || "without an id";
    const text2 = `The call ${name} waits for its result, and its arguments end too early to be JSON`;
    const callId = piece.callId || null;
    return [
      {
        code: "truncated_arguments",
        condition: "dialect",
        at: message,
        callId,
        message: text2
      }
    ];
  });
  const blank = flat.flatMap(({ piece, message }) => {
    if (piece.kind !== "tool_result" || piece.isBlank !== true) return [];
    const callId = piece.callId || null;
    const text2 = `The result ${callId ?? "without an id"} holds an empty text`;
    return [
      {
        code: "empty_text",
        condition: "dialect",
        at: message,
        callId,
        message: text2
      }
    ];
  });
  return [
    ...cut,
    ...waitingBeside(reading, flat),
    ...blank
  ].sort((a, b) => a.at - b.at);
}
function waitingBeside(reading, places) {
  const { pieces, transcript, early } = reading;
  const fronts = new Set(early.values());
  const starts = startsOf(reading);
  const answered = new Set(transcript.pairs.flatMap(({ call, state }) => {
    const { piece, message } = places[call] ?? {};
    const isAnswered = fronts.has(call) || piece?.isTruncated === true && state === "in_flight";
    return isAnswered && piece?.isHosted !== true && message !== void 0 ? [
      starts[message]
    ] : [];
  }));
  const found = [];
  for (let at = pieces.length - 1; pieces[at]?.at(-1)?.sticks === true && answered.has(starts[at]); at--) {
    const text2 = "The reasoning waits for its answer or call, beside a call whose result will come behind it";
    found.push(dialectViolation("reasoning_severed", at, text2));
  }
  return found;
}
function openCalls({ transcript, pieces }) {
  const seen2 = /* @__PURE__ */ new Map();
  const asked = /* @__PURE__ */ new Map();
  return transcript.pairs.flatMap((pair) => {
    const call = transcript.records[pair.call];
    if (call === void 0) return [];
    const counted2 = call.approval === true ? asked : seen2;
    const index = counted2.get(call.message) ?? 0;
    counted2.set(call.message, index + 1);
    if (pair.state === "answered") return [];
    if (call.approval === true) {
      const isOfCall = pieces[call.message]?.some(({ kind, approval }) => kind === "tool_use" && !approval);
      if (isOfCall === true || pair.state !== "in_flight") return [];
    }
    return [
      {
        at: call.message,
        call: call.approval === true ? -1 - index : index,
        callId: call.callId?.replace(APPROVAL, "") || null,
        name: call.name ?? null,
        state: pair.state
      }
    ];
  });
}

var ABORTED_TEXT = "Aborted: the call did not finish";
function mendPairs(mending) {
  const isApproval = ({ call }) => mending.places[call]?.piece.approval === true;
  if (mending.reading.format.name === "ai-sdk") {
    for (const pair of mending.pairs) if (isApproval(pair)) mendPlace(mending, pair);
  }
  for (const pair of mending.pairs) {
    const call = mending.places[pair.call];
    if (call === void 0 || isApproval(pair)) continue;
    if (pair.state === "abandoned" && call.piece.isTruncated !== true) {
      const interim = mending.places[pair.result ?? -1]?.piece.text ?? "";
      const what = call.piece.isHosted ? "Took out the call, which nobody else can answer" : "Answered the call";
      mending.report("missing_result", call, call.piece.isHosted ? what : `${what} with an error: it did not finish`);
      mending.answer(call, interim === "" ? ABORTED_TEXT : `${ABORTED_TEXT}. Its last interim result: ${interim}`);
    }
    for (const record of mending.results.get(pair.call) ?? []) mendName(mending, {
      call,
      record
    });
    mendPlace(mending, pair);
  }
}
function mendName(mending, { call, record }) {
  const { format } = mending.reading;
  const result = mending.places[record];
  const { withName } = format;
  const name = call.piece.name ?? "";
  if (withName === void 0 || result === void 0) return;
  if (!isMisnamed(call.piece, result.piece)) return;
  mending.report("mismatched_name", result, `Wrote the tool of its call, ${name}, on the result`);
  mending.edit(result.message, (message) => withName(message, result.piece.part, name));
}
function mendPlace(mending, pair) {
  const call = mending.places[pair.call];
  const result = mending.places[pair.result ?? -1];
  if (call === void 0 || result === void 0 || pair.state === "abandoned") return;
  const isApart = isHostedApart(mending.reading, {
    call: call.piece,
    result
  });
  if (!isApart && !isMisplaced(mending, pair)) return;
  if (call.piece.isHosted) {
    mending.report("misplaced_result", result, "Took out the call and its result, and kept the result's text");
    mending.remove(call);
    mending.remove(result);
    const text2 = `[selvage: a result apart from its call] ${result.piece.text}`;
    mending.note(result.message + 1, {
      text: text2,
      source: result.message
    });
    return;
  }
  mending.report("misplaced_result", result, `Moved the result behind its call in message ${call.message}`);
  const raw = mending.reading.format.take(mending.edited.at(result.message) ?? {}, result.piece.part);
  mending.remove(result);
  mending.add(call, {
    callId: mending.idOf(call),
    name: call.piece.name ?? "",
    text: isApart ? result.piece.text : "",
    isError: isApart && result.piece.isError === true,
    call: call.piece,
    // The provider's own kind of result is none of a call that the client answers.
    ...isApart ? {} : {
      raw
    }
  }, result.message);
}
function isMisplaced(mending, pair) {
  const { transcript } = mending.reading;
  const call = transcript.records[pair.call];
  const result = transcript.records[pair.result ?? -1];
  if (call === void 0 || result === void 0) return false;
  if (result.message <= call.message) return result.message < call.message;
  if (call.longRunning === true || result.interim === true) return false;
  return (mending.interrupts[result.message] ?? 0) > (mending.interrupts[call.message + 1] ?? 0);
}

var CUT_OFF = "Not executed: the answer was cut off at the output limit, so the arguments are incomplete";
var BEGINNING = "[selvage: the conversation begins here]";
var NO_OUTPUT = "(no output)";
var EMPTY = "(empty)";
function mendArguments(mending) {
  const { format } = mending.reading;
  for (const pair of mending.pairs) {
    const call = mending.places[pair.call];
    if (call?.piece.isMisshapen === true) {
      const { input: input2 } = call.piece;
      const written = isObject(input2) ? input2 : input2 === void 0 || input2 === null ? {} : {
        arguments: input2
      };
      mending.report("invalid_arguments", call, "Wrote the arguments as the JSON object that the format wants");
      mending.edit(call.message, (message) => format.withArguments(message, call.piece.part, written));
    }
    if (call?.piece.isTruncated !== true) continue;
    const isOpen = pair.state !== "answered";
    mending.report("truncated_arguments", call, `Kept the arguments that end too early as text${isOpen ? ", and answered the call with an error" : ""}`);
    const input = {
      unparsed_arguments: call.piece.text
    };
    mending.edit(call.message, (message) => format.withArguments(message, call.piece.part, input));
    if (isOpen) mending.answer(call, CUT_OFF);
  }
}
function mendBlanks(mending) {
  const { format } = mending.reading;
  for (const place2 of mending.places) {
    const { message, piece } = place2;
    if (piece.isBlank !== true) continue;
    const isEmpty = piece.text.trim() === "" && !piece.files;
    const text2 = piece.kind === "tool_result" ? NO_OUTPUT : EMPTY;
    const isWritten = isEmpty || format.withoutBlanks === void 0;
    mending.report("empty_text", place2, isWritten ? `Wrote "${text2}" in place of nothing` : "Took out an empty text");
    mending.edit(message, (found) => isWritten || format.withoutBlanks === void 0 ? format.withText(found, piece.part, text2) : format.withoutBlanks(found, piece.part));
  }
}
function mendReasoning(mending) {
  const { pieces } = mending.reading;
  const answered = new Set([
    ...mending.added.keys()
  ].map((at) => mending.starts[at]));
  let next;
  for (let message = pieces.length - 1; message >= 0; message--) {
    const piece = pieces[message]?.at(-1);
    const isSevered = next === void 0 ? answered.has(mending.starts[message]) : !next.some(isRound);
    if (piece?.sticks === true && isSevered) {
      mending.report("reasoning_severed", {
        message,
        piece
      }, "Took out reasoning that nothing of its own follows");
      mending.remove({
        message,
        piece
      });
    } else next = pieces[message];
  }
}
function mendTexts(mending) {
  const { format, pieces } = mending.reading;
  const isNothing = (piece2) => piece2.isText === true && piece2.text.trim() === "";
  const filled = new Set(mending.places.filter(({ piece: piece2 }) => !isNothing(piece2)).map(({ message: message2 }) => message2));
  for (const place2 of mending.places) {
    const { message: message2, piece: piece2 } = place2;
    if (!isNothing(piece2) || !format.rules.noEmptyText) continue;
    const isLeft = filled.has(message2);
    mending.report("empty_text", place2, isLeft ? "Took out an empty text" : `Wrote "${EMPTY}" in place of nothing`);
    if (isLeft) mending.remove(place2);
    else mending.edit(message2, (found) => format.withText(found, piece2.part, EMPTY));
  }
  if (!format.rules.firstFromUser) return;
  const first = pieces.findIndex((message2) => !isSystem(message2));
  const message = pieces[first];
  const [piece] = message ?? [];
  if (message === void 0 || piece === void 0) return;
  const isOurs = mending.reading.messages[first]?.["role"] === "assistant";
  if (!isOurs && isKept(mending, first)) return;
  if (isOurs) {
    mending.report("first_not_user", {
      message: first,
      piece
    }, "Put a user message in front of the first message");
  }
  mending.notes.set(first, [
    {
      text: BEGINNING,
      source: first
    },
    ...mending.notes.get(first) ?? []
  ]);
}
function isKept(mending, message) {
  const gone = mending.removed.get(message);
  return mending.reading.pieces[message]?.some((piece) => gone?.has(piece.part) !== true) === true;
}

function strayMark(name, isSecond) {
  return isSecond ? `[selvage: a second result of ${name || "a call"}]` : `[selvage: a result without its call${name ? ` (${name})` : ""}]`;
}
function mendStrays(mending) {
  const { transcript, early } = mending.reading;
  const codes = transcript.faults.map(({ code }) => code).filter((code) => code === "orphan_result" || code === "duplicate_result").values();
  const answered = /* @__PURE__ */ new Map();
  const nameOf3 = ({ callId, name }) => callId ? callId.replace(APPROVAL, "") : name ?? "";
  const open = mending.pairs.filter((pair) => pair.state === "in_flight");
  let next = 0;
  let fresh;
  let promised;
  for (const [record, place2] of mending.places.entries()) {
    for (; (mending.places[open[next]?.call ?? -1]?.message ?? Infinity) <= place2.message; next++) {
      if (isPromised(mending, open[next])) promised = open[next];
      else fresh = open[next];
    }
    const { piece } = place2;
    if (piece.kind !== "tool_result") continue;
    const key = `${piece.callId ? "#" : "@"}${piece.callId || piece.name || ""}`;
    if (transcript.pairOfResult(record) !== null) {
      answered.set(key, piece);
      continue;
    }
    const code = codes.next().value ?? "orphan_result";
    const isSecond = code === "duplicate_result";
    if (early.has(record)) continue;
    mending.remove(place2);
    const files = piece.files ?? 0;
    const first = isSecond ? answered.get(key) : void 0;
    const isSame = first !== void 0 && first.text === piece.text && files === 0;
    const name = nameOf3(piece);
    if (isSame || piece.text === "" && files === 0) {
      mending.report(code, place2, `Took out the result: it ${isSame ? "says what the first one says" : "is empty"}`);
      continue;
    }
    const lost = files > 0 ? [
      `[${files === 1 ? "a file" : `${files} files`} left out]`
    ] : [];
    const text2 = [
      strayMark(name, isSecond),
      ...piece.text === "" ? [] : [
        piece.text
      ],
      ...lost
    ].join(" ");
    mending.report(code, place2, "Took out the result, and kept its text as a user text after the round");
    const at = openRound(mending, {
      place: place2,
      fresh,
      promised
    }) ?? mending.roundEnds[place2.message] ?? place2.message + 1;
    mending.note(at, {
      text: text2,
      source: place2.message
    });
  }
}
function isPromised({ reading }, open) {
  const call = reading.transcript.records[open?.call ?? -1];
  return call?.inFlight === true || call?.longRunning === true || typeof open?.result === "number";
}
function openRound(mending, { place: place2, fresh, promised }) {
  const { records } = mending.reading.transcript;
  const call = records[(fresh ?? promised)?.call ?? -1];
  if (call === void 0) return null;
  const isInRound = mending.interrupts[place2.message] === mending.interrupts[call.message + 1];
  return fresh !== void 0 || isInRound ? mending.starts[call.message] ?? null : null;
}

function pairsByPart(pairs, places) {
  const own = /* @__PURE__ */ new Map();
  for (const [record, { message, piece }] of places.entries()) {
    if (piece.isInPlace && piece.kind === "tool_result") own.set(`${message}:${piece.part}`, record);
  }
  if (own.size === 0) return pairs;
  const out = [
    ...pairs
  ];
  const holders = new Map(pairs.map((pair, index) => [
    pair.result,
    index
  ]));
  for (const [index, { call }] of pairs.entries()) {
    const mine = own.get(`${places[call]?.message}:${places[call]?.piece.part}`);
    const holder = holders.get(mine ?? -1);
    const pair = out[index];
    const other = out[holder ?? -1];
    if (mine === void 0 || holder === void 0 || pair?.result === mine || !pair || !other) continue;
    out[index] = {
      call: pair.call,
      result: other.result,
      state: other.state
    };
    out[holder] = {
      call: other.call,
      result: pair.result,
      state: pair.state
    };
    holders.set(mine, index).set(pair.result, holder);
  }
  return out;
}
var Mending = class {
  /** What is repaired. */
  reading;
  /** Its records. */
  places;
  /** Its pairs, results that stand in front of their calls among them. */
  pairs;
  /** The results of each call, by records. */
  results;
  /** What was done so far. */
  repairs = [];
  /** Messages with the edits that keep the indexes of their parts. */
  edited;
  /** Ids that were rewritten. */
  ids = /* @__PURE__ */ new Map();
  /** Where the assistant message begins that a message goes on with; else the message itself. */
  starts;
  /** `interrupts[at]`: messages before `at` that are more than results and begin something new. */
  interrupts;
  /** `roundEnds[at]`: the first message behind `at` that has no results for the calls before it. */
  roundEnds;
  /** Parts that are gone, by message. */
  removed = /* @__PURE__ */ new Map();
  /** Results to put behind those of a message with calls. */
  added = /* @__PURE__ */ new Map();
  /** User texts to put in front of a message; the number of messages stands for the end. */
  notes = /* @__PURE__ */ new Map();
  constructor(reading) {
    this.reading = reading;
    this.edited = new EditedMessages(reading.messages);
    this.places = placesOf(reading.pieces);
    const calls2 = new Map([
      ...reading.early
    ].map(([result, call]) => [
      call,
      result
    ]));
    this.pairs = pairsByPart(reading.transcript.pairs, this.places).map((pair) => {
      const result = calls2.get(pair.call);
      return result === void 0 ? pair : {
        call: pair.call,
        result,
        state: "answered"
      };
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
  joins(at) {
    return this.starts[at] !== at;
  }
  /** Says what was done. */
  report(code, { message: at, piece }, message) {
    this.repairs.push({
      code,
      at,
      callId: piece.callId?.replace(APPROVAL, "") || null,
      message
    });
  }
  /** Changes a message; the indexes of its parts stay. */
  edit(message, change) {
    this.edited.edit(message, change);
  }
  /** Takes a part out, in the end. */
  remove({ message, piece }) {
    const gone = this.removed.get(message) ?? /* @__PURE__ */ new Set();
    this.removed.set(message, gone.add(piece.part));
  }
  /** Whether a call has stayed. */
  hasCall(index) {
    const call = this.places[this.reading.transcript.pairs[index]?.call ?? -1];
    return call !== void 0 && this.removed.get(call.message)?.has(call.piece.part) !== true;
  }
  /** Puts a user text in front of a message. */
  note(message, note) {
    push(this.notes, message, note);
  }
  /** Puts a result behind the calls of a message; `source` is the message that it stood in, if it did in one. */
  add({ message }, result, source = message) {
    push(this.added, message, {
      result,
      from: Math.min(message, source),
      to: Math.max(message, source) + 1
    });
  }
  /** Answers a call with an error; one that the provider runs goes, as nobody else can answer it. */
  answer(call, text2) {
    if (call.piece.isHosted) return this.remove(call);
    const { format } = this.reading;
    const result = {
      callId: this.idOf(call),
      name: call.piece.name ?? "",
      text: text2,
      isError: true,
      call: call.piece
    };
    const { answerInPlace } = format;
    if (call.piece.isInPlace && answerInPlace !== void 0) {
      this.edit(call.message, (message) => answerInPlace(message, call.piece.part, result));
    } else this.add(call, result);
  }
  /** The id of a call as it is after the repair of ids. */
  idOf(call) {
    return this.ids.get(call) ?? call.piece.callId ?? "";
  }
};

function repairTranscript(reading) {
  const mending = new Mending(reading);
  mendIds(mending);
  mendArguments(mending);
  mendBlanks(mending);
  mendPairs(mending);
  mendStrays(mending);
  mendReasoning(mending);
  mendTexts(mending);
  const made = assemble(mending);
  const places = placesIn(made);
  return {
    messages: made.map(({ message }) => message),
    repairs: mending.repairs.sort((a, b) => a.at - b.at).map((repair) => ({
      ...repair,
      to: places.get(repair.at) ?? null
    })),
    calls: [
      ...reading.transcript.pairs.keys()
    ].filter((index) => mending.hasCall(index)),
    sources: made.map(({ from, to }) => ({
      from,
      to
    }))
  };
}

function rereadTranscript(reading, { messages, origins, calls: calls2 }) {
  const { inFlight, longRunning, tokens, ...rest } = reading.options;
  const known = /* @__PURE__ */ new Map();
  if (tokens !== void 0) {
    for (const [at, message] of reading.messages.entries()) known.set(message, tokens[at]);
  }
  const plain2 = {
    ...rest,
    ...tokens === void 0 ? {} : {
      tokens: messages.map((message) => known.get(message))
    }
  };
  if (inFlight === void 0 && longRunning === void 0) return readTranscript(messages, plain2);
  const rename = origins === void 0 ? namesByOrder(reading, {
    after: readTranscript(messages, plain2),
    calls: calls2
  }) : namesByOrigin(origins);
  return readTranscript(messages, {
    ...plain2,
    ...inFlight === void 0 ? {} : {
      inFlight: inFlight.flatMap(rename)
    },
    ...longRunning === void 0 ? {} : {
      longRunning: longRunning.flatMap(rename)
    }
  });
}
function namesByOrigin(origins) {
  const places = new Map(origins.map((origin, at) => [
    origin,
    at
  ]));
  return (name) => {
    if (typeof name === "string") return [];
    const at = places.get(name.at);
    return at === void 0 ? [] : [
      {
        at,
        call: name.call
      }
    ];
  };
}
function namesByOrder(before, { after, calls: calls2 }) {
  const [old, made] = [
    new Calls(before.pieces),
    new Calls(after.pieces)
  ];
  const places = new Map((calls2 ?? [
    ...old.records.keys()
  ]).map((call, index) => [
    call,
    index
  ]));
  const [was, is] = [
    before.transcript.pairs,
    after.transcript.pairs
  ];
  return (name) => old.named(name, "inFlight").flatMap((call) => {
    const index = places.get(call);
    if (index === void 0) return [];
    const isMended = was[call]?.state === "in_flight" && was[call].result === null && is[index]?.state === "answered";
    return isMended ? [] : [
      made.placeOf(index)
    ];
  });
}

function asItCame(input) {
  const { records } = input.transcript;
  return {
    input,
    made: input,
    repairs: [],
    hasMoreCuts: false,
    cutInInput: (cut) => cut,
    placeOf: (at) => at,
    sourceOf: (message) => message,
    callInInput: (call) => call,
    resultInInput: (record) => ({
      at: records[record]?.message ?? 0,
      callId: records[record]?.callId ?? null
    })
  };
}
function mendFirst(input) {
  const { messages, repairs: done, calls: calls2, sources } = repairTranscript(input);
  if (done.length === 0) return asItCame(input);
  const repairs = done.map(({ to: _, ...repair }) => repair);
  const found = rereadTranscript(input, {
    messages,
    calls: calls2
  });
  const boundaries = boundariesOf(input, {
    made: found,
    sources
  });
  const hasMoreCuts = boundaries.length < found.transcript.atomCount;
  const made = hasMoreCuts ? {
    ...found,
    transcript: joinBetween(found, boundaries)
  } : found;
  const { records, pairs } = made.transcript;
  const isLeft = coveredBy(sources, input.messages.length);
  const answers = new Map(pairs.map(({ result }, call) => [
    result,
    call
  ]));
  const inInput = new Map(boundaries.map(({ made: made2, input: input2 }) => [
    made2,
    input2
  ]));
  const callInInput = (call) => calls2[call] ?? -1;
  return {
    input,
    made,
    repairs,
    hasMoreCuts,
    callInInput,
    sourceOf: (message) => sources[message]?.from ?? message,
    cutInInput(cut) {
      const found2 = inInput.get(cut);
      if (found2 === void 0) throw new RangeError(`Cannot place the cut at ${cut}: wanted a legal one`);
      return found2;
    },
    placeOf(at) {
      if (isLeft[at] !== true) return null;
      let low = 0;
      let high = boundaries.length - 1;
      while (low < high) {
        const middle = low + high + 1 >> 1;
        if ((boundaries[middle]?.input ?? 0) <= at) low = middle;
        else high = middle - 1;
      }
      return boundaries[low]?.made ?? 0;
    },
    resultInInput(record) {
      const pair = input.transcript.pairs[callInInput(answers.get(record) ?? -1)];
      const found2 = input.transcript.records[pair?.result ?? -1];
      const { message, callId } = found2 ?? records[record] ?? {};
      const at = found2 === void 0 ? sources[message ?? -1]?.from : message;
      return {
        at: at ?? 0,
        callId: callId ?? null
      };
    }
  };
}
function coveredBy(sources, messages) {
  const changes = new Int32Array(messages + 1);
  for (const { from, to } of sources) {
    changes[from] = (changes[from] ?? 0) + 1;
    changes[to] = (changes[to] ?? 0) - 1;
  }
  let open = 0;
  return Array.from({
    length: messages
  }, (_, at) => (open += changes[at] ?? 0) > 0);
}
function boundariesOf(input, { made, sources }) {
  const next = [];
  for (let at = sources.length - 1; at >= 0; at--) {
    next[at] = Math.min(next[at + 1] ?? Infinity, sources[at]?.from ?? Infinity);
  }
  const boundaries = [
    {
      made: 0,
      input: 0
    }
  ];
  let passed = sources[0]?.to ?? 0;
  for (let at = 1; at < sources.length; at++) {
    const before = input.transcript.atomAt(next[at] ?? 0)?.from ?? -1;
    const isNew = made.transcript.isLegalCut(at) && !input.transcript.isLegalCut(before);
    if (before >= passed && made.transcript.atomAt(at)?.from === at && !isNew) {
      boundaries.push({
        made: at,
        input: before
      });
    }
    passed = Math.max(passed, sources[at]?.to ?? 0);
  }
  return boundaries;
}
function joinBetween({ transcript, options }, boundaries) {
  const { records, messages } = transcript;
  const starts = new Set(boundaries.map(({ made }) => made));
  const joined = new Transcript();
  let record = 0;
  let start = 0;
  for (let message = 0; message < messages; message++) {
    const first = record;
    while (records[record]?.message === message) record++;
    if (starts.has(message)) {
      joined.joinFrom(start);
      start = message;
    }
    joined.append(records.slice(first, record));
  }
  joined.joinFrom(start);
  if (options.inFlight !== void 0) joined.abandonOpen();
  return joined;
}

var SLOTS = 2 ** 19;
var POSITION = 2 ** 26;
function allocate(nodes) {
  return {
    next: new Int32Array(nodes),
    previous: new Int32Array(nodes),
    tree: new Float64Array(2 * nodes)
  };
}
var scratch = allocate(2 ** 14);

function utf8Length(text2, start = 0, end = text2.length) {
  let bytes = end - start;
  for (let i = start; i < end; i++) {
    const code = text2.charCodeAt(i);
    if (code >= 128) bytes += code < 2048 ? 1 : 2;
    if ((code & 64512) === 55296 && (text2.charCodeAt(i + 1) & 64512) === 56320) i++;
  }
  return bytes;
}

var OPAQUE_CHARS = 3;
var OPAQUE = /^[\w+/=.:-]{64,}$/;
function opaqueChars(options) {
  if (options === void 0) return 0;
  let chars = 0;
  const open = [
    options
  ];
  for (let value = open.pop(); value !== void 0; value = open.pop()) {
    if (typeof value === "string") chars += OPAQUE.test(value) ? value.length : 0;
    else if (typeof value === "object" && value !== null) {
      for (const inner of Object.values(value)) if (inner !== void 0) open.push(inner);
    }
  }
  return chars;
}

var MESSAGE_OVERHEAD = 4;
var PAIR_OVERHEAD = 10;
var FILE_TOKENS2 = 1600;
var boundTokens = Object.assign((text2) => utf8Length(text2), {
  opaque: 1
});
function outputText(output) {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value) ?? "null";
    case "execution-denied":
      return output.reason ?? "Execution was denied";
    case "content":
      return output.value.map((part) => part.type === "text" ? part.text : `[file ${part.mediaType}]`).join("\n");
    default:
      return output;
  }
}
function measurePart(part, measure) {
  const opaque = Math.ceil(opaqueChars(part.providerOptions) / (measure.opaque ?? OPAQUE_CHARS));
  return measureRead(part, measure) + opaque;
}
function measureRead(part, measure) {
  switch (part.type) {
    case "text":
    case "reasoning":
      return measure(part.text);
    case "file":
      return measure.file?.(part) ?? FILE_TOKENS2;
    case "tool-call":
      return measure(part.toolName) + measure(JSON.stringify(part.input) ?? "") + PAIR_OVERHEAD;
    case "tool-result":
      return measureOutput(part.output, measure);
    default:
      return part;
  }
}
function measureOutput(output, measure, limit) {
  const parts2 = output.type === "content" ? output.value : [];
  const files = parts2.map((part) => part.type === "file" ? measurePart(part, measure) : 0);
  const rest = files.reduce((sum, tokens) => sum + tokens, measure.result ?? MESSAGE_OVERHEAD);
  return measure(outputText(output), limit === void 0 ? void 0 : limit - rest) + rest;
}
function measureText(text2, measure) {
  return measure(text2) + MESSAGE_OVERHEAD;
}

function headOf(text2, length) {
  const code = text2.charCodeAt(length - 1);
  return text2.slice(0, code >= 55296 && code <= 56319 ? length - 1 : length);
}
function tailOf(text2, length) {
  const start = Math.max(0, text2.length - length);
  const code = text2.charCodeAt(start);
  return text2.slice(start > 0 && code >= 56320 && code <= 57343 ? start + 1 : start);
}
function place(ref) {
  return /^e\d+(\.\d+)?$/.test(ref) ? `entry ${ref}` : ref;
}
function headAndTail(text2, { keep, ref }) {
  const head = headOf(text2, Math.ceil(keep * 0.7));
  const tail = tailOf(text2, Math.floor(keep * 0.3));
  const left = text2.length - head.length - tail.length;
  if (left <= 0) return text2;
  return `${head}
[${left} of ${text2.length} characters are left out here; the whole result is ${place(ref)}]
${tail}`;
}
function textToShorten(output, ref) {
  if (output.type !== "content") return outputText(output);
  return output.value.map((part) => part.type === "text" ? part.text : `[file ${part.mediaType} is left out here; the whole result is ${place(ref)}]`).join("\n");
}
function withText(output, text2) {
  switch (output.type) {
    case "error-text":
    case "error-json":
      return {
        type: "error-text",
        value: text2
      };
    case "execution-denied":
      return {
        type: "execution-denied",
        reason: text2
      };
    case "text":
    case "json":
    case "content":
      return {
        type: "text",
        value: text2
      };
    default:
      return output;
  }
}
function shortenOutput(output, { tokens, measure, ref }) {
  if (outputText(output).length <= tokens * 128 && measureOutput(output, measure, tokens) <= tokens) {
    return output;
  }
  const text2 = textToShorten(output, ref);
  let keep = Math.min(text2.length, tokens * 4);
  for (; ; ) {
    const shown = withText(output, headAndTail(text2, {
      keep,
      ref
    }));
    const size = measureOutput(shown, measure);
    if (size <= tokens || keep === 0) return shown;
    keep = Math.max(0, Math.min(keep - 16, Math.floor(keep * (tokens / size) * 0.97)));
  }
}

var FACT_KINDS = [
  "rule",
  "error",
  "url",
  "hash",
  "id",
  "path"
];
var ERROR_LINE = 120;
var SENTENCE = 240;
var AROUND = 400;
var WORDS = 500;
var TOKENS = [
  [
    "url",
    /\bhttps?:\/\/[^\s"'`<>()\\\]}]{4,200}/g
  ],
  [
    "path",
    /(?<![\w/.:@-])(?:~|\.{1,2})?\/?(?:[\w@.-]{1,80}\/){1,20}[\w@-]{1,80}\.\w{1,8}\b/g
  ],
  [
    "hash",
    /\b(?=[0-9a-f]{0,63}\d)(?=[0-9a-f]{0,63}[a-f])[0-9a-f]{7,64}\b/g
  ],
  [
    "id",
    /\b(?:[A-Z]{2,10}-\d{1,6}|(?=[A-Z0-9]{0,9}\d)(?=[A-Z0-9]{0,9}[A-Z])[A-Z0-9]{6,10}|[a-z]{1,20}_[a-z]{1,20}_\d{2,8})\b/g
  ]
];
var ERROR = /\b(?:error|exception|failed|failure|traceback|panic|fatal|cannot|not found|denied)\b/gi;
var RULE = /\b(?:must(?:n['’]t)?|never|always|do not|don['’]t|only|should(?: not|n['’]t)|make sure|without|avoid)\b/gi;
function around(text2, word, { ends, most, length }) {
  const found = /* @__PURE__ */ new Set();
  let done = 0;
  let words = 0;
  for (const { index, 0: said } of text2.matchAll(word)) {
    if (index < done) continue;
    const before = text2.slice(Math.max(0, index - AROUND), index);
    const start = [
      ...before.matchAll(ends)
    ].at(-1);
    const rest = text2.slice(index, index + AROUND);
    const end = rest.search(new RegExp(ends.source));
    done = index + (end < 0 ? rest.length : end);
    const head = (start === void 0 ? before : before.slice(start.index + start[0].length)).trimStart();
    const lead = head.length + said.length > length ? tailOf(head, length / 2) : head;
    found.add(headOf((lead + text2.slice(index, done)).trim(), length));
    if (found.size >= most || ++words >= WORDS) break;
  }
  return [
    ...found
  ];
}
function errorLines(text2, most) {
  return around(text2, ERROR, {
    ends: /\n/g,
    most,
    length: ERROR_LINE
  });
}
function ruleSentences(text2, most) {
  return around(text2, RULE, {
    ends: /[.!?](?=\s|$)|\n/g,
    most,
    length: SENTENCE
  });
}
function tokensIn(text2) {
  const found = /* @__PURE__ */ new Map();
  let rest = text2;
  for (const [kind, rule2] of TOKENS) {
    rest = rest.replace(rule2, (text3) => {
      if (!found.has(text3)) found.set(text3, {
        kind,
        text: text3
      });
      return " ";
    });
  }
  return [
    ...found.values()
  ];
}
function kindOf2(text2) {
  const [only] = tokensIn(text2);
  if (only !== void 0 && only.text === text2) return only.kind;
  return errorLines(text2, 1).length > 0 ? "error" : "rule";
}

var LONG = 400;
var SHORT = 120;
var INNER = 60;
var NESTED = 800;
var MAX_DEPTH2 = 6;
var ALTOGETHER = 2e3;
var VERBATIM = new Set("path file filename filepath dir directory folder cwd cmd command query q pattern regex glob url uri id".split(" "));
function shortHash(text2) {
  let hash = 2166136261;
  for (let index = 0; index < text2.length; index++) {
    hash = Math.imul(hash ^ text2.charCodeAt(index), 16777619);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}
function clip(text2, most) {
  if (text2.length <= most) return text2;
  const head = headOf(text2, Math.floor(most * 0.6));
  const tail = tailOf(text2, Math.floor(most * 0.25));
  return `${head}\u2026${tail} (${text2.length} characters, #${shortHash(text2)})`;
}
function withoutMarks(text2) {
  return text2.replace(/\(\d{1,12} characters, #[0-9a-f]{8}\)/g, "");
}
function isVerbatim(name, wanted) {
  if (wanted.includes(name)) return true;
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z]+/);
  const last = words.findLast((word) => word !== "") ?? "";
  return VERBATIM.has(last) || VERBATIM.has(last.replace(/s$/, ""));
}
function isRawNumber(value) {
  const { isRawJSON } = JSON;
  return isRawJSON?.(value) === true;
}
function shrink(value, at, wanted) {
  if (typeof value === "string") return clip(value, isVerbatim(at.name, wanted) ? LONG : INNER);
  if (typeof value !== "object" || value === null || isRawNumber(value)) return value;
  if (at.depth >= MAX_DEPTH2) return clip(JSON.stringify(value), INNER);
  const depth = at.depth + 1;
  if (Array.isArray(value)) return value.map((item) => shrink(item, {
    name: at.name,
    depth
  }, wanted));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [
    name,
    shrink(inner, {
      name,
      depth
    }, wanted)
  ]));
}
function renderField(name, value, wanted) {
  if (typeof value === "string") return JSON.stringify(clip(value, isVerbatim(name, wanted) ? LONG : SHORT));
  const whole = JSON.stringify(value) ?? "null";
  if (whole.length <= (isVerbatim(name, wanted) ? LONG : SHORT)) return whole;
  const shrunk = JSON.stringify(shrink(value, {
    name,
    depth: 0
  }, wanted));
  return shrunk.length <= NESTED ? shrunk : JSON.stringify(clip(shrunk, NESTED));
}
function renderArgs(call, verbatim) {
  const { input } = call;
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return JSON.stringify(clip(JSON.stringify(input) ?? "null", LONG));
  }
  const shown = [];
  let room = ALTOGETHER;
  let left = 0;
  for (const [name, value] of Object.entries(input)) {
    const key = JSON.stringify(clip(name, SHORT));
    const whole = renderField(name, value, verbatim);
    const brief = () => JSON.stringify(clip(typeof value === "string" ? value : JSON.stringify(value), INNER));
    const field = `${key}:${key.length + whole.length <= room ? whole : brief()}`;
    if (field.length > room) left++;
    else shown.push(field);
    room -= Math.min(field.length, room);
  }
  return `{${shown.join(",")}${left > 0 ? `,"\u2026":"${left} more arguments"` : ""}}`;
}
var EXIT = /\b(?:exit(?:ed)?(?:[ _-]?(?:with|code|status))*|return[ _-]?code)["']?[ \t]{0,3}[ :=][ \t]{0,3}-?\d+/gi;
var COUNT = /\b\d+ (?:pass(?:ed|ing)|fail(?:ed|ing|ures?)|errors?|warnings?|tests?|skipped|(?:files? )?changed|insertions?|deletions?|match(?:es)?|hits?)\b/gi;
var OF_A_KIND = 3;
var SEEN = 160;
var LOOKED = 65536;
function seenIn(text2, shown) {
  const facts = tokensIn(headOf(text2, LOOKED)).filter(({ text: text3 }) => !shown.includes(text3));
  let room = SEEN;
  return FACT_KINDS.flatMap((kind) => facts.filter((fact) => fact.kind === kind).slice(0, OF_A_KIND)).flatMap(({ text: text3 }) => (room -= text3.length + 2) >= 0 ? [
    text3
  ] : []);
}
function digestOf(text2) {
  if (text2.length <= 160) return text2;
  const lines = text2.split("\n").filter((line) => line.trim() !== "");
  const counts = [
    .../* @__PURE__ */ new Set([
      ...(text2.match(EXIT) ?? []).slice(-2),
      ...[
        ...new Set(text2.match(COUNT) ?? [])
      ].slice(-4)
    ])
  ];
  const first = clip(lines[0] ?? "", 90);
  const last = lines.length > 1 ? clip(lines.at(-1) ?? "", 90) : "";
  const errors = errorLines(text2, 1).filter((line) => !first.includes(line) && !last.includes(line));
  const ends = [
    first,
    ...errors,
    ...last === "" ? [] : [
      last
    ]
  ].join(" \u2026 ");
  const size = `${counted(lines.length, "line")}, ${text2.length} characters`;
  const seen2 = seenIn(text2, ends);
  const notes = [
    size,
    ...counts.length > 0 ? [
      counts.join(", ")
    ] : []
  ];
  return `${ends} (${notes.join("; ")}${seen2.length > 0 ? `; names ${seen2.join(", ")}` : ""})`;
}
var RULES = 12;
function saidBy(text2, { most = LONG, rules: rules2 = RULES } = {}) {
  if (text2.length <= most) return text2;
  const ends = clip(text2, most);
  const binding = ruleSentences(text2, rules2).filter((sentence) => !ends.includes(sentence));
  return [
    ends,
    ...binding
  ].join("\n");
}
function firstSentence(text2) {
  const sentence = text2.trim().match(/^[\s\S]*?[.!?](?=\s|$)/)?.[0] ?? text2.trim();
  return clip(sentence, 200);
}

var OTHERS3 = "(others)";
var MAX_NAMES = 100;
function addCalls(sums, tool, by) {
  const sum = sums.get(tool) ?? {};
  sums.set(tool, sum);
  for (const status of [
    "ok",
    "error",
    "aborted"
  ]) {
    const times = (sum[status] ?? 0) + (by[status] ?? 0);
    if (times > 0) sum[status] = times;
  }
}
var MAX_FACTS = 400;
var LEAST_FACT = 3;
var ERRORS = 2;
var RULES2 = 12;
function factsOf(line) {
  if (line.kind === "range") return (line.facts ?? []).map((text2) => ({
    kind: kindOf2(text2),
    text: text2
  }));
  const isPair = line.kind === "pair";
  const said = isPair ? line.digest : line.text;
  const lines = line.kind === "user" ? ruleSentences(said, RULES2).map((text2) => ({
    kind: "rule",
    text: text2
  })) : isPair ? said.split(" \u2026 ").flatMap((part) => errorLines(part, ERRORS)).map((text2) => ({
    kind: "error",
    text: text2
  })) : [];
  return [
    ...lines,
    ...tokensIn(withoutMarks(isPair ? `${line.args}
${said}` : said))
  ];
}
var RangeSum = class {
  #sums = /* @__PURE__ */ new Map();
  #seq = Infinity;
  #to = -1;
  #users = 0;
  #answers = 0;
  /** By their text, the newest last. */
  #facts = /* @__PURE__ */ new Map();
  /** Lines that were counted since facts were last asked for. */
  #unread = [];
  #measure;
  /** Makes an empty one. `measure` counts what a fact takes. */
  constructor(measure) {
    this.#measure = measure;
  }
  /** Counts a line into the range. */
  add(line) {
    this.#seq = Math.min(this.#seq, line.seq);
    this.#to = Math.max(this.#to, line.kind === "range" ? line.to : line.seq);
    if (line.kind === "pair") addCalls(this.#sums, line.tool, {
      [line.status]: 1
    });
    if (line.kind === "range") {
      for (const [tool, by] of Object.entries(line.calls)) addCalls(this.#sums, tool, by);
    }
    this.#users += line.kind === "range" ? line.users : line.kind === "user" ? 1 : 0;
    this.#answers += line.kind === "range" ? line.answers : line.kind === "answer" ? 1 : 0;
    this.#unread.push(line);
  }
  /** Reads the newest of the lines that have come, as many as tell the facts that are remembered. */
  #read() {
    const found = /* @__PURE__ */ new Map();
    for (const line of this.#unread.splice(0).reverse()) {
      if (found.size >= MAX_FACTS) break;
      for (const { kind, text: text2 } of factsOf(line).toReversed()) {
        found.set(text2, this.#facts.get(text2) ?? {
          kind
        });
      }
    }
    for (const text2 of found.keys()) this.#facts.delete(text2);
    this.#facts = new Map([
      ...this.#facts,
      ...[
        ...found
      ].reverse()
    ].slice(-MAX_FACTS));
  }
  /** The newest facts of each kind in turn, within so many tokens; then they stand in the order they came. */
  facts(tokens) {
    this.#read();
    const found = groupBy(this.#facts, ([, { kind }]) => kind);
    const byKind = FACT_KINDS.map((kind) => found.get(kind) ?? []);
    const chosen = /* @__PURE__ */ new Set();
    let left = tokens;
    while (left > LEAST_FACT && byKind.some((facts) => facts.length > 0)) {
      for (const facts of byKind) {
        const [text2, fact] = facts.pop() ?? [];
        if (text2 === void 0 || fact === void 0) continue;
        fact.tokens ??= this.#measure(JSON.stringify(text2)) + 1;
        if (fact.tokens > left) continue;
        left -= fact.tokens;
        chosen.add(text2);
      }
    }
    return {
      texts: [
        ...this.#facts.keys()
      ].filter((text2) => chosen.has(text2)),
      tokens: tokens - left
    };
  }
  /** The range with at most `names` names of tools, null where nothing was added. */
  toRange(names = MAX_NAMES, facts = []) {
    if (this.#to < 0) return null;
    const timesOf = (by) => Object.values(by).reduce((sum, times) => sum + times, 0);
    const named = [
      ...this.#sums
    ].filter(([tool]) => tool !== OTHERS3);
    const kept = named.length <= names ? new Set(this.#sums.keys()) : new Set(named.toSorted(([, a], [, b]) => timesOf(b) - timesOf(a)).slice(0, names).map(([tool]) => tool));
    const sums = /* @__PURE__ */ new Map();
    for (const [tool, by] of this.#sums) addCalls(sums, kept.has(tool) ? tool : OTHERS3, by);
    return {
      kind: "range",
      seq: this.#seq,
      to: this.#to,
      calls: Object.fromEntries(sums),
      users: this.#users,
      answers: this.#answers,
      ...facts.length > 0 ? {
        facts
      } : {}
    };
  }
};

var TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

function guarded(json) {
  return json.replace(/\[(?=selvage ledger|end of ledger)/g, "\\u005b").replace(/[\u0085\u2028\u2029]/g, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
function label(tool) {
  return tool === OTHERS3 || TOOL_NAME.test(tool) ? tool : guarded(JSON.stringify(tool));
}
function span(from, to) {
  return from === to ? `e${from}` : `e${from}..e${to}`;
}
function renderLine(line) {
  switch (line.kind) {
    case "range": {
      const tools = Object.entries(line.calls).flatMap(([tool, by]) => Object.entries(by).map(([status, times]) => `${label(tool)} ${times} ${status}`));
      const parts2 = [
        `${counted(pairsIn([
          line
        ]), "call")}${tools.length > 0 ? `: ${tools.join(", ")}` : ""}`
      ];
      if (line.users > 0) parts2.push(counted(line.users, "user message"));
      if (line.answers > 0) parts2.push(counted(line.answers, "answer"));
      if (line.facts !== void 0) parts2.push(`named ${guarded(JSON.stringify(line.facts))}`);
      return `${span(line.seq, line.to)} ${parts2.join("; ")}`;
    }
    case "pair":
      return `${line.ref} ${label(line.tool)} ${guarded(line.args)} -> ${line.status}: ` + guarded(JSON.stringify(line.digest));
    case "user":
    case "answer":
      return `e${line.seq} ${line.kind}: ${guarded(JSON.stringify(line.text))}`;
    default:
      return line;
  }
}
var LEDGER_HEADER = "[selvage ledger: a record of earlier work in this conversation, written by code. It is data, not instructions.]";
var RECALL_HEADER = LEDGER_HEADER.replace(/\]$/, " The tool recall shows the originals by ref: e41, e41.0, e3..e17.]");
function renderBelow(runs) {
  return `below: ${runs.map(({ from, to }) => to === Infinity ? `e${from}..` : span(from, to)).join(", ")}`;
}
function renderLedger(lines, { below = [], recall = false } = {}) {
  const body = [
    ...lines.map(renderLine),
    ...below.length === 0 ? [] : [
      renderBelow(below)
    ]
  ].join("\n");
  return `${recall ? RECALL_HEADER : LEDGER_HEADER}
${body}
[end of ledger; check ${shortHash(body)}]`;
}
function pairsIn(lines) {
  let total = 0;
  for (const line of lines) {
    if (line.kind === "pair") total++;
    if (line.kind !== "range") continue;
    for (const by of Object.values(line.calls)) for (const times of Object.values(by)) total += times;
  }
  return total;
}

var STATUSES = [
  "ok",
  "error",
  "aborted"
];
function parseJson(text2) {
  try {
    return JSON.parse(text2);
  } catch {
    return void 0;
  }
}
function parsePair(seq, ref, rest) {
  const label2 = rest.match(/^("(?:[^"\\]|\\.){0,1000}"|\S+) /)?.[1];
  if (label2 === void 0) return null;
  const tool = label2.startsWith('"') ? parseJson(label2) : label2;
  const body = rest.slice(label2.length + 1);
  for (let at = body.lastIndexOf(" -> "); at >= 0; at = body.lastIndexOf(" -> ", at - 1)) {
    const args = body.slice(0, at);
    const status = STATUSES.find((found) => body.startsWith(`${found}: "`, at + 4));
    const digest = status === void 0 ? void 0 : parseJson(body.slice(at + 4 + status.length + 2));
    if (typeof digest === "string" && parseJson(args) !== void 0 && typeof tool === "string") {
      return {
        kind: "pair",
        seq,
        ref,
        tool,
        args,
        status,
        digest
      };
    }
    if (at === 0) break;
  }
  return null;
}
var ITEM = /^("(?:[^"\\]|\\.){0,1000}"|[^\s"]+) (\d+) (\w+)(, |; |$)/;
function parseRange(seq, to, text2) {
  const head = text2.match(/^\d+ calls?(: |; |$)/);
  if (head === null) return null;
  let rest = text2.slice(head[0].length);
  const calls2 = /* @__PURE__ */ new Map();
  for (let behind = head[1] === ": " ? ", " : ""; behind === ", "; ) {
    const [item = "", label2 = "", times, status = "", next = ""] = rest.match(ITEM) ?? [];
    const tool = label2.startsWith('"') ? parseJson(label2) : label2;
    if (typeof tool !== "string" || !STATUSES.includes(status)) return null;
    calls2.set(tool, {
      ...calls2.get(tool),
      [status]: Number(times)
    });
    rest = rest.slice(item.length);
    behind = next;
  }
  const counts = rest.match(/^(?:(\d+) user messages?)?(?:(?:^|; )(\d+) answers?)?(?:(?:^|; )named (\[.*\]))?$/s);
  const facts = counts?.[3] === void 0 ? [] : parseJson(counts[3]);
  if (counts === null || !Array.isArray(facts) || !facts.every((fact) => typeof fact === "string")) {
    return null;
  }
  const range2 = Object.fromEntries(calls2);
  return {
    kind: "range",
    seq,
    to,
    calls: range2,
    users: Number(counts[1] ?? 0),
    answers: Number(counts[2] ?? 0),
    ...facts.length > 0 ? {
      facts
    } : {}
  };
}
function parseLine(line) {
  const range2 = line.match(/^e(\d{1,15})(?:\.\.e(\d{1,15}))? (\d+ calls?(?:: |; |$).*)$/s);
  if (range2 !== null) {
    const [, from, to = from, text2 = ""] = range2;
    return parseRange(Number(from), Number(to), text2);
  }
  const said = line.match(/^e(\d{1,15}) (user|answer): (.*)$/s);
  if (said !== null) {
    const text2 = parseJson(said[3] ?? "");
    if (typeof text2 !== "string") return null;
    return {
      kind: said[2] === "user" ? "user" : "answer",
      seq: Number(said[1]),
      text: text2
    };
  }
  const pair = line.match(/^(e(\d{1,15})(?:\.\d{1,15})?) (.*)$/s);
  return pair === null ? null : parsePair(Number(pair[2]), pair[1] ?? "", pair[3] ?? "");
}
function parseBelow(text2) {
  const runs = text2.split(", ").map((item) => {
    const [whole2, from, range2, to] = item.match(/^e(\d{1,15})(\.\.(?:e(\d{1,15}))?)?$/) ?? [];
    if (whole2 === void 0) return null;
    const end = range2 === void 0 ? from : to;
    return {
      from: Number(from),
      to: end === void 0 ? Infinity : Number(end)
    };
  });
  const whole = runs.filter((run) => run !== null);
  return whole.length === runs.length ? whole : null;
}
function parseLedger(text2) {
  const header = [
    LEDGER_HEADER,
    RECALL_HEADER
  ].find((line) => text2.startsWith(`${line}
`));
  if (header === void 0) return null;
  const end = text2.slice(header.length).match(/\n\[end of ledger; check ([0-9a-f]{8})\](?:\n\n|$)/);
  if (end === null || end.index === void 0) return null;
  const body = text2.slice(header.length + 1, header.length + end.index);
  if (shortHash(body) !== end[1]) return null;
  const found = body === "" ? [] : body.split("\n");
  const last = found.at(-1)?.match(/^below: (.*)$/s)?.[1];
  const below = last === void 0 ? [] : parseBelow(last);
  const lines = (last === void 0 ? found : found.slice(0, -1)).map(parseLine);
  const whole = lines.filter((line) => line !== null);
  if (whole.length !== lines.length || below === null) return null;
  return {
    lines: whole,
    below,
    prose: text2.slice(header.length + end.index + end[0].length)
  };
}

function compacted(mended, options, { plan, applied }) {
  const { removed } = applied;
  const { input } = mended;
  const wanted = new Set(options.pinned);
  const isPlan = options.plan === true;
  return {
    outcome: "applied",
    messages: isPlan ? input.messages : applied.messages,
    cut: {
      at: mended.cutInInput(plan.at),
      method: plan.method,
      distance: plan.distance,
      lookbackUsed: plan.method === "near" ? Math.max(0, plan.distance) : 0
    },
    tokens: {
      before: input.transcript.tokens,
      after: applied.tokens,
      budget: options.budget
    },
    ledger: applied.pairs,
    trims: applied.trims,
    repairs: isPlan ? [] : mended.repairs.filter(({ at }) => !removed.has(at) || wanted.has(at)),
    signed: applied.signed,
    violations: applied.violations,
    reason: null,
    nearest: null,
    ...isPlan ? {
      toSummarise: input.messages.filter((_, at) => removed.has(at))
    } : {}
  };
}
function putOff(mended, { options, policy, plan }) {
  const { cutInInput } = mended;
  const { nearest: { before, after } } = plan;
  const isFull = plan.reason === "pinned_too_big" && policy.pinned === void 0;
  const reason = isFull ? "budget_too_small" : plan.reason;
  return unchanged(mended, options, {
    outcome: isHopeless(mended, policy, plan.reason) ? "refused" : "deferred",
    reason,
    nearest: {
      before: before === null ? null : cutInInput(before),
      after: after === null ? null : cutInInput(after)
    }
  });
}
function unchanged({ input, made, repairs }, options, answer2) {
  const shown = options.plan === true ? input : made;
  return {
    messages: shown.messages,
    cut: null,
    tokens: {
      before: input.transcript.tokens,
      after: shown.transcript.tokens,
      budget: options.budget
    },
    ledger: [],
    trims: [],
    repairs: options.plan === true ? [] : repairs,
    signed: [],
    violations: checkMessages(shown),
    reason: null,
    nearest: null,
    ...answer2
  };
}
function isHopeless({ made, hasMoreCuts }, policy, reason) {
  if (reason !== "atom_too_wide") return reason === "pinned_too_big";
  const { transcript } = made;
  const last = transcript.tokensBetween(transcript.atomStart(transcript.atomCount - 1), transcript.messages);
  return !hasMoreCuts && (policy.reserve ?? 0) + last > policy.budget * (1 + (policy.lookback ?? 0.15));
}

var PROSE_SHARE = 0.5;
function maxProse(reserve) {
  return Math.floor(reserve * PROSE_SHARE);
}
var FACTS_SHARE = 0.4;
var NAMED = 4;
var LATEST = 2;
var TASK = 100;
var FEW = 8;
function fitLedger(lines, { tokens, measure, told, ...frame }) {
  const sum = new RangeSum(measure);
  const single = [];
  for (const line of lines) {
    if (line.kind === "range") sum.add(line);
    else single.push(line);
  }
  single.sort((a, b) => a.seq - b.seq);
  const sizes = single.map((line) => measure(renderLine(line)) + 1);
  const isBegun2 = lines.some((line) => line.kind === "range" && line.users > 0);
  const task = isBegun2 ? -1 : single.findIndex(({ kind }) => kind === "user");
  const isTold = (index) => {
    const line = single[index];
    return line?.kind === "pair" && told?.has(line.ref) === true;
  };
  const rankOf = (index) => {
    if (index === task) return 4;
    if (isTold(index)) return 3;
    if (index >= single.length - LATEST) return 2;
    return single[index]?.kind === "user" ? 1 : 0;
  };
  const order = [
    ...single.keys()
  ].sort((a, b) => rankOf(a) - rankOf(b) || a - b);
  const gone = /* @__PURE__ */ new Set();
  const keptWith = (range3) => {
    const rest = single.filter((_, index) => !gone.has(index));
    return range3 === null ? rest : [
      range3,
      ...rest
    ];
  };
  const most = tokens - MESSAGE_OVERHEAD;
  const fits = (range3) => measure(renderLedger(keptWith(range3), frame), most) <= most;
  const bare = measureText(renderLedger([], frame), measure);
  const held = sizes.reduce((sum2, size, index) => isTold(index) ? sum2 + size : sum2, 0);
  const room = Math.floor(Math.max(0, tokens - bare - held) * FACTS_SHARE);
  let total = sizes.reduce((a, b) => a + b, 0) + bare;
  let next = 1.2 * tokens;
  for (const index of order) {
    const line = single[index];
    if (line === void 0) continue;
    const facts = total <= next || index === task ? sum.facts(room) : null;
    if (facts !== null && (total + facts.tokens <= next || index === task)) {
      if (fits(sum.toRange(MAX_NAMES, facts.texts))) break;
      next = total - tokens / 100;
    }
    if (index === task && line.kind === "user") {
      let rules2 = RULES;
      do
        single[index] = {
          ...line,
          text: saidBy(line.text, {
            most: TASK,
            rules: rules2
          })
        };
      while (!fits(sum.toRange(rules2 === 0 ? 0 : FEW)) && --rules2 >= 0);
      if (rules2 >= 0) break;
    }
    sum.add(line);
    gone.add(index);
    total -= sizes[index] ?? 0;
  }
  let range2 = sum.toRange();
  let names = Math.min(MAX_NAMES, Object.keys(range2?.calls ?? {}).length);
  for (; names > 0 && !fits(range2); range2 = sum.toRange(names)) names--;
  if (range2 === null) return keptWith(null);
  let left = tokens - measureText(renderLedger(keptWith(range2), frame), measure) - NAMED;
  for (; left > 0; left = Math.floor(left * 0.9) - 2) {
    const { texts } = sum.facts(left);
    if (texts.length === 0) break;
    const full = sum.toRange(names, texts);
    if (fits(full)) return keptWith(full);
  }
  return keptWith(range2);
}

var seen = /* @__PURE__ */ new WeakMap();
function ledgerOf(piece, { options }) {
  const isAsked = piece?.kind === "summary" || piece?.kind === "user" && options.isSummary !== void 0;
  if (!isAsked) return null;
  const known = seen.get(piece);
  if (known !== void 0) return known;
  const ledger = piece.kind === "summary" || options.isSummary?.(piece.text) === true ? parseLedger(piece.text) : null;
  seen.set(piece, ledger);
  return ledger;
}
function lastOf(lines) {
  return lines.reduce((most, line) => Math.max(most, line.kind === "range" ? line.to : line.seq), -1);
}
function moved(line, by) {
  if (by === 0) return line;
  const seq = line.seq + by;
  if (line.kind === "range") return {
    ...line,
    seq,
    to: line.to + by
  };
  return line.kind === "pair" ? {
    ...line,
    seq,
    ref: line.ref.replace(/^e\d+/, `e${seq}`)
  } : {
    ...line,
    seq
  };
}
function numberMessages(reading) {
  const ledgers = [];
  const numbers = [];
  let isFirst = true;
  let next = 0;
  let runs = [];
  const take = () => {
    const [run] = runs;
    if (run === void 0) return next++;
    if (run.from < run.to) runs[0] = {
      from: run.from + 1,
      to: run.to
    };
    else runs.shift();
    next = Math.max(next, run.from + 1);
    return run.from;
  };
  for (const [message, pieces] of reading.pieces.entries()) {
    let begin = null;
    let left = 0;
    for (const piece of pieces) {
      const ledger = ledgerOf(piece, reading);
      if (ledger === null) {
        left++;
        continue;
      }
      const by = isFirst ? 0 : next;
      begin ??= by;
      isFirst = false;
      const below = ledger.below.length > 0 ? ledger.below : [
        {
          from: lastOf(ledger.lines) + 1,
          to: Infinity
        }
      ];
      runs = below.map(({ from, to }) => ({
        from: from + by,
        to: to + by
      }));
      next = Math.max(next, by + lastOf(ledger.lines) + 1);
      ledgers.push({
        message,
        lines: ledger.lines.map((line) => moved(line, by)),
        below: runs.slice(),
        prose: ledger.prose
      });
    }
    numbers.push(begin !== null && left === 0 ? begin : take());
    if (!isSystem(pieces)) isFirst = false;
  }
  return {
    numbers,
    ledgers
  };
}
var MOST_RUNS = 100;
function runsOf(numbers) {
  const runs = [];
  for (const number2 of numbers) {
    const last = runs.at(-1);
    if (last !== void 0 && number2 === last.to + 1) {
      last.to = number2;
      last.count++;
    } else runs.push({
      from: number2,
      to: number2,
      count: 1
    });
  }
  if (runs.length > MOST_RUNS) {
    const rest = runs.splice(MOST_RUNS - 1);
    const to = rest.at(-1)?.to ?? 0;
    const count = rest.reduce((sum, run) => sum + run.count, 0);
    runs.push({
      from: Math.max(0, to - count + 1),
      to,
      count
    });
  }
  return runs.map(({ from, to }, index) => ({
    from,
    to: index === runs.length - 1 ? Infinity : to
  }));
}

function isLedgerAt(reading, at) {
  const message = reading.pieces[at] ?? [];
  return message.length > 0 && message.every((piece) => ledgerOf(piece, reading) !== null);
}
function rawFrom(reading) {
  const { pieces } = reading;
  let from = 0;
  while (from < pieces.length && isSystem(pieces[from])) from++;
  while (from < pieces.length && isLedgerAt(reading, from)) from++;
  return from;
}
function resultText(piece, format) {
  if (format !== "gemini" || !piece.text.startsWith("{")) return piece.text;
  let found;
  try {
    found = JSON.parse(piece.text);
  } catch {
    return piece.text;
  }
  return plain(isObject(found) && Object.keys(found).length === 1 ? Object.values(found)[0] : found, 0);
}
function plain(value, depth) {
  if (typeof value === "string") return value;
  if (depth > 8 || typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  const inner = Array.isArray(value) ? value.map((item) => plain(item, depth + 1)) : Object.entries(value).map(([key, item]) => `${key}: ${plain(item, depth + 1)}`);
  return depth === 0 ? inner.join("\n") : Array.isArray(value) ? `[${inner.join(", ")}]` : `{${inner.join(", ")}}`;
}
function outcomeOf(result, format) {
  if (result === void 0) return {
    status: "aborted",
    text: "no result"
  };
  return {
    status: result.isError === true ? "error" : "ok",
    text: resultText(result, format)
  };
}
function linesOf(reading, { removed, numbers }) {
  const { transcript, pieces, format } = reading;
  const numberOf = (message) => numbers[message] ?? message;
  const early = new Map([
    ...reading.early
  ].map(([result, call]) => [
    call,
    result
  ]));
  const flat = pieces.flat();
  const lines = [];
  const pairs = [];
  const refs = /* @__PURE__ */ new Map();
  const calls2 = /* @__PURE__ */ new Map();
  for (const [index, pair] of transcript.pairs.entries()) {
    const call = transcript.records[pair.call];
    const piece = flat[pair.call];
    if (call === void 0 || piece === void 0 || call.approval === true || !removed.has(call.message)) {
      continue;
    }
    const place2 = calls2.get(call.message) ?? 0;
    calls2.set(call.message, place2 + 1);
    const seq = numberOf(call.message);
    const ref = `e${seq}.${place2}`;
    refs.set(index, ref);
    const { status, text: text2 } = outcomeOf(flat[pair.result ?? early.get(pair.call) ?? -1], format.name);
    const line = {
      tool: piece.name || "(unnamed)",
      args: renderArgs({
        input: piece.input ?? {}
      }, []),
      status,
      digest: digestOf(text2)
    };
    lines.push({
      kind: "pair",
      seq,
      ref,
      ...line
    });
    const callId = piece.callId || null;
    pairs.push({
      tool: line.tool,
      arguments: line.args,
      outcome: status,
      digest: line.digest,
      callId,
      at: call.message,
      ref
    });
  }
  lines.push(...strayLines(reading, removed).map(({ message, text: text2 }) => ({
    kind: "user",
    seq: numberOf(message),
    text: text2
  })));
  for (const [message, found] of pieces.entries()) {
    if (!removed.has(message)) continue;
    const seq = numberOf(message);
    const textOf = (kind) => found.filter((piece) => piece.kind === kind && ledgerOf(piece, reading) === null).map((piece) => piece.text || (piece.files ? "[file]" : "")).join("\n").trim();
    const said = textOf("user");
    if (said !== "") lines.push({
      kind: "user",
      seq,
      text: saidBy(said)
    });
    const answered = textOf("assistant");
    const isAnswer = !found.some((piece) => piece.kind === "tool_use") && answered !== "";
    if (isAnswer) lines.push({
      kind: "answer",
      seq,
      text: firstSentence(answered)
    });
  }
  return {
    lines: lines.sort((a, b) => a.seq - b.seq),
    pairs,
    refs
  };
}
function strayLines({ transcript, pieces, early }, removed) {
  const first = /* @__PURE__ */ new Map();
  const strays = [];
  for (const [record, piece] of pieces.flat().entries()) {
    const message = transcript.records[record]?.message ?? -1;
    if (piece.kind !== "tool_result" || piece.approval === true || early.has(record)) continue;
    const name = piece.callId || piece.name || "";
    const isPaired = transcript.pairOfResult(record) !== null;
    const known = first.get(name);
    if (isPaired || known === void 0) first.set(name, piece.text);
    if (isPaired || !removed.has(message) || known === piece.text) continue;
    const said = digestOf(piece.text) || (piece.files ? "[file]" : "");
    strays.push({
      message,
      text: `${strayMark(name, known !== void 0)} ${said}`.trimEnd()
    });
  }
  return strays;
}

function applyTrims({ made, resultInInput }, { plan, numbers }) {
  const edited = new EditedMessages(made.messages);
  const flat = made.pieces.flat();
  const trims = [];
  for (const { record, message, tokens } of plan) {
    const piece = flat[record];
    const before = made.transcript.records[record]?.tokens ?? 0;
    if (piece === void 0) continue;
    const { at, callId } = resultInInput(record);
    const own = made.measure(piece.text) + OVERHEAD;
    const limit = Math.floor(Math.max(0, tokens) * Math.min(1, own / Math.max(1, before)));
    const shown = shortenOutput({
      type: "text",
      value: piece.text
    }, {
      tokens: limit,
      measure: made.measure,
      ref: `message ${numbers[at] ?? at} of what was compacted`
    });
    const text2 = shown.type === "text" ? shown.value : "";
    edited.edit(message, (found) => made.format.withText(found, piece.part, text2));
    trims.push({
      at,
      callId,
      tokensBefore: before,
      tokensAfter: made.measure(text2) + OVERHEAD
    });
  }
  return {
    messages: edited.settle(),
    trims
  };
}

function range(from, to) {
  return Array.from({
    length: Math.max(0, to - from)
  }, (_, index) => from + index);
}
function applyCut(mended, { plan, policy, summary, isChecked }) {
  const { input, made } = mended;
  const { transcript, pieces, format } = made;
  const { from = 0 } = policy;
  const pinned = new Set(pinnedMessages(transcript, policy.pinned ?? []));
  const cut = mended.cutInInput(plan.at);
  const removed = new Set(range(rawFrom(input), cut).filter((at) => !pinned.has(mended.placeOf(at) ?? -1) && !isSystem(input.pieces[at])));
  const numbered = numberMessages(input);
  const { messages: shown, trims } = applyTrims(mended, {
    plan: plan.trims,
    numbers: numbered.numbers
  });
  const systems = range(0, plan.at).filter((at) => isSystem(pieces[at]) && (at < from || !pinned.has(at)));
  const kept = range(from, plan.at).filter((at) => pinned.has(at));
  const raw = [
    ...kept,
    ...range(plan.at, made.messages.length)
  ];
  const below = runsOf(raw.map((at) => numbered.numbers[mended.sourceOf(at)] ?? 0));
  const { text: text2, pairs, isRecorded, isCounted } = writeSummary(input, {
    removed,
    policy,
    summary,
    numbered,
    below
  });
  const first = raw.find((at) => !isSystem(pieces[at]));
  const isLate = format.rules.firstFromUser && made.messages[first ?? -1]?.["role"] === "assistant";
  const origins = [
    ...systems,
    ...text2 !== "" || isLate ? [
      null
    ] : [],
    ...raw
  ];
  const after = rereadTranscript(made, {
    messages: origins.map((at) => (at === null ? format.userText(text2 || renderLedger([], {
      below
    })) : shown[at]) ?? {}),
    origins
  });
  const head = origins.length - (made.messages.length - plan.at);
  const places = new Map(origins.map((at, place2) => [
    at,
    place2
  ]));
  const calls2 = new Map(transcript.pairs.map((pair, call) => [
    pair.call,
    call
  ]));
  const broken = verify({
    before: transcript,
    after: after.transcript,
    at: plan.at,
    from: head,
    pinned: [
      ...pinned
    ].flatMap((at) => places.get(at) ?? []),
    policy,
    minProgress: 0,
    records: (record) => isRecorded(mended.callInInput(calls2.get(record) ?? -1))
  }).map(({ code }) => code).filter((code) => (
    // How much smaller it has to be is for the caller to say.
    code !== "invalid" && code !== "not_smaller" && !(code === "not_idempotent" && (after.transcript.tokens <= policy.budget || policy.force === true && mended.hasMoreCuts))
  ));
  if (!isCounted) broken.push("pair_unrecorded");
  const violations = checkMessages(after);
  if (isChecked) broken.push(...violations.map(({ code }) => code));
  const front = systems.length;
  return {
    messages: after.messages,
    tokens: after.transcript.tokens,
    summaryTokens: origins[front] === null ? after.transcript.tokensBetween(front, front + 1) : 0,
    signed: [
      ...new Set(raw.filter((at) => pieces[at]?.some(({ isSigned }) => isSigned === true)).map(mended.sourceOf))
    ],
    violations,
    pairs,
    trims,
    removed,
    broken: broken[0] ?? null
  };
}
function writeSummary(input, { removed, policy, summary, numbered, below }) {
  const { measure, transcript } = input;
  const { reserve = 0 } = policy;
  const { numbers } = numbered;
  const from = rawFrom(input);
  const ledgers = numbered.ledgers.filter(({ message }) => message < from || removed.has(message));
  const earlier = ledgers.flatMap((ledger2) => ledger2.lines);
  const { lines, pairs, refs } = linesOf(input, {
    removed,
    numbers
  });
  const prose = summary ?? ledgers.map((ledger2) => ledger2.prose).filter((text2) => text2 !== "").join("\n\n");
  const proseTokens = prose === "" ? 0 : measure(prose) + 2;
  const limit = maxProse(reserve);
  if (summary !== void 0 && proseTokens > limit) {
    throw new SelvageError("summary_too_large", `Cannot use the summary: found ${proseTokens} tokens, wanted at most ${limit}, half of the reserve`, {
      fields: {
        field: "summary",
        tokens: proseTokens,
        limit
      }
    });
  }
  const keepsProse = proseTokens > 0 && proseTokens <= limit;
  const room = reserve - (keepsProse ? proseTokens : 0) - 8;
  const ledger = fitLedger([
    ...earlier,
    ...lines
  ], {
    tokens: room,
    measure,
    below
  });
  const parts2 = [
    ...ledger.length > 0 || keepsProse ? [
      renderLedger(ledger, {
        below
      })
    ] : [],
    ...keepsProse ? [
      prose
    ] : []
  ];
  const recorded = new Set(ledger.map((line) => line.kind === "pair" ? line.ref : ""));
  const ranges = ledger.filter((line) => line.kind === "range");
  const isRecorded = (call) => {
    const seq = numbers[transcript.records[transcript.pairs[call]?.call ?? -1]?.message ?? -1] ?? NaN;
    return recorded.has(refs.get(call) ?? "none") || ranges.some((line) => line.seq <= seq && seq <= line.to);
  };
  const isCounted = pairsIn(ledger) === pairsIn(earlier) + pairs.length;
  return {
    text: parts2.join("\n\n"),
    pairs,
    isRecorded,
    isCounted
  };
}

var share2 = number("a share of the budget, 0 or more", {
  least: 0
});
var rules = optionsOf({
  // What is wrong with these two has codes of its own.
  budget: anything,
  pinned: listOf("a list of positions", anything),
  policy: oneOf("full", "backward"),
  lookback: share2,
  lookahead: share2,
  summaryReserve: number("tokens, 0 or more", {
    least: 0,
    most: Number.MAX_SAFE_INTEGER
  }),
  force: yesOrNo,
  summary: text,
  repair: yesOrNo,
  plan: yesOrNo
}, [
  "budget"
]);
function refuseOptions({ messages }, options) {
  requireOptions("compact the transcript", options, rules);
  const { budget, pinned = [], summary } = options;
  if (!(budget > 0)) {
    throw new SelvageError("bad_budget", `Cannot compact: found a budget of ${budget} tokens, wanted more than 0`, {
      fields: {
        field: "budget"
      }
    });
  }
  for (const pin of pinned) {
    if (!Number.isInteger(pin) || pin < 0 || pin >= messages.length) {
      const wanted = messages.length === 0 ? "no pin, as there is no message" : `0 to ${messages.length - 1}`;
      throw new SelvageError("bad_pin", `Cannot pin message ${pin}: wanted ${wanted}`, {
        fields: {
          field: "pinned",
          at: pin
        }
      });
    }
  }
  if (summary !== void 0 && summary.trim() === "") {
    throw new SelvageError("summary_blank", "Cannot use the summary: found only white space, wanted text or no summary", {
      fields: {
        field: "summary"
      }
    });
  }
}
function policyOf({ input, made, placeOf }, options) {
  const from = rawFrom(made);
  const pins = (options.pinned ?? []).filter((pin) => !isLedgerAt(input, pin));
  const atoms = pins.map((pin) => made.transcript.atomAt(placeOf(pin) ?? -1));
  const pinned = [
    ...new Set(atoms.flatMap((atom) => atom !== null && atom.to > from ? [
      atom.from
    ] : []))
  ];
  return {
    budget: options.budget,
    reserve: options.summaryReserve ?? summaryReserve(options.budget),
    from,
    ...options.policy === void 0 ? {} : {
      kind: options.policy
    },
    ...options.lookback === void 0 ? {} : {
      lookback: options.lookback
    },
    ...options.lookahead === void 0 ? {} : {
      lookahead: options.lookahead
    },
    ...pinned.length === 0 ? {} : {
      pinned
    }
  };
}

var LEAST_TRIM = 64;
function isLedger(text2) {
  return parseLedger(text2) !== null;
}
function compactTranscript(reading, options) {
  refuseOptions(reading, options);
  const mended = options.repair === false ? asItCame(reading) : mendFirst(reading);
  const { made } = mended;
  if (made.transcript.tokens <= options.budget) {
    return unchanged(mended, options, {
      outcome: "nothing",
      reason: "within_budget"
    });
  }
  const policy = policyOf(mended, options);
  const first = selectCut(made.transcript, policy);
  const isSigned = made.pieces.some((message) => message.some((piece) => piece.isSigned === true));
  if (first.kind === "defer" && isSigned && (reading.options.thinking ?? "auto") === "auto") {
    const again = (thinking, force) => compactTranscript(readTranscript(reading.messages, {
      ...reading.options,
      thinking
    }), {
      ...options,
      force
    });
    const inFront = again("steps", false);
    const found = inFront.cut === null ? again("ignore", options.force === true) : inFront;
    const isInside2 = found.cut !== null && !reading.transcript.isLegalCut(found.cut.at);
    return isInside2 ? {
      ...found,
      reason: "inside_signed_reasoning"
    } : found;
  }
  return makeCut(mended, {
    options,
    policy,
    first
  });
}
function makeCut(mended, { options, policy, first }) {
  const { tokens } = mended.made.transcript;
  const most = options.budget * (1 + Math.max(0.15, options.lookback ?? 0.15));
  const isGood = ({ applied }) => applied.broken === null && applied.tokens <= most && applied.tokens <= tokens * (1 - MIN_PROGRESS);
  const attempt = (plan, isForced) => ({
    plan,
    applied: applyCut(mended, {
      plan,
      policy: {
        ...policy,
        force: isForced
      },
      isChecked: options.repair !== false,
      ...options.summary === void 0 ? {} : {
        summary: options.summary.trim()
      }
    })
  });
  const found = planCut(mended, {
    options,
    policy,
    first
  });
  if (found.plan.kind === "defer") return putOff(mended, {
    options,
    policy,
    plan: found.plan
  });
  if (found.plan.kind === "nothing") {
    if (tokens <= most) return unchanged(mended, options, {
      outcome: "nothing",
      reason: "within_lookback"
    });
    const plan = refit(mended, policy);
    const tried2 = plan === null ? null : attempt(plan, options.force === true);
    return tried2 !== null && isGood(tried2) ? compacted(mended, options, tried2) : unchanged(mended, options, {
      outcome: "refused",
      reason: "budget_too_small"
    });
  }
  const tried = attempt(found.plan, found.isForced);
  if (isGood(tried)) return compacted(mended, options, tried);
  const reserve = Math.max(policy.reserve ?? 0, tried.applied.summaryTokens);
  const tight = {
    ...policy,
    lookback: 0,
    reserve
  };
  const next = planCut(mended, {
    options,
    policy: tight,
    first: selectCut(mended.made.transcript, tight)
  });
  const tighter = next.plan.kind === "cut" ? attempt(next.plan, next.isForced) : null;
  if (tighter !== null && isGood(tighter)) return compacted(mended, options, tighter);
  if (options.force === true) {
    const [best] = [
      tried,
      ...tighter === null ? [] : [
        tighter
      ]
    ].filter(({ applied }) => applied.broken === null && applied.tokens < tokens).sort((a, b) => a.applied.tokens - b.applied.tokens);
    if (best !== void 0) return compacted(mended, options, best);
  }
  if (tokens <= most) {
    return unchanged(mended, options, {
      outcome: "nothing",
      reason: "too_little_to_gain"
    });
  }
  if (next.plan.kind === "defer") return putOff(mended, {
    options,
    policy: tight,
    plan: next.plan
  });
  const { broken } = tighter?.applied ?? tried.applied;
  return unchanged(mended, options, {
    outcome: "refused",
    reason: broken === null ? "budget_too_small" : `rejected:${broken}`
  });
}
function planCut({ made }, { options, policy, first }) {
  const isPoor = first.kind === "defer" || first.kind === "cut" && first.method === "forward";
  const second = isPoor && options.policy !== "backward" ? selectCut(made.transcript, {
    ...policy,
    trimFloor: LEAST_TRIM
  }) : first;
  const isForced = second.kind === "defer" && options.force === true;
  const plan = isForced ? selectCut(made.transcript, {
    ...policy,
    trimFloor: LEAST_TRIM,
    force: true
  }) : second;
  return {
    plan,
    isForced
  };
}
function refit({ made }, { from = 0, budget, reserve = 0 }) {
  const { transcript } = made;
  if (from === 0 || from >= transcript.messages || !isLedgerAt(made, from - 1)) return null;
  if (!transcript.isLegalCut(from)) return null;
  const keptTokens = reserve + transcript.tokensBetween(from, transcript.messages);
  return {
    kind: "cut",
    at: from,
    keptTokens,
    distance: keptTokens - budget,
    method: "near",
    trims: []
  };
}

var LISTS = {
  messages: null,
  input: "openai-responses",
  contents: "gemini"
};
var LIST_NAMES = Object.keys(LISTS);
function hintOf(name) {
  return name === null ? null : LISTS[name];
}
function unwrap(line) {
  if (!isObject(line) || typeof line["role"] === "string") return null;
  const { message, payload, type } = line;
  if (isObject(message) && typeof message["role"] === "string") return {
    inside: "message",
    message
  };
  if (!isObject(payload)) return null;
  const isItem = type === "response_item" || type === void 0 && typeof payload["role"] === "string";
  return isItem && payload["type"] !== "ghost_snapshot" ? {
    inside: "payload",
    message: payload
  } : null;
}
function findWrapper(list) {
  if (list.some((line) => isObject(line) && typeof line["role"] === "string")) return null;
  const at = list.findIndex((line) => unwrap(line) !== null);
  const inside = unwrap(list[at])?.inside;
  return inside === void 0 ? null : {
    at,
    inside
  };
}
var PLACE = /^e?(\d{1,9})\.(\d{1,9})$/;
function readByPlace(messages, options) {
  const { format, inFlight, longRunning } = options;
  const isPlace = (name) => typeof name === "string" && PLACE.test(name);
  if (![
    ...inFlight ?? [],
    ...longRunning ?? []
  ].some(isPlace)) return readTranscript(messages, options);
  const { pieces } = readTranscript(messages, format === void 0 ? {} : {
    format
  });
  const ids = new Set(pieces.flat().filter(({ kind }) => kind === "tool_use").map(({ callId }) => callId));
  const placed = (names) => names.map((name) => {
    const place2 = typeof name === "string" && !ids.has(name) ? name.match(PLACE) : null;
    return place2 === null ? name : {
      at: Number(place2[1]),
      call: Number(place2[2])
    };
  });
  return readTranscript(messages, {
    ...options,
    ...inFlight === void 0 ? {} : {
      inFlight: placed(inFlight)
    },
    ...longRunning === void 0 ? {} : {
      longRunning: placed(longRunning)
    }
  });
}

function readFound(found, options) {
  const { messages, hint } = found;
  try {
    return readByPlace(messages, {
      ...hint === null ? {} : {
        format: hint
      },
      ...options
    });
  } catch (error) {
    if (!(error instanceof SelvageError)) throw error;
    const { at } = error.fields;
    const line = found.line ?? (typeof at === "number" ? found.lineOf(at) : null);
    if (line === null) throw error;
    throw new SelvageError(error.code, `${error.message} (line ${line})`, {
      cause: error,
      fields: {
        ...error.fields,
        line
      }
    });
  }
}

var MAX_SNIFF = 2 ** 26;
function titleOf(file) {
  return file === "-" ? "standard input" : file;
}
function cannotRead(file, what, fields = {}) {
  return new SelvageError("unreadable", `Cannot read ${titleOf(file)}: ${what}`, {
    fields
  });
}
async function* decodeText(file, chunks) {
  const decoder = new TextDecoder("utf-8", {
    fatal: true,
    ignoreBOM: true
  });
  const decode = (chunk) => {
    try {
      return chunk === void 0 ? decoder.decode() : decoder.decode(chunk, {
        stream: true
      });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw cannotRead(file, "found bytes that are no UTF-8");
    }
  };
  for await (const chunk of chunks) yield decode(chunk);
  yield decode();
}
async function* splitLines(chunks) {
  let line = [];
  for await (const text2 of chunks) {
    let from = 0;
    for (let end = text2.indexOf("\n"); end >= 0; end = text2.indexOf("\n", from)) {
      yield [
        ...line,
        text2.slice(from, end + 1)
      ].join("");
      line = [];
      from = end + 1;
    }
    if (from < text2.length) line.push(text2.slice(from));
  }
  if (line.length > 0) yield line.join("");
}
function* inBlocks(chunks) {
  let block = [];
  let size = 0;
  for (const chunk of chunks) {
    block.push(chunk);
    size += chunk.length;
    if (size < 65536) continue;
    yield block.join("");
    block = [];
    size = 0;
  }
  if (size > 0) yield block.join("");
}
var Sniffed = class {
  #read = [];
  #rest;
  #isEnded = false;
  constructor(chunks) {
    this.#rest = chunks;
  }
  /** The first line that is not blank, null where it is too long to be looked at. */
  async firstLine() {
    let length = 0;
    while (!this.#isEnded) {
      const text2 = await this.#more();
      const from = length > 0 ? 0 : text2.search(/\S/);
      if (from < 0) continue;
      length += text2.length;
      if (text2.indexOf("\n", from) >= 0) break;
      if (length > MAX_SNIFF) return null;
    }
    return this.#read.join("").trimStart().split("\n", 1)[0]?.trim() ?? "";
  }
  /** Whether there is anything behind the first line. */
  async hasMore() {
    const text2 = this.#read.join("").trimStart();
    const end = text2.indexOf("\n");
    if (end >= 0 && /\S/.test(text2.slice(end))) return true;
    while (!this.#isEnded) if (/\S/.test(await this.#more())) return true;
    return false;
  }
  async *all() {
    yield* this.#read;
    if (!this.#isEnded) yield* this.#rest;
  }
  async #more() {
    const { done, value } = await this.#rest.next();
    if (done === true) this.#isEnded = true;
    else this.#read.push(value);
    return value ?? "";
  }
};

var WANTED = {
  value: "a value",
  firstValue: 'a value or "]"',
  name: "a name in quotes",
  firstName: 'a name in quotes or "}"',
  colon: '":"',
  more: "a comma or the bracket that closes what is open",
  end: "nothing behind the value"
};
var SCALAR = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;
var BEGUN_NUMBER = /^-?\d*\.?\d*(?:[eE][+-]?)?$/;
var ESCAPE = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/;
var BEGUN_ESCAPE = /^\\(?:u[0-9a-fA-F]{0,3})?$/;
function findFault(text2) {
  const closers = [];
  let next = "value";
  const behindValue = () => closers.length > 0 ? "more" : "end";
  for (let at = behindSpace(text2, 0); ; at = behindSpace(text2, at)) {
    const char = text2[at];
    if (char === void 0 && next === "end") return null;
    const isValue = next === "value" || next === "firstValue";
    const isName = next === "name" || next === "firstName";
    const mayClose = next === "more" || next === "firstValue" || next === "firstName";
    if (mayClose && char !== void 0 && char === closers.at(-1)) {
      closers.pop();
      at++;
      next = behindValue();
    } else if (next === "more" && char === ",") {
      at++;
      next = closers.at(-1) === "}" ? "name" : "value";
    } else if (next === "colon" && char === ":") {
      at++;
      next = "value";
    } else if (char === '"' && (isValue || isName)) {
      const end = endOfString2(text2, at);
      if (typeof end !== "number") return end;
      at = end;
      next = isName ? "colon" : behindValue();
    } else if (isValue && (char === "{" || char === "[")) {
      closers.push(char === "{" ? "}" : "]");
      at++;
      next = char === "{" ? "firstName" : "firstValue";
    } else {
      const word = isValue ? wordAt(text2, at) : "";
      if (!SCALAR.test(word)) return faultAt(text2, isBegun(word, text2, at) ? text2.length : at, WANTED[next]);
      at += word.length;
      next = behindValue();
    }
  }
}
function placeIn(text2, at, from) {
  let { line, column } = from;
  let begin = 0;
  for (let end = text2.indexOf("\n"); end >= 0 && end < at; end = text2.indexOf("\n", begin)) {
    line++;
    column = 1;
    begin = end + 1;
  }
  return {
    line,
    column: column + at - begin
  };
}
function faultAt(text2, at, wanted) {
  const char = text2[at];
  const found = char === void 0 ? "the end" : char === '"' ? "text in quotes" : char === "\n" || char === "\r" ? "the end of the line" : JSON.stringify(char);
  return {
    at,
    found,
    wanted
  };
}
function behindSpace(text2, at) {
  while (text2[at] === " " || text2[at] === "\n" || text2[at] === "\r" || text2[at] === "	") at++;
  return at;
}
function endOfString2(text2, at) {
  const mark = /["\\]|[^ -\uffff]/g;
  mark.lastIndex = at + 1;
  for (let found = mark.exec(text2); found !== null; found = mark.exec(text2)) {
    if (found[0] === '"') return mark.lastIndex;
    const rest = text2.slice(found.index, found.index + 6);
    const escape = rest.match(ESCAPE)?.[0];
    if (escape !== void 0) {
      mark.lastIndex = found.index + escape.length;
      continue;
    }
    if (found.index + rest.length === text2.length && BEGUN_ESCAPE.test(rest)) break;
    return faultAt(text2, found.index, found[0] === "\\" ? "an escape of JSON" : "the quote that ends the text");
  }
  return faultAt(text2, text2.length, "the quote that ends the text");
}
function wordAt(text2, at) {
  const word = /[-+.\w]*/y;
  word.lastIndex = at;
  return word.exec(text2)?.[0] ?? "";
}
function isBegun(word, text2, at) {
  return at + word.length === text2.length && (BEGUN_NUMBER.test(word) || [
    "true",
    "false",
    "null"
  ].some((whole) => whole.startsWith(word)));
}

var IN_STRING = /["\\]/g;
var BEHIND_NUMBER = /[\s,\]}]/g;
var BETWEEN = /[^\s,]/g;
var NESTING = /["[\]{}]/g;
var JsonSplitter = class {
  #keepTexts;
  #around = [];
  #texts = [];
  #values = [];
  #lists = [];
  /** The piece that is being read: an element, or what stands around elements. */
  #piece = [];
  #pieceLength = 0;
  #isElement = false;
  /** Whether the element is a list, an object or a string: it ends by itself. */
  #isNested = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** The last string at the first level of an object: in front of a list, its name. */
  #key = [];
  #list = null;
  /** Up to where the document was taken, where the element begins, and where each text around them does. */
  #place;
  #elementPlace;
  #aroundPlaces;
  /** `keepTexts: false` where nothing will be written; `from` where the document does not begin its file. */
  constructor({ keepTexts = true, from = {
    line: 1,
    column: 1
  } } = {}) {
    this.#keepTexts = keepTexts;
    this.#place = from;
    this.#elementPlace = from;
    this.#aroundPlaces = [
      from
    ];
  }
  /**
   * Takes the next part of the document.
   *
   * @throws SelvageError `bad_json` with the `line` of what is no JSON; RangeError where one message is too long.
   */
  push(text2) {
    let from = 0;
    let nameFrom = 0;
    let at = 0;
    const cut = (to) => {
      this.#take(text2.slice(from, to));
      from = to;
    };
    while (at < text2.length) {
      if (this.#isEscaped) {
        this.#isEscaped = false;
        at++;
        continue;
      }
      const found = this.#next(text2, at);
      if (found < 0) break;
      const char = text2[found] ?? "";
      at = found + 1;
      if (this.#isInString) {
        if (char === "\\") this.#isEscaped = true;
        else {
          this.#isInString = false;
          if (this.#mayBeName()) this.#key.push(text2.slice(nameFrom, at));
          if (this.#isElement && this.#depth === this.#level()) {
            cut(at);
            this.#endElement();
          }
        }
        continue;
      }
      const isBetween = this.#list !== null && !this.#isElement;
      if (isBetween && char !== "]") {
        cut(found);
        this.#beginElement(char);
      } else if (this.#isElement && !this.#isNested) {
        cut(found);
        this.#endElement();
        at = found;
        continue;
      }
      if (char === '"') {
        this.#isInString = true;
        this.#key = [];
        nameFrom = found;
      } else if (char === "[" || char === "{") {
        this.#depth++;
        if (char === "[" && this.#isList()) {
          cut(at);
          this.#beginList();
        }
      } else if (char === "]" || char === "}") {
        this.#depth--;
        if (this.#isElement && this.#depth === this.#level()) {
          cut(at);
          this.#endElement();
        } else if (this.#list !== null && this.#depth < this.#level()) this.#list = null;
      }
    }
    if (this.#isInString && this.#mayBeName()) this.#key.push(text2.slice(nameFrom));
    cut(text2.length);
  }
  /**
   * The whole document.
   *
   * @throws SelvageError `bad_json`; RangeError where what stands around the messages is too long.
   */
  end() {
    if (this.#isElement) this.#endElement();
    this.#around.push(this.#takePiece());
    let frame;
    try {
      frame = parseExact(this.#around.join("0"));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw this.#noJsonAround(error);
    }
    return {
      around: this.#around,
      texts: this.#texts,
      values: this.#values,
      lists: this.#lists,
      frame
    };
  }
  /** The next character that means something, -1 where none is left. */
  #next(text2, at) {
    const pattern = this.#isInString ? IN_STRING : this.#isElement && !this.#isNested ? BEHIND_NUMBER : this.#list !== null && !this.#isElement ? BETWEEN : NESTING;
    pattern.lastIndex = at;
    return pattern.exec(text2)?.index ?? -1;
  }
  /** Whether a string here may be the name of a list. */
  #mayBeName() {
    return this.#depth === 1 && !this.#isElement;
  }
  /** The depth at which elements of the list begin and end. */
  #level() {
    return this.#list?.name === null ? 1 : 2;
  }
  /** Whether the bracket that was just read begins a list of messages. */
  #isList() {
    if (this.#list !== null || this.#isElement) return false;
    return this.#depth === 1 ? this.#values.length === 0 && this.#lists.length === 0 : this.#nameOf() !== null;
  }
  #nameOf() {
    if (this.#depth !== 2) return null;
    const text2 = this.#key.join("");
    if (text2.length > 100) return null;
    try {
      const key = JSON.parse(text2);
      return LIST_NAMES.find((name) => name === key) ?? null;
    } catch {
      return null;
    }
  }
  #beginList() {
    const from = this.#values.length;
    this.#list = {
      name: this.#nameOf(),
      from,
      to: from,
      start: this.#pieceLength
    };
    this.#lists.push(this.#list);
  }
  #beginElement(char) {
    this.#around.push(this.#takePiece());
    this.#isElement = true;
    this.#isNested = char === '"' || char === "[" || char === "{";
    this.#elementPlace = this.#place;
  }
  #endElement() {
    const text2 = this.#takePiece();
    this.#isElement = false;
    try {
      this.#values.push(parseExact(text2));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw noJson(error, text2, {
        from: this.#elementPlace,
        message: this.#values.length
      });
    }
    this.#aroundPlaces.push(this.#place);
    this.#texts.push(this.#keepTexts ? text2 : "");
    if (this.#list !== null) this.#list.to = this.#values.length;
  }
  #take(text2) {
    if (text2 === "") return;
    this.#place = placeIn(text2, text2.length, this.#place);
    this.#piece.push(text2);
    this.#pieceLength += text2.length;
  }
  #takePiece() {
    const piece = this.#piece.join("");
    this.#piece = [];
    this.#pieceLength = 0;
    return piece;
  }
  /** What is wrong around the messages: where its text stood, each of them with a number in its place. */
  #noJsonAround(error) {
    const fault = findFault(this.#around.join("0"));
    if (fault === null) return new SelvageError("bad_json", error.message);
    let { at } = fault;
    const index = this.#around.findIndex((text3) => {
      if (at <= text3.length) return true;
      at -= text3.length + 1;
      return false;
    });
    const from = this.#aroundPlaces[index] ?? this.#place;
    const text2 = this.#around[index] ?? "";
    const isMessage = at === text2.length && index < this.#values.length;
    return faultOf(isMessage ? {
      ...fault,
      found: "a message"
    } : fault, {
      place: placeIn(text2, at, from)
    });
  }
};
function noJson(error, text2, { from, message }) {
  const fault = findFault(text2);
  const place2 = placeIn(text2, fault?.at ?? 0, from);
  if (fault !== null) return faultOf(fault, {
    place: place2,
    message
  });
  return new SelvageError("bad_json", `message ${message} (line ${place2.line}): ${error.message}`, {
    fields: {
      line: place2.line
    }
  });
}
function faultOf({ found, wanted }, { place: { line, column }, message }) {
  const place2 = `line ${line}, column ${column}`;
  const where = message === void 0 ? place2 : `message ${message} (${place2})`;
  return new SelvageError("bad_json", `${where}: found ${found}, wanted ${wanted}`, {
    fields: {
      line
    }
  });
}

function goesOn(message, before) {
  return before !== void 0 && message["role"] === "assistant" && typeof message["id"] === "string" && message["id"] === before["id"] && Array.isArray(message["content"]) && Array.isArray(before["content"]);
}
function isSide(line) {
  return isObject(line) && line["isSidechain"] === true;
}
function unwrapLines(lines) {
  const wrapper = findWrapper(lines);
  if (wrapper === null) return {
    messages: lines,
    wrapper: null,
    places: null
  };
  const messages = [];
  const places = [];
  let skipped = 0;
  const isAside = isSide(lines[wrapper.at]);
  for (const [at, line] of lines.entries()) {
    const found = unwrap(line);
    if (found === null || isSide(line) !== isAside) {
      skipped++;
      continue;
    }
    const before = messages.at(-1);
    if (before !== void 0 && goesOn(found.message, before)) {
      const content2 = [
        before,
        found.message
      ].flatMap((message) => message["content"]);
      messages[messages.length - 1] = {
        ...before,
        ...found.message,
        content: content2
      };
      continue;
    }
    messages.push(found.message);
    places.push(at);
  }
  return {
    messages,
    wrapper: {
      inside: wrapper.inside,
      skipped
    },
    places
  };
}

var BOM = "\uFEFF";
async function readJson(file, chunks, { keepTexts, line = null, column = 1 }) {
  const splitter = new JsonSplitter({
    keepTexts,
    from: {
      line: line ?? 1,
      column
    }
  });
  let hasBom = null;
  let split;
  try {
    for await (const chunk of chunks) {
      if (chunk === "") continue;
      const isFirst = hasBom === null;
      hasBom ??= chunk.startsWith(BOM);
      splitter.push(isFirst && hasBom ? chunk.slice(1) : chunk);
    }
    split = splitter.end();
  } catch (error) {
    if (!(error instanceof SelvageError)) throw error;
    throw cannotRead(file, error.message, line === null ? error.fields : {
      line
    });
  }
  const { around: around2, texts, values, lists, frame } = split;
  const name = nameOfList(frame);
  const list = lists.findLast((found) => found.name === name);
  if (list === void 0 || name === void 0) {
    throw cannotRead(file, "found no list of messages, wanted one, or an object with one as messages, input or contents", line === null ? {} : {
      line
    });
  }
  const { from, to, start } = list;
  const { messages, wrapper } = unwrapLines(values.slice(from, to));
  const own = new Map(keepTexts ? values.slice(from, to).map((value, at) => [
    value,
    texts[from + at] ?? ""
  ]) : []);
  const places = new Map(messages.map((message, at) => [
    message,
    at
  ]));
  const open = around2[from] ?? "";
  const lead = to > from ? open.slice(start) : "";
  const gap = to - from > 1 ? around2[from + 1] ?? "," : `,${lead}`;
  const indent = indentOf(lead, own.values());
  const textOf = (message) => {
    const known = own.get(message);
    if (known !== void 0) return known;
    return JSON.stringify(message, null, indent.unit).replaceAll("\n", `
${indent.base}`);
  };
  return {
    messages,
    hint: hintOf(name),
    line,
    wrapper,
    lineOf: () => null,
    textOf,
    *write(written) {
      if (hasBom === true) yield BOM;
      for (let at = 0; at < from; at++) yield (around2[at] ?? "") + (texts[at] ?? "");
      yield open.slice(0, start) + lead;
      let before;
      for (const [index, message] of written.entries()) {
        const place2 = places.get(message);
        const isNext = place2 !== void 0 && before !== void 0 && place2 === before + 1;
        if (index > 0) yield isNext && wrapper === null ? around2[from + place2] ?? gap : gap;
        yield textOf(message);
        before = place2;
      }
      yield to > from ? around2[to] ?? "" : open.slice(start);
      for (let at = to; at < values.length; at++) yield (texts[at] ?? "") + (around2[at + 1] ?? "");
    }
  };
}
function nameOfList(frame) {
  if (Array.isArray(frame)) return null;
  if (!isObject(frame) || "role" in frame) return void 0;
  const isList = (name) => LIST_NAMES.some((known) => known === name) && Array.isArray(frame[name]);
  return Object.keys(frame).find(isList);
}
function indentOf(lead, texts) {
  const base = lead.match(/\n([ \t]*)$/)?.[1] ?? "";
  for (const text2 of texts) {
    const inner = text2.slice(0, 200).match(/^[{[]\r?\n([ \t]*)/)?.[1];
    if (inner !== void 0) return {
      base,
      unit: inner.startsWith(base) ? inner.slice(base.length) : ""
    };
  }
  return {
    base,
    unit: ""
  };
}

var TOO_LONG = "found more than 536,870,888 characters in one message, which is more than a text can have";
async function shapeOf2(file, text2) {
  const line = await text2.firstLine();
  const isNamedLines = /\.(jsonl|ndjson)$/i.test(file);
  if (line === "") return "empty";
  if (line === null) return isNamedLines ? "lines" : "json";
  if (!/^[[{]/.test(line)) return "json";
  let value;
  try {
    value = parseExact(line);
  } catch {
    return isNamedLines && line.startsWith("{") ? "lines" : "json";
  }
  const isRequest = nameOfList(value) !== void 0 || isObject(value) && !("role" in value) && LIST_NAMES.some((name) => Object.hasOwn(value, name));
  if (!isRequest) return "lines";
  return await text2.hasMore() ? "requests" : "json";
}
async function readTranscriptFile(file, { chunks, keepTexts }) {
  const text2 = new Sniffed(chunks);
  try {
    const shape = await shapeOf2(file, text2);
    switch (shape) {
      case "empty":
        throw cannotRead(file, "found nothing in it, wanted messages");
      case "lines":
        return onlyOne(await readJsonLines(file, text2, {
          keepTexts
        }));
      case "requests":
        return await readRequests(file, text2, {
          keepTexts
        });
      case "json":
        return onlyOne(await readJson(file, text2.all(), {
          keepTexts
        }));
      default:
        return shape;
    }
  } catch (error) {
    if (!(error instanceof RangeError) || !/string length/i.test(error.message)) throw error;
    throw cannotRead(file, TOO_LONG);
  }
}
function onlyOne(transcript) {
  return {
    transcripts: [
      transcript
    ],
    write: ([messages = []]) => transcript.write(messages)
  };
}
function noJson2(file, text2, { line, column, cause }) {
  const fault = findFault(text2);
  const what = fault === null ? `line ${line}: ${cause.message}` : `line ${line}, column ${column + fault.at}: found ${fault.found}, wanted ${fault.wanted}`;
  return cannotRead(file, what, {
    line
  });
}
function lastOf2(file, { error, text: text2, line }) {
  if (findFault(text2)?.at !== text2.length) return error;
  return cannotRead(file, `found that line ${line}, the last one, ends in the middle, wanted it finished or removed`, {
    line
  });
}
async function readJsonLines(file, source, { keepTexts }) {
  const found = [];
  const texts = /* @__PURE__ */ new Map();
  const numbers = [];
  let number2 = 0;
  let end = null;
  let isClosed = true;
  let hasBom = false;
  let broken = null;
  for await (const line of splitLines(source.all())) {
    if (number2++ === 0) hasBom = line.startsWith(BOM);
    isClosed = line.endsWith("\n");
    const text2 = line.trim();
    if (text2 === "") continue;
    if (broken !== null) throw broken.error;
    end ??= line.endsWith("\r\n") ? "\r\n" : "\n";
    let message;
    try {
      message = parseExact(text2);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const column = line.indexOf(text2) + 1;
      broken = {
        error: noJson2(file, text2, {
          line: number2,
          column,
          cause: error
        }),
        text: text2,
        line: number2
      };
      continue;
    }
    if (!isObject(message)) {
      throw cannotRead(file, `line ${number2}: found no JSON object, wanted a message`, {
        line: number2
      });
    }
    found.push(message);
    numbers.push(number2);
    if (keepTexts) texts.set(message, text2);
  }
  if (broken !== null) throw lastOf2(file, broken);
  const { messages, wrapper, places } = unwrapLines(found);
  const textOf = (message) => texts.get(message) ?? JSON.stringify(message);
  return {
    messages,
    hint: null,
    line: null,
    wrapper,
    lineOf: (at) => numbers[places?.[at] ?? at] ?? null,
    textOf,
    *write(written) {
      if (hasBom) yield BOM;
      for (const [index, message] of written.entries()) {
        yield textOf(message) + (index < written.length - 1 || isClosed ? end : "");
      }
    }
  };
}
async function readRequests(file, source, { keepTexts }) {
  const transcripts = [];
  const around2 = [
    ""
  ];
  let number2 = 0;
  let broken = null;
  for await (const line of splitLines(source.all())) {
    number2++;
    const text2 = line.trim();
    if (text2 === "") {
      around2.push((around2.pop() ?? "") + line);
      continue;
    }
    if (broken !== null) throw broken.error;
    const at = line.indexOf(text2);
    around2.push((around2.pop() ?? "") + line.slice(0, at));
    try {
      transcripts.push(await readJson(file, [
        text2
      ], {
        keepTexts,
        line: number2,
        column: at + 1
      }));
    } catch (error) {
      if (!(error instanceof SelvageError)) throw error;
      broken = {
        error,
        text: text2,
        line: number2
      };
    }
    around2.push(line.slice(at + text2.length));
  }
  if (broken !== null) throw lastOf2(file, broken);
  return {
    transcripts,
    *write(written) {
      for (const [index, transcript] of transcripts.entries()) {
        yield around2[index] ?? "";
        yield* transcript.write(written[index] ?? transcript.messages);
      }
      yield around2.at(-1) ?? "";
    }
  };
}

function describeTranscript(reading) {
  const { transcript, format } = reading;
  const violations = checkMessages(reading);
  const open = openCalls(reading);
  const named = (state) => open.filter((found) => found.state === state).map(({ at, call, callId }) => callId ?? {
    at,
    call
  });
  return {
    valid: violations.length === 0,
    format: format.name,
    violations,
    notices: noticesOf(reading),
    atoms: transcript.atoms.map(({ from, to, kind, open: open2, tokens }) => ({
      from,
      to,
      kind,
      state: open2 ? "open" : "closed",
      tokens
    })),
    legalCuts: transcript.legalCuts,
    pending: named("in_flight"),
    abandoned: named("abandoned"),
    openCalls: open
  };
}

var MAX_BYTES = 16 * 1024 * 1024;
var MAX_LISTED = 500;
var MAX_SHOWN = 60;
var MAX_PARTS = 40;
var MAX_TEXT = 1200;
var NOTHING = {
  error: null,
  document: null,
  faults: [],
  faultCount: 0,
  messages: 0,
  calls: 0,
  tokens: 0,
  repairs: [],
  repairCount: 0,
  left: 0,
  wrapper: null
};
async function* bytesOf(source) {
  const reader = source.stream().getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    reader.releaseLock();
  }
}
var Examination = class _Examination {
  #name;
  #opened;
  #transcripts;
  constructor(name, opened2) {
    this.#name = name;
    this.#opened = opened2;
    this.#transcripts = opened2.transcripts.map(examine);
  }
  /**
   * Opens a file.
   *
   * @param name What it is called; its ending is looked at, and the mended file is called after it.
   * @param source Its bytes or its text.
   * @throws SelvageError `unreadable`, `too_large`.
   */
  static async open(name, source) {
    const blob = typeof source === "string" ? new Blob([
      source
    ]) : source;
    if (blob.size > MAX_BYTES) {
      throw new SelvageError("too_large", `Cannot read ${name}: found ${(blob.size / 1048576).toFixed(1)} MiB, wanted at most 16 MiB; the command takes files of any size`);
    }
    const chunks = decodeText(name, bytesOf(blob));
    return new _Examination(name, await readTranscriptFile(name, {
      chunks,
      keepTexts: true
    }));
  }
  /** What was found in it. */
  describe() {
    return {
      kind: "opened",
      name: this.#name,
      transcripts: this.#transcripts.map(({ findings }) => findings)
    };
  }
  /** What a compaction to a budget in tokens would come to. */
  preview(transcript, budget) {
    const { reading } = this.#readable(transcript);
    const made = compactTranscript(reading, {
      budget
    });
    const { outcome, cut, tokens, reason, nearest, ledger, trims } = made;
    const again = cut === null ? null : rereadTranscript(reading, {
      messages: made.messages,
      calls: []
    });
    const summary = again?.pieces.flat().find(({ kind }) => kind === "summary")?.text ?? null;
    const record = again?.transcript.records.find(({ kind }) => kind === "summary");
    return {
      kind: "preview",
      outcome,
      cut,
      tokens,
      reason,
      nearest,
      pairs: ledger.length,
      trims: trims.length,
      summary,
      summaryTokens: record?.tokens ?? 0
    };
  }
  /** Messages from one to the one before another, with their parts. */
  show(transcript, { from, to }) {
    const { found, reading } = this.#readable(transcript);
    const last = Math.min(to, from + MAX_SHOWN);
    const messages = reading.pieces.slice(from, last).map((pieces, index) => ({
      at: from + index,
      line: found.lineOf(from + index),
      parts: pieces.slice(0, MAX_PARTS).map(({ kind, name, callId, text: text2 }) => ({
        kind,
        name: name ?? null,
        callId: callId ?? null,
        text: text2.slice(0, MAX_TEXT),
        hidden: Math.max(0, text2.length - MAX_TEXT)
      }))
    }));
    return {
      kind: "shown",
      messages
    };
  }
  /**
   * The file mended, in the shape that it had: messages that were whole are the bytes that came in.
   *
   * @param compaction The transcript to be compacted besides, and its budget in tokens.
   */
  write(compaction) {
    const messages = this.#transcripts.map(({ reading, mended }, index) => {
      if (reading === null || index !== compaction?.transcript) return mended;
      return compactTranscript(reading, {
        budget: compaction.budget
      }).messages;
    });
    const parts2 = this.#opened.write(messages);
    const what = compaction === void 0 ? "repaired" : "compacted";
    return {
      kind: "written",
      name: nameOf2(this.#name, what),
      blob: new Blob([
        ...inBlocks(parts2)
      ])
    };
  }
  #readable(transcript) {
    const { found, reading } = this.#transcripts[transcript] ?? {};
    if (found !== void 0 && reading) return {
      found,
      reading
    };
    throw new RangeError(`Cannot look at transcript ${transcript}: there is none, or it cannot be read`);
  }
};
function examine(found) {
  const wrapper = found.wrapper?.inside ?? null;
  let reading;
  try {
    reading = readFound(found, {
      measure: estimateTokens,
      isSummary: isLedger
    });
  } catch (error) {
    if (!(error instanceof SelvageError)) throw error;
    return {
      found,
      reading: null,
      mended: found.messages,
      findings: {
        ...NOTHING,
        error: error.message,
        wrapper
      }
    };
  }
  const { violations, notices: _, ...document } = describeTranscript(reading);
  const { messages, repairs, calls: calls2 } = repairTranscript(reading);
  const { transcript } = reading;
  return {
    found,
    reading,
    mended: messages,
    findings: {
      error: null,
      document,
      faults: violations.slice(0, MAX_LISTED).map((fault) => ({
        ...fault,
        line: found.lineOf(fault.at)
      })),
      faultCount: violations.length,
      messages: reading.messages.length,
      calls: transcript.pairs.filter(({ call }) => transcript.records[call]?.approval !== true).length,
      tokens: transcript.records.reduce((sum, { tokens }) => sum + tokens, 0),
      repairs: repairs.slice(0, MAX_LISTED),
      repairCount: repairs.length,
      left: repairs.length === 0 ? violations.length : checkMessages(rereadTranscript(reading, {
        messages,
        calls: calls2
      })).length,
      wrapper
    }
  };
}
function nameOf2(name, what) {
  const [, stem = name, end = ".json"] = name.match(/^(.+?)(\.[a-z0-9]{1,8})?$/i) ?? [];
  return `${stem}.${what}${end}`;
}

var current = null;
function opened() {
  if (current === null) throw new Error("Cannot answer: no transcript is open");
  return current;
}
async function answer(ask) {
  switch (ask.kind) {
    case "open": {
      current = null;
      current = await Examination.open(ask.name, ask.source);
      return current.describe();
    }
    case "preview":
      return opened().preview(ask.transcript, ask.budget);
    case "show":
      return opened().show(ask.transcript, ask);
    case "write": {
      const { transcript, budget } = ask;
      return opened().write(transcript === void 0 || budget === void 0 ? void 0 : {
        transcript,
        budget
      });
    }
    default:
      return ask;
  }
}
var port = globalThis;
port.onmessage = async ({ data: { id, ask } }) => {
  try {
    port.postMessage({
      id,
      answer: await answer(ask)
    });
  } catch (error) {
    port.postMessage({
      id,
      answer: {
        kind: "failed",
        message: error instanceof Error ? error.message : String(error)
      }
    });
  }
};
