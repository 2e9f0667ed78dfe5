/**
 * Reading, checking, repairing and compacting take a time that grows with the transcript and no faster, also
 * where somebody has built one to make it grow faster. Ten times the messages may take fifteen times as long, and
 * where that is a matter of milliseconds thirty times; where anything is quadratic it is a hundred.
 */
import { ok } from "node:assert/strict";
import { compactTranscript, isLedger } from "../../src/compaction/wire.ts";
import { checkMessages, openCalls } from "../../src/formats/check.ts";
import type { JsonObject } from "../../src/formats/format.ts";
import { type ReadOptions, readTranscript } from "../../src/formats/read.ts";
import { repairTranscript } from "../../src/formats/repair.ts";

interface Shape {
  readonly messages: readonly JsonObject[];
  readonly options?: ReadOptions;
  readonly budget?: number;
  readonly pinned?: readonly number[];
}

function list<Item>(length: number, make: (index: number) => Item): Item[] {
  return Array.from({ length }, (_, index) => make(index));
}

const user = { role: "user", content: "Go." };
const chatCall = (id: string, args = "{}"): JsonObject => ({
  id,
  type: "function",
  function: { name: "run", arguments: args },
});
const chatCalls = (calls: readonly JsonObject[]): JsonObject => ({
  role: "assistant",
  content: null,
  tool_calls: calls,
});
const chatResult = (id: string, content = "ok"): JsonObject => ({ role: "tool", tool_call_id: id, content });
const use = (id: string): JsonObject => ({ type: "tool_use", id, name: "run", input: {} });
const answer = (id: string, content = "ok"): JsonObject => ({
  type: "tool_result",
  tool_use_id: id,
  content,
});

const SHAPES: Readonly<Record<string, (n: number) => Shape>> = {
  "rounds of one call": (n) => ({
    messages: list(n, (i) => i % 2 === 0 ? chatCalls([chatCall(`c${i}`)]) : chatResult(`c${i - 1}`)),
  }),
  "one round with all calls": (n) => ({
    messages: [user, chatCalls(list(n, (i) => chatCall(`c${i}`))), ...list(n, (i) => chatResult(`c${i}`))],
  }),
  "one round with all results misplaced": (n) => ({
    messages: [
      user,
      chatCalls(list(n, (i) => chatCall(`c${i}`))),
      user,
      ...list(n, (i) => chatResult(`c${i}`)),
    ],
  }),
  "one message of calls without an id": (n) => ({
    messages: [user, { role: "assistant", content: list(n, () => use("")) }, user],
  }),
  "one message of calls with the same id": (n) => ({
    messages: [
      user,
      { role: "assistant", content: list(n, () => use("a")) },
      { role: "user", content: list(n, () => answer("a")) },
      user,
    ],
  }),
  "ids that are taken by others": (n) => ({
    messages: [
      user,
      { role: "assistant", content: list(n, (i) => use(`a_${i}`)) },
      user,
      { role: "assistant", content: list(n, () => use("a")) },
      user,
    ],
  }),
  "arguments that were cut off": (n) => ({
    messages: [user, chatCalls(list(n, (i) => chatCall(`c${i}`, '{"a'))), user],
  }),
  "results without an id for calls that have one": (n) => ({
    messages: [
      user,
      { role: "assistant", content: list(n, (i) => use(`c${i}`)) },
      { role: "user", content: list(n, () => answer("")) },
      user,
    ],
  }),
  "results in front of their calls": (n) => ({
    messages: [
      user,
      ...list(n, (i) => chatResult(`c${i}`)),
      chatCalls(list(n, (i) => chatCall(`c${i}`))),
      user,
    ],
  }),
  "one id in every round": (n) => ({
    messages: list(
      n,
      (i) =>
        i % 2 === 0
          ? { role: "assistant", content: [use("a:b")] }
          : { role: "user", content: [answer("a:b")] },
    ),
  }),
  "interim results of one call": (n) => ({
    messages: [
      { role: "user", parts: [{ text: "Go." }] },
      { role: "model", parts: [{ functionCall: { name: "run", args: {}, id: "a" } }] },
      ...list(n, () => ({
        role: "user",
        parts: [{ functionResponse: { name: "run", id: "a", response: {}, willContinue: true } }],
      })),
    ],
    options: { inFlight: [] },
  }),
  "orphan results": (n) => ({ messages: [user, ...list(n, (i) => chatResult(`c${i}`)), user] }),
  "second results of one call": (n) => ({
    messages: [user, chatCalls([chatCall("c")]), ...list(n, (i) => chatResult("c", `${i}`)), user],
  }),
  "calls of one name and no id": (n) => ({
    messages: [
      { role: "user", parts: [{ text: "Go." }] },
      { role: "model", parts: list(n, () => ({ functionCall: { name: "run", args: {} } })) },
      {
        role: "user",
        parts: list(n, () => ({ functionResponse: { name: "run", response: { output: "ok" } } })),
      },
    ],
  }),
  "empty texts in one message": (n) => ({
    messages: [{ role: "user", content: list(n, () => ({ type: "text", text: "" })) }],
    options: { format: "anthropic" },
  }),
  "all calls named as in flight": (n) => ({
    messages: list(n, (i) => chatCalls([chatCall(`c${i}`)])),
    options: { inFlight: list(n, (i) => `c${i}`), longRunning: list(n, () => "c0") },
  }),
  "results to shorten in one message": (n) => ({
    messages: [
      user,
      user,
      { role: "assistant", content: list(n, (i) => use(`c${i}`)) },
      { role: "user", content: list(n, (i) => answer(`c${i}`, "x".repeat(2_000))) },
    ],
    budget: n * 300,
  }),
  "all messages pinned": (n) => ({
    messages: list(n, (i) => ({ role: i % 2 === 0 ? "user" : "assistant", content: "word" })),
    pinned: list(n, (i) => i),
  }),
  "reasoning without an answer": (n) => ({
    messages: [user, ...list(n, () => ({ type: "reasoning", summary: [], encrypted_content: "x" })), user],
  }),
  "tool parts of one UI message": (n) => ({
    messages: [
      { id: "1", role: "user", parts: [{ type: "text", text: "Go." }] },
      {
        id: "2",
        role: "assistant",
        parts: list(n, () => ({ type: "tool-run", toolCallId: "", state: "input-available", input: {} })),
      },
      { id: "3", role: "user", parts: [{ type: "text", text: "Go." }] },
    ],
  }),
};

/** Milliseconds for everything that can be done with a transcript of `n` messages or parts. */
function measure(make: (n: number) => Shape, n: number): number {
  const { messages, options = {}, budget, pinned } = make(n);
  const start = performance.now();
  const reading = readTranscript(messages, { isSummary: isLedger, ...options });
  checkMessages(reading);
  openCalls(reading);
  repairTranscript(reading);
  compactTranscript(reading, {
    budget: budget ?? Math.max(500, reading.transcript.tokens * 0.4),
    ...(pinned === undefined ? {} : { pinned }),
  });
  return performance.now() - start;
}

for (const [index, [name, make]] of Object.entries(SHAPES).entries()) {
  // The first two are what transcripts look like; the others are only there to find what is quadratic.
  const most = index < 2 ? 100_000 : 50_000;
  Deno.test(`ten times the transcript takes about ten times as long: ${name}`, () => {
    // A machine may be busy with something else: the best of a few tells what the work takes.
    const best = { most: Infinity, tenth: Infinity };
    const wanted = index < 2 ? 15 : 30;
    for (let round = 0; round < 6 && !(best.most / best.tenth <= wanted); round++) {
      best.tenth = Math.min(best.tenth, measure(make, most / 10));
      best.most = Math.min(best.most, measure(make, most));
    }
    const ratio = best.most / best.tenth;
    ok(
      ratio <= wanted,
      `${best.most.toFixed(0)} ms for ${best.tenth.toFixed(0)} ms, ${ratio.toFixed(1)} times`,
    );
  });
}
