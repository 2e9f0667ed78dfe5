/**
 * What a message costs: an upper bound without a tokenizer, and the exact count with one. Files have a price of
 * their own, and so has what only a provider can read; their base64 is never tokenized.
 *
 * @module
 */
import type { FilePart, Message, ToolOutput } from "../core/message.ts";
import { utf8Length } from "./counter.ts";
import { fileTokens } from "./media.ts";
import type { MediaFamily } from "./models.ts";
import { OPAQUE_CHARS, opaqueChars } from "./opaque.ts";

/**
 * Counts the tokens of a text; an upper bound or the exact number. With a limit it may stop as soon as the count
 * is greater, and then gives some number greater than the limit.
 */
export interface TextMeasure {
  (text: string, limit?: number): number;
  /** Price of a file that stands beside texts. Default {@link FILE_TOKENS} each. */
  readonly file?: (file: FilePart) => number;
  /** Tokens that a result takes beside its text. Default {@link MESSAGE_OVERHEAD}. */
  readonly result?: number;
  /** Characters of a token of what only a provider can read. Default {@link OPAQUE_CHARS}. */
  readonly opaque?: number;
}

/**
 * Counted tokens of a result beside its text. Claude bills about 90 for a call and its result that are in neither's
 * text: what is left of them by its factor, without what is counted for the call.
 */
const RESULT_OVERHEAD: Partial<Record<MediaFamily, number>> = { anthropic: 70 };

/** A measure that also knows how a provider prices what is no text. */
export function withMedia(measure: TextMeasure, media: MediaFamily): TextMeasure {
  const priced = (text: string, limit?: number): number => measure(text, limit);
  const file = (part: FilePart): number => fileTokens(part, media);
  return Object.assign(priced, measure, { file, result: RESULT_OVERHEAD[media] ?? MESSAGE_OVERHEAD });
}

/** Tokens that a message takes beside its text. */
export const MESSAGE_OVERHEAD = 4;
/** Tokens that a call takes beside its text; its result has {@link TextMeasure.result}. */
export const PAIR_OVERHEAD = 10;
/** Flat price of an image or another file, in tokens. */
export const FILE_TOKENS = 1_600;

/** An upper bound on tokens: byte-level BPE has a token for every byte. */
export const boundTokens: TextMeasure = Object.assign((text: string) => utf8Length(text), { opaque: 1 });

/** A part of a message, as far as its price goes. */
type Part = Exclude<Message["content"], string>[number];

/** Text of a tool output as the model reads it; files become a note. */
export function outputText(output: ToolOutput): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value) ?? "null";
    case "execution-denied":
      return output.reason ?? "Execution was denied";
    case "content":
      return output.value.map((part) => part.type === "text" ? part.text : `[file ${part.mediaType}]`).join(
        "\n",
      );
    default:
      return output satisfies never;
  }
}

/**
 * Tokens of one part.
 *
 * @param part A part of a message.
 * @param measure How to count text.
 */
export function measurePart(part: Part, measure: TextMeasure): number {
  const opaque = Math.ceil(opaqueChars(part.providerOptions) / (measure.opaque ?? OPAQUE_CHARS));
  return measureRead(part, measure) + opaque;
}

/** Tokens of what anybody can read of a part. */
function measureRead(part: Part, measure: TextMeasure): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return measure(part.text);
    case "file":
      return measure.file?.(part) ?? FILE_TOKENS;
    case "tool-call":
      return measure(part.toolName) + measure(JSON.stringify(part.input) ?? "") + PAIR_OVERHEAD;
    case "tool-result":
      return measureOutput(part.output, measure);
    default:
      return part satisfies never;
  }
}

/**
 * Tokens of a tool output.
 *
 * @param output The output.
 * @param measure How to count text.
 * @param limit Where it is of no more interest how many there are: see {@link TextMeasure}.
 */
export function measureOutput(output: ToolOutput, measure: TextMeasure, limit?: number): number {
  const parts = output.type === "content" ? output.value : [];
  const files = parts.map((part) => part.type === "file" ? measurePart(part, measure) : 0);
  const rest = files.reduce((sum, tokens) => sum + tokens, measure.result ?? MESSAGE_OVERHEAD);
  return measure(outputText(output), limit === undefined ? undefined : limit - rest) + rest;
}

/** Tokens of a text message: its text and what surrounds it. */
export function measureText(text: string, measure: TextMeasure): number {
  return measure(text) + MESSAGE_OVERHEAD;
}
