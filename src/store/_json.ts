/**
 * Values as JSON text: what both stores keep, so that nobody outside can change it afterwards.
 *
 * @module
 */

/** Writes a value as JSON text; throws a `TypeError` where it has none. `what` names it in the message. */
export function toText(value: unknown, what: string): string {
  const text = JSON.stringify(value);
  if (text === undefined) {
    throw new TypeError(`Cannot store ${what}: found ${typeof value}, wanted a JSON value`);
  }
  return text;
}
