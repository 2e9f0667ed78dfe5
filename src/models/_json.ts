/** JSON that may be anything, as providers send it. Private to the adapters. */

/** A string as it is, anything else as the empty one. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A text as JSON; the text itself where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not every proxy speaks JSON: the text itself is then what it has to say.
    return text;
  }
}

/** A value as JSON; null where JSON cannot hold it, as may be where it comes from somebody's code. */
export function jsonOf(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? null;
  } catch {
    // A BigInt, a circle, a `toJSON` that throws: which of them is nothing to go by.
    return null;
  }
}
