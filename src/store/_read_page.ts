/**
 * Reading lists of sessions, page by page.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Owner, SessionHead, SessionKey, SessionPage } from "../ports.ts";
import { type Key, keyBytes, listKey, listPrefix } from "./_key.ts";
import { type ListedSession, noPlace, pageName, pageSize, placeOfPage } from "./_pages.ts";
import { type Place, placeOf } from "./_place.ts";
import type { Found, SessionReader } from "./_read.ts";

/** Heads read in one go. Deno KV takes 10. */
const HEADS = 10;

/** Bytes of a key. Deno KV takes 2,048. */
const KEY_BYTES = 2_048;

/** The key where a page of a list ended. A page of somebody else's list ends at the same time in this one. */
function listEnd(after: string, owner: Owner | null): Key {
  const { key, createdAt } = placeOfPage(after);
  const end = listKey(owner === null ? key : { ...owner, session: key.session }, createdAt);
  // No session has such a name: it could not have been stored.
  if (keyBytes(end) > KEY_BYTES) throw noPlace(after);
  return end;
}

/** Reads a page of the sessions of an owner, or of all. */
export async function readPage(
  reader: SessionReader,
  { owner, limit, after }: { readonly owner: Owner | null; readonly limit?: number; readonly after?: string },
): Promise<SessionPage> {
  const size = pageSize(limit);
  const prefix = listPrefix(owner);
  const listed = await reader.list(
    after === undefined ? { prefix } : { prefix, end: listEnd(after, owner) },
    ({ value }) => readListed(value),
    { limit: size + 1, reverse: true },
  );
  const sessions: { key: SessionKey; head: SessionHead }[] = [];
  for (let start = 0; start < Math.min(size, listed.length); start += HEADS) {
    const places = listed.slice(start, Math.min(size, start + HEADS)).map(({ key }) => placeOf(key));
    const heads = await reader.getMany(places.map(({ headKey }) => headKey));
    for (const [index, place] of places.entries()) {
      const head = headIn(reader, { place, found: heads[index] });
      if (head !== null) sessions.push({ key: place.key, head });
    }
  }
  const last = listed[size - 1];
  return { sessions, next: listed.length > size && last !== undefined ? pageName(last) : null };
}

/**
 * The head of a session in a list; null where it was deleted since the list was read. So it is where the head
 * cannot be read: who opens that session is told, and those who list the others are not kept from them.
 */
function headIn(
  reader: SessionReader,
  { place, found }: { readonly place: Place; readonly found: Found | undefined },
): SessionHead | null {
  if (found === undefined || found.versionstamp === null) return null;
  try {
    return reader.parseHead(place, found.value, found.versionstamp).head;
  } catch (error) {
    if (error instanceof SelvageError) return null;
    throw error;
  }
}

function readListed(value: unknown): ListedSession {
  if (value instanceof Uint8Array) return JSON.parse(new TextDecoder().decode(value));
  throw new SelvageError("store_corrupt", `Cannot list sessions: found a ${typeof value} in the list`);
}
