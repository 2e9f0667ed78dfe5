/** Parts of assistant messages, as every adapter needs them. Private to the adapters. */
import type { AssistantMessage, ToolCallPart, ToolResultPart } from "../core/message.ts";
import { NO_OUTPUT } from "./_texts.ts";

/** A part of an assistant message. */
export type AssistantPart = Exclude<AssistantMessage["content"], string>[number];

/**
 * Whether a call that the provider has run itself can go back to it: with its result, or beside a call of our own, behind
 * whose result the provider goes on with it. One that was cut off before its result is refused.
 */
export function isTakenBack(
  content: readonly AssistantPart[],
  { toolCallId }: Pick<ToolCallPart, "toolCallId">,
): boolean {
  return content.some((part) =>
    part.type === "tool-result"
      ? part.toolCallId === toolCallId
      : part.type === "tool-call" && part.providerExecuted !== true
  );
}

/** The result that stands in the same message, of a call that a provider has run itself; made up where there is none. */
export function hostedResult(
  content: readonly AssistantPart[],
  { toolCallId, toolName }: Pick<ToolCallPart, "toolCallId" | "toolName">,
): ToolResultPart {
  const found = content.find((part) => part.type === "tool-result" && part.toolCallId === toolCallId);
  const output = found?.type === "tool-result" ? found.output : { type: "text", value: NO_OUTPUT } as const;
  return { type: "tool-result", toolCallId, toolName, output };
}
