/**
 * Turns that somebody follows, wherever they run.
 *
 * @module
 */
import { isPaused } from "../../loop/pause.ts";
import type { Owner } from "../../ports.ts";
import type { FollowedTurn, Following } from "../registry.ts";
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
  if (local !== null) return followHere(parts, local, from);
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

/** Follows a turn that runs here from an event on. What it holds no more comes from the store. */
export function followHere({ store, clock }: HostParts, turn: FollowedTurn, from: number): Following {
  const live = turn.follow(from);
  // Asked for at once: from here on it holds what this reader has yet to take.
  const limit = turn.held;
  if (from >= limit) return live;
  const stop = new AbortController();
  return {
    events: before(live, {
      from,
      limit,
      isTold: turn.first < limit,
      stored: (next) => store.events(turn.key, turn.id, next),
      clock,
      signal: stop.signal,
    }),
    leave: async () => {
      stop.abort(new DOMException("The client has gone", "AbortError"));
      await live.leave();
    },
  };
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
      // What the process before has stored since the last look comes first; its numbers are lower.
      local = followHere(parts, turn, next);
      return local.events;
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
