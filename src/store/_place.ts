/**
 * Where the records of a session are in a key-value store.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { ownerOfView } from "../loop/branches.ts";
import type { SessionHead, SessionKey } from "../ports.ts";
import { type Key, nameOf, prefixOf } from "./_key.ts";

/** Where a session is. */
export interface Place {
  readonly key: SessionKey;
  readonly name: string;
  readonly prefix: Key;
  readonly headKey: Key;
}

/** The place of a session. */
export function placeOf(key: SessionKey): Place {
  const prefix = prefixOf(key);
  return { key, name: nameOf(key), prefix, headKey: [...prefix, "h"] };
}

/** The start of the keys of what a branch owns. */
export function branchKey({ prefix }: Place, branch: number): Key {
  return branch === 0 ? prefix : [...prefix, "b", branch];
}

/** The key of a view of the log in force. */
export function viewKey(place: Place, head: SessionHead, version: number): Key {
  return [...branchKey(place, ownerOfView(head, version)), "v", version];
}

/** The error for a record that is not whole. */
export function corrupt(place: Place, what: string, found: string): SelvageError {
  const { session } = place.key;
  return new SelvageError(
    "store_corrupt",
    `Cannot read ${what} of session "${session}": found ${found}, wanted it whole`,
    { fields: { session, what } },
  );
}
