/**
 * OpenAI Responses: a flat list of items. Reasoning is an item of its own and stays with the item behind it.
 *
 * @module
 */
import { partEdits } from "./edits.ts";
import { badMessage, jsonText, listAt, parseArguments, textAt } from "./fields.ts";
import {
  APPROVAL,
  type Format,
  isObject,
  type JsonObject,
  type Piece,
  type ResultToWrite,
} from "./format.ts";

const edits = partEdits("content");

/** Calls that the client answers: type of the call, type of its result. */
const OUTPUTS: Readonly<Record<string, string>> = {
  function_call: "function_call_output",
  custom_tool_call: "custom_tool_call_output",
  computer_call: "computer_call_output",
  local_shell_call: "local_shell_call_output",
  shell_call: "shell_call_output",
  apply_patch_call: "apply_patch_call_output",
};

/** Items that a request may hold beside messages, calls and their results; and what logs of agents put among them. */
const OTHERS = [
  "reasoning",
  "file_search_call",
  "web_search_call",
  "code_interpreter_call",
  "image_generation_call",
  "tool_search_call",
  "tool_search_output",
  "mcp_list_tools",
  "mcp_call",
  "mcp_approval_request",
  "mcp_approval_response",
  "program",
  "program_output",
  "additional_tools",
  "configuration_update",
  "item_reference",
  "compaction",
  "compaction_trigger",
  "compaction_summary",
  "context_compaction",
  "ghost_snapshot",
];

/** Types of all items but messages. */
const ITEMS = new Set([...OTHERS, ...Object.entries(OUTPUTS).flat()]);

/** Content that only this format has. */
const CONTENT = /^(input|output)_(text|image|file|audio)$/;

/** A screenshot of one transparent pixel: a result of a computer call has to hold one. */
const NO_SCREENSHOT =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=";

/** Items that the model makes; whatever is none of these and no result comes from the user's side. */
function isAssistantItem(item: JsonObject): boolean {
  const type = String(item["type"] ?? "message");
  return type === "message"
    ? item["role"] === "assistant"
    : type !== "compaction" && !/_(output|response)$/.test(type);
}

/** A part that is text, a file at a flat price, or something else that costs what it is long. */
function readPart(part: JsonObject, at: number, field: string): Pick<Piece, "text" | "files" | "isText"> {
  const text = part["text"] ?? part["refusal"];
  if (typeof text === "string") return { text, isText: true };
  const isFile = /image|file|audio|screenshot/.test(String(part["type"]));
  return isFile ? { text: "", files: 1 } : { text: jsonText(part, at, field) };
}

function readMessage(item: JsonObject, at: number): readonly Piece[] {
  const role = item["role"];
  const kind = role === "developer" ? "system" : role;
  if (kind !== "system" && kind !== "user" && kind !== "assistant") {
    throw badMessage(at, "role", { found: role, wanted: '"system", "developer", "user" or "assistant"' });
  }
  const content = item["content"];
  if (typeof content === "string") return [{ kind, part: null, text: content, isText: true }];
  const pieces = listAt(content, at, "content", "text or a list").map((part, index): Piece => ({
    kind,
    part: index,
    ...readPart(part, at, `content[${index}]`),
  }));
  return pieces.length > 0 ? pieces : [{ kind, part: null, text: "", isBlank: true }];
}

function readOutput(item: JsonObject, at: number): Piece {
  const { output, status } = item;
  const parts = Array.isArray(output) ? listAt(output, at, "output") : isObject(output) ? [output] : [];
  const read = parts.map((part, index) => readPart(part, at, `output[${index}]`));
  const texts = read.map(({ text }) => text).filter((text) => text !== "");
  return {
    kind: "tool_result",
    part: null,
    itemType: String(item["type"]),
    text: parts.length > 0 || Array.isArray(output) ? texts.join("\n") : jsonText(output ?? "", at, "output"),
    files: read.reduce((sum, { files = 0 }) => sum + files, 0),
    // Published types name the call of a local shell in `id`, the service does in `call_id`.
    callId: textAt(
      item["call_id"] ?? (item["type"] === "local_shell_call_output" ? item["id"] : undefined),
      at,
      "call_id",
      "",
    ),
    isError: status === "incomplete" || status === "failed",
  };
}

function readCall(item: JsonObject, at: number, type: string): Piece {
  const piece = {
    kind: "tool_use" as const,
    part: null,
    itemType: type,
    callId: textAt(item["call_id"], at, "call_id", ""),
  };
  if (type === "function_call") {
    const made = item["arguments"];
    const parsed = parseArguments(made, at, "arguments");
    const text = jsonText(made ?? "", at, "arguments");
    return { ...piece, text, name: textAt(item["name"], at, "name", ""), ...parsed };
  }
  if (type === "custom_tool_call") {
    const text = jsonText(item["input"] ?? item["arguments"] ?? "", at, "input");
    return { ...piece, text, input: text, name: textAt(item["name"], at, "name", "") };
  }
  const input = item["action"] ?? item["actions"] ?? item["operation"] ?? {};
  return { ...piece, text: jsonText(item, at, type), input, name: type };
}

/** What the client answers, in the shape that the type of the call wants. */
function writeResult({ callId, text, isError, raw, call }: ResultToWrite): JsonObject {
  if (isObject(raw)) return raw;
  const type = OUTPUTS[call?.itemType ?? ""] ?? "function_call_output";
  const said = isError ? `Error: ${text}` : text;
  const item = { type, call_id: callId };
  switch (type) {
    case "computer_call_output":
      return { ...item, output: outputOf(type, said), ...(isError ? { status: "incomplete" } : {}) };
    case "local_shell_call_output":
      return { ...item, id: callId, output: said, ...(isError ? { status: "incomplete" } : {}) };
    case "apply_patch_call_output":
      return { ...item, status: isError ? "failed" : "completed", output: said };
    case "shell_call_output": {
      const outcome = { type: "exit", exit_code: isError ? 1 : 0 };
      return { ...item, output: [{ stdout: isError ? "" : text, stderr: isError ? said : "", outcome }] };
    }
    default:
      return { ...item, output: said };
  }
}

/** An output that says a text, where its type can. */
function outputOf(type: string, text: string, before?: unknown): unknown {
  if (type === "computer_call_output") return { type: "computer_screenshot", image_url: NO_SCREENSHOT };
  if (type !== "shell_call_output") return text;
  const last = Array.isArray(before) ? before.at(-1) : undefined;
  const outcome = isObject(last) && isObject(last["outcome"])
    ? last["outcome"]
    : { type: "exit", exit_code: 0 };
  return [{ stdout: text, stderr: "", outcome }];
}

/** OpenAI Responses. */
export const openaiResponses: Format = {
  name: "openai-responses",
  rules: { resultsFirst: false, firstFromUser: false, noEmptyText: false },
  isTypical(item) {
    if (typeof item["type"] === "string" && ITEMS.has(item["type"]) && !("parts" in item)) return true;
    const content = item["content"];
    return Array.isArray(content) &&
      content.some((part) => isObject(part) && CONTENT.test(String(part["type"])));
  },
  isLikely: (item) => item["type"] === "message" && !("stop_reason" in item),
  joins: (item, previous) => previous !== undefined && isAssistantItem(item) && isAssistantItem(previous),
  read(item, at) {
    const type = textAt(item["type"], at, "type", "message");
    if (type === "message") return readMessage(item, at);
    if (OUTPUTS[type] !== undefined) return [readCall(item, at, type)];
    if (type === "reasoning") {
      const text = jsonText(item["summary"] ?? item["content"] ?? "", at, "summary");
      return [{ kind: "reasoning", part: null, text, isSigned: "encrypted_content" in item, sticks: true }];
    }
    if (/_call_output$/.test(type)) return [readOutput(item, at)];
    if (type === "mcp_approval_request") {
      const callId = `${APPROVAL}${textAt(item["id"], at, "id", "")}`;
      const name = textAt(item["name"], at, "name", "");
      return [{ kind: "tool_use", part: null, text: jsonText(item, at, type), callId, name, approval: true }];
    }
    if (type === "mcp_approval_response") {
      const callId = `${APPROVAL}${textAt(item["approval_request_id"], at, "approval_request_id", "")}`;
      return [{ kind: "tool_result", part: null, text: "", callId, approval: true }];
    }
    // Calls that the provider runs itself come with their outcome: opaque, and whole.
    if (ITEMS.has(type) || /_call$/.test(type)) {
      return [{ kind: "assistant", part: null, text: jsonText(item, at, type) }];
    }
    throw badMessage(at, "type", { found: type, wanted: "a type of items that the Responses API has" });
  },
  link(pieces, messages) {
    // A shell's call has an `id` of its own beside its `call_id`, and results may name either.
    const ids = new Map<string, string>();
    const known = new Set<string>();
    for (const [at, item] of messages.entries()) {
      const { type, id, call_id: callId } = item;
      if (pieces[at]?.[0]?.kind !== "tool_use" || typeof callId !== "string") continue;
      known.add(callId);
      if (type === "local_shell_call" && typeof id === "string") ids.set(id, callId);
    }
    return pieces.map((found) =>
      found.map((piece) => {
        const callId = piece.kind === "tool_result" ? ids.get(piece.callId ?? "") : undefined;
        return callId === undefined || known.has(piece.callId ?? "") ? piece : { ...piece, callId };
      })
    );
  },
  addResults: (item, results) => [...(item === null ? [] : [item]), ...results.map(writeResult)],
  userText: (text) => ({ type: "message", role: "user", content: text }),
  take: edits.take,
  without: edits.without,
  reorder: edits.reorder,
  withCallId(item, _, id) {
    const isShell = item["type"] === "local_shell_call_output" && "id" in item;
    return {
      ...item,
      ...(isShell ? { id } : {}),
      ...(isShell && !("call_id" in item) ? {} : { call_id: id }),
    };
  },
  withArguments: (item, _, input) => ({ ...item, arguments: JSON.stringify(input) }),
  withText(item, part, text) {
    if (part !== null) return edits.edit(item, part, (found) => ({ ...found, text }));
    const type = String(item["type"]);
    return /_output$/.test(type)
      ? { ...item, output: outputOf(type, text, item["output"]) }
      : { ...item, content: text };
  },
};
