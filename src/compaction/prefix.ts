/**
 * Condition C6: reasoning that a provider has signed holds only under the prefix that it was made under: system
 * text, tools, model, and all messages before it. Within one view the messages before an entry never change, so the
 * view's number stands for them.
 *
 * @module
 */
import type { AssistantEntry, Entry, Model, ToolSchema } from "../ports.ts";
import { shortHash } from "./digest.ts";

/** The last name by tools, which are the same list from turn to turn. */
const names = new WeakMap<
  readonly ToolSchema[],
  { readonly system: string; readonly of: string; readonly name: string }
>();

/**
 * Names what comes before the messages of a request: another name means another prefix.
 *
 * @param request System text and tools, and the model: one id may be served in several dialects, and signatures of
 *   one are none in another.
 */
export function prefixName(
  { system, tools, model: { id, dialect } }: {
    readonly system: string;
    readonly tools: readonly ToolSchema[];
    readonly model: Pick<Model, "id" | "dialect">;
  },
): string {
  const of = `${dialect} ${id}`;
  const known = names.get(tools);
  if (known?.of === of && known.system === system) return known.name;
  const schemas = tools.map(({ name, description, inputSchema }) => [name, description, inputSchema]);
  const text = JSON.stringify([system, schemas, of]);
  // Two of 32 bits, the second over the text and the first: a clash would keep reasoning that is refused.
  const hash = shortHash(text);
  const name = hash + shortHash(hash + text);
  names.set(tools, { system, of, name });
  return name;
}

/** The name of a prefix within a view: what comes before the messages, then which view they are shown by. */
export function viewPrefix(before: string, view: number): string {
  return `${before}.${view}`;
}

/** Reads the name of a prefix that an answer was stored with; null for what is none. */
export function readPrefix(prefix: string): { readonly before: string; readonly view: number } | null {
  const [, before, view] = prefix.match(/^([0-9a-f]+)\.(\d{1,15})(?:-|$)/) ?? [];
  return before === undefined ? null : { before, view: Number(view) };
}

/** Reasoning with a provider's signature, or in a form that only the provider can read. */
export function isSigned(part: { readonly type: string; readonly providerOptions?: unknown }): boolean {
  return part.type === "reasoning" && part.providerOptions !== undefined;
}

function hasSigned({ message: { content } }: AssistantEntry): boolean {
  return typeof content !== "string" && content.some(isSigned);
}

/** An answer without its signed reasoning. */
export function withoutSigned(entry: AssistantEntry): AssistantEntry {
  const { message } = entry;
  if (typeof message.content === "string") return entry;
  return { ...entry, message: { ...message, content: message.content.filter((part) => !isSigned(part)) } };
}

/** What signed reasoning comes to under the present prefix. */
export interface PrefixedLog {
  /** Numbers of the answers whose signed reasoning is left out. */
  readonly stale: ReadonlySet<number>;
  /** Name of the prefix of what is appended now. */
  readonly prefix: string;
}

/**
 * Finds the answers of completed turns whose signed reasoning was made under another prefix, and so is left out.
 * What is left out changes the prefix of all that was signed after it, which is why its place is part of the name.
 * In the turn that is being answered bytes stay as they are: a provider wants it to begin as it began, and those
 * that check the prefix are asked to leave out what does not fit.
 *
 * @param entries What is shown, in order; entries without a prefix are left as they are.
 * @param before Name of what comes before them.
 * @param options `isBound`: nobody can ask the provider for that, so it is left out of the turn in progress as well.
 */
export function prefixLog(
  entries: readonly Entry[],
  before: string,
  { isBound = false }: { readonly isBound?: boolean } = {},
): PrefixedLog {
  const stale = new Set<number>();
  let prefix = before;
  const turn = isBound ? entries.length : entries.findLastIndex(({ kind }) => kind === "user");
  for (const entry of entries.slice(0, Math.max(0, turn))) {
    if (entry.kind !== "assistant" || entry.prefix === undefined) continue;
    if (entry.prefix === prefix || !hasSigned(entry)) continue;
    stale.add(entry.seq);
    prefix = `${before}-${stale.size}-${entry.seq}`;
  }
  return { stale, prefix };
}
