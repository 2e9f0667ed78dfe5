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
import { type CallName, Calls, unknownCall } from "./calls.ts";
import { detectFormat, FORMAT_NAMES, FORMATS, wrapperOf } from "./detect.ts";
import { badMessage, refuseDeep } from "./fields.ts";
import { type Format, type FormatName, isObject, type JsonObject, type Piece } from "./format.ts";
import { startsOf } from "./pieces.ts";
import { earlyResults, idsByPlace } from "./place.ts";
import { estimateTokens, priceOf, refuseTokens } from "./price.ts";
import { NO_PROMISES, type Promises, promisesOf } from "./promises.ts";

export { type CallName, detectFormat, estimateTokens, FORMAT_NAMES };

/** How to read a transcript. */
export interface ReadOptions {
  /** Default: found from the messages. */
  readonly format?: FormatName;
  /** Calls that will still be answered. Default: those that are open at the very end. */
  readonly inFlight?: readonly CallName[];
  /**
   * Calls that give interim results before the last one. An id stands for all calls of that id; where there is a
   * summary it may stand for none, as that may have taken them away. One that is also `inFlight` still goes on,
   * whatever results it has.
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
  /** Results that stand directly in front of their calls: record of the call by record of the result. */
  readonly early: ReadonlyMap<number, number>;
  /** How it was read, to read what is made of it in the same way. */
  readonly options: ReadOptions;
  /** Tokens of a text. */
  readonly measure: (text: string) => number;
}

/** Reads messages; an error says which format they were taken for, and where the message itself may be. */
function readPieces(
  messages: readonly JsonObject[],
  { format, options }: { readonly format: Format; readonly options: ReadOptions },
): readonly (readonly Piece[])[] {
  const { isSummary = () => false } = options;
  const pieces = messages.map((message, at) => {
    try {
      const read = format.read(message, at);
      const [only] = read;
      return read.length === 1 && only?.kind === "user" && isSummary(only.text)
        ? [{ ...only, kind: "summary" as const }]
        : read;
    } catch (error) {
      throw error instanceof SelvageError ? explain(error, message, { format, options }) : error;
    }
  });
  return format.link?.(pieces, messages) ?? pieces;
}

function explain(
  error: SelvageError,
  message: JsonObject,
  { format, options }: { readonly format: Format; readonly options: ReadOptions },
): SelvageError {
  const wrapper = wrapperOf(message);
  const inside = wrapper === null ? "" : `; the message itself seems to be inside \`${wrapper}\``;
  const how = options.format === undefined
    ? ", which the messages look like; `format` (--format) names another one"
    : ", as it was named";
  return new SelvageError(error.code, `${error.message}${inside} (read as ${format.name}${how})`, {
    cause: error,
    fields: { ...error.fields, ...(wrapper === null ? {} : { inside: wrapper }) },
  });
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
    if (!isObject(message)) {
      throw badMessage(at, `messages[${at}]`, { found: message, wanted: "an object" });
    }
    refuseDeep(message, at);
    return message;
  });
  const { tokens, measure = estimateTokens } = options;
  if (tokens !== undefined) refuseTokens(tokens, objects.length);
  const format = chooseFormat(objects, options.format);
  const pieces = readPieces(objects, { format, options });
  const prices = pieces.map((message, at) => priceOf(message, { measure, total: tokens?.[at] }));
  const loop = options.thinking === "ignore" ? null : signedLoop(pieces);

  const { inFlight } = options;
  const calls = new Calls(pieces);
  const lasting = lastingCalls(calls, { pieces, named: options.longRunning ?? [] });
  const starts = startsOf({ format, messages: objects });
  const ids = idsByPlace({ pieces, starts });

  const parse = (
    { promised, interim, settled }: Promises,
    fronts: ReadonlyMap<number, number>,
  ): Transcript => {
    const transcript = new Transcript();
    let record = -1;
    let step = loop?.from ?? 0;
    for (const [message, found] of pieces.entries()) {
      const isJoined = starts[message] !== message;
      const isSigned = !isJoined && found.some((piece) => piece.isSigned === true);
      if (options.thinking === "steps" && isSigned && isInside(loop, message)) {
        transcript.joinFrom(step);
        step = message;
      }
      transcript.append(found.map((piece, index): TranscriptRecord => {
        record++;
        const callId = piece.callId || ids.get(record);
        const isInterim = (piece.interim === true && !settled.has(record)) || interim.has(record);
        const isLasting = lasting.has(record) || (settled.has(record) && piece.kind === "tool_use");
        return {
          kind: piece.kind,
          message,
          tokens: prices[message]?.[index] ?? 0,
          ...(callId ? { callId } : {}),
          ...(piece.name ? { name: piece.name } : {}),
          ...(piece.approval ? { approval: true } : {}),
          ...(isInterim ? { interim: true } : {}),
          ...(piece.sticks ? { sticks: true } : {}),
          ...(isJoined ? { joins: true } : {}),
          ...(isLasting ? { longRunning: true } : {}),
          ...(promised.has(record) ? { inFlight: true } : {}),
        };
      }));
      const front = fronts.get(message);
      if (front !== undefined) transcript.joinFrom(front);
      if (loop !== null && message === loop.to - 1) transcript.joinFrom(step);
    }
    if (inFlight !== undefined) transcript.abandonOpen();
    return transcript;
  };
  const first = parse(NO_PROMISES, new Map());
  const early = earlyResults(first, { pieces, starts });
  const promises = promisesOf(first, { calls, inFlight, lasting });
  const isLast = early.size + promises.promised.size + promises.interim.size + promises.settled.size === 0;
  return {
    format,
    messages: objects,
    pieces,
    transcript: isLast ? first : parse(promises, frontsOf(first, early)),
    early,
    measure,
    options: {
      ...options,
      format: format.name,
      // By place from now on: ids may repeat, and places can be moved along with the messages.
      ...(inFlight === undefined ? {} : { inFlight: calls.placesOf(promises.promised) }),
      ...(lasting.size === 0 ? {} : { longRunning: calls.placesOf(lasting) }),
    },
  };
}

/** Records of the calls that run long. */
function lastingCalls(
  calls: Calls,
  { pieces, named }: { readonly pieces: Reading["pieces"]; readonly named: readonly CallName[] },
): ReadonlySet<number> {
  const hasSummary = pieces.some((message) => message.some((piece) => piece.kind === "summary"));
  return new Set(
    [...new Set(named)].flatMap((name) => {
      const found = calls.named(name, "longRunning");
      // An earlier compaction may have taken away those that are done.
      if (found.length === 0 && !hasSummary) throw unknownCall(name, "longRunning");
      return found.map((call) => calls.records[call] ?? -1);
    }),
  );
}

/** Where the results begin that stand in front of the calls of a message, by that message. */
function frontsOf(
  { records }: Transcript,
  early: ReadonlyMap<number, number>,
): ReadonlyMap<number, number> {
  const fronts = new Map<number, number>();
  for (const [result, call] of early) {
    const front = records[result]?.message ?? 0;
    const message = records[call]?.message ?? 0;
    fronts.set(message, Math.min(fronts.get(message) ?? front, front));
  }
  return fronts;
}
