/** Messages of Chat Completions, as all ways get and give them, and their size. */
import { loadCounter } from "../../../src/tokens/counter.ts";

/** A call of Chat Completions. */
interface ChatCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A message of Chat Completions. */
export interface ChatMessage {
  readonly role: string;
  readonly content?: string | null;
  readonly tool_calls?: readonly ChatCall[];
  readonly tool_call_id?: string;
}

/** What a way is asked. */
export interface Question {
  readonly messages: readonly ChatMessage[];
  /** Tokens of messages to keep, the summary included, system messages not. */
  readonly budget: number;
  /** Tokens for a summary. */
  readonly reserve: number;
}

/** A way to shorten a transcript. */
export type Way = (question: Question) => readonly ChatMessage[] | Promise<readonly ChatMessage[]>;

const counter = await loadCounter("o200k_base");
const known = new Map<string, number>();

function count(text: string): number {
  const found = known.get(text);
  if (found !== undefined) return found;
  const tokens = counter.count(text);
  known.set(text, tokens);
  return tokens;
}

/** Tokens of one message. */
export function tokensOf({ content, tool_calls }: ChatMessage): number {
  const calls = (tool_calls ?? []).map(({ function: { name, arguments: text } }) => name + text);
  return [content ?? "", ...calls].reduce((sum, text) => sum + count(text), 4);
}

/** Tokens of messages. */
export function total(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0);
}

/** System messages, and the rest: budgets are about the rest. */
export function bySystem(
  messages: readonly ChatMessage[],
): readonly [system: readonly ChatMessage[], rest: readonly ChatMessage[]] {
  const isSystem = ({ role }: ChatMessage): boolean => role === "system";
  return [messages.filter(isSystem), messages.filter((message) => !isSystem(message))];
}

/** Counts messages of another form, each of them once: ways ask for the same ones again and again. */
export function counterOf<Message extends object>(
  tokens: (message: Message) => number,
): (messages: readonly Message[]) => number {
  const sizes = new WeakMap<Message, number>();
  return (messages) =>
    messages.reduce((sum, message) => {
      const size = sizes.get(message) ?? tokens(message);
      sizes.set(message, size);
      return sum + size;
    }, 0);
}

/** A message with what a model has said and called. */
export function saidBy(
  role: string,
  { text, calls }: {
    readonly text: string;
    readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  },
): ChatMessage {
  const tool_calls = calls.map(({ id, name, input }): ChatCall => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
  return {
    role,
    content: text === "" && role === "assistant" ? null : text,
    ...(tool_calls.length === 0 ? {} : { tool_calls }),
  };
}

/** The input of a call. */
export function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}

/** A summarizer that is none: the beginning of each line it is shown, the last ones, as many as fit. */
export function fakeSummary(text: string, reserve: number): string {
  const kept: string[] = [];
  let room = reserve - 20;
  for (const line of text.split("\n").toReversed()) {
    const head = line.slice(0, 160);
    room -= count(head) + 1;
    if (room < 0) break;
    kept.unshift(head);
  }
  return kept.join("\n") || "(nothing)";
}

/** The greatest number up to `most` for which what is asked is so, if it is so for all below; else `least`. */
export function greatest(
  { least, most }: { readonly least: number; readonly most: number },
  fits: (value: number) => boolean,
): number {
  let [low, high] = [least, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
