/**
 * Ids of turns and sessions.
 *
 * @module
 */

/** Makes an id that nobody has: a letter for what it names, then 20 hex digits. */
export function randomId(letter: "t" | "s"): string {
  return `${letter}_${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`;
}
