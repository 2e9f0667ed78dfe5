/** A request of Chat Completions the other way round: as the request that a script gets. */
import type { Message, ToolResultPart } from "../../src/core/message.ts";
import type { ModelRequest, ToolSchema } from "../../src/ports.ts";
import type { Json } from "./wire_json.ts";

/** Reads a body that was not refused. */
export function decodeRequest(body: Json, maxOutput: number): ModelRequest {
  const system: string[] = [];
  const messages: Message[] = [];
  const names = new Map<string, string>();
  for (const wire of body.messages as readonly Json[]) {
    switch (wire.role) {
      case "user":
        messages.push({ role: "user", content: decodeUser(wire.content) });
        break;
      case "assistant":
        messages.push(decodeAssistant(wire, names));
        break;
      case "tool":
        pushResult(messages, wire, names);
        break;
      default:
        system.push(joinText(wire.content));
    }
  }
  return { system: system.join("\n\n"), messages, tools: decodeTools(body.tools), maxOutput };
}

function joinText(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part) => String(part.text ?? "")).join("") : "";
}

function decodeUser(content: unknown): Extract<Message, { role: "user" }>["content"] {
  if (!Array.isArray(content)) return String(content);
  return content.map((part) => {
    if (part.type === "text") return { type: "text", text: part.text };
    if (part.type === "image_url") return { type: "file", mediaType: "image/*", data: part.image_url.url };
    return { type: "file", mediaType: "application/octet-stream", data: String(part.file?.file_data ?? "") };
  });
}

function decodeAssistant(wire: Json, names: Map<string, string>): Message {
  const text = joinText(wire.content);
  if (!Array.isArray(wire.tool_calls)) return { role: "assistant", content: text };
  const calls = wire.tool_calls.map((call) => {
    names.set(call.id, call.function.name);
    const input: unknown = JSON.parse(call.function.arguments);
    return { type: "tool-call" as const, toolCallId: call.id, toolName: call.function.name, input };
  });
  return { role: "assistant", content: text === "" ? calls : [{ type: "text", text }, ...calls] };
}

function pushResult(messages: Message[], wire: Json, names: ReadonlyMap<string, string>): void {
  const toolCallId = String(wire.tool_call_id);
  const result: ToolResultPart = {
    type: "tool-result",
    toolCallId,
    toolName: names.get(toolCallId) ?? "",
    output: { type: "text", value: joinText(wire.content) },
  };
  // One tool message a round, as the canonical form has it.
  const last = messages.at(-1);
  if (last?.role === "tool") {
    messages[messages.length - 1] = { role: "tool", content: [...last.content, result] };
  } else messages.push({ role: "tool", content: [result] });
}

function decodeTools(tools: unknown): readonly ToolSchema[] {
  if (!Array.isArray(tools)) return [];
  return tools.map(({ function: { name, description, parameters } }) => ({
    name,
    description: description ?? "",
    inputSchema: parameters ?? {},
  }));
}
