/**
 * What must hold of any transcript that is read, repaired and compacted: each law throws where it is broken.
 *
 * Over 300 lines: all laws of compaction share one way to ask for it, and one definition of what it takes away.
 *
 * @module
 */
import assert from "node:assert/strict";
import { mendFirst } from "../../src/compaction/mended.ts";
import { pairsIn } from "../../src/compaction/ledger.ts";
import { parseLedger } from "../../src/compaction/parse_ledger.ts";
import { pinnedMessages } from "../../src/core/cut.ts";
import type { ReadOptions } from "../../src/formats/read.ts";
import {
  checkMessages,
  type CompactedTranscript,
  compactTranscript,
  type CompactTranscriptOptions,
  isLedger,
  type Reading,
  readTranscript,
  repairTranscript,
} from "../../src/transcripts.ts";
import { settleAnthropic, settleChat, settleUi } from "../support/dialect_settled.ts";
import { toChat } from "../support/dialect_shapes.ts";
import { anthropicFaults, openaiFaults } from "../support/dialects.ts";
import type { Json } from "../support/wire_json.ts";
import { formatOf, type Sample } from "./_shapes.ts";

/** Reads a sample in its own format. */
export function read({ shape, messages }: Sample, options: ReadOptions = {}): Reading {
  return readTranscript(messages, {
    format: formatOf(shape),
    isSummary: isLedger,
    thinking: "ignore",
    ...options,
  });
}

/** Leaves calls that run long out, with all their results: these may come at any time, and more than once. */
function withoutLong(chat: readonly Json[], long: ReadonlySet<string>): readonly Json[] {
  if (long.size === 0) return chat;
  const isLong = (id: unknown): boolean => long.has(String(id).replace(/_\d+$/, ""));
  return chat.filter((message) => !isLong(message["tool_call_id"])).map((message) => {
    const calls = message["tool_calls"];
    if (!Array.isArray(calls)) return message;
    const left = calls.filter(({ id }) => !isLong(id));
    const { tool_calls: _, ...rest } = message;
    return left.length > 0 ? { ...rest, tool_calls: left } : { ...rest, content: rest["content"] ?? "" };
  });
}

/** Which calls are special. */
interface Apart {
  /** Ids of calls that are in flight, beside those that are open at the very end. */
  readonly promised?: ReadonlySet<string>;
  /** Ids of calls that run long. */
  readonly long?: ReadonlySet<string>;
}

/** What the judges say of a transcript after every call that will still be answered has its answer. */
export function judge(
  { shape, messages }: Sample,
  { promised = new Set(), long = new Set() }: Apart = {},
): readonly string[] {
  // A tool part of a UI message is answered in its place; the other formats get a message.
  const answered = shape === "ai-sdk-ui" ? settleUi(messages, promised) : messages;
  const chat = withoutLong(settleChat(toChat(formatOf(shape), answered), promised), long);
  const found = openaiFaults(chat, { whole: shape !== "gemini" });
  if (shape !== "anthropic" || long.size > 0) return found;
  return [...found, ...anthropicFaults(settleAnthropic(messages, promised))];
}

/** Messages that a repair may change: those that it names, and the round that they begin. */
function touchedBy({ pieces }: Reading, ats: readonly number[]): ReadonlySet<number> {
  const touched = new Set<number>();
  for (const first of ats) {
    for (let at = first; at < pieces.length; at++) {
      const isRound = pieces[at]?.some(({ kind }) => kind !== "user" && kind !== "system") === true;
      if (at > first && !isRound) break;
      touched.add(at);
    }
  }
  return touched;
}

/** A repair leaves nothing wrong, is done after one run, and rebuilds nothing that is whole. */
export function holdsRepair(sample: Sample): void {
  const reading = read(sample);
  const { messages, repairs } = repairTranscript(reading);
  const after = read({ ...sample, messages });
  const seen = JSON.stringify(messages);
  assert.deepEqual(
    checkMessages(after).map(({ code, at, callId }) => ({ code, at, callId })),
    [],
    `checked: ${seen}`,
  );
  assert.deepEqual(judge({ ...sample, messages }), [], `judged: ${seen}`);
  const again = repairTranscript(after);
  assert.deepEqual(again.repairs, [], `a second repair: ${seen}`);
  assert(
    again.messages.length === messages.length &&
      again.messages.every((message, at) => message === messages[at]),
  );
  const out = new Set(messages);
  const touched = touchedBy(reading, repairs.map(({ at }) => at));
  // A result that moves changes the round that it moves to, wherever that is.
  if (!repairs.some(({ code }) => code === "misplaced_result")) {
    for (const [at, message] of sample.messages.entries()) {
      assert(touched.has(at) || out.has(message), `message ${at} was rebuilt: ${seen}`);
    }
  }
  if (repairs.length === 0) assert(messages.every((message, at) => message === sample.messages[at]));
}

/** How a sample is compacted: shares and picks are taken modulo what there is. */
export interface Squeeze {
  /** Share of the tokens to keep. */
  readonly share: number;
  /** Messages to pin. */
  readonly pins: readonly number[];
  /** Tokens for the summary; null leaves the default. */
  readonly reserve: number | null;
  readonly policy: "full" | "backward";
  readonly thinking: "auto" | "ignore";
  readonly force: boolean;
  /** Calls that nobody has answered of which somebody will: picks among them; null leaves the default. */
  readonly inFlight: readonly number[] | null;
  /** Calls that give interim results: picks among all. */
  readonly longRunning: readonly number[];
}

function pick<Value>(values: readonly Value[], picks: readonly number[]): readonly Value[] {
  return values.length === 0
    ? []
    : [...new Set(picks.map((at) => values[at % values.length]))].flatMap((v) => v ?? []);
}

/** A compaction with what it was asked for. */
interface Compaction {
  readonly reading: Reading;
  readonly options: CompactTranscriptOptions;
  readonly promised: ReadonlySet<string>;
  readonly long: ReadonlySet<string>;
  readonly done: CompactedTranscript;
}

/** Compacts a sample whose ids are unique. */
export function squeeze(sample: Sample, how: Squeeze): Compaction {
  const plain = read(sample);
  const ids = plain.pieces.flat().flatMap((piece) =>
    piece.kind === "tool_use" && piece.approval !== true && piece.callId ? [piece.callId] : []
  );
  const open = plain.transcript.pairs.flatMap((pair) =>
    pair.state === "answered" ? [] : plain.transcript.records[pair.call]?.callId || []
  );
  // Names of calls are ids here: they have to say which call is meant.
  const isUnique = new Set(ids).size === ids.length;
  const inFlight = how.inFlight === null || !isUnique ? undefined : pick(open, how.inFlight);
  const longRunning = isUnique ? pick(ids, how.longRunning) : [];
  const reading = read(sample, {
    thinking: how.thinking,
    ...(inFlight === undefined ? {} : { inFlight }),
    ...(longRunning.length === 0 ? {} : { longRunning }),
  });
  const options: CompactTranscriptOptions = {
    budget: Math.max(1, Math.floor(reading.transcript.tokens * how.share)),
    policy: how.policy,
    force: how.force,
    pinned: pick([...sample.messages.keys()], how.pins),
    ...(how.reserve === null ? {} : { summaryReserve: how.reserve }),
  };
  const promised = new Set(
    reading.transcript.pairs.flatMap((pair) =>
      pair.state === "in_flight" ? reading.transcript.records[pair.call]?.callId || [] : []
    ),
  );
  return {
    reading,
    options,
    promised,
    long: new Set(longRunning),
    done: compactTranscript(reading, options),
  };
}

/** Messages of the input that a cut takes away, by the definition of what stays. */
function removedBy({ options, done }: Compaction, reading: Reading): ReadonlySet<number> {
  const { made, placeOf } = mendFirst(reading);
  const pins = (options.pinned ?? []).map((pin) => placeOf(pin) ?? -1);
  const pinned = new Set(pinnedMessages(made.transcript, pins));
  const stays = { has: (at: number) => pinned.has(placeOf(at) ?? -1) };
  const isSystem = (at: number): boolean =>
    reading.pieces[at]?.every(({ kind }) => kind === "system") === true;
  const before = [...Array(done.cut?.at ?? 0).keys()];
  return new Set(
    before.filter((at) => !stays.has(at) && !isSystem(at) && reading.pieces[at]?.[0]?.kind !== "summary"),
  );
}

/** Ids of calls that wait for their result: a repair answers those whose arguments were cut off. */
function stillOpen({ transcript }: Reading, ids: ReadonlySet<string>): readonly string[] {
  return transcript.pairs.flatMap(({ call, state }) => {
    const id = transcript.records[call]?.callId ?? "";
    return state !== "answered" && ids.has(id) ? [id] : [];
  });
}

function summariesIn(reading: Reading): readonly string[] {
  return reading.pieces.flatMap((pieces) =>
    pieces.flatMap(({ kind, text }) => kind === "summary" ? [text] : [])
  );
}

/** Where pinned messages stand in what came out: the objects that came in, or what a repair made of their atoms. */
function pinsIn(messages: readonly Json[], { reading, options }: Compaction): readonly number[] {
  const { made, placeOf } = mendFirst(
    readTranscript(reading.messages, { ...reading.options, thinking: "ignore" }),
  );
  const texts = messages.map((message) => JSON.stringify(message));
  return (options.pinned ?? []).flatMap((pin) => {
    const same = messages.indexOf(reading.messages[pin] ?? {});
    if (same >= 0) return [same];
    const { from = 0, to = 0 } = made.transcript.atomAt(placeOf(pin) ?? -1) ?? {};
    const atom = made.messages.slice(from, to).map((message) => texts.indexOf(JSON.stringify(message)));
    return atom.filter((at) => at >= 0).slice(0, 1);
  });
}

/** What comes out may be larger than the budget by this. */
const MOST = 1.15;

/** What is compacted keeps its promises, whatever was asked for. */
export function holdsCompaction(sample: Sample, how: Squeeze): void {
  const compaction = squeeze(sample, how);
  const { reading, options, promised, long, done } = compaction;
  const { transcript } = reading;
  const after = read({ ...sample, messages: done.messages });
  const seen = JSON.stringify(done.messages);
  assert.deepEqual(done.violations, []);
  assert.deepEqual(
    judge({ ...sample, messages: done.messages }, { promised, long }),
    [],
    `${done.outcome}, judged: ${seen}`,
  );

  const recorded = done.ledger.map(({ at, callId }) => `${at} ${callId ?? ""}`);
  const flat = reading.pieces.flat();
  const callsIn = (messages: ReadonlySet<number>) =>
    transcript.pairs.flatMap(({ call }) => {
      const record = transcript.records[call];
      // The id that the call itself has: one without is known to the core by that of its result.
      return record === undefined || record.approval === true || !messages.has(record.message)
        ? []
        : [{ message: record.message, callId: flat[call]?.callId }];
    });
  // A pin keeps its atom, which is smaller where a loop with signed reasoning had to be cut.
  const others = (["steps", "ignore"] as const).map((thinking) =>
    read(sample, { ...reading.options, thinking })
  );
  const [removed] = [reading, ...others].map((found) => removedBy(compaction, found)).filter((messages) =>
    callsIn(messages).map(({ message, callId }) => `${message} ${callId ?? ""}`).join() === recorded.join() &&
    [...messages].every((at) => !done.messages.includes(sample.messages[at] ?? {}))
  ).sort((a, b) => b.size - a.size);
  assert(removed !== undefined, `the ledger has ${recorded}`);
  const gone = callsIn(removed);
  if (done.outcome !== "applied") {
    assert.deepEqual([done.cut, done.ledger, done.trims], [null, [], []]);
    // What was made is whole and final.
    assert(done.reason?.startsWith("rejected") !== true, `what was made is ${done.reason}`);
    const isOver = done.tokens.after > options.budget * MOST;
    assert(
      done.outcome !== "nothing" || !isOver,
      `${done.tokens.after} tokens are left of ${options.budget}`,
    );
    return;
  }
  assert(
    done.cut !== null &&
      read(sample, { ...reading.options, thinking: "ignore" }).transcript.isLegalCut(done.cut.at),
  );
  const whole = mendFirst(reading).made.transcript.tokens;
  assert(whole > options.budget, "what fits stays");
  if (options.force !== true) {
    assert(done.tokens.after <= options.budget * MOST, `${done.tokens.after} tokens of ${options.budget}`);
    assert(done.tokens.after <= 0.9 * whole, `${done.tokens.after} tokens after ${whole}`);
  }
  assert.equal(
    done.reason,
    how.thinking === "ignore" || transcript.isLegalCut(done.cut.at) ? null : "inside_signed_reasoning",
  );
  if (summariesIn(reading).length === 0) {
    assert(done.ledger.every(({ at, ref }) => ref.startsWith(`e${at}.`)), "numbers are positions at first");
  }
  // C4: every pair that leaves is in the ledger of the answer, and its name and arguments are in the text.
  const [summary = "", ...more] = summariesIn(after);
  assert.deepEqual(more, [], "two summaries");
  const lines = parseLedger(summary)?.lines ?? [];
  const earlier = summariesIn(reading).flatMap((text) => parseLedger(text)?.lines ?? []);
  assert.equal(pairsIn(lines), pairsIn(earlier) + gone.length, `pairs in ${summary}`);
  if (!lines.some(({ kind }) => kind === "range")) {
    for (const pair of done.ledger) {
      const line = lines.find((line) =>
        line.kind === "pair" && line.tool === pair.tool && line.status === pair.outcome &&
        line.digest === pair.digest &&
        JSON.stringify(JSON.parse(line.args)) === JSON.stringify(JSON.parse(pair.arguments))
      );
      assert(line !== undefined, `no line for ${JSON.stringify(pair)} in ${summary}`);
    }
  }
  // What is kept is what came in: pinned messages and the tail, but for results that were trimmed.
  const out = new Set(done.messages);
  const trimmed = new Set(done.trims.map(({ at }) => at));
  const touched = touchedBy(reading, done.repairs.map(({ at }) => at));
  const isMoved = done.repairs.some(({ code }) => code === "misplaced_result");
  for (const [at, message] of sample.messages.entries()) {
    const isKept = !removed.has(at) && reading.pieces[at]?.[0]?.kind !== "summary";
    if (!isKept) assert(!out.has(message), `message ${at} was to be removed`);
    else {assert(
        out.has(message) || trimmed.has(at) || touched.has(at) || isMoved,
        `message ${at} was rebuilt: ${seen}`,
      );}
  }
  for (const pin of options.pinned ?? []) {
    const message = sample.messages[pin];
    if (message === undefined || reading.pieces[pin]?.[0]?.kind === "summary") continue;
    assert(!trimmed.has(pin), "a pinned message was trimmed");
    assert(out.has(message) || touched.has(pin) || isMoved, "a pinned message is gone");
  }
  for (const { tokensBefore, tokensAfter } of done.trims) assert(tokensAfter <= tokensBefore);
  // C5: a second run on what came out finds nothing to do.
  const again = compactTranscript(
    read({ ...sample, messages: done.messages }, {
      thinking: how.thinking,
      longRunning: [...long],
      ...(reading.options.inFlight === undefined ? {} : { inFlight: stillOpen(after, promised) }),
    }),
    {
      ...options,
      force: false,
      pinned: pinsIn(done.messages, compaction),
    },
  );
  assert.deepEqual(again.repairs, [], "the second run repairs");
  // A forced cut may stay over its budget; then no other cut may be left, but where the repair has made new ones.
  const isOver = how.force && (done.cut.distance > 0 || done.tokens.after > options.budget);
  const hasMoreCuts = [reading, ...others].some((found) => mendFirst(found).hasMoreCuts);
  assert(
    again.outcome === "nothing" ||
      (isOver && (again.outcome !== "applied" || hasMoreCuts)),
    `second run: ${again.outcome} ${again.reason}`,
  );
}

/** A plan is what is done, and counts of the caller's own are as good as ours, also where a repair moves messages. */
export function holdsPlan(sample: Sample, how: Squeeze): void {
  const { reading, options, done } = squeeze(sample, how);
  const plan = compactTranscript(reading, { ...options, plan: true });
  assert.deepEqual(
    [plan.outcome, plan.cut, plan.ledger, plan.trims, plan.reason, plan.nearest],
    [done.outcome, done.cut, done.ledger, done.trims, done.reason, done.nearest],
  );
  assert.deepEqual(plan.repairs, []);
  assert(plan.messages.every((message, at) => message === sample.messages[at]));
  const tokens = sample.messages.map(() => 0);
  for (const record of reading.transcript.records) {
    tokens[record.message] = (tokens[record.message] ?? 0) + record.tokens;
  }
  const counted = compactTranscript(read(sample, { ...reading.options, tokens }), options);
  assert.equal(counted.tokens.before, done.tokens.before);
  // Within a message the caller's tokens are spread by length: what is trimmed may differ.
  const isByMessage = done.outcome === "nothing" || done.cut?.method === "near";
  if (!isByMessage) return;
  assert.deepEqual([counted.outcome, counted.cut, counted.tokens], [done.outcome, done.cut, done.tokens]);
}

/** A compaction of what was compacted and has grown: one ledger, in which the pairs add up. */
export function holdsMerge(
  { first, second }: { readonly first: Sample; readonly second: Sample },
  shares: readonly [number, number],
): void {
  const how = {
    pins: [],
    reserve: null,
    policy: "full",
    thinking: "auto",
    force: false,
    inFlight: null,
    longRunning: [],
  } as const;
  const once = squeeze(first, { ...how, share: shares[0] });
  // The ids of what comes later are its own.
  const later: readonly Json[] = JSON.parse(
    JSON.stringify(second.messages).replaceAll(/"(?:a?special|c)(?=\d)/g, "$&9"),
  );
  holdsCompaction({ ...first, messages: [...once.done.messages, ...later] }, { ...how, share: shares[1] });
}
