/**
 * Gemini: `parts` in contents of the roles `user` and `model`; ids are optional, pairing then goes by name.
 *
 * @module
 */
import { partEdits } from "./edits.ts";
import { badMessage, jsonText, listAt, objectArguments, objectAt, textAt } from "./fields.ts";
import { type Format, isObject, type JsonObject, type Piece } from "./format.ts";

const edits = partEdits("parts");

/** The text of a response: that of its only field where it is no more than a name for the text. */
function readResponse(response: unknown, at: number, field: string): string {
  if (!isObject(response)) return jsonText(response ?? "", at, field);
  const [[key, value] = [], ...more] = Object.entries(response);
  const isPlain = more.length === 0 && typeof value === "string" && /^(output|result|error)$/.test(key ?? "");
  return isPlain ? value : jsonText(response, at, field);
}

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
      callId,
      name: textAt(call["name"], at, `${field}.functionCall.name`, ""),
      idUse: "optional",
      ...objectArguments(input, at, `${field}.functionCall.args`),
      ...signed,
    };
  }
  if (part["functionResponse"] !== undefined) {
    const answer = objectAt(part["functionResponse"], at, `${field}.functionResponse`);
    return {
      kind: "tool_result",
      part: index,
      text: readResponse(answer["response"], at, `${field}.functionResponse.response`),
      idUse: "optional",
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
  isTypical({ parts, role, id }) {
    if (!Array.isArray(parts)) return false;
    // Parts of UI messages have a type.
    return parts.length > 0
      ? !parts.some((part) => isObject(part) && typeof part["type"] === "string")
      : role !== "assistant" && id === undefined;
  },
  read(message, at) {
    const role = message["role"] ?? "user";
    if (role !== "user" && role !== "model" && role !== "function" && role !== "system") {
      throw badMessage(at, "role", { found: role, wanted: '"user" or "model"' });
    }
    const pieces = listAt(message["parts"], at, "parts").map((part, index) =>
      readPart(part, at, { role, index })
    );
    const made = role === "model" ? undefined : pieces.find((piece) => piece.kind === "tool_use");
    if (made !== undefined) {
      throw badMessage(at, `parts[${made.part}]`, {
        found: "a functionCall",
        wanted: 'it in contents of the role "model" only',
      });
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
  withName: (message, part, name) => editInner(message, part, (inner) => ({ ...inner, name })),
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
