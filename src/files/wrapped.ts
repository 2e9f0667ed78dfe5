/**
 * Session logs of agents: lines that wrap each message in something of their own, between lines that hold none.
 *
 * @module
 */
import { isObject, type JsonObject } from "../formats/format.ts";
import { findWrapper, unwrap } from "../formats/shapes.ts";

/** What the lines of a log hold. */
export interface Unwrapped {
  readonly messages: readonly unknown[];
  /** What the messages were wrapped in; null where they were not wrapped at all. */
  readonly wrapper: { readonly inside: string; readonly skipped: number } | null;
  /** The line of each message, null where each line is one. */
  readonly places: readonly number[] | null;
}

/** Whether a message goes on with another one: logs have a line for each block of one answer. */
function goesOn(message: JsonObject, before: JsonObject | undefined): boolean {
  return before !== undefined && message["role"] === "assistant" && typeof message["id"] === "string" &&
    message["id"] === before["id"] && Array.isArray(message["content"]) && Array.isArray(before["content"]);
}

/** A part of the log of an agent that another agent has started: a conversation of its own. */
function isSide(line: unknown): boolean {
  return isObject(line) && line["isSidechain"] === true;
}

/** Takes the messages of a log out of its lines; lists of plain messages are left as they are. */
export function unwrapLines(lines: readonly unknown[]): Unwrapped {
  const wrapper = findWrapper(lines);
  if (wrapper === null) return { messages: lines, wrapper: null, places: null };
  const messages: JsonObject[] = [];
  const places: number[] = [];
  let skipped = 0;
  const isAside = isSide(lines[wrapper.at]);
  for (const [at, line] of lines.entries()) {
    const found = unwrap(line);
    if (found === null || isSide(line) !== isAside) {
      skipped++;
      continue;
    }
    const before = messages.at(-1);
    if (before !== undefined && goesOn(found.message, before)) {
      const content = [before, found.message].flatMap((message) => message["content"] as readonly unknown[]);
      messages[messages.length - 1] = { ...before, ...found.message, content };
      continue;
    }
    messages.push(found.message);
    places.push(at);
  }
  return { messages, wrapper: { inside: wrapper.inside, skipped }, places };
}
