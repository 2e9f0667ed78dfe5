/**
 * Stored events of a turn: how long they are there to be read.
 *
 * @module
 */
import type { Lease } from "../ports.ts";

/** Milliseconds for which the events of a turn are kept after the last of them. */
export const EVENTS_KEPT_MS = 3_600_000;

/** Says whether events of that time, in milliseconds since the epoch, have been kept long enough. */
export function isPast(at: number, now: number): boolean {
  return now - at > EVENTS_KEPT_MS;
}

/**
 * Says whether a turn's events can be read: while it has the session's lease, however long it is silent, and for an
 * hour after the last of them.
 *
 * @param turn Id of the turn.
 * @param state `last`: when its last events were stored; `lease`: the one in force; times in milliseconds since the
 * epoch.
 */
export function isReadable(
  turn: string,
  { last, lease, now }: {
    readonly last: number | undefined;
    readonly lease: Lease | undefined;
    readonly now: number;
  },
): boolean {
  return lease?.turn === turn || (last !== undefined && !isPast(last, now));
}
