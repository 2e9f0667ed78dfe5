/** Parts of an AI SDK stream as parts of a message. Private to the adapters. */
import type { ProviderOptions } from "../core/message.ts";
import { parseInput } from "../formats/call_input.ts";
import { isObject, type JsonObject } from "../formats/format.ts";
import { jsonOf } from "./_json.ts";
import type { AssistantPart } from "./_parts.ts";
import { OWN } from "./_prompt_sdk.ts";

/** A part of the message while its deltas come in. */
export interface OpenPart {
  readonly kind: "text" | "reasoning" | "call" | "whole";
  /** Text, reasoning, or the text of the arguments. */
  text: string;
  /** Of a call. */
  readonly id: string;
  readonly name: string;
  /** Index among the calls that we have to answer; -1 for any other part. */
  call: number;
  isProviderRun: boolean;
  /** True for a call once the provider has said all of it: from then on its id stands for another one. */
  isWhole: boolean;
  metadata: ProviderOptions;
  /** A part that came in one piece. */
  readonly whole?: AssistantPart;
}

/**
 * The part that an open one has come to; null where it says nothing.
 *
 * @param part A part with all that has come of it.
 * @param from Which model answers, and whose.
 */
export function madePart(part: OpenPart, from: string): AssistantPart | null {
  const { call, id, isProviderRun, kind, metadata, name, text, whole } = part;
  const options = Object.keys(metadata).length === 0 ? {} : { providerOptions: metadata };
  switch (kind) {
    case "text":
    case "reasoning":
      return text === "" && !("providerOptions" in options) ? null : { type: kind, text, ...options };
    case "call":
      return {
        type: "tool-call",
        toolCallId: id || `call_${call}`,
        toolName: name,
        input: parseInput(text),
        ...(isProviderRun
          ? { providerExecuted: true, providerOptions: { ...metadata, [OWN]: { from } } }
          : options),
      };
    case "whole":
      return whole ?? null;
    default:
      return kind satisfies never;
  }
}

/** What the provider says of a part: by provider, field by field. */
export function metadataOf({ providerMetadata }: JsonObject): ProviderOptions {
  if (!isObject(providerMetadata)) return {};
  const entries = Object.entries(providerMetadata).filter((entry): entry is [string, JsonObject] =>
    isObject(entry[1])
  );
  return Object.fromEntries(entries);
}

/** What of a part is kept as it is, and stored as JSON. */
const KEPT = ["input", "result", "providerMetadata"] as const;

/** The field of a part that JSON cannot hold: a package may give anything. */
export function oddFieldOf(part: JsonObject): string | undefined {
  return KEPT.find((field) => {
    const value = part[field];
    return value !== undefined && typeof value !== "string" && jsonOf(value) === null;
  });
}
