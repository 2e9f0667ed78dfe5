/**
 * The shapes in which callers have a transcript: as a field of a request, wrapped by the lines of a log, with calls
 * named by place. The routes and the command read by them alike.
 *
 * @module
 */
import { type FormatName, isObject, type JsonObject } from "./format.ts";
import { type CallName, type Reading, type ReadOptions, readTranscript } from "./read.ts";

/** Fields of an object that may hold the messages, and what their names tell of the format. */
const LISTS = { messages: null, input: "openai-responses", contents: "gemini" } as const;

/** Name of a field that holds messages. */
export type ListName = keyof typeof LISTS;

/** Names of the fields that may hold the messages. */
export const LIST_NAMES = Object.keys(LISTS) as readonly ListName[];

/** The format that the name of a list stands for, where the messages do not tell. */
export function hintOf(name: ListName | null): FormatName | null {
  return name === null ? null : LISTS[name];
}

/** The message in what wraps it, as the session logs of agents do; null where a line wraps none. */
export function unwrap(
  line: unknown,
): { readonly inside: "message" | "payload"; readonly message: JsonObject } | null {
  if (!isObject(line) || typeof line["role"] === "string") return null;
  const { message, payload, type } = line;
  if (isObject(message) && typeof message["role"] === "string") return { inside: "message", message };
  if (!isObject(payload)) return null;
  const isItem = type === "response_item" || (type === undefined && typeof payload["role"] === "string");
  // A note on the state of the files, between the items.
  return isItem && payload["type"] !== "ghost_snapshot" ? { inside: "payload", message: payload } : null;
}

/** Where the messages of a list are, if each is wrapped in something else. */
export function findWrapper(
  list: readonly unknown[],
): { readonly at: number; readonly inside: string } | null {
  if (list.some((line) => isObject(line) && typeof line["role"] === "string")) return null;
  const at = list.findIndex((line) => unwrap(line) !== null);
  const inside = unwrap(list[at])?.inside;
  return inside === undefined ? null : { at, inside };
}

/** A call by place as the reports and the ledger write it: `8.1`, or `e8.1`. */
const PLACE = /^e?(\d{1,9})\.(\d{1,9})$/;

/**
 * Reads a transcript as {@link readTranscript} does, with calls also by place as reports write it: `8.1` and `e8.1`
 * stand for call 1 of message 8, unless a call has that id.
 *
 * @param messages The messages, as parsed JSON.
 * @param options As they are for {@link readTranscript}, with its errors.
 */
export function readByPlace(messages: unknown, options: ReadOptions): Reading {
  const { format, inFlight, longRunning } = options;
  const isPlace = (name: CallName): boolean => typeof name === "string" && PLACE.test(name);
  if (![...inFlight ?? [], ...longRunning ?? []].some(isPlace)) return readTranscript(messages, options);
  // Which ids there are is known once the messages are read.
  const { pieces } = readTranscript(messages, format === undefined ? {} : { format });
  const ids = new Set(pieces.flat().filter(({ kind }) => kind === "tool_use").map(({ callId }) => callId));
  const placed = (names: readonly CallName[]): readonly CallName[] =>
    names.map((name) => {
      const place = typeof name === "string" && !ids.has(name) ? name.match(PLACE) : null;
      return place === null ? name : { at: Number(place[1]), call: Number(place[2]) };
    });
  return readTranscript(messages, {
    ...options,
    ...(inFlight === undefined ? {} : { inFlight: placed(inFlight) }),
    ...(longRunning === undefined ? {} : { longRunning: placed(longRunning) }),
  });
}
