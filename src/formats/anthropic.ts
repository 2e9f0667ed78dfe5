/**
 * Anthropic Messages: blocks in `content`, results in user messages.
 *
 * @module
 */
import { partEdits } from "./edits.ts";
import { badMessage, jsonText, listAt, objectArguments, objectAt, textAt } from "./fields.ts";
import { type Format, isObject, type JsonObject, type Piece, type ResultToWrite } from "./format.ts";
import { isMade } from "./pieces.ts";

const edits = partEdits("content");
const FILES = ["image", "document", "container_upload"];

function isResult(block: unknown): boolean {
  return isObject(block) && typeof block["type"] === "string" && /tool_result$/.test(block["type"]);
}

/** Text of a result's content: a string, or blocks of which files have a flat price. */
function readContent(
  content: unknown,
  at: number,
  field: string,
): { readonly text: string; readonly files: number } {
  if (content === undefined || content === null) return { text: "", files: 0 };
  if (typeof content === "string") return { text: content, files: 0 };
  if (!Array.isArray(content)) return { text: jsonText(content, at, field), files: 0 };
  let files = 0;
  const texts = listAt(content, at, field, "text or a list").map((block) => {
    if (block["type"] === "text") return textAt(block["text"], at, `${field}.text`, "");
    if (!FILES.includes(String(block["type"]))) return jsonText(block, at, field);
    files++;
    return "";
  });
  return { text: texts.filter((text) => text !== "").join("\n"), files };
}

/** A text that is refused: white space alone is none. */
function isBlankText(block: unknown): boolean {
  return isObject(block) && block["type"] === "text" && typeof block["text"] === "string" &&
    block["text"].trim() === "";
}

function readBlock(
  block: JsonObject,
  at: number,
  { role, part }: { readonly role: string; readonly part: number },
): Piece {
  const field = `content[${part}]`;
  const type = textAt(block["type"], at, `${field}.type`);
  if (type === "text") {
    const text = textAt(block["text"], at, `${field}.text`);
    return {
      kind: role === "assistant" ? "assistant" : role === "system" ? "system" : "user",
      part,
      text,
      isText: true,
    };
  }
  if (type === "thinking" || type === "redacted_thinking") {
    const text = textAt(block["thinking"] ?? block["data"], at, `${field}.thinking`, "");
    const isSigned = type === "redacted_thinking" ||
      (typeof block["signature"] === "string" && block["signature"] !== "");
    return { kind: "reasoning", part, text, isSigned };
  }
  if (/tool_use$/.test(type)) {
    const input = block["input"];
    const callId = textAt(block["id"], at, `${field}.id`, "");
    const name = textAt(block["name"], at, `${field}.name`, "");
    return {
      kind: "tool_use",
      part,
      text: jsonText(input ?? {}, at, `${field}.input`),
      callId,
      name,
      ...objectArguments(input, at, `${field}.input`),
      ...(type === "tool_use" ? {} : { isHosted: true }),
    };
  }
  if (isResult(block)) {
    const content = block["content"];
    const isBlank = Array.isArray(content) && content.some(isBlankText);
    const callId = textAt(block["tool_use_id"], at, `${field}.tool_use_id`, "");
    return {
      kind: "tool_result",
      part,
      callId,
      isError: block["is_error"] === true,
      ...(isBlank ? { isBlank } : {}),
      ...(type === "tool_result" ? {} : { isHosted: true }),
      ...readContent(block["content"], at, `${field}.content`),
    };
  }
  const kind = role === "assistant" ? "assistant" : "user";
  return FILES.includes(type)
    ? { kind, part, text: "", files: 1 }
    : { kind, part, text: jsonText(block, at, field) };
}

function writeResult({ callId, text, isError, raw }: ResultToWrite): unknown {
  return raw ??
    { type: "tool_result", tool_use_id: callId, content: text, ...(isError ? { is_error: true } : {}) };
}

/** Anthropic Messages. */
export const anthropic: Format = {
  name: "anthropic",
  rules: {
    resultsFirst: true,
    firstFromUser: true,
    noEmptyText: true,
    ids: /^[a-zA-Z0-9_-]+$/,
  },
  isTypical(message) {
    const content = message["content"];
    return Array.isArray(content) &&
      content.some((block) =>
        isObject(block) && typeof block["type"] === "string" &&
        (/^(thinking|redacted_thinking|\w*tool_use|\w*tool_result)$/.test(block["type"]) ||
          (FILES.includes(block["type"]) && isObject(block["source"])))
      );
  },
  isLikely: (message) => "stop_reason" in message,
  read(message, at) {
    const role = message["role"];
    if (role !== "user" && role !== "assistant" && role !== "system") {
      throw badMessage(at, "role", { found: role, wanted: '"user", "assistant" or "system"' });
    }
    const content = message["content"];
    if (typeof content === "string") return [{ kind: role, part: null, text: content, isText: true }];
    const pieces = listAt(content, at, "content", "text or a list").map((block, part) =>
      readBlock(block, at, { role, part })
    );
    const made = role === "assistant" ? undefined : pieces.find(isMade);
    if (made !== undefined) {
      throw badMessage(at, `content[${made.part}]`, {
        found: made.kind === "reasoning" ? "thinking" : "a tool call",
        wanted: "it in assistant messages only",
      });
    }
    return pieces.length > 0 ? pieces : [{ kind: role, part: null, text: "", isBlank: true }];
  },
  addResults(message, results) {
    const written = results.map(writeResult);
    if (message === null) return [{ role: "user", content: written }];
    const content = message["content"];
    const last = Array.isArray(content) ? content.findLastIndex(isResult) : -1;
    return [edits.insert(message, last + 1, written)];
  },
  userText: (text) => ({ role: "user", content: text }),
  take: edits.take,
  without: edits.without,
  reorder: edits.reorder,
  withCallId: (message, part, id) =>
    edits.edit(message, part, (block) => ({ ...block, [isResult(block) ? "tool_use_id" : "id"]: id })),
  withArguments: (message, part, input) => edits.edit(message, part, (block) => ({ ...block, input })),
  withText: (message, part, text) =>
    edits.edit(message, part, (block) => {
      if (part === null || isResult(block)) return { ...block, content: text };
      return { ...objectAt(block, 0, "content"), text };
    }),
  withoutBlanks: (message, part) =>
    edits.edit(message, part, (block) => {
      const content = block["content"];
      return Array.isArray(content)
        ? { ...block, content: content.filter((found) => !isBlankText(found)) }
        : block;
    }),
};
