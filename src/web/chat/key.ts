/**
 * A key as somebody typed or pasted it.
 *
 * @module
 */

/** Blank and what takes no width: it comes along when a key is copied, and nobody sees it. */
const ENDS = /^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu;

/**
 * The key that was typed, without what is around it; null where it has a character that no header can carry.
 *
 * @param text What stands in the field.
 */
export function keyOf(text: string): string | null {
  const key = text.replace(ENDS, "");
  return /^[\x21-\x7e]*$/.test(key) ? key : null;
}
