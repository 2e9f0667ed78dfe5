/**
 * Reading, checking, repairing and compacting take a time that grows with the transcript and no faster, also
 * where somebody has built one to make it grow faster. Ten times the messages may take fifteen times as long;
 * where anything is quadratic it is a hundred.
 *
 * What is measured is the time that the processor spends in this thread, which neither other tests nor a busy machine
 * add to. What does is memory: 20,000 messages no longer fit where 2,000 do, and take up to twice as long each with
 * nothing quadratic about them. `deno task test:linear` takes 100,000, on a quiet machine: a square with a small factor
 * shows there alone.
 */
import { ok } from "node:assert/strict";
import { processorMs } from "../support/processor.ts";
import { compactTranscript, isLedger } from "../../src/compaction/wire.ts";
import { checkMessages, openCalls } from "../../src/formats/check.ts";
import type { JsonObject } from "../../src/formats/format.ts";
import { type Reading, type ReadOptions, readTranscript } from "../../src/formats/read.ts";
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

/** Messages or parts of the longer transcript. */
const LONG = Number(Deno.env.get("SELVAGE_LINEAR") ?? 2_000);

/** How many times as long ten times the transcript may take. */
const WANTED = 15;

/** Milliseconds that a measurement takes at least: the time of a thread moves in steps of ten. */
const ENOUGH = 100;

function read({ messages, options = {} }: Shape): Reading {
  return readTranscript(messages, { isSummary: isLedger, ...options });
}

/** What is done with a transcript, each measured by itself so that none hides behind the others. */
const STAGES: Readonly<Record<string, (shape: Shape) => () => unknown>> = {
  // Pairs are listed when they are first asked for.
  reading: (shape) => () => read(shape).transcript.pairs,
  checking: (shape) => {
    const reading = read(shape);
    return () => [checkMessages(reading), openCalls(reading)];
  },
  repairing: (shape) => {
    const reading = read(shape);
    return () => repairTranscript(reading);
  },
  compacting: (shape) => {
    const reading = read(shape);
    const budget = shape.budget ?? Math.max(500, reading.transcript.tokens * 0.4);
    return () =>
      compactTranscript(reading, {
        budget,
        ...(shape.pinned === undefined ? {} : { pinned: shape.pinned }),
      });
  },
};

/** How many times as long something takes for the long transcript. */
async function ratioOf(
  prepare: (shape: Shape) => () => unknown,
  make: (n: number) => Shape,
): Promise<number> {
  // Ten short ones are as much work as the long one, and run as long.
  const jobs = { long: [prepare(make(LONG))], short: list(10, () => prepare(make(LONG / 10))) };
  let times = 1;
  const measure = (kind: keyof typeof jobs): Promise<number> =>
    processorMs(() => {
      for (let time = 0; time < times; time++) jobs[kind].forEach((job) => job());
    });
  // The first finds no code warm.
  await measure("short");
  let best = { long: Infinity, short: Infinity };
  for (let round = 0; round < 40 && !(best.long / best.short * 10 <= WANTED); round++) {
    const short = await measure("short");
    if (short < ENOUGH) {
      times *= 2;
      best = { long: Infinity, short: Infinity };
    } else best = { long: Math.min(best.long, await measure("long")), short: Math.min(best.short, short) };
  }
  return best.long / best.short * 10;
}

for (const [name, make] of Object.entries(SHAPES)) {
  Deno.test(`ten times the transcript takes about ten times as long: ${name}`, async () => {
    for (const [stage, prepare] of Object.entries(STAGES)) {
      const ratio = await ratioOf(prepare, make);
      ok(ratio <= WANTED, `${stage} takes ${ratio.toFixed(1)} times as long`);
    }
  });
}
