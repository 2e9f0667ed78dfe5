/** LangChain: a middleware that summarises, one that clears results, and a function that trims. */
import { ClearToolUsesEdit, summarizationMiddleware } from "langchain";
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  trimMessages,
} from "@langchain/core/messages";
import {
  bySystem,
  type ChatMessage,
  counterOf,
  fakeSummary,
  greatest,
  parse,
  type Question,
  saidBy,
  tokensOf,
  total,
} from "./chat.ts";

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
  return saidBy("assistant", {
    text: content,
    calls: calls.map(({ id = "", name, args: input }) => ({ id, name, input })),
  });
}

const countLangChain = counterOf((message: BaseMessage) => tokensOf(fromLangChain(message)));

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

/** `summarizationMiddleware`, whose model is a stand-in. */
export async function summarise({ messages, budget, reserve }: Question): Promise<readonly ChatMessage[]> {
  // The system message is the agent's, and no part of the state that the middleware sees.
  const [system, rest] = bySystem(messages);
  const shown = (prompt: string): string => prompt.split("Messages to summarize:\n").at(-1) ?? "";
  const { beforeModel } = summarization({
    model: { invoke: (prompt) => Promise.resolve(new AIMessage(fakeSummary(shown(prompt), reserve))) },
    trigger: { tokens: budget },
    keep: { tokens: budget - reserve },
    tokenCounter: countLangChain,
  });
  const update = await beforeModel({ messages: rest.map(toLangChain) }, { context: {} });
  if (update === undefined) return messages;
  return [...system, ...update.messages.slice(1).map(fromLangChain)];
}

/** `ClearToolUsesEdit` of `contextEditingMiddleware`: of its settings the one that keeps the most results. */
export async function clear({ messages, budget }: Question): Promise<readonly ChatMessage[]> {
  const [system, rest] = bySystem(messages);
  const edited = rest.map(toLangChain);
  const results = rest.filter(({ role }) => role === "tool").map(tokensOf);
  const cleared = tokensOf({ role: "tool", content: "[cleared]" });
  const saved = (keep: number): number =>
    results.slice(0, results.length - keep).reduce((sum, size) => sum + Math.max(0, size - cleared), 0);
  const size = total(rest);
  const keep = greatest({ least: 0, most: results.length }, (kept) => size - saved(kept) <= budget);
  const edit = new ClearToolUsesEdit({ trigger: { tokens: budget + 1 }, keep: { messages: keep } });
  // The model is asked for nothing but its limits, and only where a share of them is given.
  await edit.apply(
    { messages: edited, countTokens: countLangChain } as unknown as Parameters<typeof edit.apply>[0],
  );
  return [...system, ...edited.map(fromLangChain)];
}

/** `trimMessages`, which is to start at a message of the user, as its documentation has it. */
export async function trim({ messages, budget }: Question): Promise<readonly ChatMessage[]> {
  const [system] = bySystem(messages);
  const kept = await trimMessages(messages.map(toLangChain), {
    maxTokens: budget + total(system),
    tokenCounter: countLangChain,
    strategy: "last",
    startOn: "human",
    endOn: ["human", "tool"],
    includeSystem: true,
  });
  return kept.map(fromLangChain);
}
