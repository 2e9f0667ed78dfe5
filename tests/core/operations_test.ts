/**
 * Cost, counted in steps and not in time: appending is O(1) amortised on any log, a check at every append O(log n).
 *
 * @module
 */
import assert from "node:assert/strict";
import { parseTranscript, selectCut, Transcript, type TranscriptRecord } from "../../src/core/mod.ts";
import { messagesOf, type Part, place } from "../support/logs.ts";

const call = (callId: string, more: Partial<Part> = {}): Part => {
  return { kind: "tool_use", tokens: 10, callId, ...more };
};
const result = (callId: string): Part => ({ kind: "tool_result", tokens: 10, callId });

/** Half of `size` times what `make` makes, joined. */
function half(size: number, make: (index: number) => Part[]): Part[] {
  return Array.from({ length: size / 2 }, (_, index) => make(index)).flat();
}

/** One message for each part. */
const apart = (parts: readonly Part[]): readonly TranscriptRecord[] => place(parts.map((part) => [part]));

const LOGS: readonly { what: string; make: (size: number) => readonly TranscriptRecord[] }[] = [
  {
    what: "an open call in front of everything",
    make: (size) =>
      apart([call("o", { inFlight: true }), ...half(size, (i) => [call(`c${i}`), result(`c${i}`)])]),
  },
  {
    what: "one id used over and over",
    make: (size) => apart(half(2 * size, () => [call("x"), result("x")])),
  },
  {
    what: "late results in the order of their calls",
    make: (size) => apart([...half(size, (i) => [call(`c${i}`)]), ...half(size, (i) => [result(`c${i}`)])]),
  },
  {
    what: "late results in the opposite order",
    make: (size) =>
      apart([...half(size, (i) => [call(`c${i}`)]), ...half(size, (i) => [result(`c${size / 2 - 1 - i}`)])]),
  },
  {
    what: "interleaved late results",
    make: (size) => apart(half(size, (i) => [call(`c${i}`), result(`c${i - 2}`)])),
  },
  {
    what: "calls of one id that nobody answers, then all their results",
    make: (size) => apart([...half(size, () => [call("x")]), ...half(size, () => [result("x")])]),
  },
  { what: "calls that nobody answers", make: (size) => apart(half(size, () => [call("x"), call("y")])) },
  {
    what: "results that answer nothing",
    make: (size) => apart(half(size, () => [result("x"), result("y")])),
  },
  {
    what: "stray results behind each open round",
    make: (size) => apart(half(size / 2, (i) => [call(`c${i}`), result("z"), result("z"), result("z")])),
  },
  {
    what: "one message with all calls",
    make: (size) =>
      place([half(size, () => [call("x")]), ...half(size, () => [result("x")]).map((part) => [part])]),
  },
];

const SIZE = 20_000;

Deno.test.each(LOGS.map(({ what, make }) => ({ what, make })))(
  "parseTranscript() takes at most 4 steps a record on $what",
  ({ make }) => {
    const records = make(SIZE);
    const { operations } = parseTranscript(records);
    assert(operations <= 4 * records.length + 64, `${operations} steps for ${records.length} records`);
  },
);

Deno.test.each(LOGS.map(({ what, make }) => ({ what, make })))(
  "parseTranscript() takes no more steps a record on a larger log of $what",
  ({ make }) => {
    const cost = (size: number) => parseTranscript(make(size)).operations / size;
    const [small, large] = [cost(SIZE / 8), cost(SIZE)];
    assert(large <= small * 1.05, `${small} steps a record at ${SIZE / 8}, ${large} at ${SIZE}`);
  },
);

Deno.test.each(LOGS.map(({ what, make }) => ({ what, make })))(
  "a selection after every message costs O(log n) each on $what",
  ({ make }) => {
    const messages = messagesOf(make(SIZE / 4));
    const growing = new Transcript();
    for (const message of messages) {
      growing.append(message);
      selectCut(growing, { budget: 1_000, kind: "backward" });
    }
    const each = 4 + 3 * Math.ceil(Math.log2(messages.length + 1));
    const limit = each * growing.records.length + 64;
    assert(growing.operations <= limit, `${growing.operations} steps, wanted at most ${limit}`);
  },
);
