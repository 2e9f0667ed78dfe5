/**
 * Paused turns: their calls wait, in flight at rest, for a client or a person.
 *
 * @module
 */
import { callFinder, indexOfRef } from "../compaction/render.ts";
import type { Entry, Lease, PausedCall } from "../ports.ts";

/** Says whether the turn of a lease waits for answers; while an answer is taken in, it still does. */
export function isPaused(lease: Lease | null | undefined): boolean {
  return (lease?.pause?.pending.length ?? 0) > 0;
}

/** A call that waits, as clients see it. */
export interface PendingCall extends PausedCall {
  /** Index of the call in its step, from 0. */
  readonly call: number;
  /** The arguments. */
  readonly input: unknown;
}

/**
 * Calls that wait with their arguments, which are in the log.
 *
 * @param paused What the head names.
 * @param entries The log.
 */
export function pendingCalls(
  paused: readonly PausedCall[],
  entries: readonly Entry[],
): readonly PendingCall[] {
  const find = callFinder(entries);
  return paused.map(({ ref, name, reason }) => {
    const input = find(ref)?.input ?? null;
    return { ref, call: indexOfRef(ref), name, input, reason };
  });
}

/** The claim under which a turn that has paused is found for as long as it may wait. */
export function pausedName(turn: string): string {
  return `paused/${turn}`;
}

/** Milliseconds for which a turn that has paused is found: nothing times out in it. */
export const PAUSED_KNOWN_MS = 10 * 365 * 24 * 3_600_000;
