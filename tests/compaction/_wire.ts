/** Short ways to make Chat Completions messages, and to compact them. */
import {
  type CompactedTranscript,
  compactTranscript,
  type CompactTranscriptOptions,
  isLedger,
  type JsonObject,
  type Reading,
  type ReadOptions,
  readTranscript,
} from "../../src/transcripts.ts";
import { chatCall as call, said, user } from "../formats/_read.ts";

export { call, said, user };

/** Messages of a transcript. */
export type Messages = readonly JsonObject[];

export const system = (content: string): JsonObject => ({ role: "system", content });
export const result = (id: string, content = "done"): JsonObject => ({
  role: "tool",
  tool_call_id: id,
  content,
});
export const words = (times: number): string => "word ".repeat(times);

/** Some text that is longer than what it stands for. */
export const LOREM = "lorem ipsum dolor sit amet consectetur ".repeat(10);

/** Rounds of a call and its result. */
export function rounds(count: number, name = "c", text = LOREM): Messages {
  return Array.from({ length: count }, (_, n) => [call(`${name}${n}`), result(`${name}${n}`, `${n} ${text}`)])
    .flat();
}

/** Reads messages that may hold ledgers. */
export function read(messages: Messages, options: ReadOptions = {}): Reading {
  return readTranscript(messages, { format: "openai-chat", isSummary: isLedger, ...options });
}

/** Compacts messages that may hold ledgers. */
export function compact(
  messages: Messages,
  options: CompactTranscriptOptions,
  how: ReadOptions = {},
): CompactedTranscript {
  return compactTranscript(read(messages, how), options);
}

/** The first ledger among messages; empty where there is none. */
export function summaryOf(messages: Messages): string {
  return messages.map(({ content }) => String(content)).find(isLedger) ?? "";
}
