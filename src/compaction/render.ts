/**
 * Entries as the messages a model is shown. The log keeps what was said; here it takes the form that providers
 * accept: unique ids, possible names, no empty text.
 *
 * @module
 */
import type { AssistantMessage, Message, TextPart, ToolCallPart, ToolOutput } from "../core/message.ts";
import type { Entry, ResultEntry } from "../ports.ts";

/** The wire id of a call: its place in the log, so that it is unique, well formed and always the same. */
export function wireId(ref: string): string {
  return ref.replace(".", "_");
}

/** Names of tools that every provider takes. */
export const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** The same in words. */
export const TOOL_NAME_RULE = "1 to 64 of A-Z a-z 0-9 _ -";

/** The name of a tool as providers take it back: models also call what no tool can be called. */
export function wireName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unknown";
}

/** Whether a part is a call that the loop has to answer; a provider answers its own inside the message. */
export function isOwnCall(part: { readonly type: string }): part is ToolCallPart {
  return part.type === "tool-call" && !("providerExecuted" in part && part.providerExecuted === true);
}

/** Refs of the calls of an entry that the loop has to answer, in order. */
export function callsOf(
  entry: Entry,
): readonly { readonly ref: string; readonly name: string; readonly input: unknown }[] {
  if (entry.kind !== "assistant" || typeof entry.message.content === "string") return [];
  return entry.message.content.filter(isOwnCall).map((part, index) => ({
    ref: `e${entry.seq}.${index}`,
    name: part.toolName,
    input: part.input,
  }));
}

/** Number of the entry that a ref names: 41 for `e41` and for `e41.0`. */
export function entryOfRef(ref: string): number {
  return Number.parseInt(ref.slice(1));
}

/** Index of a call in its step: 0 for `e41.0`. */
export function indexOfRef(ref: string): number {
  return Number(ref.slice(ref.indexOf(".") + 1));
}

/** The call of a ref, where the log has it. */
export function callAt(
  entries: readonly Entry[],
  ref: string,
): ReturnType<typeof callsOf>[number] | undefined {
  return callFinder(entries)(ref);
}

/** Finds many calls of the log by reference; the calls of a message are listed once. */
export function callFinder(entries: readonly Entry[]): (ref: string) => ReturnType<typeof callAt> {
  const lists = new Map<number, ReturnType<typeof callsOf>>();
  return (ref) => {
    const seq = entryOfRef(ref);
    const entry = entries[seq];
    const list = lists.get(seq) ?? (entry === undefined ? [] : callsOf(entry));
    lists.set(seq, list);
    return list[indexOfRef(ref)];
  };
}

/** Stands for an answer without any text: providers refuse an empty message, and without it two of the user's meet. */
export const NO_ANSWER: TextPart = { type: "text", text: "(no answer)" };

function isBlank(part: { readonly type: string }): boolean {
  return part.type === "text" && "text" in part && String(part.text).trim() === "";
}

function renderUser(message: Extract<Message, { role: "user" }>): Message {
  if (typeof message.content === "string" || !message.content.some(isBlank)) return message;
  return { ...message, content: message.content.filter((part) => !isBlank(part)) };
}

function renderAssistant(message: AssistantMessage, seq: number): AssistantMessage {
  if (typeof message.content === "string") {
    return message.content.trim() === "" ? { ...message, content: NO_ANSWER.text } : message;
  }
  let call = 0;
  const content = message.content.filter((part) => !isBlank(part)).map((part) =>
    isOwnCall(part)
      ? { ...part, toolCallId: wireId(`e${seq}.${call++}`), toolName: wireName(part.toolName) }
      : part
  );
  const says = content.some(({ type }) => type !== "reasoning");
  return { ...message, content: says ? content : [...content, NO_ANSWER] };
}

/** A result as it is shown. */
export interface ShownResult {
  readonly entry: ResultEntry;
  readonly output: ToolOutput;
}

/** Renders the results of one round in the order of its calls. */
export function renderResults(results: readonly ShownResult[]): Message {
  const index = ({ entry }: ShownResult): number => indexOfRef(entry.call);
  return {
    role: "tool",
    content: results.toSorted((a, b) => index(a) - index(b)).map(({ entry, output }) => ({
      type: "tool-result",
      toolCallId: wireId(entry.call),
      toolName: wireName(entry.toolName),
      output,
    })),
  };
}

/** Renders what a user or an assistant said. */
export function renderEntry(entry: Exclude<Entry, ResultEntry>): Message {
  return entry.kind === "user" ? renderUser(entry.message) : renderAssistant(entry.message, entry.seq);
}
