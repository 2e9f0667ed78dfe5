/**
 * OpenAI Responses: a flat list of items. Reasoning is an item of its own and stays with the item behind it.
 *
 * @module
 */
import {
  APPROVAL,
  badMessage,
  type Format,
  isObject,
  type JsonObject,
  jsonText,
  listAt,
  parseArguments,
  partEdits,
  type Piece,
  textAt,
} from "./format.ts";

const edits = partEdits("content");

/** Items that the model makes; whatever is none of these and no result comes from the user's side. */
function isAssistantItem(item: JsonObject): boolean {
  const type = String(item["type"] ?? "message");
  return type === "message"
    ? item["role"] === "assistant"
    : type !== "compaction" && !/_(output|response)$/.test(type);
}

function readMessage(item: JsonObject, at: number): readonly Piece[] {
  const role = item["role"];
  const kind = role === "developer" ? "system" : role;
  if (kind !== "system" && kind !== "user" && kind !== "assistant") {
    throw badMessage(at, "role", '"system", "developer", "user" or "assistant"');
  }
  const content = item["content"];
  if (typeof content === "string") return [{ kind, part: null, text: content, isText: true }];
  const pieces = listAt(content, at, "content").map((part, index): Piece => {
    const text = part["text"] ?? part["refusal"];
    if (typeof text === "string") return { kind, part: index, text, isText: true };
    return { kind, part: index, text: "", files: 1 };
  });
  return pieces.length > 0 ? pieces : [{ kind, part: null, text: "", isBlank: true }];
}

function readOutput(item: JsonObject, at: number): Piece {
  const output = item["output"];
  const parts = Array.isArray(output) ? listAt(output, at, "output") : [];
  const texts = parts.map((part) => typeof part["text"] === "string" ? part["text"] : "").filter((text) =>
    text !== ""
  );
  return {
    kind: "tool_result",
    part: null,
    text: Array.isArray(output) ? texts.join("\n") : jsonText(output ?? "", at, "output"),
    files: parts.filter((part) => typeof part["text"] !== "string").length,
    callId: textAt(item["call_id"], at, "call_id", ""),
    isError: item["status"] === "incomplete",
  };
}

/** OpenAI Responses. */
export const openaiResponses: Format = {
  name: "openai-responses",
  rules: { resultsFirst: false, firstFromUser: false, noEmptyText: false },
  isTypical: (item) => typeof item["type"] === "string" && item["type"] !== "message" && !("parts" in item),
  joins: (item, previous) => previous !== undefined && isAssistantItem(item) && isAssistantItem(previous),
  read(item, at) {
    const type = textAt(item["type"], at, "type", "message");
    if (type === "message") return readMessage(item, at);
    if (type === "reasoning") {
      const text = jsonText(item["summary"] ?? item["content"] ?? "", at, "summary");
      return [{ kind: "reasoning", part: null, text, isSigned: "encrypted_content" in item, sticks: true }];
    }
    if (type === "function_call" || type === "custom_tool_call") {
      const text = jsonText(item["arguments"] ?? item["input"] ?? "", at, "arguments");
      const parsed = type === "function_call"
        ? parseArguments(text, at, "arguments")
        : { input: text, isTruncated: false };
      const callId = textAt(item["call_id"], at, "call_id", "");
      return [{
        kind: "tool_use",
        part: null,
        text,
        callId,
        name: textAt(item["name"], at, "name", ""),
        ...parsed,
      }];
    }
    if (/_call_output$/.test(type)) return [readOutput(item, at)];
    if (type === "mcp_approval_request") {
      const callId = `${APPROVAL}${textAt(item["id"], at, "id", "")}`;
      return [{ kind: "tool_use", part: null, text: jsonText(item, at, type), callId, approval: true }];
    }
    if (type === "mcp_approval_response") {
      const callId = `${APPROVAL}${textAt(item["approval_request_id"], at, "approval_request_id", "")}`;
      return [{ kind: "tool_result", part: null, text: "", callId, approval: true }];
    }
    if (/^(local_shell|computer|shell|apply_patch)_call$/.test(type)) {
      const callId = textAt(item["call_id"], at, "call_id", "");
      return [{
        kind: "tool_use",
        part: null,
        text: jsonText(item, at, type),
        input: item["action"] ?? {},
        callId,
        name: type,
      }];
    }
    // Calls that the provider runs itself come with their outcome: opaque, and whole.
    return [{ kind: "assistant", part: null, text: jsonText(item, at, type) }];
  },
  addResults: (item, results) => [
    ...(item === null ? [] : [item]),
    ...results.map(({ callId, text, isError, raw }): JsonObject =>
      isObject(raw)
        ? raw
        : { type: "function_call_output", call_id: callId, output: isError ? `Error: ${text}` : text }
    ),
  ],
  userText: (text) => ({ type: "message", role: "user", content: text }),
  take: edits.take,
  without: edits.without,
  reorder: edits.reorder,
  withCallId: (item, _, id) => ({ ...item, call_id: id }),
  withArguments: (item, _, input) => ({ ...item, arguments: JSON.stringify(input) }),
  withText(item, part, text) {
    if (part !== null) return edits.edit(item, part, (found) => ({ ...found, text }));
    return /_output$/.test(String(item["type"])) ? { ...item, output: text } : { ...item, content: text };
  },
};
