/**
 * Gemini: `parts` in contents of the roles `user` and `model`; ids are optional, pairing then goes by name.
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
  partEdits,
  type Piece,
  textAt,
} from "./format.ts";

const edits = partEdits("parts");

function readPart(
  part: JsonObject,
  at: number,
  { role, index }: { readonly role: string; readonly index: number },
): Piece {
  const field = `parts[${index}]`;
  const kind = role === "model" ? "assistant" : role === "system" ? "system" : "user";
  // A thought signature binds the part that carries it, whatever that part is.
  const signed = typeof part["thoughtSignature"] === "string" ? { isSigned: true } : {};
  if (part["functionCall"] !== undefined) {
    const call = objectAt(part["functionCall"], at, `${field}.functionCall`);
    const input = call["args"] ?? {};
    const callId = textAt(call["id"], at, `${field}.functionCall.id`, "");
    return {
      kind: "tool_use",
      part: index,
      text: jsonText(input, at, `${field}.functionCall.args`),
      input,
      callId,
      name: textAt(call["name"], at, `${field}.functionCall.name`, ""),
      isTruncated: !isObject(input),
      ...signed,
    };
  }
  if (part["functionResponse"] !== undefined) {
    const answer = objectAt(part["functionResponse"], at, `${field}.functionResponse`);
    return {
      kind: "tool_result",
      part: index,
      text: jsonText(answer["response"] ?? "", at, `${field}.functionResponse.response`),
      callId: textAt(answer["id"], at, `${field}.functionResponse.id`, ""),
      name: textAt(answer["name"], at, `${field}.functionResponse.name`, ""),
      isError: isObject(answer["response"]) && "error" in answer["response"],
      ...(answer["willContinue"] === true ? { interim: true } : {}),
    };
  }
  if (typeof part["text"] === "string") {
    if (part["thought"] === true) return { kind: "reasoning", part: index, text: part["text"], ...signed };
    return { kind, part: index, text: part["text"], isText: true, ...signed };
  }
  if ("inlineData" in part || "fileData" in part) return { kind, part: index, text: "", files: 1 };
  return { kind, part: index, text: jsonText(part, at, field) };
}

/** Gemini `contents`. */
export const gemini: Format = {
  name: "gemini",
  rules: { resultsFirst: false, firstFromUser: false, noEmptyText: false },
  isTypical: (message) =>
    Array.isArray(message["parts"]) && !("id" in message) && message["role"] !== "assistant",
  read(message, at) {
    const role = message["role"] ?? "user";
    if (role !== "user" && role !== "model" && role !== "function" && role !== "system") {
      throw badMessage(at, "role", '"user" or "model"');
    }
    const pieces = listAt(message["parts"], at, "parts").map((part, index) =>
      readPart(part, at, { role, index })
    );
    if (role !== "model" && pieces.some((piece) => piece.kind === "tool_use")) {
      throw badMessage(at, "parts", 'calls in contents of the role "model" only');
    }
    return pieces.length > 0
      ? pieces
      : [{ kind: role === "model" ? "assistant" : "user", part: null, text: "", isBlank: true }];
  },
  addResults(message, results) {
    const written = results.map(({ callId, name, text, isError, raw }) =>
      raw ??
        {
          functionResponse: {
            name,
            response: { [isError ? "error" : "output"]: text },
            ...(callId === "" ? {} : { id: callId }),
          },
        }
    );
    if (message === null) return [{ role: "user", parts: written }];
    const parts = message["parts"];
    const last = Array.isArray(parts)
      ? parts.findLastIndex((part) => isObject(part) && "functionResponse" in part)
      : -1;
    return [edits.insert(message, last + 1, written)];
  },
  userText: (text) => ({ role: "user", parts: [{ text }] }),
  take: edits.take,
  without: edits.without,
  reorder: edits.reorder,
  withCallId: (message, part, id) => editInner(message, part, (inner) => ({ ...inner, id })),
  withArguments: (message, part, args) => editInner(message, part, (inner) => ({ ...inner, args })),
  withText(message, part, text) {
    if (part === null) return { ...message, parts: [{ text }] };
    return edits.edit(message, part, (found) => {
      const answer = found["functionResponse"];
      if (!isObject(answer)) return { ...found, text };
      const failed = isObject(answer["response"]) && "error" in answer["response"];
      return { ...found, functionResponse: { ...answer, response: { [failed ? "error" : "output"]: text } } };
    });
  },
};

/** Edits the call or the response inside a part. */
function editInner(
  message: JsonObject,
  part: number | null,
  change: (inner: JsonObject) => JsonObject,
): JsonObject {
  return edits.edit(message, part, (found) => {
    const key = "functionCall" in found ? "functionCall" : "functionResponse";
    const inner = found[key];
    return { ...found, [key]: change(isObject(inner) ? inner : {}) };
  });
}
