import assert from "node:assert/strict";
import { parseTranscript, Transcript } from "../../src/core/mod.ts";
import { log, messagesOf } from "../support/logs.ts";

const parse = (notation: string) => parseTranscript(log(notation));

/** Pairs as "call>result state", by record index. */
const pairsOf = (notation: string) =>
  parse(notation).pairs.map(({ call, result, state }) => `${call}>${result ?? "-"} ${state}`);

Deno.test.each([
  { what: "pairs a call with its result", notation: "H Ua Ra A", pairs: ["1>2 answered"] },
  {
    what: "pairs parallel calls in any order of results",
    notation: "Ua+Ub Rb Ra",
    pairs: ["0>3 answered", "1>2 answered"],
  },
  {
    what: "pairs a reused id by occurrence",
    notation: "Ua Ra Ua Ra",
    pairs: ["0>1 answered", "2>3 answered"],
  },
  {
    what: "gives a result to the nearest message that waits for its id",
    notation: "Ua H Ua Ra A",
    pairs: ["0>- abandoned", "2>3 answered"],
  },
  {
    what: "gives a second result to the next nearest message that still waits",
    notation: "Ua H Ua Ra Ra",
    pairs: ["0>4 answered", "2>3 answered"],
  },
  {
    what: "pairs one id in one message first in, first out",
    notation: "Ua+Ua Ra Ra",
    pairs: ["0>2 answered", "1>3 answered"],
  },
  {
    what: "pairs one id in messages that are joined first in, first out",
    notation: "H Ua Ub< Ua< Ra Rb Ra",
    pairs: ["1>4 answered", "2>5 answered", "3>6 answered"],
  },
  {
    what: "pairs missing ids in messages that are joined first in, first out",
    notation: "H U?run U?run< R?run R?run",
    pairs: ["1>3 answered", "2>4 answered"],
  },
  {
    what: "abandons a call with an interim result beside it once it is passed over",
    notation: "H Ua+Ra~ H",
    pairs: ["1>2 abandoned"],
  },
  {
    what: "waits for a call with an interim result beside it at the end",
    notation: "H Ua+Ra~",
    pairs: ["1>2 in_flight"],
  },
  {
    what: "waits for a call with an interim result in a message of its own, though it is passed over",
    notation: "H Ua Ra~ H",
    pairs: ["1>2 in_flight"],
  },
  {
    what: "pairs missing ids by name and position",
    notation: "U?sum+U?avg+U?sum R?avg+R?sum R?sum",
    pairs: ["0>4 answered", "1>3 answered", "2>5 answered"],
  },
  {
    what: "takes an empty id for a missing one",
    notation: "U_sum R?sum U?sum R_sum",
    pairs: ["0>1 answered", "2>3 answered"],
  },
  { what: "does not take a name for an id", notation: "Usum R?sum A", pairs: ["0>- abandoned"] },
  { what: "pairs inside one message", notation: "H A+Ua+Ra+Ub Rb", pairs: ["2>3 answered", "4>5 answered"] },
  {
    what: "does not let a result answer a call that follows it",
    notation: "Ra+Ua",
    pairs: ["1>- in_flight"],
  },
  {
    what: "leaves the calls at the end in flight",
    notation: "H Ua+Ub Rb",
    pairs: ["1>- in_flight", "2>3 answered"],
  },
  {
    what: "takes a call as abandoned when a user passes it over",
    notation: "Ua H",
    pairs: ["0>- abandoned"],
  },
  {
    what: "takes a call as abandoned when a summary passes it over",
    notation: "Ua Z",
    pairs: ["0>- abandoned"],
  },
  {
    what: "takes a call as abandoned when a call passes it over",
    notation: "Ua Ub",
    pairs: ["0>- abandoned", "1>- in_flight"],
  },
  { what: "lets a system message pass over nothing", notation: "Ua S", pairs: ["0>- in_flight"] },
  { what: "lets a stray result pass over nothing", notation: "Ua Rz", pairs: ["0>- in_flight"] },
  {
    what: "passes over what the results beside a user text leave open",
    notation: "Ua+Ub Ra+H",
    pairs: ["0>2 answered", "1>- abandoned"],
  },
  {
    what: "keeps a promised call in flight whatever passes it over",
    notation: "Ua! H Ub Rb A",
    pairs: ["0>- in_flight", "2>3 answered"],
  },
  { what: "pairs a promised call with its late answer", notation: "Ua! H A Ra", pairs: ["0>3 answered"] },
  { what: "keeps the first of two results", notation: "Ua Ra Ra", pairs: ["0>1 answered"] },
  { what: "keeps the last result of a long-running call", notation: "Ua* Ra~ A Ra", pairs: ["0>3 answered"] },
  { what: "leaves a call open after an interim result", notation: "Ua* Ra~ A H", pairs: ["0>1 in_flight"] },
  {
    what: "leaves a call open after an interim result, though nothing else says that it runs long",
    notation: "Ua Ra~ A H",
    pairs: ["0>1 in_flight"],
  },
  { what: "never passes a long-running call over", notation: "Ua* H A", pairs: ["0>- in_flight"] },
  {
    what: "takes a later result of a long-running call for a reused id last",
    notation: "Ua* Ra~ Ua Ra Ra",
    pairs: ["0>4 answered", "2>3 answered"],
  },
  {
    what: "passes nothing over by a message that joins",
    notation: "Ua Ub< A< Ra Rb",
    pairs: ["0>3 answered", "1>4 answered"],
  },
])("parseTranscript() $what", ({ notation, pairs }) => {
  assert.deepEqual(pairsOf(notation), pairs);
});

Deno.test("parseTranscript() pairs by position where calls and results have neither id nor name in common", () => {
  // An OpenAI tool message has no name: with empty ids only the position is left.
  assert.deepEqual(pairsOf("H U_read+U_read R_ R_ A"), ["1>3 answered", "2>4 answered"]);
  assert.deepEqual(parse("H U_read R_ A").legalCuts, [0, 1, 3, 4]);
});

Deno.test.each([
  { notation: "", cuts: [0] },
  { notation: "H", cuts: [0, 1] },
  { notation: "H Ua Ra A", cuts: [0, 1, 3, 4] },
  { notation: "H Ua+Ub Ra Rb A", cuts: [0, 1, 4, 5] },
  { notation: "H Ua+Ub Ra", cuts: [0, 1] },
  { notation: "H Ua Ra Ub", cuts: [0, 1, 3] },
  { notation: "Ua", cuts: [0] },
  { notation: "H Ua Ra Ua Ra", cuts: [0, 1, 3, 5] },
  { notation: "H Ua H Ua Ra A", cuts: [0, 1, 2, 3, 5, 6] },
  { notation: "H Ua! A H Ub Rb", cuts: [0, 1] },
  { notation: "H Ua! A H Ra A", cuts: [0, 1, 5, 6] },
  { notation: "Ua Ub Ra Rb", cuts: [0, 4] },
  { notation: "Ua Ub Rb Ra A", cuts: [0, 4, 5] },
  { notation: "Ua Ra Ra A", cuts: [0, 2, 3, 4] },
  { notation: "Rz H", cuts: [0, 1, 2] },
  { notation: "Ua Rz+Ra A", cuts: [0, 2, 3] },
  { notation: "Ua Rz", cuts: [0] },
  { notation: "S H A+Ua+Ra Ra A", cuts: [0, 1, 2, 3, 4, 5] },
  { notation: "Z H Ua Ra+H A", cuts: [0, 1, 2, 4, 5] },
  { notation: "H Ua* Ra~ A", cuts: [0, 1] },
  { notation: "H Ua* Ra~ A Ra A", cuts: [0, 1, 5, 6] },
  { notation: "H Ua Ra~ A", cuts: [0, 1] },
  { notation: "H Ua Ub< Ra Rb A", cuts: [0, 1, 5, 6] },
  { notation: "H T> Ua Ra T> A H", cuts: [0, 1, 4, 6, 7] },
  { notation: "H T> T> A", cuts: [0, 1, 4] },
  { notation: "H A T>", cuts: [0, 1, 2] },
  { notation: "H T> H", cuts: [0, 1, 2, 3] },
  { notation: "H A+T> Ua Ra A", cuts: [0, 1, 4, 5] },
])("legalCuts of `$notation` are the edges of atoms with nothing open before", ({ notation, cuts }) => {
  const transcript = parse(notation);
  const wanted: readonly number[] = cuts;
  assert.deepEqual(transcript.legalCuts, wanted);
  for (let at = 0; at <= transcript.messages; at++) {
    assert.equal(transcript.isLegalCut(at), wanted.includes(at), `at ${at}`);
  }
});

Deno.test("isLegalCut() refuses what is no position", () => {
  const transcript = parse("H A H");
  for (const at of [-1, 0.5, 4, NaN, Infinity]) assert.equal(transcript.isLegalCut(at), false, `${at}`);
});

Deno.test("atoms join a call with its results and all that lies between", () => {
  const seen = (notation: string) =>
    parse(notation).atoms.map(({ from, to, kind, open }) => `${from}-${to} ${kind}${open ? " open" : ""}`);
  assert.deepEqual(seen("S Z H A+Ua Ra Rz H Ub"), [
    "0-1 system",
    "1-2 summary",
    "2-3 user",
    "3-5 assistant",
    "5-6 stray",
    "6-7 user",
    "7-8 assistant open",
  ]);
  assert.deepEqual(seen("H Ua H A Ra H"), ["0-1 user", "1-5 assistant", "5-6 user"]);
  assert.deepEqual(seen("Ua! H Ub Ra"), ["0-4 assistant open"]);
});

Deno.test("tokens and tokensBetween() leave system messages out", () => {
  const transcript = parse("S:1000 H:10 A:20+Ua:5 Ra:300");
  assert.equal(transcript.tokens, 335);
  assert.equal(transcript.tokensBetween(0, 2), 10);
  assert.equal(transcript.tokensBetween(2, 4), 325);
  assert.deepEqual(transcript.atoms.map(({ tokens }) => tokens), [0, 10, 325]);
});

Deno.test("tokensBetween() counts nothing behind the end", () => {
  assert.equal(parse("H:10 A:20").tokensBetween(2, 9), 0);
  assert.equal(parse("H:10 A:20").tokensBetween(3, 9), 0);
});

Deno.test("tokens add up beyond 32 bits", () => {
  const transcript = parse("H:2000000000 A:2000000000 H:2000000000");
  assert.equal(transcript.tokens, 6_000_000_000);
  assert.equal(transcript.tokensBetween(1, 3), 4_000_000_000);
});

Deno.test("atoms that were joined are gone, though their numbers are not", () => {
  const transcript = parse(`Ua! ${"H ".repeat(100)}Ra`);
  assert.deepEqual([transcript.atomCount, transcript.atomStart(1)], [1, 102]);
  assert.equal(transcript.atoms.length, 1);
});

Deno.test("pairs are those of now, whenever they are asked for", () => {
  const transcript = parse("H Ua+Ub");
  const states = () => transcript.pairs.map(({ state }) => state);
  assert.deepEqual(states(), ["in_flight", "in_flight"]);
  assert.equal(transcript.pairs, transcript.pairs);
  transcript.append([{ kind: "tool_result", message: 2, tokens: 1, callId: "a" }]);
  assert.deepEqual(states(), ["answered", "in_flight"]);
  transcript.abandonOpen();
  assert.deepEqual(states(), ["answered", "abandoned"]);
});

Deno.test("firstOpen is the first message of the first open atom", () => {
  assert.equal(parse("H Ua Ra A").firstOpen, null);
  assert.equal(parse("H Ua Ra Ub+Uc Rb").firstOpen, 3);
  assert.equal(parse("H Ua! A Ub").firstOpen, 1);
  assert.equal(parse("H Ua A Ub! Ra").firstOpen, 1);
});

Deno.test("firstOpen is the reasoning that waits for what follows it, and its atom is open", () => {
  assert.equal(parse("H A T>").firstOpen, 2);
  assert.equal(parse("H A T> Ua").firstOpen, 2);
  assert.equal(parse("H A T> A").firstOpen, null);
  assert.deepEqual(parse("H A T>").atoms.map(({ open }) => open), [false, false, true]);
});

Deno.test("firstOpen moves on as calls are answered, also when it is asked between", () => {
  const transcript = new Transcript();
  const seen = messagesOf(log("H Ua!+Ub Rb A Uc Rc Ra A")).map((message) => {
    transcript.append(message);
    return transcript.firstOpen;
  });
  assert.deepEqual(seen, [null, 1, 1, 1, 1, 1, null, null]);
});

Deno.test("pairOfResult() finds the pair of a result, null for one that answers nothing", () => {
  const transcript = parse("Ua Ra Ra Rz");
  assert.equal(transcript.pairOfResult(1)?.call, 0);
  assert.equal(transcript.pairOfResult(2), null);
  assert.equal(transcript.pairOfResult(3), null);
  assert.equal(transcript.pairOfResult(0), null);
});

Deno.test("append() refuses another message than the next one, and changes nothing", () => {
  const transcript = parse("H Ua");
  const { operations } = transcript;
  const next = log("H A Ra");
  assert.throws(() => transcript.append([]), RangeError);
  assert.throws(() => transcript.append(next.slice(0, 1)), {
    name: "RangeError",
    message: /found records of message 0, wanted at least one record, all of message 2/,
  });
  assert.throws(() => transcript.append(next), RangeError);
  assert.deepEqual([transcript.messages, transcript.records.length, transcript.operations], [
    2,
    2,
    operations,
  ]);
  transcript.append(next.slice(2));
  assert.deepEqual(transcript.legalCuts, [0, 1, 3]);
});

Deno.test("parseTranscript() refuses messages that do not count up from 0 without a gap", () => {
  const user = (message: number) => ({ kind: "user", message, tokens: 1 }) as const;
  for (const messages of [[1], [0, 2], [0, 1, 0], [-1]]) {
    assert.throws(() => parseTranscript(messages.map(user)), RangeError, `${messages}`);
  }
});
