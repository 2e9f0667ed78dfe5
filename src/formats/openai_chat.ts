/**
 * OpenAI Chat Completions: calls in `tool_calls`, each result a message of its own.
 *
 * @module
 */
import { partEdits } from "./edits.ts";
import { badMessage, jsonText, listAt, objectAt, parseArguments, textAt } from "./fields.ts";
import { type Format, isObject, type JsonObject, type Piece } from "./format.ts";

const edits = partEdits("content");
const calls = partEdits("tool_calls");

/** Parts of `tool_calls` are counted from here on, so that one number names a part of either list. */
const CALLS = 1_000_000;
/** The part that the one call of old is, which has a field of its own. */
const OLD_CALL = -1;

/** Parts of content that are files at a flat price; servers that speak this format have some of their own. */
const FILES = /^(image|audio|video|file|document|input_audio|input_image)$|_url$/;
/** Parts of such servers that cost what they are long. */
const OTHERS = /^(thinking|reference|audio_transcript)$/;

function readContent(content: unknown, at: number, kind: Piece["kind"]): readonly Piece[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return [{ kind, part: null, text: content, isText: true }];
  return listAt(content, at, "content", "text or a list").map((item, part): Piece => {
    const field = `content[${part}]`;
    const type = textAt(item["type"], at, `${field}.type`);
    if (type === "text" || type === "refusal") {
      return { kind, part, text: textAt(item[type], at, `${field}.${type}`), isText: type === "text" };
    }
    if (FILES.test(type)) return { kind, part, text: "", files: 1 };
    if (OTHERS.test(type)) return { kind, part, text: jsonText(item, at, field) };
    throw badMessage(at, `${field}.type`, {
      found: type,
      wanted: '"text", "refusal", "image_url", "input_audio" or "file"',
    });
  });
}

function readCall(call: JsonObject, at: number, index: number): Piece {
  const isCustom = call["function"] === undefined || call["function"] === null;
  const kind = isCustom && call["custom"] !== undefined ? "custom" : "function";
  const field = `tool_calls[${index}]`;
  const made = objectAt(call[kind], at, `${field}.${kind}`);
  const callId = textAt(call["id"], at, `${field}.id`, "");
  const name = textAt(made["name"], at, `${field}.${kind}.name`, "");
  const base = { kind: "tool_use" as const, part: CALLS + index, callId, name };
  if (kind === "custom") {
    const text = jsonText(made["input"] ?? "", at, `${field}.custom.input`);
    return { ...base, text, input: text };
  }
  const written = `${field}.function.arguments`;
  const text = jsonText(made["arguments"] ?? "", at, written);
  return { ...base, text, ...parseArguments(made["arguments"], at, written) };
}

/** The call of a message as it was before there were `tool_calls`: it has no id, its result is told by its name. */
function readOldCall(found: unknown, at: number): Piece {
  const made = objectAt(found, at, "function_call");
  const field = "function_call.arguments";
  return {
    kind: "tool_use",
    part: OLD_CALL,
    idUse: "none",
    text: jsonText(made["arguments"] ?? "", at, field),
    name: textAt(made["name"], at, "function_call.name", ""),
    ...parseArguments(made["arguments"], at, field),
  };
}

/** What an assistant message may hold in place of content and calls. */
const SAID = ["refusal", "audio"];

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
    ...(message["role"] === "function" ? { idUse: "none" } : {}),
  };
}

/** Whether content holds a part that only this format has. */
function hasOwnPart(content: unknown): boolean {
  return Array.isArray(content) && content.some((part) => {
    if (!isObject(part)) return false;
    return /^(image_url|input_audio)$/.test(String(part["type"])) || isObject(part["file"]);
  });
}

/** OpenAI Chat Completions. */
export const openaiChat: Format = {
  name: "openai-chat",
  rules: { resultsFirst: false, firstFromUser: false, noEmptyText: false },
  isTypical: (message) =>
    "tool_calls" in message || (message["role"] === "tool" && "tool_call_id" in message) ||
    isObject(message["function_call"]) || (message["role"] === "function" && "name" in message) ||
    hasOwnPart(message["content"]),
  isLikely: (message) => message["role"] === "developer" && message["type"] === undefined,
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
        const old = message["function_call"];
        const read = [
          ...found.map((call, index) => readCall(call, at, index)),
          ...(old === undefined || old === null ? [] : [readOldCall(old, at)]),
        ];
        const text = readContent(message["content"], at, "assistant");
        const reasoning = message["reasoning_content"] ?? message["reasoning"];
        const all = [
          ...(typeof reasoning === "string"
            ? [{ kind: "reasoning" as const, part: null, text: reasoning }]
            : []),
          // An empty text beside calls is how many servers say "no text": it is nothing.
          ...(read.length > 0
            ? text.filter((piece) => piece.text !== "" || piece.files !== undefined)
            : text),
          ...read,
        ];
        if (text.length > 0 || read.length > 0) return all;
        // A refusal and audio stand beside the content; reasoning alone is refused.
        const isSaid = SAID.some((field) => message[field] !== undefined && message[field] !== null);
        return [...all, { kind: "assistant", part: null, text: "", ...(isSaid ? {} : { isBlank: true }) }];
      }
      case "tool":
      case "function":
        return [readResult(message, at)];
      default:
        throw badMessage(at, "role", {
          found: role,
          wanted: '"system", "developer", "user", "assistant" or "tool"',
        });
    }
  },
  addResults: (message, results) => [
    ...(message === null ? [] : [message]),
    ...results.map(({ callId, name, text, isError, raw, call }): JsonObject => {
      if (isObject(raw)) return raw;
      const content = isError ? `Error: ${text}` : text;
      return call?.idUse === "none" && callId === ""
        ? { role: "function", name, content }
        : { role: "tool", tool_call_id: callId, content };
    }),
  ],
  userText: (text) => ({ role: "user", content: text }),
  take: (message, part) =>
    part !== null && part >= CALLS ? calls.take(message, part - CALLS) : edits.take(message, part),
  without(message, parts) {
    if (parts.includes(null)) return null;
    const gone = parts.filter((part) => part !== null);
    return edits.without(message, gone.filter((part) => part >= 0 && part < CALLS));
  },
  reorder: edits.reorder,
  withCallId(message, part, id) {
    if (part === null) {
      if (message["role"] !== "function") return { ...message, tool_call_id: id };
      const { name: _, ...rest } = message;
      return { ...rest, role: "tool", tool_call_id: id };
    }
    // A call of old that gets an id, as its result has one, becomes one of today.
    if (part === OLD_CALL) {
      const { function_call: made, ...rest } = message;
      const others = Array.isArray(message["tool_calls"]) ? message["tool_calls"] : [];
      return { ...rest, tool_calls: [...others, { id, type: "function", function: made }] };
    }
    return calls.edit(message, part - CALLS, (call) => ({ ...call, id }));
  },
  withArguments(message, part, input) {
    const written = JSON.stringify(input);
    const old = message["function_call"];
    if (part === OLD_CALL && isObject(old)) {
      return { ...message, function_call: { ...old, arguments: written } };
    }
    const made = message["tool_calls"];
    const index = part === OLD_CALL ? (Array.isArray(made) ? made.length : 0) - 1 : (part ?? CALLS) - CALLS;
    return calls.edit(message, index, (call) => ({
      ...call,
      function: { ...(isObject(call["function"]) ? call["function"] : {}), arguments: written },
    }));
  },
  withText: (message, part, text) =>
    part === null ? { ...message, content: text } : edits.edit(message, part, (item) => ({ ...item, text })),
};

function nonEmpty(pieces: readonly Piece[], kind: Piece["kind"]): readonly Piece[] {
  return pieces.length > 0 ? pieces : [{ kind, part: null, text: "", isBlank: true }];
}
