/**
 * OpenAI Chat Completions: calls in `tool_calls`, each result a message of its own.
 *
 * @module
 */
import {
  badMessage,
  type Format,
  isObject,
  type JsonObject,
  jsonText,
  listAt,
  objectAt,
  parseArguments,
  partEdits,
  type Piece,
  textAt,
} from "./format.ts";

const edits = partEdits("content");
const calls = partEdits("tool_calls");

/** Parts of `tool_calls` are counted from here on, so that one number names a part of either list. */
const CALLS = 1_000_000;

function readContent(content: unknown, at: number, kind: Piece["kind"]): readonly Piece[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return [{ kind, part: null, text: content, isText: true }];
  return listAt(content, at, "content").map((item, part): Piece => {
    const field = `content[${part}]`;
    const type = textAt(item["type"], at, `${field}.type`);
    if (type === "text" || type === "refusal") {
      return { kind, part, text: textAt(item[type], at, `${field}.${type}`), isText: type === "text" };
    }
    return { kind, part, text: "", files: 1 };
  });
}

function readCall(call: JsonObject, at: number, index: number): Piece {
  const isCustom = call["function"] === undefined || call["function"] === null;
  const kind = isCustom && call["custom"] !== undefined ? "custom" : "function";
  const field = `tool_calls[${index}]`;
  const made = objectAt(call[kind], at, `${field}.${kind}`);
  const callId = textAt(call["id"], at, `${field}.id`, "");
  const name = textAt(made["name"], at, `${field}.${kind}.name`, "");
  const written = kind === "custom" ? "input" : "arguments";
  const text = jsonText(made[written] ?? "", at, `${field}.${kind}.${written}`);
  const parsed = kind === "custom"
    ? { input: text, isTruncated: false }
    : parseArguments(text, at, `${field}.${kind}.${written}`);
  return { kind: "tool_use", part: CALLS + index, text, callId, name, ...parsed };
}

/** What an assistant message may hold in place of content and calls. */
const SAID = ["refusal", "audio", "function_call"];

/** The text of a tool message as one piece: its parts are one result. */
function readResult(message: JsonObject, at: number): Piece {
  const pieces = readContent(message["content"], at, "tool_result");
  const name = message["name"];
  return {
    kind: "tool_result",
    part: null,
    text: pieces.map((piece) => piece.text).join("\n"),
    files: pieces.reduce((sum, piece) => sum + (piece.files ?? 0), 0),
    callId: textAt(message["tool_call_id"], at, "tool_call_id", ""),
    ...(typeof name === "string" ? { name } : {}),
  };
}

/** OpenAI Chat Completions. */
export const openaiChat: Format = {
  name: "openai-chat",
  rules: { resultsFirst: false, firstFromUser: false, noEmptyText: false },
  isTypical: (message) =>
    "tool_calls" in message || (message["role"] === "tool" && "tool_call_id" in message) ||
    (message["role"] === "developer" && "content" in message),
  read(message, at) {
    const role = message["role"];
    switch (role) {
      case "system":
      case "developer":
        return nonEmpty(readContent(message["content"], at, "system"), "system");
      case "user":
        return nonEmpty(readContent(message["content"], at, "user"), "user");
      case "assistant": {
        const made = message["tool_calls"];
        const found = made === undefined || made === null ? [] : listAt(made, at, "tool_calls");
        const text = readContent(message["content"], at, "assistant");
        const reasoning = message["reasoning_content"] ?? message["reasoning"];
        const read = [
          ...(typeof reasoning === "string"
            ? [{ kind: "reasoning" as const, part: null, text: reasoning }]
            : []),
          // An empty text beside calls is how many servers say "no text": it is nothing.
          ...(found.length > 0
            ? text.filter((piece) => piece.text !== "" || piece.files !== undefined)
            : text),
          ...found.map((call, index) => readCall(call, at, index)),
        ];
        if (text.length > 0 || found.length > 0) return read;
        // A refusal, audio and the calls of old stand beside the content; reasoning alone is refused.
        const isSaid = SAID.some((field) => message[field] !== undefined && message[field] !== null);
        return [...read, { kind: "assistant", part: null, text: "", ...(isSaid ? {} : { isBlank: true }) }];
      }
      case "tool":
      case "function":
        return [readResult(message, at)];
      default:
        throw badMessage(at, "role", '"system", "developer", "user", "assistant" or "tool"');
    }
  },
  addResults: (message, results) => [
    ...(message === null ? [] : [message]),
    ...results.map(({ callId, text, isError, raw }): JsonObject =>
      isObject(raw) ? raw : { role: "tool", tool_call_id: callId, content: isError ? `Error: ${text}` : text }
    ),
  ],
  userText: (text) => ({ role: "user", content: text }),
  take: (message, part) =>
    part !== null && part >= CALLS ? calls.take(message, part - CALLS) : edits.take(message, part),
  without(message, parts) {
    if (parts.includes(null)) return null;
    const gone = parts.filter((part) => part !== null);
    return edits.without(message, gone.filter((part) => part < CALLS));
  },
  reorder: edits.reorder,
  withCallId(message, part, id) {
    if (part === null) return { ...message, tool_call_id: id };
    return calls.edit(message, part - CALLS, (call) => ({ ...call, id }));
  },
  withArguments: (message, part, input) =>
    calls.edit(message, (part ?? CALLS) - CALLS, (call) => {
      const made = isObject(call["function"]) ? call["function"] : {};
      return { ...call, function: { ...made, arguments: JSON.stringify(input) } };
    }),
  withText: (message, part, text) =>
    part === null ? { ...message, content: text } : edits.edit(message, part, (item) => ({ ...item, text })),
};

function nonEmpty(pieces: readonly Piece[], kind: Piece["kind"]): readonly Piece[] {
  return pieces.length > 0 ? pieces : [{ kind, part: null, text: "", isBlank: true }];
}
