/** A Responses request the other way round: as the request that a script gets. */
import type { Message, ToolResultPart } from "../../src/core/message.ts";
import type { ModelRequest, ToolSchema } from "../../src/ports.ts";
import { isJson, type Json } from "./wire_json.ts";

type Part = Exclude<Extract<Message, { role: "assistant" }>["content"], string>[number];
type UserPart = Exclude<Extract<Message, { role: "user" }>["content"], string>[number];

/** Reads a body that was not refused. */
export function decodeRequest(body: Json): ModelRequest {
  const system = typeof body.instructions === "string" ? [body.instructions] : [];
  const messages: Message[] = [];
  const names = new Map<unknown, string>();
  const input: readonly Json[] = typeof body.input === "string"
    ? [{ role: "user", content: body.input }]
    : body.input as Json[];
  for (const item of input) {
    const { content, role, type } = item;
    if (type === "function_call_output") pushResult(messages, item, names);
    else if (role === "user") messages.push({ role, content: decodeGiven(content) });
    else if (role === "system" || role === "developer") system.push(joinText(content));
    else pushSaid(messages, decodeSaid(item, names));
  }
  const tools = Array.isArray(body.tools) ? body.tools.flatMap(decodeTool) : [];
  return { system: system.join("\n\n"), messages, tools, maxOutput: Number(body.max_output_tokens ?? 4_096) };
}

function joinText(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part) => String(part.text ?? "")).join("") : "";
}

function decodeGiven(content: unknown): readonly UserPart[] | string {
  if (!Array.isArray(content)) return String(content);
  return content.map((part): UserPart => {
    if (part.type === "input_text") return { type: "text", text: part.text };
    const data = String(part.image_url ?? part.file_url ?? part.file_data ?? "");
    return { type: "file", mediaType: part.type === "input_image" ? "image/*" : "application/*", data };
  });
}

function decodeSaid(item: Json, names: Map<unknown, string>): readonly Part[] {
  switch (item.type) {
    case undefined:
    case "message":
      return [{ type: "text", text: joinText(item.content) }];
    case "reasoning":
      return [{ type: "reasoning", text: joinText(item.summary) }];
    case "function_call":
      names.set(item.call_id, String(item.name));
      return [{
        type: "tool-call",
        toolCallId: String(item.call_id),
        toolName: String(item.name),
        input: JSON.parse(String(item.arguments)),
      }];
    default:
      // The service's own affairs: a script has no use for them.
      return [];
  }
}

/** Items of one answer are one message, as the canonical form has it. */
function pushSaid(messages: Message[], parts: readonly Part[]): void {
  const last = messages.at(-1);
  if (last?.role === "assistant" && typeof last.content !== "string") {
    messages[messages.length - 1] = { role: "assistant", content: [...last.content, ...parts] };
  } else messages.push({ role: "assistant", content: parts });
}

function pushResult(messages: Message[], item: Json, names: ReadonlyMap<unknown, string>): void {
  const result: ToolResultPart = {
    type: "tool-result",
    toolCallId: String(item.call_id),
    toolName: names.get(item.call_id) ?? "",
    output: { type: "text", value: joinText(item.output) },
  };
  const last = messages.at(-1);
  if (last?.role === "tool") {
    messages[messages.length - 1] = { role: "tool", content: [...last.content, result] };
  } else messages.push({ role: "tool", content: [result] });
}

function decodeTool(tool: unknown): readonly ToolSchema[] {
  if (!isJson(tool) || tool.type !== "function") return [];
  const { description, name, parameters } = tool;
  return [{
    name: String(name),
    description: String(description ?? ""),
    inputSchema: isJson(parameters) ? parameters : {},
  }];
}
