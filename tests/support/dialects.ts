/**
 * Strict judges of two dialects, Chat Completions and Anthropic Messages, written from the rules of the providers and
 * from nothing of ours, so that they can convict our own reading, repair and compaction.
 *
 * @module
 */
import { chatToAnthropic, toChat } from "./dialect_shapes.ts";
import { isJson, isObjectText, type Json, objectsOf } from "./wire_json.ts";

/** How strict to be. */
export interface JudgeOptions {
  /** `unique`: no id twice in the transcript; `reused`: real providers reuse ids, but never inside one message. */
  readonly ids?: "unique" | "reused";
  /** Whether the arguments of calls must be JSON objects. Default true. */
  readonly whole?: boolean;
}

function isBlank(text: unknown): boolean {
  return typeof text !== "string" || text.trim() === "";
}

/** Ids of the calls of one message: present, and not twice. */
function idFaults(
  ids: readonly unknown[],
  at: number,
  { seen, options }: { readonly seen: Set<unknown>; readonly options: JudgeOptions },
): string[] {
  const faults: string[] = [];
  const here = new Set<unknown>();
  for (const id of ids) {
    if (typeof id !== "string" || id === "") faults.push(`${at}: a call without an id`);
    else if (here.has(id)) faults.push(`${at}: the id ${id} twice in one message`);
    else if (options.ids === "unique" && seen.has(id)) faults.push(`${at}: the id ${id} twice`);
    here.add(id);
    seen.add(id);
  }
  return faults;
}

/**
 * What a strict Chat Completions service refuses: a call without its one result directly behind it, a result without
 * its call there, anything in between, ids that are missing or clash, a message without content and calls.
 */
export function openaiFaults(messages: readonly Json[], options: JudgeOptions = {}): readonly string[] {
  const faults: string[] = [];
  const seen = new Set<unknown>();
  let open = new Set<unknown>();
  for (const [at, message] of messages.entries()) {
    const { role, content } = message;
    if (role === "tool") {
      if (!open.delete(message["tool_call_id"])) {
        faults.push(
          `${at}: the result ${message["tool_call_id"]} answers no open call of the message before`,
        );
      }
      continue;
    }
    if (open.size > 0) faults.push(`${at}: ${[...open].join(", ")} has no result before this message`);
    open = new Set();
    if (role === "assistant") {
      const calls = objectsOf(message["tool_calls"]);
      faults.push(...idFaults(calls.map(({ id }) => id), at, { seen, options }));
      for (const call of calls) {
        const made = call["function"];
        if (!isJson(made) || isBlank(made["name"])) faults.push(`${at}: a call without a name`);
        else if (options.whole !== false && !isObjectText(made["arguments"])) {
          faults.push(`${at}: arguments that are no JSON object`);
        }
      }
      open = new Set(calls.map(({ id }) => id));
      const isSaid = typeof message["refusal"] === "string" || isJson(message["audio"]);
      if (calls.length === 0 && (content === null || content === undefined) && !isSaid) {
        faults.push(`${at}: no content`);
      }
    } else if (role !== "user" && role !== "system" && role !== "developer") {
      faults.push(`${at}: the role ${role}`);
    } else if (typeof content !== "string" && objectsOf(content).length === 0) {
      faults.push(`${at}: no content`);
    }
  }
  if (open.size > 0) faults.push(`end: ${[...open].join(", ")} has no result`);
  return faults;
}

/** Messages of one role one after another, as the service joins them. Indexes are those of the first. */
interface Turn {
  readonly at: number;
  readonly role: unknown;
  readonly blocks: Json[];
}

/**
 * What a strict Anthropic Messages service refuses: all results of a message, and nothing else before them, in the
 * user message directly behind it; the first message from the user; no empty text; ids present and without clash.
 * Neighbours of one role count as one message, but not across an open call.
 */
export function anthropicFaults(messages: readonly Json[], options: JudgeOptions = {}): readonly string[] {
  const faults: string[] = [];
  const turns: Turn[] = [];
  for (const [at, { role, content }] of messages.entries()) {
    if (role !== "user" && role !== "assistant" && role !== "system") {
      faults.push(`${at}: the role ${role}`);
      continue;
    }
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : objectsOf(content);
    if (blocks.length === 0) faults.push(`${at}: no content`);
    faults.push(...textFaults(blocks, at));
    // System lines in front are the system prompt.
    if (role === "system" && turns.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === role && role === "assistant" && clientCalls(last.blocks).length > 0) {
      faults.push(`${at}: an assistant message behind open calls`);
    }
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ at, role, blocks: [...blocks] });
  }
  if (turns[0] !== undefined && turns[0].role !== "user") {
    faults.push(`${turns[0].at}: first, and not from the user`);
  }

  const seen = new Set<unknown>();
  for (const [index, { at, role, blocks }] of turns.entries()) {
    const calls = clientCalls(blocks);
    if (calls.length > 0 && role !== "assistant") faults.push(`${at}: calls that are not the assistant's`);
    faults.push(...idFaults(calls.map(({ id }) => id), at, { seen, options }));
    for (const call of calls) {
      if (isBlank(call["name"])) faults.push(`${at}: a call without a name`);
      if (options.whole !== false && !isJson(call["input"])) {
        faults.push(`${at}: arguments that are no object`);
      }
    }
    const wanted = new Set<unknown>(
      index > 0 ? clientCalls(turns[index - 1]?.blocks ?? []).map(({ id }) => id) : [],
    );
    let isInFront = true;
    for (const block of blocks) {
      if (block["type"] !== "tool_result") {
        isInFront = false;
        continue;
      }
      const id = block["tool_use_id"];
      if (role !== "user") faults.push(`${at}: a result that is not in a user message`);
      if (!isInFront) faults.push(`${at}: the result ${id} is not in front`);
      if (!wanted.delete(id)) {
        faults.push(`${at}: the result ${id} answers no open call of the message before`);
      }
    }
    if (wanted.size > 0) faults.push(`${at}: ${[...wanted].join(", ")} has no result here`);
    if (index === turns.length - 1 && calls.length > 0) {
      faults.push(`end: ${calls.map(({ id }) => id).join(", ")} has no result`);
    }
  }
  return faults;
}

/** Calls that the client answers; a provider answers its own in the same message. */
export function clientCalls(blocks: readonly Json[]): readonly Json[] {
  return blocks.filter((block) => block["type"] === "tool_use");
}

function textFaults(blocks: readonly Json[], at: number): string[] {
  return blocks.flatMap((block) => {
    if (block["type"] === "text") return isBlank(block["text"]) ? [`${at}: an empty text`] : [];
    const inner = block["type"] === "tool_result" ? objectsOf(block["content"]) : [];
    return inner.some(({ type, text }) => type === "text" && isBlank(text))
      ? [`${at}: an empty text in a result`]
      : [];
  });
}

/** Judges a transcript in both dialects, its own and the other. */
export function faultsInBoth(
  format: "openai-chat" | "anthropic",
  messages: readonly Json[],
  options: JudgeOptions = {},
): readonly string[] {
  const chat = toChat(format, messages);
  const blocks = format === "anthropic" ? messages : chatToAnthropic(messages);
  return [
    ...openaiFaults(chat, options).map((fault) => `openai ${fault}`),
    ...anthropicFaults(blocks, options).map((fault) => `anthropic ${fault}`),
  ];
}
