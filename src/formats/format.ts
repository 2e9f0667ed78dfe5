/**
 * What a wire format is to the core: messages read into pieces, and the few edits that a repair or a compaction
 * makes. A message that is not edited is never rebuilt: it comes back as the object that came in.
 *
 * @module
 */
import type { RecordKind, TranscriptRecord } from "../core/record.ts";

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
  /** The message with another tool name on a result; only where a result has to name the tool of its call. */
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

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
