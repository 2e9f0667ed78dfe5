/**
 * Reading a transcript from elsewhere: its format found, its messages read into pieces, its pairs and atoms
 * parsed by the core.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { TranscriptRecord } from "../core/record.ts";
import { Transcript } from "../core/transcript.ts";
import { aiSdk, aiSdkUi } from "./ai_sdk.ts";
import { anthropic } from "./anthropic.ts";
import { type CallName, Calls, unknownCall } from "./calls.ts";
import {
  badMessage,
  type Format,
  type FormatName,
  isObject,
  type JsonObject,
  type Piece,
  refuseDeep,
} from "./format.ts";
import { gemini } from "./gemini.ts";
import { openaiChat } from "./openai_chat.ts";
import { openaiResponses } from "./openai_responses.ts";

/** In the order in which a message is offered to them: the more particular ones first. */
const FORMATS: readonly Format[] = [aiSdk, gemini, anthropic, openaiChat, openaiResponses];

/** Names of all formats. */
export const FORMAT_NAMES: readonly FormatName[] = FORMATS.map((format) => format.name);

export type { CallName };

/** How to read a transcript. */
export interface ReadOptions {
  /** Default: found from the messages. */
  readonly format?: FormatName;
  /** Calls that will still be answered. Default: those that are open at the very end. */
  readonly inFlight?: readonly CallName[];
  /**
   * Calls that give interim results before the last one. An id stands for all calls of that id, and may stand for
   * none: those that an earlier compaction took away.
   */
  readonly longRunning?: readonly CallName[];
  /**
   * Where the last tool loop may be cut if reasoning in it is signed. `auto`: nowhere. Default. `steps`: in front of
   * messages that hold such reasoning, so that what is kept begins with it. `ignore`: anywhere.
   */
  readonly thinking?: "auto" | "steps" | "ignore";
  /** Tokens of each message, as the caller counts them. Default, also for single ones: counted with `measure`. */
  readonly tokens?: readonly (number | undefined)[];
  /** Tokens of a text. Default: four UTF-16 units a token. */
  readonly measure?: (text: string) => number;
  /** Tells a summary that an earlier compaction wrote. */
  readonly isSummary?: (text: string) => boolean;
}

/** A transcript that was read. `pieces[i]` are the parts of `messages[i]`. */
export interface Reading {
  /** The format of the messages. */
  readonly format: Format;
  /** The messages, the objects that were given. */
  readonly messages: readonly JsonObject[];
  /** The parts of each message. */
  readonly pieces: readonly (readonly Piece[])[];
  /** Pairs, atoms and legal cuts. */
  readonly transcript: Transcript;
  /** How it was read, to read what is made of it in the same way. */
  readonly options: ReadOptions;
  /** Tokens of a text. */
  readonly measure: (text: string) => number;
}

/** Tokens of an image or another file. */
const FILE_TOKENS = 1_600;
/** Tokens of a message or a call beside its text. */
const OVERHEAD = 4;

/** Roughly the tokens of a text: four UTF-16 units each. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

/**
 * Finds the format of messages.
 *
 * @param messages The messages.
 * @throws SelvageError `unknown_format` when they look like none.
 */
export function detectFormat(messages: readonly JsonObject[]): FormatName {
  for (const message of messages) {
    const format = FORMATS.find((format) => format.isTypical(message));
    if (format !== undefined) return format.name;
  }
  const strange = messages.findIndex((message) =>
    typeof message["role"] !== "string" || !("content" in message)
  );
  if (strange < 0) {
    const hasBlocks = messages.some((message) =>
      Array.isArray(message["content"]) &&
      message["content"].some((block) => isObject(block) && "source" in block)
    );
    return hasBlocks ? "anthropic" : "openai-chat";
  }
  throw new SelvageError(
    "unknown_format",
    `Cannot tell the format of the messages: found none of ${
      FORMAT_NAMES.join(", ")
    } in message ${strange}, wanted one, or its name`,
    { fields: { at: strange, field: typeof messages[strange]?.["role"] === "string" ? "content" : "role" } },
  );
}

function chooseFormat(messages: readonly JsonObject[], name: FormatName | undefined): Format {
  const wanted = name ?? detectFormat(messages);
  if (wanted === "ai-sdk") {
    return messages.some((message) => Array.isArray(message["parts"])) ? aiSdkUi : aiSdk;
  }
  const format = FORMATS.find((format) => format.name === wanted);
  if (format === undefined) {
    throw new SelvageError(
      "unknown_format",
      `Cannot read the format ${JSON.stringify(wanted.slice(0, 40))}: wanted ${FORMAT_NAMES.join(", ")}`,
      { fields: { field: "format" } },
    );
  }
  return format;
}

/** Tokens of the pieces of one message: counted, or the caller's total spread over them by length. */
function priceOf(
  pieces: readonly Piece[],
  { measure, total }: { readonly measure: (text: string) => number; readonly total: number | undefined },
): readonly number[] {
  if (total === undefined) {
    return pieces.map((piece) =>
      measure(piece.text) + measure(piece.name ?? "") + (piece.files ?? 0) * FILE_TOKENS + OVERHEAD
    );
  }
  const weights = pieces.map((piece) => piece.text.length + (piece.files ?? 0) * FILE_TOKENS * 4 + 1);
  const sum = weights.reduce((a, b) => a + b, 0);
  const shares = weights.map((weight) => Math.floor(total * weight / sum));
  // What rounding left over goes to the first, so that the message costs what the caller says.
  return shares.map((tokens, index) =>
    index === 0 ? tokens + total - shares.reduce((a, b) => a + b, 0) : tokens
  );
}

function refuseTokens(tokens: readonly (number | undefined)[], messages: number): void {
  const bad = tokens.findIndex((count) =>
    count !== undefined && !(count >= 0 && count <= Number.MAX_SAFE_INTEGER)
  );
  if (tokens.length === messages && bad < 0) return;
  const found = bad < 0 ? `${tokens.length} for ${messages} messages` : `${tokens[bad]} for message ${bad}`;
  throw new SelvageError(
    "bad_tokens",
    `Cannot use the token counts: found ${found}, wanted one number a message, 0 or more`,
    { fields: { field: "tokens", ...(bad < 0 ? {} : { at: bad }) } },
  );
}

/** Where the last tool loop begins and ends, if reasoning in it is signed. */
function signedLoop(
  pieces: readonly (readonly Piece[])[],
): { readonly from: number; readonly to: number } | null {
  const isPrompt = (message: readonly Piece[]): boolean =>
    message.some((piece) => piece.kind === "user" || piece.kind === "summary") &&
    !message.some((piece) => piece.kind === "tool_result");
  const from = pieces.findLastIndex(isPrompt) + 1;
  const loop = pieces.slice(from);
  const last = loop.findLastIndex((message) =>
    message.some((piece) => piece.kind === "tool_use" || piece.kind === "tool_result")
  );
  if (
    last < 0 || !loop.slice(0, last + 1).some((message) => message.some((piece) => piece.isSigned === true))
  ) return null;
  return { from, to: from + last + 1 };
}

/** Whether a message lies in a loop and does not begin it. */
function isInside(loop: ReturnType<typeof signedLoop>, message: number): boolean {
  return loop !== null && message > loop.from && message < loop.to;
}

/**
 * Reads a transcript.
 *
 * @param messages The messages, as parsed JSON.
 * @param options Format, open calls, token counts.
 * @returns The messages with what the core found in them.
 * @throws SelvageError `bad_transcript`, `bad_message` (fields `at`, `field`) or `unknown_format`.
 *
 * @example
 * ```ts
 * import { checkTranscript, readTranscript } from "@selvage/selvage/core";
 *
 * const { transcript } = readTranscript([
 *   { role: "user", content: "Read it." },
 *   { role: "tool", tool_call_id: "a", content: "text" },
 * ]);
 * console.log(checkTranscript(transcript)[0]?.code); // orphan_result
 * ```
 */
export function readTranscript(messages: unknown, options: ReadOptions = {}): Reading {
  if (!Array.isArray(messages)) {
    throw new SelvageError(
      "bad_transcript",
      "Cannot read the transcript: found no list of messages, wanted one",
      { fields: { field: "messages" } },
    );
  }
  const objects = messages.map((message, at) => {
    if (!isObject(message)) throw badMessage(at, `messages[${at}]`, "an object");
    refuseDeep(message, at);
    return message;
  });
  const { tokens, measure = estimateTokens, isSummary = () => false } = options;
  if (tokens !== undefined) refuseTokens(tokens, objects.length);
  const format = chooseFormat(objects, options.format);
  const pieces = objects.map((message, at) => {
    const read = format.read(message, at);
    const [only] = read;
    return read.length === 1 && only?.kind === "user" && isSummary(only.text)
      ? [{ ...only, kind: "summary" as const }]
      : read;
  });
  const prices = pieces.map((message, at) => priceOf(message, { measure, total: tokens?.[at] }));
  const loop = options.thinking === "ignore" ? null : signedLoop(pieces);

  const { inFlight, longRunning = [] } = options;
  const calls = new Calls(pieces);
  const lasting = [...new Set(longRunning)].flatMap((name) => calls.named(name, "longRunning"));
  const goingOn = new Set(lasting.map((call) => calls.records[call]));

  const parse = (promised: ReadonlySet<number | undefined>): Transcript => {
    const transcript = new Transcript();
    let record = 0;
    let step = loop?.from ?? 0;
    for (const [message, found] of pieces.entries()) {
      const joins = format.joins?.(objects[message] ?? {}, objects[message - 1]) === true;
      const isSigned = !joins && found.some((piece) => piece.isSigned === true);
      if (options.thinking === "steps" && isSigned && isInside(loop, message)) {
        transcript.joinFrom(step);
        step = message;
      }
      transcript.append(found.map((piece, index): TranscriptRecord => ({
        kind: piece.kind,
        message,
        tokens: prices[message]?.[index] ?? 0,
        ...(piece.callId ? { callId: piece.callId } : {}),
        ...(piece.name ? { name: piece.name } : {}),
        ...(piece.approval ? { approval: true } : {}),
        ...(piece.interim ? { interim: true } : {}),
        ...(piece.sticks ? { sticks: true } : {}),
        ...(joins ? { joins: true } : {}),
        ...(goingOn.has(record) ? { longRunning: true } : {}),
        ...(promised.has(record++) ? { inFlight: true } : {}),
      })));
      if (loop !== null && message === loop.to - 1) transcript.joinFrom(step);
    }
    if (inFlight !== undefined) transcript.abandonOpen();
    return transcript;
  };

  const first = parse(new Set());
  const promised = [...new Set(inFlight)].map((name) => findCall(name, { calls, transcript: first }));
  return {
    format,
    messages: objects,
    pieces,
    transcript: promised.length === 0 ? first : parse(new Set(promised.map((call) => calls.records[call]))),
    measure,
    options: {
      ...options,
      format: format.name,
      // By place from now on: ids may repeat, and places can be moved along with the messages.
      ...(inFlight === undefined ? {} : { inFlight: promised.map((call) => calls.placeOf(call)) }),
      ...(lasting.length === 0 ? {} : { longRunning: lasting.map((call) => calls.placeOf(call)) }),
    },
  };
}

/** The call of a name: of those of an id the last one without an answer, else the last one. */
function findCall(
  name: CallName,
  { calls, transcript }: { readonly calls: Calls; readonly transcript: Transcript },
): number {
  const named = calls.named(name, "inFlight");
  const found = named.findLast((call) => transcript.pairs[call]?.state !== "answered") ?? named.at(-1);
  if (found === undefined) throw unknownCall(name, "inFlight");
  return found;
}
