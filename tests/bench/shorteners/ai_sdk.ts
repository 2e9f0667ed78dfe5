/** The AI SDK: a function that prunes. */
import { type ModelMessage, pruneMessages } from "ai";
import { bySystem, type ChatMessage, greatest, parse, type Question, saidBy, total } from "./chat.ts";

/** Messages as the AI SDK has them; prompts of its providers are the same, if texts are parts. */
export function toModel(messages: readonly ChatMessage[]): ModelMessage[] {
  const names = new Map<string, string>();
  return messages.map(({ role, content, tool_calls, tool_call_id = "" }): ModelMessage => {
    if (role === "system") return { role, content: content ?? "" };
    if (role === "user") return { role, content: [{ type: "text", text: content ?? "" }] };
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

/** The way back. */
export function fromModel(messages: readonly ModelMessage[]): readonly ChatMessage[] {
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
      part.type !== "tool-call" ? [] : [{ id: part.toolCallId, name: part.toolName, input: part.input }]
    );
    return [saidBy(role, { text, calls })];
  });
}

/** `pruneMessages`, which knows no budget: of its settings the one that keeps the most within it. */
export function prune({ messages, budget }: Question): readonly ChatMessage[] {
  const model = toModel(messages);
  const keep = (last: number): readonly ChatMessage[] =>
    fromModel(pruneMessages({
      messages: model,
      reasoning: "none",
      toolCalls: last === 0 ? "all" : `before-last-${last}-messages`,
      emptyMessages: "remove",
    }));
  const fits = (last: number): boolean => total(bySystem(keep(last))[1]) <= budget;
  return keep(Math.max(1, greatest({ least: 0, most: messages.length }, fits)));
}
