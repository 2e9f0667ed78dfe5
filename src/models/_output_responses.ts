/** Output items of a response as parts of a message. Private to the adapters. */
import type { ToolResultPart } from "../core/message.ts";
import { parseInput } from "../formats/call_input.ts";
import { isObject, type JsonObject } from "../formats/format.ts";
import { textOf } from "./_json.ts";
import type { AssistantPart } from "./_parts.ts";

/** An output item while its pieces come in. */
export interface OutputItem {
  readonly kind: "message" | "reasoning" | "call" | "provider-call" | "opaque";
  /** The item as it was last shown. */
  item: JsonObject;
  /** Its place among the items, as its start said. */
  readonly index: number | undefined;
  /** True once it was shown whole. */
  isWhole: boolean;
  /** Text, reasoning, or the text of the arguments. */
  text: string;
  /** Which section of the item the last piece belonged to. */
  section: string;
  /** Index among the calls that we have to answer; -1 while its name is unknown, and for any other item. */
  call: number;
}

/** What kind of item this is. */
export function kindOf({ type = "message" }: JsonObject): OutputItem["kind"] {
  if (type === "message" || type === "reasoning") return type;
  if (type === "function_call") return "call";
  return typeof type === "string" && type.endsWith("_call") ? "provider-call" : "opaque";
}

/** All that an item says, as its pieces say it. */
export function wholeText(item: JsonObject, kind: OutputItem["kind"]): string {
  switch (kind) {
    case "message":
      return texts(item.content).join("");
    case "reasoning":
      return texts(item.summary).join("\n\n") || texts(item.content).join("\n\n");
    case "call":
      // Some servers send arguments as the object that they are the text of.
      return isObject(item.arguments) ? JSON.stringify(item.arguments) : textOf(item.arguments);
    default:
      return "";
  }
}

function texts(parts: unknown): readonly string[] {
  if (typeof parts === "string") return [parts];
  if (!Array.isArray(parts)) return [];
  return parts.map((part) => isObject(part) ? textOf(part.text) || textOf(part.refusal) : "");
}

/**
 * The parts of an answer.
 *
 * @param items Its items, in order.
 * @param from Which model has answered, and where.
 */
export function outputParts(items: readonly OutputItem[], from: string): readonly AssistantPart[] {
  return items.flatMap((item, index) => {
    const before = items[index - 1];
    const isNext = before?.kind === "reasoning";
    return partsOf(item, ({ id, ...own }) => {
      // An id goes back with the reasoning before the item, and not without.
      const openai = { ...own, ...(isNext ? { id, after: textOf(before.item.id) } : {}) };
      return Object.keys(openai).length === 0 ? {} : { providerOptions: { openai: { from, ...openai } } };
    });
  });
}

type Keep = (own: JsonObject) => Pick<AssistantPart, "providerOptions">;

function partsOf(output: OutputItem, keep: Keep): readonly AssistantPart[] {
  const { call, isWhole, item, kind, text } = output;
  const id = textOf(item.id);
  switch (kind) {
    case "message":
      if (text === "") return [];
      return [{ type: "text", text, ...keep(messageOptions(item)) }];
    case "reasoning": {
      if (isWhole) return [{ type: "reasoning", text, ...keep({ item }) }];
      return text === "" ? [] : [{ type: "reasoning", text }];
    }
    case "call": {
      const { arguments: _, call_id, id: __, name, status: ___, type: ____, ...more } = item;
      return [{
        type: "tool-call",
        toolCallId: textOf(call_id) || id || `call_${call}`,
        toolName: textOf(name),
        input: parseInput(text),
        ...keep({ id, ...(Object.keys(more).length === 0 ? {} : { more }) }),
      }];
    }
    case "provider-call":
      return providerParts(item, keep);
    case "opaque":
      // No part of ours: it travels as reasoning without a text, which other dialects leave out.
      return isWhole ? [{ type: "reasoning", text: "", ...keep({ item }) }] : [];
    default:
      return kind satisfies never;
  }
}

function messageOptions(item: JsonObject): JsonObject {
  const parts = Array.isArray(item.content) ? item.content.filter(isObject) : [];
  const annotations = parts.flatMap((part) => Array.isArray(part.annotations) ? part.annotations : []);
  return {
    id: textOf(item.id),
    ...(typeof item.phase === "string" ? { more: { phase: item.phase } } : {}),
    ...(annotations.length === 0 ? {} : { annotations }),
    ...(parts.length > 0 && parts.every(({ type }) => type === "refusal") ? { isRefusal: true } : {}),
  };
}

/** A tool that the provider has run: one item of its, a call and a result of ours. */
function providerParts(item: JsonObject, keep: Keep): readonly AssistantPart[] {
  const { action, arguments: given, error, id: _, name, status, type, ...rest } = item;
  const toolName = textOf(name) || textOf(type).replace(/_call$/, "");
  const toolCallId = textOf(item.id) || textOf(item.call_id) || toolName;
  const isError = status === "failed" || (error ?? null) !== null;
  const output: ToolResultPart["output"] = isError
    ? { type: "error-json", value: error ?? { status } }
    : { type: "json", value: rest };
  const input = typeof given === "string" ? parseInput(given) : action ?? {};
  return [
    { type: "tool-call", toolCallId, toolName, input, providerExecuted: true, ...keep({ item }) },
    { type: "tool-result", toolCallId, toolName, output },
  ];
}
