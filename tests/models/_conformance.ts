/** What holds for a model of every dialect, native or by a package of the AI SDK: what the files of the suite share. */
import assert from "node:assert/strict";
import type { SelvageError } from "../../src/core/errors.ts";
import type { Message, ToolCallPart } from "../../src/core/message.ts";
import type { ToolSchema } from "../../src/ports.ts";
import { type FakeAnswer, fakeFetch } from "../support/fake_fetch.ts";
import { failureOf, type Finish, finishOf as lastOf, type Outcome, outcomeOf } from "./_answers.ts";
import { type Dialect, DIALECTS, type ModelSettings } from "./_dialects.ts";
import type { Part } from "./_messages.ts";

/** The key that models ask with. */
export const KEY = "sk-very-secret";

/** Milliseconds of silence after which an answer counts as stalled. */
export const STALL_MS = 60_000;

/** Tools of a request. */
export const schemas: readonly ToolSchema[] = Array.from({ length: 16 }, (_, index) => ({
  name: `tool_${index}`,
  description: `Does ${index}`,
  inputSchema: { type: "object", properties: {} },
}));

/** Defines one test, by what a dialect does in it. */
export type DefineTest = (does: string, check: () => Promise<void>) => void;

/** Defines the same tests for every dialect: none can be left out of a part of the suite. */
export function conform(define: (dialect: Dialect, test: DefineTest) => void): void {
  for (const dialect of DIALECTS) {
    define(dialect, (does, check) => Deno.test(`${dialect.name} ${does}`, check));
  }
}

/** Asks a dialect's model, whatever comes of it. */
export async function run(
  dialect: Dialect,
  settings: ModelSettings,
  options: Parameters<typeof outcomeOf>[1] = {},
): Promise<Outcome> {
  return outcomeOf(await dialect.model({ apiKey: KEY, ...settings }), options);
}

/** The error of an answer that has failed. */
export async function failure(dialect: Dialect, answer: FakeAnswer): Promise<SelvageError> {
  return failureOf(await run(dialect, { fetch: fakeFetch(answer).fetch }));
}

/** The end of an answer that nothing was wrong with. */
export function finishOf({ error, events }: Outcome): Finish {
  assert.equal(error, undefined);
  return lastOf(events);
}

/** The parts of an answer without what only the provider reads. */
export function partsOf({ message: { content } }: Finish): readonly Part[] {
  assert.ok(typeof content !== "string");
  return content.map(({ providerOptions: _, ...part }) => part);
}

/** The calls of an answer. */
export function callsOf({ message: { content } }: Finish): readonly ToolCallPart[] {
  return typeof content === "string" ? [] : content.filter((part) => part.type === "tool-call");
}

/** Results of calls, in their order. */
export function resultsOf(calls: readonly ToolCallPart[], value = "done"): Message {
  return {
    role: "tool",
    content: calls.map(({ toolCallId, toolName }) => ({
      type: "tool-result",
      toolCallId,
      toolName,
      output: { type: "text", value },
    })),
  };
}
