/**
 * What is asked of pieces again and again, where messages are read, checked, repaired and compacted.
 *
 * @module
 */
import type { Format, JsonObject, Piece } from "./format.ts";

/** A piece with the message that it is a part of. */
export interface Place {
  readonly message: number;
  readonly piece: Piece;
}

/** All pieces in order, so that the index of one is that of its record. */
export function placesOf(pieces: readonly (readonly Piece[])[]): readonly Place[] {
  return pieces.flatMap((found, message) => found.map((piece) => ({ message, piece })));
}

/** Whether only a model makes such a piece. */
export function isMade({ kind }: Piece): boolean {
  return kind === "tool_use" || kind === "reasoning";
}

/** Whether such a piece is part of an assistant message. */
export function isRound({ kind }: Piece): boolean {
  return kind === "assistant" || kind === "reasoning" || kind === "tool_use";
}

/** Whether a message is one of the system: a cut leaves these where they can be seen. */
export function isSystem(message: readonly Piece[] | undefined): boolean {
  return message?.every(({ kind }) => kind === "system") === true;
}

/** Whether a message holds results for the calls of a message before it. */
export function isRest(message: readonly Piece[]): boolean {
  return message.some(({ kind }) => kind === "tool_result") &&
    !message.some(({ kind }) => kind === "assistant" || kind === "tool_use");
}

/** Whether a message that is no assistant's has something in front of one of its results. */
export function hasLateResults(message: readonly Piece[]): boolean {
  if (!isRest(message)) return false;
  const other = message.findIndex(({ kind }) => kind !== "tool_result");
  return other >= 0 && message.slice(other).some(({ kind }) => kind === "tool_result");
}

/** Where the assistant message begins that each message goes on with; else the message itself. */
export function startsOf(
  { format, messages }: { readonly format: Format; readonly messages: readonly JsonObject[] },
): readonly number[] {
  const starts: number[] = [];
  for (const [at, message] of messages.entries()) {
    const joins = format.joins?.(message, messages[at - 1]) === true;
    starts.push(joins ? starts[at - 1] ?? at : at);
  }
  return starts;
}
