/**
 * Events of a turn as the store holds them: for turns that run in another process, that ran before, or that were
 * left by their process, which are taken over here.
 *
 * @module
 */
import { eventNumber, type TurnEvent } from "../loop/events.ts";
import { wasTaken } from "../loop/left.ts";
import { isPaused } from "../loop/pause.ts";
import type { Clock, Lease, Store } from "../ports.ts";
import type { StoredTurnPlace } from "./host/places.ts";

/** Milliseconds between two looks at the store: the least, and the most after looking in vain. */
const LOOK_MS = { least: 25, most: 250 } as const;

/** What {@link replay} needs beside the turn. */
export interface ReplayOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Number of the first event wanted. */
  readonly from: number;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /**
   * Takes over a turn whose lease has run out; gives its events from a number on, or null where it cannot go on
   * here. Rejects with `turn_running` or `turn_over` where somebody else was first.
   */
  readonly takeOver: (lease: Lease, from: number) => Promise<AsyncGenerator<TurnEvent, void> | null>;
}

/**
 * Replays a turn from the store and goes on live, wherever it runs, to its end.
 *
 * @param place The turn.
 * @param options Store, clock, first event, what to do with a turn that was left.
 */
export async function* replay(
  { turn, key }: StoredTurnPlace,
  { store, clock, from, signal, takeOver }: ReplayOptions,
): AsyncGenerator<TurnEvent, void> {
  let next = from;
  let wait: number = LOOK_MS.least;
  while (!signal.aborted) {
    const stored = await store.events(key, turn, next);
    if (stored === null) return;
    for (const event of stored.events as readonly TurnEvent[]) {
      yield event;
      next = eventNumber(event) + 1;
      if (event.type === "turn.finished") return;
    }
    if (stored.events.length > 0) {
      wait = LOOK_MS.least;
      continue;
    }
    // Events and the end of the lease are stored together: no lease and nothing new means that it is over.
    const { lease } = stored;
    if (lease?.turn !== turn) return;
    if (lease.expires <= clock.now()) {
      // Who answers it goes on with it; nobody else does.
      if (isPaused(lease)) return;
      // Nor who was told to stop while the store was asked: nobody would read on, or another process is to go on.
      if (signal.aborted) return;
      try {
        const events = await takeOver(lease, next);
        if (events === null) return;
        for await (const event of events) {
          yield event;
          next = eventNumber(event) + 1;
        }
        // Ended, or put down again: the next look tells.
        continue;
      } catch (error) {
        if (!wasTaken(error)) throw error;
      }
    }
    await clock.sleep(wait, signal).catch(() => {});
    wait = Math.min(LOOK_MS.most, 2 * wait);
  }
}
