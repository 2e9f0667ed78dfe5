/**
 * Logs for tests of the core: a notation for those written by hand, and generators of random ones.
 *
 * @module
 */
import fc from "fast-check";
import type { RecordKind, TranscriptRecord } from "../../src/core/mod.ts";

/** A record before it has a place in a log. */
export type Part = Omit<TranscriptRecord, "message">;

const KINDS: Readonly<Record<string, RecordKind>> = {
  H: "user",
  A: "assistant",
  T: "reasoning",
  S: "system",
  Z: "summary",
  U: "tool_use",
  R: "tool_result",
};

const MARKS: Readonly<Record<string, string>> = {
  "!": "inFlight",
  "*": "longRunning",
  "~": "interim",
  "?": "approval",
  "<": "joins",
  ">": "sticks",
};

/**
 * Reads a log from its notation: messages stand apart, records of one message are joined by `+`.
 * `H` user, `A` assistant text, `T` reasoning, `S` system, `Z` summary, `Ua` call of id a, `Ra` its result.
 * `U?read` has a name and no id, `U_read` an empty id. `:500` are tokens, else 10. Marks, before the tokens:
 * `!` a call in flight, `*` a call that runs long, `~` an interim result, `?` a question for approval or its
 * answer, `<` a message that goes on with the one before it, `>` reasoning that stays with the next message.
 */
export function log(notation: string): readonly TranscriptRecord[] {
  const messages = notation.split(" ").filter((message) => message !== "");
  return place(messages.map((message) => message.split("+").map(part)));
}

function part(text: string): Part {
  const found = text.match(/^([HATSZUR])([?_]?)(\w*)([!*~?<>]*)(?::(\d+))?$/);
  const kind = KINDS[found?.[1] ?? ""];
  if (found === null || kind === undefined) {
    throw new TypeError(`Cannot read the log: found "${text}", wanted a record`);
  }
  const [, , mark, word = "", marks = "", tokens] = found;
  const base = {
    kind,
    tokens: Number(tokens ?? 10),
    ...Object.fromEntries([...marks].map((found) => [MARKS[found] ?? "", true])),
  };
  if (kind !== "tool_use" && kind !== "tool_result") return base;
  if (mark === "") return { ...base, callId: word, name: "tool" };
  return { ...base, ...(mark === "_" ? { callId: "" } : {}), ...(word === "" ? {} : { name: word }) };
}

/** Gives the records of a list of messages their message indexes. */
export function place(messages: readonly (readonly Part[])[]): readonly TranscriptRecord[] {
  return messages.flatMap((parts, message) => parts.map((found) => ({ ...found, message })));
}

/** The records of a log by message. */
export function messagesOf(records: readonly TranscriptRecord[]): readonly (readonly TranscriptRecord[])[] {
  const messages: TranscriptRecord[][] = [];
  for (const record of records) (messages[record.message] ??= []).push(record);
  return messages;
}

/** Tokens of small parts and, now and then, of large ones. */
const tokens = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 120 }) },
  { weight: 1, arbitrary: fc.integer({ min: 121, max: 1_500 }) },
);
const resultTokens = fc.oneof(
  fc.integer({ min: 1, max: 250 }),
  fc.constantFrom(199, 200, 201, 202),
  fc.integer({ min: 251, max: 4_000 }),
);

interface Round {
  readonly lead: readonly Part[];
  readonly calls: readonly (readonly [call: number, result: number, rank: number])[];
  readonly split: boolean;
}

const plain: fc.Arbitrary<Part> = fc.record({
  kind: fc.constantFrom<RecordKind>("user", "assistant", "user", "assistant", "system"),
  tokens,
});

const round: fc.Arbitrary<Round> = fc.record({
  lead: fc.subarray<Part>([{ kind: "reasoning", tokens: 31 }, { kind: "assistant", tokens: 17 }]),
  calls: fc.array(fc.tuple(tokens, resultTokens, fc.nat(99)), { minLength: 1, maxLength: 4 }),
  split: fc.boolean(),
});

function roundMessages({ lead, calls, split }: Round, prefix: string): Part[][] {
  const ids = calls.map((_, index) => `${prefix}.${index}`);
  const uses = calls.map(([cost], index): Part => ({
    kind: "tool_use",
    tokens: cost,
    callId: ids[index] ?? "",
    name: index % 2 === 0 ? "read" : "run",
  }));
  const results = calls
    .map(([, cost, rank], index) => ({ rank, index, cost }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ index, cost }): Part => ({ kind: "tool_result", tokens: cost, callId: ids[index] ?? "" }));
  return [[...lead, ...uses], ...(split ? results.map((result) => [result]) : [results])];
}

/** Messages of a log as this project writes it: ids are unique, each call is answered once, in its place. */
export const ownMessages: fc.Arbitrary<readonly (readonly Part[])[]> = fc
  .tuple(fc.array(fc.oneof(plain, round), { minLength: 1, maxLength: 12 }), fc.nat(3))
  .map(([steps, cutOff]) => {
    const messages = steps.flatMap((step, index) =>
      "calls" in step ? roundMessages(step, `e${index}`) : [[step]]
    );
    // What is cut off may be the results of the last round: calls that are open at the end.
    return messages.slice(0, Math.max(1, messages.length - cutOff));
  });

/** {@link ownMessages} as records. */
export const ownLog: fc.Arbitrary<readonly TranscriptRecord[]> = ownMessages.map(place);

const identity = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("a", "b", "c").map((callId) => ({ callId, name: "read" })) },
  { weight: 1, arbitrary: fc.constantFrom("read", "run").map((name) => ({ name })) },
  { weight: 1, arbitrary: fc.constantFrom("read", "run").map((name) => ({ callId: "", name })) },
);
const call: fc.Arbitrary<Part> = fc
  .tuple(identity, tokens, fc.integer({ min: 0, max: 7 }))
  .map(([who, cost, flight]) => ({
    kind: "tool_use",
    tokens: cost,
    ...who,
    ...(flight === 0 ? { inFlight: true } : {}),
  }));
const result: fc.Arbitrary<Part> = fc
  .tuple(identity, resultTokens)
  .map(([who, cost]) => ({ kind: "tool_result", tokens: cost, ...who }));
const text = (kind: RecordKind): fc.Arbitrary<Part> => tokens.map((cost) => ({ kind, tokens: cost }));

const foreignMessage: fc.Arbitrary<readonly Part[]> = fc.oneof(
  { weight: 2, arbitrary: fc.tuple(text("user")) },
  { weight: 2, arbitrary: fc.tuple(text("assistant")) },
  { weight: 1, arbitrary: fc.tuple(fc.oneof(text("system"), text("summary"))) },
  { weight: 5, arbitrary: fc.array(call, { minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: fc.tuple(text("reasoning"), call) },
  { weight: 6, arbitrary: fc.array(result, { minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: fc.tuple(result, text("user")) },
  { weight: 1, arbitrary: fc.tuple(text("user"), result, result) },
  { weight: 1, arbitrary: fc.tuple(call, result, call) },
  { weight: 1, arbitrary: fc.tuple(text("assistant"), call, result, result, call) },
);

/** Calls that run long and their results, reasoning that stands alone, messages that go on with the last one. */
const loose: fc.Arbitrary<readonly Part[]> = fc.oneof(
  fc.constant<Part[]>([{ kind: "tool_use", tokens: 23, callId: "long", name: "run", longRunning: true }]),
  fc.constant<Part[]>([{ kind: "tool_result", tokens: 420, callId: "long", interim: true }]),
  fc.constant<Part[]>([{ kind: "tool_result", tokens: 230, callId: "long" }]),
  fc.constant<Part[]>([{ kind: "reasoning", tokens: 55, sticks: true }]),
  fc.constant<Part[]>([{ kind: "assistant", tokens: 19, joins: true }]),
  call.map((found) => [{ ...found, joins: true }]),
);

/** Numbers the calls that run long, so that their ids are not reused; and joins only what has something to join. */
function settle(messages: readonly (readonly Part[])[]): readonly (readonly Part[])[] {
  let calls = 0;
  return messages.map((parts, index) => {
    const before = messages[index - 1] ?? [];
    const canJoin = before.some(({ kind }) => kind !== "user" && kind !== "system" && kind !== "summary");
    return parts.map(({ joins, ...found }) => {
      if (found.longRunning === true) calls++;
      const renamed = found.callId === "long" ? { ...found, callId: `long${calls}` } : found;
      return joins === true && canJoin ? { ...renamed, joins } : renamed;
    });
  });
}

const soup = fc.array(
  fc.oneof({ weight: 4, arbitrary: foreignMessage }, { weight: 1, arbitrary: loose }),
  { minLength: 1, maxLength: 18 },
).map(settle);

/** A well-formed log with a few messages dropped, doubled or moved, and its ids run together. */
const damaged = fc
  .tuple(
    ownMessages,
    fc.array(fc.tuple(fc.constantFrom("drop", "double", "move"), fc.nat(40), fc.nat(40)), { maxLength: 3 }),
    fc.constantFrom(0, 1, 3),
  )
  .map(([messages, damages, names]) => {
    const left = [...messages];
    for (const [how, from, to] of damages) {
      const at = from % left.length;
      const taken = left[at] ?? [];
      if (how !== "double" && left.length > 1) left.splice(at, 1);
      if (how !== "drop") left.splice(to % (left.length + 1), 0, taken);
    }
    if (names === 0) return left;
    return left.map((parts) =>
      parts.map((found) =>
        found.callId === undefined ? found : { ...found, callId: shorten(found.callId, names) }
      )
    );
  });

function shorten(id: string, names: number): string {
  return `c${Number(id.split(".")[1] ?? 0) % names}`;
}

/** Any log that may come from elsewhere: reused, empty and missing ids, late, doubled, missing and stray results. */
export const foreignLog: fc.Arbitrary<readonly TranscriptRecord[]> = fc.oneof(soup, damaged).map(place);
