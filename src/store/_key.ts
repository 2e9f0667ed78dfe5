/**
 * A session's name as one string, and as the start of its keys in a key-value store.
 *
 * @module
 */
import type { Owner, SessionKey } from "../ports.ts";

/** One part of a key. */
export type KeyPart = string | number | Uint8Array;

/** A key in a key-value store. */
export type Key = readonly KeyPart[];

/** Makes one string out of a session's key: different keys give different strings. */
export function nameOf({ tenant, user = "", session }: SessionKey): string {
  return JSON.stringify([tenant, user, session]);
}

/** A session's key without whatever else its object carries, which is not to be stored. */
export function bareKey({ tenant, user, session }: SessionKey): SessionKey {
  return { tenant, ...(user === undefined ? {} : { user }), session };
}

/**
 * Makes a text into a part of a key. A lone surrogate has no UTF-8 form: two names that differ only in one would
 * share a key. Such a name becomes its UTF-16 bytes, which no string part can equal.
 */
export function partOf(text: string): KeyPart {
  if (text.isWellFormed()) return text;
  return Uint8Array.from(
    { length: text.length * 2 },
    (_, i) => text.charCodeAt(i >> 1) >> (i % 2 === 0 ? 8 : 0) & 0xff,
  );
}

/** Makes the start of all keys of a session. */
export function prefixOf({ tenant, user = "", session }: SessionKey): Key {
  return ["selvage", partOf(tenant), partOf(user), partOf(session)];
}

/** Makes the key under which a claimed value lives. */
export function claimKey({ tenant, user = "" }: Owner, name: string): Key {
  return ["selvage.claims", partOf(tenant), partOf(user), partOf(name)];
}

/** Makes the start of the keys of an owner's list of sessions, or with null of all lists. */
export function listPrefix(owner: Owner | null): Key {
  const all = ["selvage.sessions"];
  return owner === null ? all : [...all, partOf(owner.tenant), partOf(owner.user ?? "")];
}

/** Makes the key of a session in the list of its owner: it sorts by the time when the session was made. */
export function listKey(key: SessionKey, createdAt: number): Key {
  return [...listPrefix(key), createdAt, partOf(key.session)];
}

/** Counts the bytes that a key takes when encoded: a tag and an end for each part, a zero byte twice. */
export function keyBytes(key: Key): number {
  let sum = 0;
  for (const part of key) {
    if (typeof part === "number") sum += 9;
    else sum += 2 + (typeof part === "string" ? textBytes(part) : part.length + part.filter(isZero).length);
  }
  return sum;
}

/** Bytes of a text as UTF-8, a zero twice. Counted, not encoded: it is asked of each key of each write. */
function textBytes(text: string): number {
  let sum = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0xd800 && code <= 0xdfff) sum += 2; // Half of a pair, which takes four.
    else sum += code === 0 ? 2 : code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
  }
  return sum;
}

function isZero(byte: number): boolean {
  return byte === 0;
}
