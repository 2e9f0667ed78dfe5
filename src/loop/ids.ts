/**
 * Ids of turns, sessions and requests.
 *
 * @module
 */

/** Makes an id that nobody has: a letter for what it names, then 20 hex digits. */
export function randomId(letter: "t" | "s" | "r"): string {
  return `${letter}_${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`;
}
