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

/** Half of a surrogate pair as `JSON.stringify` writes it; a backslash that is escaped begins none. */
const HALF_PAIR = /\\\\|\\ud[89a-f][0-9a-f]{2}/g;

/** A value as JSON that can be sent: U+FFFD stands for each half of a surrogate pair, which services refuse. */
export function toJson(value: object): string;
export function toJson(value: unknown): string | undefined;
export function toJson(value: unknown): string | undefined {
  const json: string | undefined = JSON.stringify(value);
  return json?.includes("\\ud")
    ? json.replace(HALF_PAIR, (found) => found === "\\\\" ? found : "\\ufffd")
    : json;
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
