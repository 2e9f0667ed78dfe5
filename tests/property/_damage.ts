/** Damage to messages, whatever their format. */
import type { Json } from "../support/wire_json.ts";

/** Ways to damage a transcript. */
export const HOWS = [
  "drop",
  "double",
  "move",
  "drop part",
  "double part",
  "turn parts",
  "empty id",
  "same id",
  "no text",
  "blank text",
  "cut arguments",
] as const;
/** One damage: how, and where, taken modulo what there is. */
export type Damage = { readonly how: typeof HOWS[number]; readonly a: number; readonly b: number };

const LISTS = ["tool_calls", "parts", "content"] as const;

/** Does something to the list of parts of a message; messages without one stay. */
function editParts(message: Json, edit: (parts: readonly unknown[]) => readonly unknown[]): Json {
  const key = LISTS.find((key) => Array.isArray(message[key]));
  return key === undefined ? message : { ...message, [key]: edit(message[key] as readonly unknown[]) };
}

function without<T>(items: readonly T[], at: number): readonly T[] {
  return items.filter((_, index) => index !== at % Math.max(1, items.length));
}

/** Changes the nth value for which `test` holds, anywhere in a message. */
function editValue(
  message: Json,
  nth: number,
  { test, value }: { readonly test: (key: string, owner: Json) => boolean; readonly value: unknown },
): Json {
  const isObject = (found: unknown): found is Json => typeof found === "object" && found !== null;
  let total = 0;
  const count = (owner: unknown): void => {
    if (!isObject(owner)) return;
    for (const [key, inner] of Object.entries(owner)) {
      if (test(key, owner)) total++;
      count(inner);
    }
  };
  count(message);
  if (total === 0) return message;
  let left = nth % total;
  const edit = (owner: unknown): unknown => {
    if (Array.isArray(owner)) return owner.map(edit);
    if (!isObject(owner)) return owner;
    return Object.fromEntries(
      Object.entries(owner).map(([key, inner]) =>
        test(key, owner) && left-- === 0 ? [key, value] : [key, edit(inner)]
      ),
    );
  };
  return edit(message) as Json;
}

const ID_KEYS = ["tool_call_id", "tool_use_id", "call_id", "toolCallId"];

function isIdKey(key: string, owner: Json): boolean {
  // What a provider runs it also names, inside one message.
  const id = owner[key];
  if (typeof id !== "string" || id.startsWith("special")) return false;
  return ID_KEYS.includes(key) ||
    (key === "id" && ("function" in owner || "input" in owner || "args" in owner || "response" in owner));
}

function isTextKey(key: string, owner: Json): boolean {
  return typeof owner[key] === "string" &&
    (key === "text" || (key === "content" && owner["role"] !== "tool" && owner["type"] !== "tool_result"));
}

function isArgumentsKey(key: string, owner: Json): boolean {
  if (key === "arguments") return typeof owner[key] === "string";
  return (key === "input" && owner["type"] !== "dynamic-tool" && ("id" in owner || "toolCallId" in owner)) ||
    key === "args";
}

function isHosted({ content }: Json): boolean {
  return Array.isArray(content) &&
    content.some((part) => part?.type === "server_tool_use" || part?.providerExecuted === true);
}

/** The messages with one damage. */
export function damage(messages: readonly Json[], { how, a, b }: Damage): readonly Json[] {
  const at = a % messages.length;
  const found = messages[at];
  if (found === undefined) return messages;
  const replaced = (message: Json): readonly Json[] => messages.with(at, message);
  switch (how) {
    case "drop":
      return messages.length > 1 ? messages.toSpliced(at, 1) : messages;
    case "double":
      return messages.toSpliced(b % (messages.length + 1), 0, structuredClone(found));
    case "move":
      return messages.toSpliced(at, 1).toSpliced(b % messages.length, 0, found);
    case "drop part":
      return replaced(editParts(found, (parts) => without(parts, b)));
    case "double part":
      return replaced(
        editParts(found, (parts) => parts.length === 0 ? parts : [...parts, parts[b % parts.length]]),
      );
    case "turn parts":
      // A provider never answers its own call before it makes it.
      return isHosted(found) ? messages : replaced(editParts(found, (parts) => parts.toReversed()));
    case "empty id":
      return replaced(editValue(found, b, { test: isIdKey, value: "" }));
    case "same id":
      return replaced(editValue(found, b, { test: isIdKey, value: "c1-0" }));
    case "no text":
      return replaced(editValue(found, b, { test: isTextKey, value: "" }));
    case "blank text":
      return replaced(editValue(found, b, { test: isTextKey, value: " \n" }));
    case "cut arguments":
      return replaced(editValue(found, b, { test: isArgumentsKey, value: '{"path": "a' }));
  }
}
