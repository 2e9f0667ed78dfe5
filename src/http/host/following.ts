/**
 * Turns that somebody follows, wherever they run.
 *
 * @module
 */
import { isPaused } from "../../loop/pause.ts";
import type { Owner } from "../../ports.ts";
import type { Following } from "../registry.ts";
import { replay } from "../replay.ts";
import { before } from "../streams.ts";
import { hasAgent, type HostParts } from "./parts.ts";
import { placeOf, type StoredTurnPlace } from "./places.ts";
import { resume } from "./running.ts";

/** Follows a turn from an event on, wherever it runs; null where there is nothing of it, or nothing any more. */
export async function followTurn(
  parts: HostParts,
  { owner, turn, from = 0 }: { readonly owner: Owner; readonly turn: string; readonly from?: number },
): Promise<Following | null> {
  const { registry, store, clock } = parts;
  const local = registry.find(owner, turn);
  if (local !== null && from >= local.first) return local.follow(from);
  const place = await placeOf(store, { owner, turn });
  if (place === null) return null;
  const stored = await store.events(place.key, turn, from);
  if (stored === null) return null;
  const { events, lease } = stored;
  // One that waits for answers has nothing more to tell until they come.
  const isWaiting = isPaused(lease) && (lease?.expires ?? 0) <= clock.now();
  const isOver = events.length === 0 && (lease?.turn !== turn || isWaiting);
  return isOver ? null : followStored(parts, { ...place, from });
}

/** Follows a turn in the store from an event on; where its process has left it, it goes on here. */
export function followStored(
  parts: HostParts,
  { from, ...place }: StoredTurnPlace & { readonly from: number },
): Following {
  const { store, clock, drain } = parts;
  const stop = new AbortController();
  let local: Following | null = null;
  const events = replay(place, {
    store,
    clock,
    from,
    signal: AbortSignal.any([stop.signal, drain.signal]),
    takeOver: async (lease, next) => {
      // Another process may have the agent: the stream ends, and the client comes again there.
      if (!hasAgent(parts, lease.agent)) return null;
      const turn = await resume(parts, { ...place, lease });
      local = turn.follow(next);
      // What the process before has stored since the last look comes first; its numbers are lower.
      return before(local.events, {
        stored: () => store.events(place.key, place.turn, next),
        limit: turn.first,
      });
    },
  });
  return {
    events,
    leave: async () => {
      stop.abort(new DOMException("The client has gone", "AbortError"));
      await local?.leave();
    },
  };
}
