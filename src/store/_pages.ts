/**
 * Lists of sessions in pages: what a page ends with is what the next one is asked for.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Owner, SessionKey } from "../ports.ts";
import { nameOf } from "./_key.ts";

/** Sessions in one page. */
export const PAGE_SESSIONS = { default: 50, most: 500 } as const;

/** A session where a list names it. */
export interface ListedSession {
  readonly key: SessionKey;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Reads the size of a page; throws `bad_request` for one that is none. */
export function pageSize(limit: number = PAGE_SESSIONS.default): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= PAGE_SESSIONS.most) return limit;
  throw new SelvageError(
    "bad_request",
    `Cannot list sessions: found limit ${limit}, wanted a whole number from 1 to ${PAGE_SESSIONS.most}`,
    { fields: { field: "limit" } },
  );
}

/** Names the end of a page, for a URL. */
export function pageName({ key: { tenant, user, session }, createdAt }: ListedSession): string {
  const bytes = new TextEncoder().encode(JSON.stringify([createdAt, tenant, user ?? "", session]));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Reads what {@link pageName} wrote; throws `bad_request` for anything else. */
export function placeOfPage(after: string): ListedSession {
  try {
    const text = atob(after.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    const [createdAt, tenant, user, session] = JSON.parse(new TextDecoder().decode(bytes));
    const names: readonly unknown[] = [tenant, user, session];
    if (Number.isSafeInteger(createdAt) && names.every((name) => typeof name === "string")) {
      return { key: { tenant, user, session }, createdAt };
    }
  } catch {
    // Told below, as is what can be read but is no place.
  }
  throw noPlace(after);
}

/** The error for what no page has given as its end. */
export function noPlace(after: string): SelvageError {
  const found = JSON.stringify(after.slice(0, 80));
  return new SelvageError(
    "bad_request",
    `Cannot list sessions: found after ${found}, wanted what an earlier page gave as next`,
    { fields: { field: "after" } },
  );
}

/** Says whether a session is in the list of an owner, or of all. */
export function isListed(owner: Owner | null, { tenant, user = "" }: Owner): boolean {
  return owner === null || (tenant === owner.tenant && user === (owner.user ?? ""));
}

/** Orders sessions by the time when they were made, then by name. */
export function compareListed(a: ListedSession, b: ListedSession): number {
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt;
  const [one, other] = [nameOf(a.key), nameOf(b.key)];
  return one < other ? -1 : one > other ? 1 : 0;
}
