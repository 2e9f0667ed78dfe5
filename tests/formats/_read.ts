/** Short ways to read, check and repair messages in tests of one fault. */
import assert from "node:assert/strict";
import { checkMessages } from "../../src/formats/check.ts";
import type { JsonObject } from "../../src/formats/format.ts";
import { type ReadOptions, readTranscript } from "../../src/formats/read.ts";
import { type Repaired, repairTranscript } from "../../src/formats/repair.ts";
import { rereadTranscript } from "../../src/formats/reread.ts";
import { SelvageError } from "../../src/core/errors.ts";

/** Codes of violations with the messages that they are at. */
export function codesOf(messages: readonly JsonObject[], options: ReadOptions = {}): readonly string[] {
  return checkMessages(readTranscript(messages, options)).map(({ code, at }) => `${at} ${code}`);
}

/** Repairs, and holds that nothing is wrong any more, and that a second repair has nothing to do. */
export function mend(messages: readonly JsonObject[], options: ReadOptions = {}): Repaired {
  const reading = readTranscript(messages, options);
  const repaired = repairTranscript(reading);
  const after = rereadTranscript(reading, { messages: repaired.messages, calls: repaired.calls });
  assert.deepEqual(checkMessages(after), [], JSON.stringify(repaired.messages));
  assert.deepEqual(repairTranscript(after).repairs, [], "a second repair");
  return repaired;
}

/** The error of a reading that is refused. */
export function refusal(messages: unknown, options: ReadOptions = {}): SelvageError {
  try {
    readTranscript(messages, options);
  } catch (error) {
    if (error instanceof SelvageError) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: "the messages were read" });
}

/** A user and an assistant message of the formats with `role` and `content`. */
export const user = (content: unknown = "go"): JsonObject => ({ role: "user", content });
export const said = (content: unknown = "done"): JsonObject => ({ role: "assistant", content });

/** Chat Completions. */
export const chatCall = (id: unknown, args: unknown = "{}", name = "run"): JsonObject => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name, arguments: args } }],
});
export const chatResult = (id: unknown, content = "ok"): JsonObject => ({
  role: "tool",
  tool_call_id: id,
  content,
});

/** Anthropic Messages. */
export const use = (id: string, input: unknown = {}): JsonObject => ({
  role: "assistant",
  content: [{ type: "tool_use", id, name: "run", input }],
});
export const used = (id: string, content: unknown = "ok"): JsonObject => ({
  role: "user",
  content: [{ type: "tool_result", tool_use_id: id, content }],
});

/** OpenAI Responses. */
export const item = (role: string, content: unknown = "go"): JsonObject => ({
  type: "message",
  role,
  content,
});
export const functionCall = (id: string, args = "{}"): JsonObject => ({
  type: "function_call",
  call_id: id,
  name: "run",
  arguments: args,
});
export const functionOutput = (id: string, output: unknown = "ok"): JsonObject => ({
  type: "function_call_output",
  call_id: id,
  output,
});

/** `ModelMessage`. */
export const modelCall = (id: string, input: unknown = {}, toolName = "run"): JsonObject => ({
  role: "assistant",
  content: [{ type: "tool-call", toolCallId: id, toolName, input }],
});
export const modelResult = (id: string, value = "ok", toolName = "run"): JsonObject => ({
  role: "tool",
  content: [{ type: "tool-result", toolCallId: id, toolName, output: { type: "text", value } }],
});

/** `UIMessage`. */
export const ui = (role: string, ...parts: readonly JsonObject[]): JsonObject => ({ id: "m", role, parts });
export const uiText = (text = "go"): JsonObject => ({ type: "text", text });

/** Gemini. */
export const model = (...parts: readonly JsonObject[]): JsonObject => ({ role: "model", parts });
export const contents = (...parts: readonly JsonObject[]): JsonObject => ({ role: "user", parts });
export const functionCalled = (name: string, id?: string): JsonObject => ({
  functionCall: { name, args: {}, ...(id === undefined ? {} : { id }) },
});
export const functionResponse = (name: string, output = "ok", id?: string): JsonObject => ({
  functionResponse: { name, response: { output }, ...(id === undefined ? {} : { id }) },
});
