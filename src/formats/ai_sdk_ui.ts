/**
 * `UIMessage` of the AI SDK: everything in `parts`, a tool part holds call and result.
 *
 * @module
 */
import { type Arguments, badMessage, jsonText, listAt, objectArguments, textAt } from "./fields.ts";
import type { JsonObject, Piece } from "./format.ts";

/** Arguments of a call. Text that is no JSON object cut short may be meant: tools may take nothing but text. */
export function readInput(input: unknown, at: number, field: string): Arguments {
  const read = objectArguments(input, at, field);
  return typeof input === "string" && !/^\s*[{[]/.test(input) ? { input } : read;
}

/** Whether what a provider has added to reasoning signs it. */
export function hasSignature(options: unknown): boolean {
  return options !== undefined &&
    /"(signature|redactedData|reasoningEncryptedContent|thoughtSignature)"/.test(JSON.stringify(options));
}

/** States of a tool part that has no answer. */
const UNANSWERED = ["input-streaming", "input-available", "approval-requested", "approval-responded"];

/** Parts of UI messages that cost what they are long. */
const SOURCES = ["source-url", "source-document", "custom", "steering-message"];

/** A tool part of a UI message: its call, and its result once the state says so. */
function readToolPart(
  found: JsonObject,
  at: number,
  { part, type }: { readonly part: number; readonly type: string },
): readonly Piece[] {
  const field = `parts[${part}]`;
  const state = textAt(found["state"], at, `${field}.state`, "input-available");
  const callId = textAt(found["toolCallId"], at, `${field}.toolCallId`, "");
  const name = type === "dynamic-tool"
    ? textAt(found["toolName"], at, `${field}.toolName`, "")
    : type.slice("tool-".length);
  const input = found["input"] ?? {};
  const call: Piece = {
    kind: "tool_use",
    part,
    callId,
    name,
    text: jsonText(input, at, `${field}.input`),
    // What is still streaming is whole once it has come.
    ...(state === "input-streaming" ? { input } : readInput(input, at, `${field}.input`)),
    isInPlace: true,
  };
  const answered = { kind: "tool_result" as const, part, callId, name, isInPlace: true };
  switch (state) {
    case "output-available":
      return [call, {
        ...answered,
        text: jsonText(found["output"] ?? "", at, `${field}.output`),
        ...(found["preliminary"] === true ? { interim: true } : {}),
      }];
    case "output-error":
      return [call, {
        ...answered,
        text: textAt(found["errorText"], at, `${field}.errorText`, ""),
        isError: true,
      }];
    case "output-denied":
      return [call, { ...answered, text: "denied", isError: true }];
    default:
      if (UNANSWERED.includes(state)) return [call];
      throw badMessage(at, `${field}.state`, {
        found: state,
        wanted: "a state of tool parts, as input-available or output-available",
      });
  }
}

/** Reads a message; every message has at least one piece. */
export function readUi(message: JsonObject, at: number): readonly Piece[] {
  const role = message["role"];
  if (role !== "user" && role !== "assistant" && role !== "system") {
    throw badMessage(at, "role", { found: role, wanted: '"user", "assistant" or "system"' });
  }
  const pieces = listAt(message["parts"], at, "parts").flatMap((found, part): readonly Piece[] => {
    const type = textAt(found["type"], at, `parts[${part}].type`);
    if (type === "text") {
      return [{ kind: role, part, text: textAt(found["text"], at, `parts[${part}].text`), isText: true }];
    }
    if (type === "reasoning") {
      const isSigned = hasSignature(found["providerMetadata"]);
      return [{
        kind: "reasoning",
        part,
        text: textAt(found["text"], at, `parts[${part}].text`, ""),
        isSigned,
      }];
    }
    if (type === "dynamic-tool" || type.startsWith("tool-")) {
      if (role === "assistant") return readToolPart(found, at, { part, type });
      throw badMessage(at, `parts[${part}]`, {
        found: type,
        wanted: "tool parts in assistant messages only",
      });
    }
    // Borders of steps and data for the client never reach a model.
    if (type === "step-start" || type.startsWith("data-")) return [];
    if (type === "file" || type === "reasoning-file") return [{ kind: role, part, text: "", files: 1 }];
    if (SOURCES.includes(type)) return [{ kind: role, part, text: jsonText(found, at, `parts[${part}]`) }];
    throw badMessage(at, `parts[${part}].type`, {
      found: type,
      wanted: 'a type of parts that UI messages have, as "text" or "dynamic-tool"',
    });
  });
  return pieces.length > 0 ? pieces : [{ kind: role, part: null, text: "" }];
}
