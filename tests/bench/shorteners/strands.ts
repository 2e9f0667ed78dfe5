/** Strands: a manager that slides a window over the conversation, and one that summarises its beginning. */
import {
  configureLogging,
  type ContentBlock,
  type ConversationManager,
  Message,
  SlidingWindowConversationManager,
  SummarizingConversationManager,
  TextBlock,
  ToolResultBlock,
  ToolUseBlock,
} from "@strands-agents/sdk";
import { bySystem, type ChatMessage, counterOf, fakeSummary, parse, type Question, saidBy, total } from "./chat.ts";

// It warns of every window that it cannot make, and those that are too small are tried here too.
const silence = (): void => {};
configureLogging({ debug: silence, info: silence, warn: silence, error: silence });

/** Results of one round are one message of the user. */
function toStrands(messages: readonly ChatMessage[]): Message[] {
  const rounds: ChatMessage[][] = [];
  for (const message of messages) {
    const last = rounds.at(-1);
    if (message.role === "tool" && last?.[0]?.role === "tool") last.push(message);
    else rounds.push([message]);
  }
  return rounds.map((round) =>
    new Message({
      role: round[0]?.role === "assistant" ? "assistant" : "user",
      content: round.flatMap(blocksOf),
    })
  );
}

function blocksOf({ role, content, tool_calls, tool_call_id = "" }: ChatMessage): ContentBlock[] {
  const text = content === null || content === undefined || content === "" ? [] : [new TextBlock(content)];
  if (role === "tool") {
    return [new ToolResultBlock({ toolUseId: tool_call_id, status: "success", content: text })];
  }
  const calls = (tool_calls ?? []).map(({ id, function: { name, arguments: input } }) =>
    new ToolUseBlock({ name, toolUseId: id, input: parse(input) as never })
  );
  return [...text, ...calls];
}

function fromStrands({ role, content }: Message): readonly ChatMessage[] {
  const text = content.map((block) => block.type === "textBlock" ? block.text : "").join("");
  const calls = content.flatMap((block) =>
    block.type !== "toolUseBlock" ? [] : [{ id: block.toolUseId, name: block.name, input: block.input }]
  );
  const results = content.flatMap((block): ChatMessage[] =>
    block.type !== "toolResultBlock" ? [] : [{
      role: "tool",
      tool_call_id: block.toolUseId,
      content: block.content.map((item) => item.type === "textBlock" ? item.text : JSON.stringify(item)).join(
        "",
      ),
    }]
  );
  return text === "" && calls.length === 0 ? results : [...results, saidBy(role, { text, calls })];
}

/** A manager as far as it is used: what it does with an agent's messages when they are too many. */
type Reducer = {
  reduce(
    options: { readonly agent: { readonly messages: Message[] }; readonly model: unknown },
  ): Promise<boolean> | boolean;
};

function reducerOf(manager: ConversationManager): Reducer {
  return manager as unknown as Reducer;
}

const sizeOf = counterOf((message: Message) => total(fromStrands(message)));

/** `SlidingWindowConversationManager`, which counts messages: of its windows the largest within the budget. */
export async function slide({ messages, budget }: Question): Promise<readonly ChatMessage[]> {
  const [system, rest] = bySystem(messages);
  const all = toStrands(rest);
  if (sizeOf(all) <= budget) return messages;
  let least: readonly Message[] = all;
  for (let windowSize = all.length - 1; windowSize > 0; windowSize--) {
    const agent = { messages: [...all] };
    const manager = reducerOf(new SlidingWindowConversationManager({ windowSize }));
    if (!await manager.reduce({ agent, model: undefined })) continue;
    least = agent.messages;
    if (sizeOf(least) <= budget) break;
  }
  return [...system, ...least.flatMap(fromStrands)];
}

/** `SummarizingConversationManager`, again and again until it is enough, as after an overflow. */
export async function summarise({ messages, budget, reserve }: Question): Promise<readonly ChatMessage[]> {
  const [system, rest] = bySystem(messages);
  const agent = { messages: toStrands(rest) };
  const model = {
    // deno-lint-ignore require-yield -- a summary that comes at once streams nothing
    async *streamAggregated(asked: readonly Message[]) {
      const lines = asked.slice(0, -1).flatMap(fromStrands).map((line) => JSON.stringify(line)).join("\n");
      return {
        message: new Message({ role: "assistant", content: [new TextBlock(fakeSummary(lines, reserve))] }),
      };
    },
  };
  const manager = reducerOf(new SummarizingConversationManager({ preserveRecentMessages: 2 }));
  while (sizeOf(agent.messages) > budget) {
    const before = sizeOf(agent.messages);
    if (!await manager.reduce({ agent, model })) break;
    if (sizeOf(agent.messages) >= before) break;
  }
  return [...system, ...agent.messages.flatMap(fromStrands)];
}
