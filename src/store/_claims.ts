/**
 * Claimed values as records: the value, and until when it holds, for the database forgets when it likes.
 *
 * @module
 */
import { toText } from "./_json.ts";
import type { Key } from "./_key.ts";
import type { StoredRecord } from "./_records.ts";

/** Makes the record of a value that is claimed for `ttlMs` milliseconds from `now`. */
export function claimRecord(
  key: Key,
  { value, ttlMs, now }: { readonly value: unknown; readonly ttlMs: number; readonly now: number },
): StoredRecord & { readonly value: Uint8Array } {
  const text = `{"value":${toText(value, "the claim")},"expires":${now + ttlMs}}`;
  return { key, value: new TextEncoder().encode(text), expireIn: Math.ceil(ttlMs) };
}

/** The value that was claimed; undefined where there is none, or it has expired. */
export function readClaim(stored: unknown, now: number): unknown {
  if (!(stored instanceof Uint8Array)) return undefined;
  const { value, expires } = JSON.parse(new TextDecoder().decode(stored));
  return expires > now ? value : undefined;
}
