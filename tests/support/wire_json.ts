/** JSON as the doubles of all services look at it. */

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** Says whether a value is a JSON object. */
export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The JSON objects of a list; none where there is no list. */
export function objectsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isJson) : [];
}

/** Says whether a value is the text of JSON. */
export function isJsonText(value: unknown): value is string {
  if (typeof value !== "string") return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

/** Says whether a value is the text of a JSON object. */
export function isObjectText(value: unknown): value is string {
  return isJsonText(value) && isJson(JSON.parse(value));
}

/** Says whether a text of parsed JSON holds half of a surrogate pair: no service can read a request that escapes one. */
export function hasHalfPair(body: unknown): boolean {
  return /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(body) ?? "");
}
