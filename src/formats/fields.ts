/**
 * Fields of messages as they are read: what they have to hold, and what is said of one that holds something else.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { sayValue } from "../core/options.ts";
import { isObject, type JsonObject } from "./format.ts";
import { findDeep, parseScanned } from "./source.ts";

/** Complains about a message that is not of its format. */
export function badMessage(
  at: number,
  field: string,
  { found, wanted }: { readonly found: unknown; readonly wanted: string },
): SelvageError {
  return new SelvageError(
    "bad_message",
    `Cannot read message ${at}: found ${sayValue(found)} in ${field}, wanted ${wanted}`,
    { fields: { at, field } },
  );
}

/** A field that has to be an object. */
export function objectAt(value: unknown, at: number, field: string): JsonObject {
  if (!isObject(value)) throw badMessage(at, field, { found: value, wanted: "an object" });
  return value;
}

/** A field that has to be text; missing counts as `fallback` where there is one. */
export function textAt(value: unknown, at: number, field: string, fallback?: string): string {
  if (typeof value === "string") return value;
  if ((value === undefined || value === null) && fallback !== undefined) return fallback;
  throw badMessage(at, field, { found: value, wanted: "a string" });
}

/** A field that has to be a list of objects; `wanted` says what else it may be, where something else was read before. */
export function listAt(value: unknown, at: number, field: string, wanted = "a list"): readonly JsonObject[] {
  if (!Array.isArray(value)) throw badMessage(at, field, { found: value, wanted });
  return value.map((item, index) => objectAt(item, at, `${field}[${index}]`));
}

/** Levels to which JSON may be nested: far more than anybody means, far less than what overflows a stack. */
const MAX_DEPTH = 1_000;

/** The way to a value that is nested deeper than {@link MAX_DEPTH}, or null where none is. */
function wayTooDeep(value: unknown, left: number): readonly string[] | null {
  if (typeof value !== "object" || value === null) return null;
  if (left === 0) return [];
  for (const [key, inner] of Object.entries(value)) {
    const way = wayTooDeep(inner, left - 1);
    if (way !== null) return [key, ...way];
  }
  return null;
}

/** Refuses JSON that is nested too deeply: much of what reads it later on goes down with each level. */
export function refuseDeep(value: unknown, at: number, field = ""): void {
  const way = wayTooDeep(value, MAX_DEPTH);
  if (way === null) return;
  // The first steps name the field; nobody reads a thousand of them.
  const names = way.slice(0, 3).map((key) => /^\d+$/.test(key) ? `[${key}]` : `.${key.slice(0, 40)}`).join(
    "",
  );
  throw new SelvageError(
    "bad_message",
    `Cannot read message ${at}: found JSON nested more than ${MAX_DEPTH} levels deep in ${
      (field + names).replace(/^\./, "")
    }, wanted at most that`,
    { fields: { at, field: (field + names).replace(/^\./, "") } },
  );
}

/** A JSON value as text. */
export function jsonText(value: unknown, at: number, field: string): string {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    throw badMessage(at, field, { found: value, wanted: "a JSON value" });
  }
}

/** What was found in the place of arguments. */
export interface Arguments {
  /** What they mean: an object where they are one, however it is written. */
  readonly input: unknown;
  readonly isTruncated?: true;
  readonly isMisshapen?: true;
}

/** Arguments that come as text: parsed where they are a JSON object, numbers with all their digits. */
export function parseArguments(value: unknown, at: number, field: string): Arguments {
  if (typeof value !== "string") {
    // Absent where they are needed, or written as the object itself.
    return { input: isObject(value) ? value : value ?? {}, isMisshapen: true };
  }
  if (value.trim() === "") return { input: {} };
  const input = parseWhole(value, at, field);
  if (input === undefined) return { input: value, isTruncated: true };
  return isObject(input) ? { input } : { input, isMisshapen: true };
}

/** Arguments that come as an object. Text in their place is what a model wrote before it was cut off, or JSON. */
export function objectArguments(value: unknown, at: number, field: string): Arguments {
  if (isObject(value)) return { input: value };
  if (typeof value !== "string") return { input: value, isMisshapen: true };
  const input = parseWhole(value, at, field);
  if (input === undefined) return { input: value, isTruncated: true };
  return { input, isMisshapen: true };
}

/** The value of a text, undefined where it breaks off; refuses what is nested too deeply, without parsing it all. */
function parseWhole(text: string, at: number, field: string): unknown {
  const deep = findDeep(text, MAX_DEPTH);
  // A model that writes brackets without end does so until it is cut off.
  if (deep?.isClosed === false) return undefined;
  let value: unknown;
  try {
    value = parseScanned(deep?.begin ?? text);
  } catch {
    return undefined;
  }
  refuseDeep(value, at, field);
  return value;
}
