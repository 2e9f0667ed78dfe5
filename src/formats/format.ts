/**
 * What a wire format is to the core: messages read into pieces, and the few edits that a repair or a compaction
 * makes. A message that is not edited is never rebuilt: it comes back as the object that came in.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { RecordKind, TranscriptRecord } from "../core/record.ts";
import { parseExact } from "./source.ts";

/** Names of the wire formats. */
export type FormatName = "openai-chat" | "anthropic" | "openai-responses" | "ai-sdk" | "gemini";

/** A JSON object, with whatever fields it came with. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** One part of a message, as far as the core and the ledger need it. */
export interface Piece extends Pick<TranscriptRecord, "callId" | "name" | "approval" | "interim" | "sticks"> {
  /** What the part is to the core. */
  readonly kind: RecordKind;
  /** Index of the part in its message, null where the message is the part. */
  readonly part: number | null;
  /** What is priced and shown: the text, the arguments, the result. */
  readonly text: string;
  /** Images and other files in it, each at a flat price. */
  readonly files?: number;
  /** Arguments of a call. */
  readonly input?: unknown;
  /** Arguments whose text ends too early: an output limit cut them off. */
  readonly isTruncated?: boolean;
  /** Arguments that are whole, but not in the shape that the format has for them; `input` is what they mean. */
  readonly isMisshapen?: boolean;
  /** A result that reports a failure. */
  readonly isError?: boolean;
  /** A result with an empty text in it, or a message with nothing in it, which providers refuse. */
  readonly isBlank?: boolean;
  /** Reasoning whose bytes a provider has signed. */
  readonly isSigned?: boolean;
  /** The part is nothing but text: it may be emptied, marked or left out. */
  readonly isText?: boolean;
  /** A call that the provider runs itself: nobody else can answer it. Also its result, which stands beside it. */
  readonly isHosted?: boolean;
  /** How the format uses the id of a call or a result. Default: it needs one. */
  readonly idUse?: "optional" | "none";
  /** Type of a call or a result, in formats where that of a result depends on that of its call. */
  readonly itemType?: string;
  /** The answer is a field of the call's own part. */
  readonly isInPlace?: boolean;
}

/** A result to write: `raw` is the part it came in, if it is only moved. */
export interface ResultToWrite {
  /** Id of the call, empty where it has none. */
  readonly callId: string;
  /** Name of the tool. */
  readonly name: string;
  /** What it says. */
  readonly text: string;
  /** Whether it reports a failure. */
  readonly isError: boolean;
  /** The part that it came in. */
  readonly raw?: unknown;
  /** The call that it answers. */
  readonly call?: Piece;
}

/** Rules of a provider that pairing does not imply. */
export interface DialectRules {
  /** Results stand at the front of the message that follows their call. */
  readonly resultsFirst: boolean;
  /** The first message comes from the user. */
  readonly firstFromUser: boolean;
  /** A text is never empty. */
  readonly noEmptyText: boolean;
  /** What ids are made of. */
  readonly ids?: RegExp;
  /** A result names the tool of its call. */
  readonly sameName?: boolean;
}

/** One wire format. Every edit gives a new message with all other fields as they were. */
export interface Format {
  /** Name of the format. */
  readonly name: FormatName;
  /** What its provider refuses. */
  readonly rules: DialectRules;
  /** Whether a message looks like one of this format, and of no other: used where the format is not named. */
  isTypical(message: JsonObject): boolean;
  /** Whether a message hints at this format, where nothing in the transcript is typical of one. */
  isLikely?(message: JsonObject): boolean;
  /** Reads a message; every message has at least one piece. Throws `bad_message` naming index and field. */
  read(message: JsonObject, at: number): readonly Piece[];
  /** The pieces of all messages with results under the id of their call, where the format has two ids for it. */
  link?(
    pieces: readonly (readonly Piece[])[],
    messages: readonly JsonObject[],
  ): readonly (readonly Piece[])[];
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
  /** The message with another id on a call or on a result. */
  withCallId(message: JsonObject, part: number | null, id: string): JsonObject;
  /** The message with another tool name on a result; only where results have one. */
  withName?(message: JsonObject, part: number | null, name: string): JsonObject;
  /** The message with other arguments of a call. */
  withArguments(message: JsonObject, part: number | null, input: JsonObject): JsonObject;
  /** The message with another text in a text part or a result. */
  withText(message: JsonObject, part: number | null, text: string): JsonObject;
  /** The message without the empty texts in a result that holds more; only where results are lists of parts. */
  withoutBlanks?(message: JsonObject, part: number | null): JsonObject;
  /** The message whose call is answered in its own part; only where results are `isInPlace`. */
  answerInPlace?(message: JsonObject, part: number | null, result: ResultToWrite): JsonObject;
}

/** Ids of approvals begin with this, so that none is that of a call. */
export const APPROVAL = "approval:";

/** A value in a few words. */
export function sayValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return String(value);
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
}

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

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether only a model makes such a piece. */
export function isMade({ kind }: Piece): boolean {
  return kind === "tool_use" || kind === "reasoning";
}

/** Whether such a piece is part of an assistant message. */
export function isRound({ kind }: Piece): boolean {
  return kind === "assistant" || kind === "reasoning" || kind === "tool_use";
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

/** A field that has to be a list of objects. */
export function listAt(value: unknown, at: number, field: string): readonly JsonObject[] {
  if (!Array.isArray(value)) throw badMessage(at, field, { found: value, wanted: "a list" });
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
  const input = parseOr(value, undefined);
  if (input === undefined) return { input: value, isTruncated: true };
  refuseDeep(input, at, field);
  return isObject(input) ? { input } : { input, isMisshapen: true };
}

/** Arguments that come as an object. Text in their place is what a model wrote before it was cut off, or JSON. */
export function objectArguments(value: unknown, at: number, field: string): Arguments {
  if (isObject(value)) return { input: value };
  if (typeof value !== "string") return { input: value, isMisshapen: true };
  const input = parseOr(value, undefined);
  if (input === undefined) return { input: value, isTruncated: true };
  refuseDeep(input, at, field);
  return { input, isMisshapen: true };
}

function parseOr(text: string, fallback: unknown): unknown {
  try {
    return parseExact(text);
  } catch {
    return fallback;
  }
}

/** Copies that their maker may edit in place: k edits of one message then cost k, not k². */
const drafts = new WeakSet<JsonObject>();

/** A copy of a message of which {@link Format} edits parts in place, until it is settled. */
export function draftOf(message: JsonObject): JsonObject {
  const draft = Object.fromEntries(
    Object.entries(message).map(([key, value]) => [key, Array.isArray(value) ? [...value] : value]),
  );
  drafts.add(draft);
  return draft;
}

/** Ends the drafts among messages: from now on an edit gives a new message again. */
export function settleDrafts(messages: Iterable<JsonObject>): void {
  for (const message of messages) drafts.delete(message);
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
      const all = new Set(gone);
      if (all.has(null)) return null;
      const left = partsOf(message).filter((_, index) => !all.has(index));
      return left.length === 0 ? null : { ...message, [key]: left };
    },
    reorder: (message, order) => ({ ...message, [key]: order.map((index) => partsOf(message)[index]) }),
    edit(message, part, change) {
      if (part === null) return change(message);
      const parts = message[key];
      if (!Array.isArray(parts) || part >= parts.length) return message;
      const isDraft = drafts.has(message);
      const edited = isDraft ? parts : [...parts];
      edited[part] = change(edited[part]);
      return isDraft ? message : { ...message, [key]: edited };
    },
    insert(message, index, added) {
      return {
        ...message,
        [key]: [...partsOf(message).slice(0, index), ...added, ...partsOf(message).slice(index)],
      };
    },
  };
}
