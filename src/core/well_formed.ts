/**
 * Text that can be sent. Half of a surrogate pair is left where somebody cuts a string in the middle of a character; no
 * UTF-8 can hold it, and services refuse a request that escapes it.
 *
 * @module
 */

/** Whether every text in a value of JSON, names included, can be sent. */
export function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (Array.isArray(value)) return value.every(isWellFormed);
  return !isPlain(value) ||
    Object.entries(value).every(([name, inner]) => name.isWellFormed() && isWellFormed(inner));
}

/** A value of JSON with U+FFFD for each half of a pair; the value itself where there is none. What is no JSON stays. */
export function wellFormed<Value>(value: Value): Value {
  return isWellFormed(value) ? value : mended(value) as Value;
}

function mended(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(mended);
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name.toWellFormed(), mended(inner)]),
  );
}

/** Whether it is an object of JSON, and none with a meaning of its own, as a URL or bytes. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
