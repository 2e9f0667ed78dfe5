/**
 * Which format messages are in, where nobody says.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { aiSdk } from "./ai_sdk.ts";
import { anthropic } from "./anthropic.ts";
import { sayValue } from "../core/options.ts";
import { type Format, type FormatName, isObject, type JsonObject } from "./format.ts";
import { gemini } from "./gemini.ts";
import { openaiChat } from "./openai_chat.ts";
import { openaiResponses } from "./openai_responses.ts";

/** Of formats that fit as many messages the first one is taken: the more particular ones first. */
export const FORMATS: readonly Format[] = [aiSdk, gemini, anthropic, openaiChat, openaiResponses];

/** Names of all formats. */
export const FORMAT_NAMES: readonly FormatName[] = FORMATS.map((format) => format.name);

/** Fields under which logs of agents and of services keep the message itself. */
const WRAPPERS = ["message", "payload", "item", "data", "body"];

/** The field under which a line of a log seems to keep its message, or null where it looks like none. */
export function wrapperOf(message: JsonObject): string | null {
  return WRAPPERS.find((field) => {
    const inner = message[field];
    if (!isObject(inner) || "role" in message || "content" in message || "parts" in message) return false;
    return ["role", "type", "content", "parts"].some((key) => key in inner);
  }) ?? null;
}

/** The format that most messages are typical of; null where none is of any. */
function mostTypical(
  messages: readonly JsonObject[],
  isOf: (format: Format, message: JsonObject) => boolean,
): FormatName | null {
  const votes = FORMATS.map((format) => messages.filter((message) => isOf(format, message)).length);
  const most = Math.max(...votes);
  return most === 0 ? null : FORMATS[votes.indexOf(most)]?.name ?? null;
}

/**
 * Finds the format of messages.
 *
 * @param messages The messages.
 * @throws SelvageError `unknown_format` when they look like none.
 *
 * @example
 * ```ts
 * import { detectFormat } from "@selvage/selvage/core";
 *
 * console.log(detectFormat([{ role: "model", parts: [{ text: "Hello." }] }])); // gemini
 * ```
 */
export function detectFormat(messages: readonly JsonObject[]): FormatName {
  const typical = mostTypical(messages, (format, message) => format.isTypical(message));
  if (typical !== null) return typical;
  const strange = messages.findIndex((message) =>
    typeof message["role"] !== "string" || !("content" in message)
  );
  if (strange < 0) {
    return mostTypical(messages, (format, message) => format.isLikely?.(message) === true) ?? "openai-chat";
  }
  const wrapped = messages.findIndex((message) => wrapperOf(message) !== null);
  const wrapper = wrapperOf(messages[wrapped] ?? {});
  const { role, type } = messages[strange] ?? {};
  const found = type === undefined
    ? `${sayValue(role)} in role and no content`
    : `${sayValue(type)} in type and ${sayValue(role)} in role`;
  throw new SelvageError(
    "unknown_format",
    wrapper === null
      ? `Cannot tell the format of the messages: found ${
        typeof role === "string" && type === undefined ? `the role ${sayValue(role)} without content` : found
      } in message ${strange}, wanted messages of one of ${FORMAT_NAMES.join(", ")}`
      : `Cannot tell the format of the messages: found what seem to be lines of a log with the messages ` +
        `inside \`${wrapper}\` (message ${wrapped}), wanted the messages themselves`,
    {
      fields: wrapper === null
        ? { at: strange, field: typeof role === "string" ? "content" : "role" }
        : { at: wrapped, field: wrapper, inside: wrapper },
    },
  );
}
