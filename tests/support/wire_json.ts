/** JSON as the doubles of all services look at it. */

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** Says whether a value is a JSON object. */
export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
