/**
 * Where turns are in a store, and how they stand there.
 *
 * @module
 */
import { eventNumber, type TurnEvent } from "../../loop/events.ts";
import { pausedName } from "../../loop/pause.ts";
import { isNever, turnName } from "../../loop/turn_name.ts";
import type { Lease, Owner, SessionKey, Store } from "../../ports.ts";

/** Characters of a turn's id. */
const MAX_ID = 256;

/** More than any event's number. */
export const AFTER_ALL = Number.MAX_SAFE_INTEGER;

/** A turn in the store. */
export interface StoredTurnPlace {
  readonly turn: string;
  readonly key: SessionKey;
}

/** Finds a turn by its id; null where there was none, or it is known no more. */
export async function placeOf(
  store: Pick<Store, "claim">,
  { owner, turn }: { readonly owner: Owner; readonly turn: string },
): Promise<StoredTurnPlace | null> {
  // Longer than any id of ours, and than some stores can look for.
  if (turn.length > MAX_ID) return null;
  const found = (await store.claim(owner, turnName(turn)) ?? await store.claim(owner, pausedName(turn))) as
    | { readonly session: string }
    | undefined;
  return found === undefined || isNever(found) ? null : { turn, key: { ...owner, session: found.session } };
}

/** The lease of a turn's session, whichever turn holds it; null for a turn that is over and of which nothing is left. */
export async function leaseAt(
  store: Pick<Store, "events">,
  { key, turn }: StoredTurnPlace,
): Promise<{ readonly lease: Lease | null } | null> {
  return await store.events(key, turn, AFTER_ALL);
}

/** Finds a turn with the lease of its session; null where there was none, or nothing of it is left. */
export async function standOf(
  store: Pick<Store, "claim" | "events">,
  wanted: { readonly owner: Owner; readonly turn: string },
): Promise<{ readonly place: StoredTurnPlace; readonly lease: Lease | null } | null> {
  const place = await placeOf(store, wanted);
  const found = place && await leaseAt(store, place);
  return place === null || found === null ? null : { place, lease: found.lease };
}

/** The last event of a turn that is stored. */
export async function lastEvent(
  store: Pick<Store, "events">,
  { turn, key }: StoredTurnPlace,
): Promise<TurnEvent | null> {
  let last: TurnEvent | null = null;
  for (;;) {
    const from = last === null ? 0 : eventNumber(last) + 1;
    const event = (await store.events(key, turn, from))?.events.at(-1) as TurnEvent | undefined;
    if (event === undefined) return last;
    last = event;
  }
}
