/**
 * What values, outputs, reasons and errors say, for people.
 *
 * @module
 */
import type { FilePart, TextPart, ToolOutput } from "../../core/message.ts";

/** What a value says, for people. */
export function sayValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
}

/** What an output says. */
export function sayOutput(output: ToolOutput): string {
  if (output.type === "execution-denied") return `Not allowed${output.reason ? `: ${output.reason}` : ""}`;
  return output.type === "content" ? sayContent(output.value) : sayValue(output.value);
}

/** What text and files say; a file is named, not shown. */
export function sayContent(content: string | readonly (TextPart | FilePart)[]): string {
  if (typeof content === "string") return content;
  return content.map((part) => part.type === "text" ? part.text : `[file ${part.filename ?? part.mediaType}]`)
    .join("\n");
}

/** The beginning of a text, in one line of so many characters. */
export function glance(text: string, most: number): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most)} …` : line;
}

/** Reasons for a deferral or a rejection, in words. */
const REASONS: Readonly<Record<string, string>> = {
  open_call: "a call is still open, and no cut may pass it",
  atom_too_wide: "one atom alone is larger than what may stay",
  pinned_too_big: "what must stay is larger than what may stay",
};

/** A reason in words. */
export function sayReason(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll("_", " ");
}

/** What went wrong. */
export function sayError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
