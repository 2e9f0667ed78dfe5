/**
 * Shortening: one function for the cap at append and for trims. Only the view is shortened, never the log.
 *
 * @module
 */
import type { ToolOutput } from "../core/message.ts";
import type { ResultEntry } from "../ports.ts";
import { measureOutput, outputText, type TextMeasure } from "../tokens/measure.ts";

/** The first `length` characters at the most, no surrogate pair cut in two. */
export function headOf(text: string, length: number): string {
  const code = text.charCodeAt(length - 1);
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? length - 1 : length);
}

/** The last `length` characters at the most, no surrogate pair cut in two. */
export function tailOf(text: string, length: number): string {
  const start = Math.max(0, text.length - length);
  const code = text.charCodeAt(start);
  return text.slice(start > 0 && code >= 0xdc00 && code <= 0xdfff ? start + 1 : start);
}

/** Where the whole of something is: an entry of the log, or what the caller says. */
function place(ref: string): string {
  return /^e\d+(\.\d+)?$/.test(ref) ? `entry ${ref}` : ref;
}

/**
 * Shows the head and the tail of a text with a count of what is left out between them.
 *
 * @param text The text.
 * @param options Characters to keep of both ends together, and where the original is: an entry (`e41.0`), or words.
 */
export function headAndTail(
  text: string,
  { keep, ref }: { readonly keep: number; readonly ref: string },
): string {
  const head = headOf(text, Math.ceil(keep * 0.7));
  const tail = tailOf(text, Math.floor(keep * 0.3));
  const left = text.length - head.length - tail.length;
  if (left <= 0) return text;
  return `${head}\n[${left} of ${text.length} characters are left out here; ` +
    `the whole result is ${place(ref)}]\n${tail}`;
}

/** Text of an output that is to be shortened, with a note in the place of each file. */
function textToShorten(output: ToolOutput, ref: string): string {
  if (output.type !== "content") return outputText(output);
  return output.value.map((part) =>
    part.type === "text"
      ? part.text
      : `[file ${part.mediaType} is left out here; the whole result is ${place(ref)}]`
  ).join("\n");
}

/** A text as an output of the kind that it was made from: an error stays one. */
function withText(output: ToolOutput, text: string): ToolOutput {
  switch (output.type) {
    case "error-text":
    case "error-json":
      return { type: "error-text", value: text };
    case "execution-denied":
      return { type: "execution-denied", reason: text };
    case "text":
    case "json":
    case "content":
      return { type: "text", value: text };
    default:
      return output satisfies never;
  }
}

/**
 * The output of a result as it is shown from the start: shortened to its cap, where it has one.
 *
 * @param result The result.
 * @param measure How tokens are counted; a bound never shows more than the count.
 */
export function cappedOutput({ output, cap, call }: ResultEntry, measure: TextMeasure): ToolOutput {
  return cap === undefined ? output : shortenOutput(output, { tokens: cap, measure, ref: call });
}

/**
 * Shortens a tool output until it takes at most `tokens`. The same input gives the same text, so that a view
 * can be rendered again at any time.
 *
 * @param output The whole output.
 * @param options The most tokens (as `measureOutput` counts them), how to count, and where the original is: an
 *   entry (`e41.0`), or words.
 * @returns The output itself where it fits. The note of what is left out takes about 40 tokens, and stays.
 */
export function shortenOutput(
  output: ToolOutput,
  { tokens, measure, ref }: { readonly tokens: number; readonly measure: TextMeasure; readonly ref: string },
): ToolOutput {
  // No token of the vocabulary is longer than 128 characters: what is longer than that allows is not counted.
  if (outputText(output).length <= tokens * 128 && measureOutput(output, measure, tokens) <= tokens) {
    return output;
  }
  const text = textToShorten(output, ref);
  let keep = Math.min(text.length, tokens * 4);
  for (;;) {
    const shown = withText(output, headAndTail(text, { keep, ref }));
    const size = measureOutput(shown, measure);
    if (size <= tokens || keep === 0) return shown;
    // Aim a little under the limit; always goes down, so this ends.
    keep = Math.max(0, Math.min(keep - 16, Math.floor(keep * (tokens / size) * 0.97)));
  }
}
