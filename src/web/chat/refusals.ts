/**
 * What the page does something about when the service refuses.
 *
 * @module
 */
import { ClientError } from "../../client/mod.ts";

function isOneOf(error: unknown, codes: readonly string[]): boolean {
  return error instanceof ClientError && codes.includes(error.code);
}

/** An answer was refused because another one was first. */
export function isAnswered(error: unknown): boolean {
  return isOneOf(error, ["call_not_pending", "turn_not_paused", "turn_running", "turn_over"]);
}

/** A turn was refused because another one runs or waits. */
export function isTaken(error: unknown): error is ClientError {
  return isOneOf(error, ["turn_running", "turn_paused"]);
}

/** The events of a turn are no longer to be had. */
export function isGone(error: unknown): boolean {
  return isOneOf(error, ["stream_lost", "turn_not_found"]);
}
