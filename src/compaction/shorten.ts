/**
 * Shortening: one function for the cap at append and for trims. Only the view is shortened, never the log.
 *
 * @module
 */
import type { ToolOutput } from "../core/message.ts";
import { measureOutput, outputText, type TextMeasure } from "../tokens/measure.ts";

/** Does not end on the first half of a surrogate pair. */
function safeEnd(text: string, end: number): number {
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end - 1 : end;
}

function safeStart(text: string, start: number): number {
  const code = text.charCodeAt(start);
  return code >= 0xdc00 && code <= 0xdfff ? start + 1 : start;
}

/**
 * Shows the head and the tail of a text with a count of what is left out between them.
 *
 * @param text The text.
 * @param options Characters to keep of both ends together, and what to call the original.
 */
export function headAndTail(
  text: string,
  { keep, ref }: { readonly keep: number; readonly ref: string },
): string {
  const head = safeEnd(text, Math.ceil(keep * 0.7));
  const tail = safeStart(text, text.length - Math.floor(keep * 0.3));
  if (tail <= head) return text;
  return `${text.slice(0, head)}\n[${tail - head} of ${text.length} characters are left out here; ` +
    `the whole result is entry ${ref}]\n${text.slice(tail)}`;
}

/**
 * Shortens a tool output until it takes at most `tokens`. The same input gives the same text, so that a view
 * can be rendered again at any time.
 *
 * @param output The whole output.
 * @param options The most tokens (as `measureOutput` counts them), how to count, and the reference of the original.
 * @returns The output itself where it fits.
 */
export function shortenOutput(
  output: ToolOutput,
  { tokens, measure, ref }: { readonly tokens: number; readonly measure: TextMeasure; readonly ref: string },
): ToolOutput {
  const text = outputText(output);
  // No token of the vocabulary is longer than 128 characters: what is longer than that allows is not counted whole.
  if (text.length <= tokens * 128 && measureOutput(output, measure) <= tokens) return output;
  const isError = output.type.startsWith("error");
  let keep = Math.min(text.length, tokens * 4);
  for (;;) {
    const value = headAndTail(text, { keep, ref });
    const shown: ToolOutput = { type: isError ? "error-text" : "text", value };
    const size = measureOutput(shown, measure);
    if (size <= tokens || keep === 0) return shown;
    // Aim a little under the limit; always goes down, so this ends.
    keep = Math.max(0, Math.min(keep - 16, Math.floor(keep * (tokens / size) * 0.97)));
  }
}
