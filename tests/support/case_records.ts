/**
 * The transcripts of `tests/fixtures/cases` as records: the least of each wire format that the cases need.
 *
 * @module
 */
import type { RecordKind, TranscriptRecord } from "../../src/core/mod.ts";
import { type Part, place } from "./logs.ts";

type Json = Readonly<Record<string, unknown>>;

/** One case file. */
export interface Case {
  readonly id: string;
  readonly source: string;
  readonly format: string;
  readonly messages: readonly Json[];
  readonly options: {
    readonly obligations?: readonly string[];
    readonly longRunningIds?: readonly string[];
    readonly toolDefinitionTokens?: number;
  };
  readonly assert: {
    readonly input: "valid" | "invalid" | "pending";
    readonly violations: readonly string[];
    readonly pending: readonly string[];
    readonly abandoned: readonly string[];
    readonly legalCuts: readonly number[];
    readonly legalCutsWithLongRunning?: readonly number[];
    readonly forbiddenCuts?: readonly number[];
  };
}

/** Reads a case file; strings that are given as a repetition are spelt out. */
export function readCase(text: string): Case {
  return JSON.parse(text, (_, value) => {
    const repeat = value?.["$repeat"];
    return Array.isArray(repeat) ? String(repeat[0]).repeat(Number(repeat[1])) : value;
  });
}

/**
 * The records of a case, with the calls that it names as obligations in flight.
 *
 * @param found The case.
 * @param longRunning Ids of calls that are open until their last result.
 */
export function caseRecords(found: Case, longRunning: readonly string[] = []): readonly TranscriptRecord[] {
  const { format, messages, options } = found;
  const convert = CONVERTERS[format];
  if (convert === undefined) throw new TypeError(`Cannot read the case: found the format ${format}`);
  const has = (ids: readonly string[] | undefined, part: Part) => ids?.includes(part.callId ?? "") === true;
  return place(messages.map((message, index) =>
    convert(message, messages[index - 1]).map((part) => ({
      ...part,
      ...(part.kind === "tool_use" && has(options.obligations, part) ? { inFlight: true } : {}),
      ...(part.kind === "tool_use" && has(longRunning, part) ? { longRunning: true } : {}),
    }))
  ));
}

function part(kind: RecordKind, content: unknown, identity: { id?: unknown; name?: unknown } = {}): Part {
  const text = typeof content === "string" ? content : JSON.stringify(content ?? "");
  return {
    kind,
    tokens: Math.ceil(text.length / 4),
    ...(typeof identity.id === "string" ? { callId: identity.id } : {}),
    ...(typeof identity.name === "string" ? { name: identity.name } : {}),
  };
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** A role as the kind of its text. */
function speaker(role: unknown): RecordKind {
  if (role === "system" || role === "developer") return "system";
  return role === "assistant" || role === "model" ? "assistant" : "user";
}

/** An item that is part of what the model said: one after another they are one assistant message. */
function isAnswer(item: Json | undefined): boolean {
  return item?.["role"] === "assistant" || item?.["type"] === "function_call" ||
    item?.["type"] === "reasoning";
}

type Converter = (message: Json, previous: Json | undefined) => readonly Part[];

const CONVERTERS: Readonly<Record<string, Converter>> = {
  anthropic: ({ role, content }) => {
    if (typeof content === "string") return [part(speaker(role), content)];
    return list(content).map((block) => {
      const type = String(block["type"]);
      if (type === "thinking" || type === "redacted_thinking") return part("reasoning", block["thinking"]);
      if (type.endsWith("tool_use")) {
        return part("tool_use", block["input"], { id: block["id"], name: block["name"] });
      }
      if (type.endsWith("tool_result")) {
        return part("tool_result", block["content"], { id: block["tool_use_id"] });
      }
      return part(speaker(role), block["text"] ?? block);
    });
  },
  "openai-chat": ({ role, content, tool_calls: calls, tool_call_id: id }) => {
    if (role === "tool") return [part("tool_result", content, { id })];
    return [
      ...(typeof content === "string" ? [part(speaker(role), content)] : []),
      ...list(calls).map((call) => {
        const made = call["function"] as Json;
        return part("tool_use", made["arguments"], { id: call["id"], name: made["name"] });
      }),
    ];
  },
  "openai-responses": (item, previous) => {
    const { type, role, content, call_id: id, name } = item;
    const joins = isAnswer(item) && isAnswer(previous) ? { joins: true } : {};
    if (type === "function_call") return [{ ...part("tool_use", item["arguments"], { id, name }), ...joins }];
    if (type === "function_call_output") return [part("tool_result", item["output"], { id })];
    if (type === "reasoning") {
      return [{ ...part("reasoning", item["encrypted_content"]), ...joins, sticks: true }];
    }
    return [{ ...part(speaker(role), content), ...joins }];
  },
  "ai-sdk": ({ role, content }) => {
    if (typeof content === "string") return [part(speaker(role), content)];
    return list(content).map((found) => {
      const identity = { id: found["toolCallId"], name: found["toolName"] };
      if (found["type"] === "tool-call") return part("tool_use", found["input"], identity);
      if (found["type"] === "tool-result") return part("tool_result", found["output"], identity);
      if (found["type"] === "reasoning") return part("reasoning", found["text"]);
      const approval = { id: `approval:${found["approvalId"]}` };
      if (found["type"] === "tool-approval-request") {
        return { ...part("tool_use", "", approval), approval: true };
      }
      if (found["type"] === "tool-approval-response") {
        return { ...part("tool_result", "", approval), approval: true };
      }
      return part(speaker(role), found["text"] ?? found);
    });
  },
  gemini: ({ role, parts }) =>
    list(parts).map((found) => {
      const call = found["functionCall"] as Json | undefined;
      const response = found["functionResponse"] as Json | undefined;
      if (call !== undefined) return part("tool_use", call["args"], { id: call["id"], name: call["name"] });
      if (response === undefined) return part(speaker(role), found["text"]);
      return part("tool_result", response["response"], { id: response["id"], name: response["name"] });
    }),
};
