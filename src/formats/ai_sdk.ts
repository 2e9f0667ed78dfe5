/**
 * The AI SDK: `ModelMessage` (parts in `content`, results in tool messages) and `UIMessage` (everything in
 * `parts`, a tool part holds call and result).
 *
 * @module
 */
import { hasSignature, readInput, readUi } from "./ai_sdk_ui.ts";
import { partEdits } from "./edits.ts";
import { badMessage, jsonText, listAt, objectAt, textAt } from "./fields.ts";
import {
  APPROVAL,
  type Format,
  isObject,
  type JsonObject,
  type Piece,
  type ResultToWrite,
} from "./format.ts";
import { isMade } from "./pieces.ts";

const content = partEdits("content");
const parts = partEdits("parts");

function isUi(message: JsonObject): boolean {
  return Array.isArray(message["parts"]);
}

/** The edits of the list that a message has. */
function editsOf(message: JsonObject): typeof parts {
  return isUi(message) ? parts : content;
}

function readOutput(output: unknown, at: number, field: string): Pick<Piece, "text" | "files" | "isError"> {
  if (!isObject(output)) return { text: jsonText(output ?? "", at, field) };
  const type = String(output["type"]);
  const isError = type.startsWith("error") || type === "execution-denied";
  if (type !== "content") {
    return { text: jsonText(output["value"] ?? output["reason"] ?? "", at, field), isError };
  }
  const items = listAt(output["value"], at, field);
  const texts = items.map((item) => typeof item["text"] === "string" ? item["text"] : "").filter((text) =>
    text !== ""
  );
  return { text: texts.join("\n"), files: items.filter((item) => typeof item["text"] !== "string").length };
}

function readModelPart(
  found: JsonObject,
  at: number,
  { role, part }: { readonly role: string; readonly part: number },
): Piece {
  const field = `content[${part}]`;
  const kind = role === "assistant" ? "assistant" : "user";
  const callId = typeof found["toolCallId"] === "string" ? found["toolCallId"] : "";
  const name = typeof found["toolName"] === "string" ? found["toolName"] : "";
  const type = textAt(found["type"], at, `${field}.type`);
  switch (type) {
    case "text":
      return { kind, part, text: textAt(found["text"], at, `${field}.text`), isText: true };
    case "reasoning":
      return {
        kind: "reasoning",
        part,
        text: textAt(found["text"], at, `${field}.text`, ""),
        isSigned: hasSignature(found["providerOptions"]),
      };
    case "tool-call": {
      const input = found["input"] ?? found["args"] ?? {};
      return {
        kind: "tool_use",
        part,
        callId,
        name,
        text: jsonText(input, at, `${field}.input`),
        ...readInput(input, at, `${field}.input`),
        ...(found["providerExecuted"] === true ? { isHosted: true } : {}),
      };
    }
    case "tool-result":
      return {
        kind: "tool_result",
        part,
        callId,
        name,
        ...readOutput(found["output"] ?? found["result"], at, `${field}.output`),
      };
    case "tool-approval-request":
      return { kind: "tool_use", part, text: "", callId: approvalId(found, at, field), approval: true };
    case "tool-approval-response":
      return { kind: "tool_result", part, text: "", callId: approvalId(found, at, field), approval: true };
    case "image":
    case "file":
    case "reasoning-file":
      return { kind, part, text: "", files: 1 };
    case "custom":
      return { kind, part, text: jsonText(found, at, field) };
    default:
      throw badMessage(at, `${field}.type`, {
        found: type,
        wanted: 'a type of parts that the AI SDK has, as "text" or "tool-call"',
      });
  }
}

function approvalId(found: JsonObject, at: number, field: string): string {
  return `${APPROVAL}${textAt(found["approvalId"], at, `${field}.approvalId`, "")}`;
}

/** AI SDK messages, `ModelMessage` and `UIMessage`. */
export const aiSdk: Format = {
  name: "ai-sdk",
  rules: { resultsFirst: false, firstFromUser: false, noEmptyText: false },
  isTypical(message) {
    const { parts, content } = message;
    if (Array.isArray(parts)) {
      // Parts of Gemini have no type.
      return parts.length > 0
        ? parts.some((part) => isObject(part) && typeof part["type"] === "string")
        : message["role"] === "assistant" || "id" in message;
    }
    return Array.isArray(content) && content.some((part) => {
      if (!isObject(part)) return false;
      const type = String(part["type"]);
      return /^tool-(call|result|approval)|^reasoning$|^reasoning-file$/.test(type) ||
        (type === "image" && "image" in part) || (type === "file" && "mediaType" in part);
    });
  },
  read(message, at) {
    if (isUi(message)) return readUi(message, at);
    const role = message["role"];
    if (role !== "user" && role !== "assistant" && role !== "system" && role !== "tool") {
      throw badMessage(at, "role", { found: role, wanted: '"system", "user", "assistant" or "tool"' });
    }
    if (typeof message["content"] === "string" && role !== "tool") {
      return [{ kind: role, part: null, text: message["content"], isText: true }];
    }
    const pieces = listAt(message["content"], at, "content", role === "tool" ? "a list" : "text or a list")
      .map((found, part) => readModelPart(found, at, { role, part }));
    const made = role === "assistant" ? undefined : pieces.find(isMade);
    if (made !== undefined) {
      throw badMessage(at, `content[${made.part}]`, {
        found: made.kind === "reasoning" ? "reasoning" : "a tool call",
        wanted: "it in assistant messages only",
      });
    }
    return pieces.length > 0 ? pieces : [{
      kind: role === "assistant" ? "assistant" : "user",
      part: null,
      text: "",
      isBlank: role !== "tool",
    }];
  },
  addResults(message, results) {
    const written = results.map(({ callId, name, text, isError, raw }) =>
      raw ??
        {
          type: "tool-result",
          toolCallId: callId,
          toolName: name,
          output: { type: isError ? "error-text" : "text", value: text },
        }
    );
    if (message === null) return [{ role: "tool", content: written }];
    const found = message["content"];
    return [content.insert(message, Array.isArray(found) ? found.length : 0, written)];
  },
  userText: (text) => ({ role: "user", content: [{ type: "text", text }] }),
  take: (message, part) => editsOf(message).take(message, part),
  without: (message, gone) => editsOf(message).without(message, gone),
  reorder: (message, order) => editsOf(message).reorder(message, order),
  withCallId: (message, part, id) =>
    editsOf(message).edit(message, part, (found) => ({ ...found, toolCallId: id })),
  withName: (message, part, name) => content.edit(message, part, (found) => ({ ...found, toolName: name })),
  withArguments: (message, part, input) =>
    editsOf(message).edit(message, part, (found) => ({ ...found, input })),
  withText(message, part, text) {
    if (isUi(message)) {
      return parts.edit(message, part, (found) => {
        if (found["type"] === "text") return { ...found, text };
        return found["state"] === "output-error" ? { ...found, errorText: text } : { ...found, output: text };
      });
    }
    if (part === null) return { ...message, content: text };
    return content.edit(message, part, (found) => {
      if (found["type"] !== "tool-result") return { ...found, text };
      const output = isObject(found["output"]) ? found["output"] : {};
      const type = String(output["type"]).startsWith("error") ? "error-text" : "text";
      return { ...found, output: { type, value: text } };
    });
  },
  answerInPlace: (message, part, result: ResultToWrite) =>
    parts.edit(message, part, (found) => {
      const { output: _, preliminary: __, approval, ...call } = objectAt(found, 0, "parts");
      const approved = isObject(approval) ? approval["approved"] : undefined;
      // What a person has refused is not a failure; and an answer holds no question that is still open.
      if (approved === false) return { ...call, state: "output-denied", approval };
      const answered = { ...call, ...(approved === true ? { approval } : {}) };
      return result.isError
        ? { ...answered, state: "output-error", errorText: result.text }
        : { ...answered, state: "output-available", output: result.text };
    }),
};

/** The same for transcripts of `UIMessage`: what is added is one too. */
export const aiSdkUi: Format = {
  ...aiSdk,
  userText: (text) => ({ id: `selvage-${text.length}`, role: "user", parts: [{ type: "text", text }] }),
};
