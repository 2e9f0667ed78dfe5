/**
 * Values as JSON text: what both stores keep, so that nobody outside can change it afterwards.
 *
 * @module
 */
import type { Claim } from "../ports.ts";

/** Writes a value as JSON text; throws a `TypeError` where it has none. `what` names it in the message. */
export function toText(value: unknown, what: string): string {
  const text = JSON.stringify(value);
  if (text === undefined) {
    throw new TypeError(`Cannot store ${what}: found ${typeof value}, wanted a JSON value`);
  }
  return text;
}

/** Says whether a claim may be stored where `found` is: where there is nothing, or what it may take the place of. */
export function isFree(found: unknown, claim: Claim): boolean {
  if (found === undefined) return true;
  return claim.over !== undefined && JSON.stringify(found) === JSON.stringify(claim.over);
}
