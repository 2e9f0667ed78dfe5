/** Parts of canonical messages as content blocks of the Messages protocol. Private to the adapters. */
import { isRemote } from "../core/files.ts";
import type { AssistantMessage, FilePart, TextPart, ToolOutput, ToolResultPart } from "../core/message.ts";
import { isObject } from "../formats/format.ts";
import { describeFile, imageType, sendable } from "./_files.ts";
import { toJson } from "./_json.ts";
import { type AssistantPart, hostedResult, isTakenBack } from "./_parts.ts";
import { isBlank, NO_ANSWER, NO_OUTPUT, NO_TEXT } from "./_texts.ts";

/** A content block. */
export type Block = Readonly<Record<string, unknown>>;

/** Blocks of an assistant message, and of the user message behind it. */
export interface AssistantBlocks {
  readonly blocks: readonly Block[];
  /** Results of tools that another provider has run: here they are results like any other. */
  readonly results: readonly Block[];
}

/** A text block. */
export function textBlock(text: string): Block {
  return { type: "text", text };
}

/** Says whether a block is one of thinking, which has rules of its own. */
export function isThinking({ type }: Block): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

/** Blocks of what a user said. */
export function userBlocks(content: string | readonly (TextPart | FilePart)[]): readonly Block[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const blocks = parts.flatMap(contentBlock);
  return blocks.length > 0 ? blocks : [textBlock(NO_TEXT)];
}

function contentBlock(part: TextPart | FilePart): readonly Block[] {
  if (part.type === "file") return [fileBlock(part)];
  return isBlank(part.text) ? [] : [textBlock(part.text)];
}

function fileBlock(given: FilePart): Block {
  const part = sendable(given);
  if (part === null) return textBlock(describeFile(given));
  const { data, mediaType } = part;
  const title = part.filename === undefined ? {} : { title: part.filename };
  if (isRemote(part)) {
    const source = { type: "url", url: data };
    if (mediaType.startsWith("image/")) return { type: "image", source };
    return mediaType === "application/pdf"
      ? { type: "document", source, ...title }
      : textBlock(describeFile(part));
  }
  if (mediaType.startsWith("image/")) {
    const found = imageType(part);
    if (found === null) return textBlock(describeFile(part));
    return { type: "image", source: { type: "base64", media_type: found, data } };
  }
  if (mediaType === "application/pdf") {
    return { type: "document", source: { type: "base64", media_type: mediaType, data }, ...title };
  }
  const text = /^text\/|^application\/json$/.test(mediaType) ? decodeText(data) : null;
  if (text === null || isBlank(text)) return textBlock(describeFile(part));
  return { type: "document", source: { type: "text", media_type: "text/plain", data: text }, ...title };
}

function decodeText(base64: string): string | null {
  try {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // No text: it is described instead.
    return null;
  }
}

/** The block of a tool's result. */
export function resultBlock({ toolCallId, output }: ToolResultPart): Block {
  const isError = output.type === "error-text" || output.type === "error-json" ||
    output.type === "execution-denied";
  return {
    type: "tool_result",
    tool_use_id: toolCallId,
    content: resultContent(output),
    ...(isError ? { is_error: true } : {}),
  };
}

function resultContent(output: ToolOutput): string | readonly Block[] {
  switch (output.type) {
    case "text":
    case "error-text":
      return isBlank(output.value) ? NO_OUTPUT : output.value;
    case "json":
    case "error-json":
      return toJson(output.value) ?? NO_OUTPUT;
    case "execution-denied":
      return `The call was denied${output.reason === undefined ? "" : `: ${output.reason}`}`;
    case "content": {
      const blocks = output.value.flatMap(contentBlock);
      return blocks.length > 0 ? blocks : NO_OUTPUT;
    }
    default:
      return output satisfies never;
  }
}

/**
 * Blocks of what a model said, in their order.
 *
 * @param content The message's content.
 * @param options `isPaused`: the provider goes on with this message, so that its calls may still be open.
 */
export function assistantBlocks(
  content: AssistantMessage["content"],
  { isPaused = false }: { readonly isPaused?: boolean } = {},
): AssistantBlocks {
  if (typeof content === "string") {
    return { blocks: [textBlock(isBlank(content) ? NO_ANSWER : content)], results: [] };
  }
  const blocks: Block[] = [];
  const results: Block[] = [];
  for (const part of content) {
    switch (part.type) {
      case "text":
        if (!isBlank(part.text)) blocks.push({ ...textBlock(part.text), ...citationsOf(part) });
        break;
      case "file":
        blocks.push(textBlock(describeFile(part)));
        break;
      case "reasoning":
        blocks.push(...reasoningBlock(part));
        break;
      case "tool-call": {
        const raw = rawBlock(part);
        if (part.providerExecuted !== true) {
          blocks.push(callBlock(part));
        } else if (raw === undefined) {
          blocks.push(callBlock({ ...part, toolCallId: foreignId(part) }));
          results.push(resultBlock({ ...hostedResult(content, part), toolCallId: foreignId(part) }));
        } else if (isPaused || isTakenBack(content, part)) {
          blocks.push(raw);
        }
        break;
      }
      case "tool-result": {
        const raw = rawBlock(part);
        if (raw !== undefined) blocks.push(raw);
        break;
      }
      default:
        part satisfies never;
    }
  }
  const last = blocks.at(-1);
  // Nor may thinking come last, unless the provider has the rest.
  if (last === undefined || (isThinking(last) && !isPaused)) blocks.push(textBlock(NO_ANSWER));
  return { blocks, results };
}

function anthropicOptions({ providerOptions }: AssistantPart): Block {
  return providerOptions?.["anthropic"] ?? {};
}

function rawBlock(part: AssistantPart): Block | undefined {
  const { block } = anthropicOptions(part);
  return isObject(block) && typeof block.type === "string" ? block : undefined;
}

function citationsOf(part: TextPart): Block {
  const { citations } = anthropicOptions(part);
  return Array.isArray(citations) && citations.length > 0 ? { citations } : {};
}

/** Thinking is taken back with the provider's own signature or not at all. */
function reasoningBlock(part: Extract<AssistantPart, { type: "reasoning" }>): readonly Block[] {
  const { redactedData, signature } = anthropicOptions(part);
  if (typeof signature === "string" && signature !== "") {
    return [{ type: "thinking", thinking: part.text, signature }];
  }
  if (typeof redactedData === "string") return [{ type: "redacted_thinking", data: redactedData }];
  const raw = rawBlock(part);
  return raw === undefined ? [] : [raw];
}

function callBlock(part: Extract<AssistantPart, { type: "tool-call" }>): Block {
  const { caller } = anthropicOptions(part);
  return {
    type: "tool_use",
    id: part.toolCallId,
    name: part.toolName,
    input: asObject(part.input),
    ...(isObject(caller) ? { caller } : {}),
  };
}

/** Arguments as the protocol has them: an object, whatever a model has made. */
function asObject(input: unknown): Block {
  if (isObject(input)) return input;
  return input === undefined ? {} : { unparsed_arguments: JSON.stringify(input) };
}

function foreignId({ toolCallId }: { readonly toolCallId: string }): string {
  return toolCallId.replace(/[^A-Za-z0-9_-]/g, "_") || "call";
}
