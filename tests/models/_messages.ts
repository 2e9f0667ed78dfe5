/** Messages that tests of several adapters send. */
import assert from "node:assert/strict";
import type { AssistantMessage, Message, ToolCallPart, ToolOutput } from "../../src/core/message.ts";

/** A part of what a model said. */
export type Part = Exclude<AssistantMessage["content"], string>[number];

/** A small image. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** What a user says. */
export const user: Message = { role: "user", content: "hi" };

/** A call of `get`. */
export function call(toolCallId: string, input: unknown = {}): ToolCallPart {
  return { type: "tool-call", toolCallId, toolName: "get", input };
}

/** The result of one call. */
export function result(toolCallId: string, output: ToolOutput = { type: "text", value: "x" }): Message {
  return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName: "get", output }] };
}

/** Results of all calls of an answer, in the order given by `order`. */
export function resultsOf({ content }: AssistantMessage, order = (ids: string[]): string[] => ids): Message {
  assert.ok(typeof content !== "string");
  const ids = content.flatMap((part) =>
    part.type === "tool-call" && part.providerExecuted !== true ? [part.toolCallId] : []
  );
  return {
    role: "tool",
    content: order(ids).map((toolCallId) => (
      {
        type: "tool-result",
        toolCallId,
        toolName: "get",
        output: { type: "text", value: `of ${toolCallId}` },
      }
    )),
  };
}
