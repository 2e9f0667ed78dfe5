/** JSON that may be anything, as providers send it. Private to the adapters. */

/** An object whose fields nobody has looked at yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** Says whether a value is an object with string keys. */
export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

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
