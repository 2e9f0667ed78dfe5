/**
 * What a wire format is to the core: messages read into pieces, and the few edits that a repair or a compaction
 * makes. A message that is not edited is never rebuilt: it comes back as the object that came in.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { RecordKind, TranscriptRecord } from "../core/record.ts";

/** Names of the wire formats. */
export type FormatName = "openai-chat" | "anthropic" | "openai-responses" | "ai-sdk" | "gemini";

/** A JSON object, with whatever fields it came with. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** One part of a message, as far as the core and the ledger need it. */
export interface Piece extends Pick<TranscriptRecord, "callId" | "name" | "approval" | "interim" | "sticks"> {
  readonly kind: RecordKind;
  /** Index of the part in its message, null where the message is the part. */
  readonly part: number | null;
  /** What is priced and shown: the text, the arguments, the result. */
  readonly text: string;
  /** Images and other files in it, each at a flat price. */
  readonly files?: number;
  /** Arguments of a call. */
  readonly input?: unknown;
  /** Arguments that are no JSON object: an output limit cut them off, or the model wrote something else. */
  readonly isTruncated?: boolean;
  /** A result that reports a failure. */
  readonly isError?: boolean;
  /** A result that holds an empty text, which its provider refuses. */
  readonly isBlank?: boolean;
  /** Reasoning whose bytes a provider has signed. */
  readonly isSigned?: boolean;
  /** The part is nothing but text: it may be emptied, marked or left out. */
  readonly isText?: boolean;
  /** The answer is a field of the call's own part. */
  readonly isInPlace?: boolean;
}

/** A result to write: `raw` is the part it came in, if it is only moved. */
export interface ResultToWrite {
  readonly callId: string;
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
  readonly raw?: unknown;
}

/** Rules of a provider that pairing does not imply. */
export interface DialectRules {
  /** Results stand at the front of the message that follows their call. */
  readonly resultsFirst: boolean;
  readonly firstFromUser: boolean;
  readonly noEmptyText: boolean;
}

/** One wire format. Every edit gives a new message with all other fields as they were. */
export interface Format {
  readonly name: FormatName;
  readonly rules: DialectRules;
  /** Whether a message looks like one of this format, and of no other: used where the format is not named. */
  isTypical(message: JsonObject): boolean;
  /** Reads a message; every message has at least one piece. Throws `bad_message` naming index and field. */
  read(message: JsonObject, at: number): readonly Piece[];
  /** Whether the message goes on with the assistant message before it. */
  joins?(message: JsonObject, previous: JsonObject | undefined): boolean;
  /** Adds results behind those of `message`, or makes messages for them where it is null. */
  addResults(message: JsonObject | null, results: readonly ResultToWrite[]): readonly JsonObject[];
  /** A user message. */
  userText(text: string): JsonObject;
  /** The part itself, to be moved. */
  take(message: JsonObject, part: number | null): unknown;
  /** The message without some of its parts, null where nothing is left. */
  without(message: JsonObject, parts: readonly (number | null)[]): JsonObject | null;
  /** The message with its parts in another order; `order` lists the old indexes. */
  reorder(message: JsonObject, order: readonly number[]): JsonObject;
  withCallId(message: JsonObject, part: number | null, id: string): JsonObject;
  withArguments(message: JsonObject, part: number | null, input: JsonObject): JsonObject;
  /** The message with another text in a text part or a result. */
  withText(message: JsonObject, part: number | null, text: string): JsonObject;
  /** The message whose call is answered in its own part; only where results are `isInPlace`. */
  answerInPlace?(message: JsonObject, part: number | null, result: ResultToWrite): JsonObject;
}

/** Complains about a message that is not of its format. */
export function badMessage(at: number, field: string, wanted: string): SelvageError {
  return new SelvageError(
    "bad_message",
    `Cannot read message ${at}: found something else in ${field}, wanted ${wanted}`,
    { fields: { at, field } },
  );
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A field that has to be an object. */
export function objectAt(value: unknown, at: number, field: string): JsonObject {
  if (!isObject(value)) throw badMessage(at, field, "an object");
  return value;
}

/** A field that has to be text; missing counts as `fallback` where there is one. */
export function textAt(value: unknown, at: number, field: string, fallback?: string): string {
  if (typeof value === "string") return value;
  if ((value === undefined || value === null) && fallback !== undefined) return fallback;
  throw badMessage(at, field, "a string");
}

/** A field that has to be a list of objects. */
export function listAt(value: unknown, at: number, field: string): readonly JsonObject[] {
  if (!Array.isArray(value)) throw badMessage(at, field, "a list");
  return value.map((item, index) => objectAt(item, at, `${field}[${index}]`));
}

/** A JSON value as text. */
export function jsonText(value: unknown, at: number, field: string): string {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    throw badMessage(at, field, "JSON that is not nested too deeply");
  }
}

/** Arguments that came as text: parsed where they are a JSON object. */
export function parseArguments(text: string): { readonly input: unknown; readonly isTruncated: boolean } {
  if (text.trim() === "") return { input: {}, isTruncated: false };
  try {
    const input: unknown = JSON.parse(text);
    return { input, isTruncated: !isObject(input) };
  } catch {
    return { input: text, isTruncated: true };
  }
}

/** A message whose list of parts is `key`: the edits that are the same for all such formats. */
export function partEdits(key: string): Pick<Format, "take" | "without" | "reorder"> & {
  edit(message: JsonObject, part: number | null, change: (part: JsonObject) => JsonObject): JsonObject;
  insert(message: JsonObject, index: number, parts: readonly unknown[]): JsonObject;
} {
  const partsOf = (message: JsonObject): readonly unknown[] => {
    const parts = message[key];
    return Array.isArray(parts) ? parts : [];
  };
  return {
    take: (message, part) => part === null ? message : partsOf(message)[part],
    without(message, gone) {
      if (gone.includes(null)) return null;
      const left = partsOf(message).filter((_, index) => !gone.includes(index));
      return left.length === 0 ? null : { ...message, [key]: left };
    },
    reorder: (message, order) => ({ ...message, [key]: order.map((index) => partsOf(message)[index]) }),
    edit(message, part, change) {
      if (part === null) return change(message);
      const parts = partsOf(message).map((found, index) =>
        index === part ? change(found as JsonObject) : found
      );
      return { ...message, [key]: parts };
    },
    insert(message, index, added) {
      return {
        ...message,
        [key]: [...partsOf(message).slice(0, index), ...added, ...partsOf(message).slice(index)],
      };
    },
  };
}
