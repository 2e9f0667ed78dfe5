/** Transcripts in the format of Chat Completions, for tests of the routes and of the command. */
import type { AnyJson } from "./any_json.ts";

/** JSON of any shape. */
export type Json = AnyJson;

/** An assistant message of Chat Completions with one call. */
export const call = (id: string, args = "{}") => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "run", arguments: args } }],
});
/** The result of a call. */
export const result = (id: string, content = "done") => ({ role: "tool", tool_call_id: id, content });
/** A text of the user. */
export const user = (content: string) => ({ role: "user", content });
/** A text of the assistant. */
export const said = (content: string) => ({ role: "assistant", content });

/** A conversation of rounds, `words` words a result. */
export function rounds(count: number, words = 100): Json[] {
  return [
    user("Start."),
    ...Array.from({ length: count }, (_, n) => [call(`c${n}`), result(`c${n}`, `${n} word`.repeat(words))])
      .flat(),
  ];
}

/** Fields of what a compaction answers, in the order of the alphabet. */
export const COMPACT_FIELDS = [
  "cut",
  "format",
  "ledger",
  "messages",
  "nearest",
  "outcome",
  "reason",
  "repairs",
  "signed",
  "tokens",
  "trims",
  "violations",
];
