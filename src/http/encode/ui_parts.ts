/**
 * What the UI message stream and the messages made of a log have in common: both are to give the same parts.
 *
 * @module
 */
import type { ProviderOptions, ToolOutput, UserMessage } from "../../core/message.ts";
import type { CompactionNote, Usage } from "../../ports.ts";
import { outputText } from "../../tokens/measure.ts";

/** A part of a message, or a chunk of the stream: its `type` tells the rest. */
export type UiPart = { readonly type: string } & Readonly<Record<string, unknown>>;

/** The id of a text or of reasoning: unlike those of a provider it is unique in its message. */
export function partId(step: number, index: number): string {
  return `${step}-${index}`;
}

/** A compaction that is part of the conversation. */
export function compactionPart(note: CompactionNote): UiPart {
  return { type: "data-compaction", id: `view-${note.view}`, data: { phase: "applied", ...note } };
}

/** The id of the message with which a turn goes on behind one that the user has sent along with answers. */
export function messageBehind(turn: string, said: number): string {
  return `${turn}:${said}`;
}

/** What was said to a turn while it ran; `ref` names its entry. */
export function insertedPart(
  { ref, input }: { readonly ref: string; readonly input: UserMessage["content"] },
): UiPart {
  return { type: "data-user-message", id: ref, data: { input } };
}

/** What a provider says of a part, as clients keep it. */
export function metadataOf(options: ProviderOptions | undefined): Readonly<Record<string, unknown>> {
  return options === undefined ? {} : { providerMetadata: options };
}

/** The value of an output that is none of an error. */
export function outputValue(output: ToolOutput): unknown {
  return output.type === "json" || output.type === "content" ? output.value : outputText(output);
}

/** What was billed, in the words of the AI SDK, which are those of AG-UI. */
export function usageMetadata(
  { inputTokens, outputTokens, cachedTokens }: Usage,
): Readonly<Record<string, number>> {
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    ...(cachedTokens === undefined ? {} : { cachedInputTokens: cachedTokens }),
  };
}
