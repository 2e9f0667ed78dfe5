/**
 * A Messages request as the service reads it: its blocks one by one, what they are bound to, and the request that a
 * script gets. Written from the wire rules and from nothing of ours.
 */
import type { Message, ToolResultPart } from "../../src/core/message.ts";
import type { ModelRequest, ToolSchema } from "../../src/ports.ts";
import { isJson, type Json } from "./wire_json.ts";

/** What the service remembers of its own answers. */
export interface Memory {
  /** Thinking by its signature, or by the data of what it has redacted. */
  readonly thoughts: Map<string, Thought>;
  /** Blocks of tools that the service ran, by type and id, as they were sent. */
  readonly blocks: Map<string, string>;
  /** Last blocks of answers that were paused, as they were sent. */
  readonly paused: Set<string>;
}

/** One block of thinking as it was sent. */
export interface Thought {
  readonly json: string;
  /** Number of the answer, the place among its thoughts, and how many it has. */
  readonly answer: number;
  readonly place: number;
  count: number;
  /** Key of everything before it. */
  readonly prefix: string;
}

/** Says whether a block is one of thinking. */
export function isThought({ type }: Json): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

/** Under which key a block of thinking is remembered. */
export function thoughtKey(block: Json): string {
  return String(block.type === "thinking" ? block.signature : block.data);
}

/** A block as text, without the mark for the cache, which is no part of it. */
export function bare(block: Json): string {
  return JSON.stringify(block, (key, value) => key === "cache_control" ? undefined : value);
}

/** The first block of thinking whose prefix is not the one it was made under, null where there is none. */
export function findUnbound(body: Json, memory: Memory): { readonly index: number } | null {
  for (const { block, index, before } of pieces(body)) {
    if (isThought(block) && memory.thoughts.get(thoughtKey(block))?.prefix !== before) return { index };
  }
  return null;
}

/** One thing of a request's prefix, in the order in which the service reads it. */
export interface Piece {
  readonly block: Json;
  /** Index of its message, -1 before the first. */
  readonly index: number;
  /** Key of everything before it, and of everything up to it. */
  readonly before: string;
  readonly key: string;
  /** UTF-8 bytes up to and with it. */
  readonly bytes: number;
  readonly isMarked: boolean;
}

const encoder = new TextEncoder();

/** Reads a body that passed {@link findRefusal} as one list: tools, system, messages. */
export function pieces(body: Json): readonly Piece[] {
  const all: Piece[] = [];
  let before = "";
  let bytes = 0;
  const push = (value: unknown, role: string, index: number): void => {
    const block = isJson(value) ? value : { type: "text", text: value };
    const text = `${role}${bare(block)}`;
    bytes += encoder.encode(text).length;
    const key = hash(before + text);
    all.push({ block, index, before, key, bytes, isMarked: isMarked(block) });
    before = key;
  };
  for (const tool of list(body.tools)) push(tool, "", -1);
  for (const block of list(body.system)) push(block, "", -1);
  for (const [index, message] of list(body.messages).entries()) {
    const { role, content } = message as Json;
    for (const block of list(content)) push(block, String(role), index);
  }
  return all;
}

function list(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === "" ? [] : [value];
}

function isMarked(block: Json): boolean {
  return block.cache_control !== undefined;
}

/** FNV-1a in two halves: enough to tell prefixes apart. */
function hash(text: string): string {
  let low = 0x811c9dc5;
  let high = 0x01000193;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193) >>> 0;
    high = Math.imul(high ^ (code + at), 0x85ebca6b) >>> 0;
  }
  return `${low.toString(36)}.${high.toString(36)}`;
}

type Part = Exclude<Extract<Message, { role: "assistant" }>["content"], string>[number];
type UserPart = Exclude<Extract<Message, { role: "user" }>["content"], string>[number];

/** Reads a body that was not refused the other way round: as the request that a script gets. */
export function decodeRequest(body: Json): ModelRequest {
  const messages: Message[] = [];
  const names = new Map<unknown, string>();
  for (const { role, content } of list(body.messages) as readonly Json[]) {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content as Json[];
    if (role === "assistant") {
      messages.push({ role: "assistant", content: blocks.flatMap((block) => decodeSaid(block, names)) });
      continue;
    }
    const results = blocks.filter(({ type }) => type === "tool_result");
    if (results.length > 0) {
      messages.push({ role: "tool", content: results.map((block) => decodeResult(block, names)) });
    }
    const rest = blocks.filter(({ type }) => type !== "tool_result");
    if (rest.length > 0) messages.push({ role: "user", content: rest.map(decodeGiven) });
  }
  return {
    system: list(body.system).map((block) => isJson(block) ? block.text : block).join("\n\n"),
    messages,
    tools: list(body.tools).flatMap((tool) => decodeTool(tool as Json)),
    maxOutput: Number(body.max_tokens),
  };
}

function decodeSaid(block: Json, names: Map<unknown, string>): Part[] {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: String(block.text) }];
    case "thinking":
      return [{ type: "reasoning", text: String(block.thinking) }];
    case "tool_use":
      names.set(block.id, String(block.name));
      return [{
        type: "tool-call",
        toolCallId: String(block.id),
        toolName: String(block.name),
        input: block.input,
      }];
    default:
      // The service's own affairs: a script has no use for them.
      return [];
  }
}

function decodeGiven(block: Json): UserPart {
  if (block.type === "text") return { type: "text", text: String(block.text) };
  const source = block.source as Json;
  const mediaType = String(source.media_type ?? `${block.type}/*`);
  return { type: "file", mediaType, data: String(source.data ?? source.url) };
}

function decodeResult(block: Json, names: ReadonlyMap<unknown, string>): ToolResultPart {
  const { content, is_error: isError, tool_use_id: id } = block;
  const value = typeof content === "string"
    ? content
    : list(content).map((inner) => String((inner as Json).text ?? "")).join("\n");
  return {
    type: "tool-result",
    toolCallId: String(id),
    toolName: names.get(id) ?? "",
    output: { type: isError === true ? "error-text" : "text", value },
  };
}

function decodeTool({ description, input_schema: schema, name }: Json): ToolSchema[] {
  if (!isJson(schema)) return [];
  return [{ name: String(name), description: String(description ?? ""), inputSchema: schema }];
}
