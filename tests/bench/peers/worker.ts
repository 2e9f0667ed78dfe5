/**
 * Runs what others have for shortening a transcript: one JSON document a line in, one out. A process of its own, with
 * its own configuration and lock file, so that nothing of it comes near the project's dependencies.
 */
import { summarizationMiddleware } from "langchain";
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  trimMessages,
} from "@langchain/core/messages";
import { type ModelMessage, pruneMessages } from "ai";
import { loadCounter } from "../../../src/tokens/counter.ts";

/** A message of Chat Completions. */
interface ChatMessage {
  readonly role: string;
  readonly content?: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
}

interface Question {
  readonly way: string;
  readonly messages: readonly ChatMessage[];
  /** Tokens of messages to keep, the summary included. */
  readonly budget: number;
  /** Tokens for a summary. */
  readonly reserve: number;
}

const counter = await loadCounter("o200k_base");
const known = new Map<string, number>();

function count(text: string): number {
  const found = known.get(text);
  if (found !== undefined) return found;
  const tokens = counter.count(text);
  known.set(text, tokens);
  return tokens;
}

function tokensOf({ content, tool_calls }: ChatMessage): number {
  const calls = (tool_calls ?? []).map(({ function: { name, arguments: text } }) => name + text);
  return [content ?? "", ...calls].reduce((sum, text) => sum + count(text), 4);
}

function total(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0);
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}

// LangChain

function toLangChain({ role, content, tool_calls, tool_call_id }: ChatMessage): BaseMessage {
  const text = content ?? "";
  if (role === "system") return new SystemMessage(text);
  if (role === "user") return new HumanMessage(text);
  if (role === "tool") return new ToolMessage({ content: text, tool_call_id: tool_call_id ?? "" });
  const calls = (tool_calls ?? []).map(({ id, function: made }) => ({
    id,
    name: made.name,
    args: parse(made.arguments),
    type: "tool_call" as const,
  }));
  return new AIMessage({ content: text, tool_calls: calls });
}

function fromLangChain(message: BaseMessage | undefined): ChatMessage {
  // What was found: an array that holds `undefined`.
  if (message === undefined) return { role: "undefined" };
  const content = typeof message.content === "string" ? message.content : JSON.stringify(message.content);
  if (SystemMessage.isInstance(message)) return { role: "system", content };
  if (HumanMessage.isInstance(message)) return { role: "user", content };
  if (ToolMessage.isInstance(message)) return { role: "tool", content, tool_call_id: message.tool_call_id };
  const calls = (message as AIMessage).tool_calls ?? [];
  return {
    role: "assistant",
    content: content === "" ? null : content,
    ...(calls.length === 0 ? {} : {
      tool_calls: calls.map(({ id = "", name, args }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(args) },
      })),
    }),
  };
}

const countLangChain = (messages: BaseMessage[]): number => total(messages.map(fromLangChain));

/** A summarizer that is none: the beginning of each line it is shown, the last ones, as many as fit. */
function fakeSummary(prompt: string, reserve: number): string {
  const lines = prompt.split("Messages to summarize:\n").at(-1)?.split("\n") ?? [];
  const kept: string[] = [];
  let room = reserve - 20;
  for (const line of lines.toReversed()) {
    const head = line.slice(0, 160);
    room -= count(head) + 1;
    if (room < 0) break;
    kept.unshift(head);
  }
  return kept.join("\n") || "(nothing)";
}

/** The middleware as far as it is used: what it asks of a model, and its hook as the agent calls it. */
const summarization = summarizationMiddleware as unknown as (options: {
  readonly model: { readonly invoke: (prompt: string) => Promise<AIMessage> };
  readonly trigger: { readonly tokens: number };
  readonly keep: { readonly tokens: number };
  readonly tokenCounter: (messages: BaseMessage[]) => number;
}) => {
  readonly beforeModel: (
    state: { readonly messages: readonly BaseMessage[] },
    runtime: { readonly context: Readonly<Record<string, never>> },
  ) => Promise<{ readonly messages: readonly BaseMessage[] } | undefined>;
};

async function summarise({ messages, budget, reserve }: Question): Promise<readonly ChatMessage[]> {
  // The system message is the agent's, and no part of the state that the middleware sees.
  const system = messages.filter(({ role }) => role === "system");
  const state = { messages: messages.filter(({ role }) => role !== "system").map(toLangChain) };
  const { beforeModel } = summarization({
    model: { invoke: (prompt) => Promise.resolve(new AIMessage(fakeSummary(prompt, reserve))) },
    trigger: { tokens: budget },
    keep: { tokens: budget - reserve },
    tokenCounter: countLangChain,
  });
  const update = await beforeModel(state, { context: {} });
  if (update === undefined) return messages;
  return [...system, ...update.messages.slice(1).map(fromLangChain)];
}

async function trim({ messages, budget }: Question): Promise<readonly ChatMessage[]> {
  const kept = await trimMessages(messages.map(toLangChain), {
    maxTokens: budget,
    tokenCounter: countLangChain,
    strategy: "last",
    startOn: "human",
    endOn: ["human", "tool"],
    includeSystem: true,
  });
  return kept.map(fromLangChain);
}

// AI SDK

function toModel(messages: readonly ChatMessage[]): ModelMessage[] {
  const names = new Map<string, string>();
  return messages.map(({ role, content, tool_calls, tool_call_id = "" }): ModelMessage => {
    if (role === "system" || role === "user") return { role, content: content ?? "" };
    if (role === "tool") {
      const output = { type: "text" as const, value: content ?? "" };
      const toolName = names.get(tool_call_id) ?? "tool";
      return { role, content: [{ type: "tool-result", toolCallId: tool_call_id, toolName, output }] };
    }
    const calls = (tool_calls ?? []).map(({ id, function: made }) => {
      names.set(id, made.name);
      return {
        type: "tool-call" as const,
        toolCallId: id,
        toolName: made.name,
        input: parse(made.arguments),
      };
    });
    const text = content === null || content === undefined || content === ""
      ? []
      : [{ type: "text" as const, text: content }];
    return { role: "assistant", content: [...text, ...calls] };
  });
}

function fromModel(messages: readonly ModelMessage[]): readonly ChatMessage[] {
  return messages.flatMap((message): ChatMessage[] => {
    const { role, content } = message;
    if (typeof content === "string") return [{ role, content }];
    if (role === "tool") {
      return content.flatMap((part) =>
        part.type !== "tool-result" ? [] : [{
          role,
          tool_call_id: part.toolCallId,
          content: part.output.type === "text" ? part.output.value : JSON.stringify(part.output),
        }]
      );
    }
    const text = content.map((part) => part.type === "text" ? part.text : "").join("");
    const calls = content.flatMap((part) =>
      part.type !== "tool-call" ? [] : [{
        id: part.toolCallId,
        type: "function" as const,
        function: { name: part.toolName, arguments: JSON.stringify(part.input) },
      }]
    );
    return [{
      role,
      content: text === "" ? null : text,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    }];
  });
}

/** It knows no budget: of its settings the one that keeps the most within it. */
function prune({ messages, budget }: Question): readonly ChatMessage[] {
  const model = toModel(messages);
  const keep = (last: number): readonly ChatMessage[] =>
    fromModel(pruneMessages({
      messages: model,
      reasoning: "none",
      toolCalls: last === 0 ? "all" : `before-last-${last}-messages`,
      emptyMessages: "remove",
    }));
  let [low, high] = [0, messages.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (total(keep(middle)) <= budget) low = middle;
    else high = middle - 1;
  }
  return keep(Math.max(low, 1));
}

const WAYS: Readonly<
  Record<string, (question: Question) => readonly ChatMessage[] | Promise<readonly ChatMessage[]>>
> = {
  "LangChain summarizationMiddleware": summarise,
  "LangChain trimMessages": trim,
  "AI SDK pruneMessages": prune,
};

const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
let rest = "";
for await (const chunk of lines) {
  rest += chunk;
  for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
    const question: Question = JSON.parse(rest.slice(0, end));
    rest = rest.slice(end + 1);
    const start = performance.now();
    let answer: unknown;
    try {
      const messages = await WAYS[question.way]?.(question);
      answer = { messages, milliseconds: performance.now() - start };
    } catch (error) {
      answer = { error: String(error), milliseconds: performance.now() - start };
    }
    console.log(JSON.stringify(answer));
  }
}
