/**
 * Names for prefixes: a hash of each message, chained, so that the first n messages of a history have one name
 * wherever they come from. What was found out about a prefix is found again by it.
 *
 * @module
 */
import { isObject, type JsonObject } from "../formats/format.ts";
import type { ForeignMessage } from "./import.ts";
import { base64Of } from "./import_parts.ts";

const encoder = new TextEncoder();

async function sha256(text: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Marks for a provider's cache, which move from message to message while the history stays the same. */
const CACHE_MARKS: ReadonlySet<string> = new Set(["cacheControl", "cache_control", "cachePoint"]);

function withoutMarks(options: unknown): unknown {
  if (!isObject(options)) return options;
  const kept = Object.entries(options).flatMap(([key, value]) => {
    if (CACHE_MARKS.has(key)) return [];
    const inner = withoutMarks(value);
    return isObject(inner) && Object.keys(inner).length === 0 ? [] : [[key, inner] as const];
  });
  return Object.fromEntries(kept);
}

/** A message or part without its marks; options that were nothing else are as good as none. */
function unmarked({ providerOptions, ...fields }: JsonObject): JsonObject {
  const options = withoutMarks(providerOptions);
  const isNone = options === undefined || (isObject(options) && Object.keys(options).length === 0);
  return isNone ? fields : { ...fields, providerOptions: options };
}

/** JSON text that is the same for the same value, in whatever order its keys stand. */
function canonicalJson(value: unknown): string {
  if (value instanceof Uint8Array) return JSON.stringify(base64Of(value));
  if (value instanceof ArrayBuffer) return JSON.stringify(base64Of(new Uint8Array(value)));
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isObject(value) || typeof value["toJSON"] === "function") return JSON.stringify(value) ?? "null";
  const fields = Object.keys(value).sort().filter((key) => value[key] !== undefined);
  return `{${fields.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`).join(",")}}`;
}

function messageText(message: ForeignMessage): string {
  const { content, ...rest } = unmarked({ ...message });
  // A text by itself and a text as the only part are the same message.
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const shown = Array.isArray(parts) ? parts.map((part) => isObject(part) ? unmarked(part) : part) : parts;
  return canonicalJson({ ...rest, content: shown });
}

/** What is known of a message; a history comes in again with every step, mostly as the same objects. */
interface Known {
  readonly content: unknown;
  readonly options: unknown;
  readonly digest: string;
  /** Its name behind each of the prefixes that it was last seen behind. */
  readonly names: Map<string, string>;
}

const known = new WeakMap<object, Known>();
/** Prefixes that one message is known behind. */
const MAX_NAMES = 4;

async function describe(message: ForeignMessage): Promise<Known> {
  const found = known.get(message);
  const { providerOptions: options } = message as unknown as JsonObject;
  if (found !== undefined && found.content === message.content && found.options === options) return found;
  const made = {
    content: message.content,
    options,
    digest: await sha256(messageText(message)),
    names: new Map(),
  };
  known.set(message, made);
  return made;
}

/**
 * Names the prefixes of a history.
 *
 * @param messages The history, oldest first. A message is told by what it says, not by the order of its fields, nor
 *   by the marks for a provider's cache on it. One that is changed in place after it was named keeps its name.
 * @param seed What else the names are to tell apart, for example the agent. Default nothing.
 * @returns `names[n - 1]` is the name of the first n messages.
 *
 * @example
 * ```ts
 * import { prefixChain } from "./prefix_chain.ts";
 *
 * const [hello] = await prefixChain([{ role: "user", content: "Hello" }]);
 * const [first, second] = await prefixChain([
 *   { content: [{ text: "Hello", type: "text" }], role: "user" },
 *   { role: "assistant", content: "Hi." },
 * ]);
 * console.log(hello === first, first === second); // true false
 * ```
 */
export async function prefixChain(
  messages: readonly ForeignMessage[],
  seed = "",
): Promise<readonly string[]> {
  const names: string[] = [];
  let name = seed;
  for (const message of messages) {
    const { digest, names: behind } = await describe(message);
    const before = name;
    name = behind.get(before) ?? await sha256(`${before}\n${digest}`);
    if (!behind.has(before)) {
      const [oldest] = behind.keys();
      if (behind.size >= MAX_NAMES && oldest !== undefined) behind.delete(oldest);
      behind.set(before, name);
    }
    names.push(name);
  }
  return names;
}
