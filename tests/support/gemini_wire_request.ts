/** A `generateContent` request the other way round: as the request that a script gets. */
import type { Message, ToolResultPart } from "../../src/core/message.ts";
import type { ModelRequest } from "../../src/ports.ts";
import { partsOf } from "./gemini_wire_rules.ts";
import { isJson, type Json } from "./wire_json.ts";

type Said = Exclude<Extract<Message, { role: "assistant" }>["content"], string>[number];
type Given = Exclude<Extract<Message, { role: "user" }>["content"], string>[number];

/** Reads a body that was not refused. */
export function decodeRequest(body: Json): ModelRequest {
  const messages: Message[] = [];
  for (const content of body.contents as readonly Json[]) {
    const parts = partsOf(content);
    if (content.role === "model") {
      messages.push({ role: "assistant", content: parts.flatMap(decodeSaid) });
      continue;
    }
    const results = parts.flatMap(decodeResult);
    if (results.length > 0) messages.push({ role: "tool", content: results });
    const given = parts.flatMap(decodeGiven);
    if (given.length > 0) messages.push({ role: "user", content: given });
  }
  const { generationConfig, systemInstruction, tools } = body;
  const declared = Array.isArray(tools) ? tools.flatMap((tool) => tool.functionDeclarations) : [];
  return {
    system: isJson(systemInstruction) ? partsOf(systemInstruction).map(({ text }) => text).join("\n\n") : "",
    messages,
    tools: declared.map(({ description = "", name, parameters, parametersJsonSchema }) => ({
      name,
      description,
      inputSchema: parametersJsonSchema ?? parameters ?? {},
    })),
    maxOutput: Number(isJson(generationConfig) ? generationConfig.maxOutputTokens ?? 8_192 : 8_192),
  };
}

function decodeSaid({ functionCall, text, thought }: Json): Said[] {
  if (isJson(functionCall)) {
    const { args, id = "", name } = functionCall;
    return [{ type: "tool-call", toolCallId: String(id), toolName: String(name), input: args }];
  }
  if (typeof text !== "string" || text === "") return [];
  return [thought === true ? { type: "reasoning", text } : { type: "text", text }];
}

function decodeResult({ functionResponse }: Json): ToolResultPart[] {
  if (!isJson(functionResponse)) return [];
  const { id = "", name, response } = functionResponse;
  const { content, error } = response as Json;
  const value = error ?? content ?? response;
  return [{
    type: "tool-result",
    toolCallId: String(id),
    toolName: String(name),
    output: {
      type: error === undefined ? "text" : "error-text",
      value: typeof value === "string" ? value : JSON.stringify(value),
    },
  }];
}

function decodeGiven({ fileData, inlineData, text }: Json): Given[] {
  if (typeof text === "string") return [{ type: "text", text }];
  const file = isJson(inlineData) ? inlineData : fileData;
  if (!isJson(file)) return [];
  return [{ type: "file", mediaType: String(file.mimeType), data: String(file.data ?? file.fileUri) }];
}
