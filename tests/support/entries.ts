/**
 * Logs of entries for tests of compaction, written by hand or grown by a number.
 *
 * @module
 */
import { Context, type StoredView } from "../../src/compaction/context.ts";
import type { AssistantMessage, ToolOutput } from "../../src/core/message.ts";
import { loadMeasure } from "../../src/loop/measures.ts";
import type { Entry, ResultEntry } from "../../src/ports.ts";
import { prose } from "./turns.ts";

const base = { turn: "t", at: 0 };

/** A message of the user. */
export function user(seq: number, content: Extract<Entry, { kind: "user" }>["message"]["content"]): Entry {
  return { ...base, kind: "user", seq, message: { role: "user", content } };
}

/** A message of the assistant. */
export function assistant(seq: number, content: AssistantMessage["content"]): Entry {
  const message = { role: "assistant" as const, content };
  return { ...base, kind: "assistant", seq, step: 1, message, reason: "stop", model: "m" };
}

/** A call as a part of an assistant's message. */
export function callPart(toolName: string, input: unknown) {
  return { type: "tool-call" as const, toolCallId: "x", toolName, input };
}

/** The result of a call. */
export function result(
  seq: number,
  call: string,
  output: ToolOutput | string,
  rest: Partial<ResultEntry> = {},
): Entry {
  const value = typeof output === "string" ? { type: "text" as const, value: output } : output;
  return {
    ...base,
    kind: "result",
    seq,
    step: 1,
    call,
    toolName: "read",
    status: "ok",
    output: value,
    ms: 1,
    ...rest,
  };
}

/** Numbers entries from `from` on: makers get the number that is theirs. */
export function numbered(makers: readonly ((seq: number) => Entry)[], from = 0): Entry[] {
  return makers.map((make, index) => make(from + index));
}

/** A round of `count` parallel reads of `length` characters each, the results in reverse. */
export function round(from: number, { count = 1, length = 1_000 } = {}): Entry[] {
  const paths = Array.from({ length: count }, (_, index) => `src/file_${from}_${index}.ts`);
  const results = paths.map((_, index) => (seq: number) =>
    result(seq, `e${from}.${index}`, prose(length, (from * 7 + index) % 300))
  );
  return numbered([
    (seq) => assistant(seq, paths.map((path) => callPart("read", { path }))),
    ...results.toReversed(),
  ], from);
}

/** A task and rounds behind it. */
export function session(rounds: readonly { readonly count?: number; readonly length?: number }[]): Entry[] {
  const entries = [user(0, "The task: read all of it.")];
  for (const options of rounds) entries.push(...round(entries.length, options));
  return entries;
}

/** A context over entries. */
export function contextOf(entries: readonly Entry[], view: StoredView | null = null): Promise<Context> {
  return Context.create(entries, { view, loadMeasure });
}
