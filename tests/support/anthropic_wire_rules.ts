/**
 * What the real Messages service refuses, written from its wire rules and from nothing of ours, so that it can
 * convict our own adapter and compaction. Longer than most files: the rules are to be read in one go.
 */

import {
  bare,
  findUnbound,
  isJson,
  isThought,
  type Json,
  type Memory,
  thoughtKey,
} from "./anthropic_wire_request.ts";

/** What a request is held against. */
export interface Limits {
  readonly maxOutput: number;
  /** Values of `anthropic-beta`. */
  readonly betas: readonly string[];
  /** Whether thinking is bound to what stands before it. */
  readonly isBound: boolean;
}

/** A message as the service sees it: neighbours of one role joined. */
export interface Turn {
  readonly role: "user" | "assistant";
  readonly blocks: Json[];
}

const NAME = /^[A-Za-z0-9_-]{1,128}$/;
const ID = /^[A-Za-z0-9_-]+$/;
const MAX_MARKS = 4;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const BINDING_BETA = "thinking-binding-controls-2026-08-01";

const PARAMETERS = new Set(
  ("model messages max_tokens system tools tool_choice stream stop_sequences temperature top_k top_p metadata " +
    "service_tier thinking container context_management mcp_servers output_config").split(" "),
);

// Fields of each block; any other is "not permitted" there as well.
const USER_BLOCKS: Readonly<Record<string, string>> = {
  text: "text citations cache_control",
  image: "source cache_control",
  document: "source title context citations cache_control",
  tool_result: "tool_use_id content is_error cache_control",
};

const ASSISTANT_BLOCKS: Readonly<Record<string, string>> = {
  text: "text citations cache_control",
  thinking: "thinking signature",
  redacted_thinking: "data",
  tool_use: "id name input caller cache_control",
  server_tool_use: "id name input caller cache_control",
  web_search_tool_result: "tool_use_id content caller cache_control",
  web_fetch_tool_result: "tool_use_id content caller cache_control",
  code_execution_tool_result: "tool_use_id content cache_control",
  bash_code_execution_tool_result: "tool_use_id content cache_control",
  container_upload: "file_id cache_control",
};

/** Blocks of tools that the service runs itself. */
export function isServerBlock({ type }: Json): boolean {
  return type === "server_tool_use" || type === "container_upload" || String(type).endsWith("_tool_result");
}

/** Under which key a block of the service's own tools is remembered. */
export function serverKey(block: Json): string {
  return `${block.type} ${block.id ?? block.tool_use_id ?? block.file_id}`;
}

/** Tells what is wrong with the first thing that is. */
class Refused extends Error {}

/** Checks everything about a body but its length; null where the service would take it. */
export function findRefusal(body: unknown, memory: Memory, limits: Limits): string | null {
  try {
    checkBody(body, memory, limits);
    return null;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return error.message;
  }
}

function checkBody(body: unknown, memory: Memory, limits: Limits): void {
  if (!isJson(body)) throw new Refused("The request body is not valid JSON.");
  const extra = Object.keys(body).find((name) => !PARAMETERS.has(name));
  if (extra !== undefined) throw new Refused(`${extra}: Extra inputs are not permitted`);
  if (typeof body.model !== "string" || body.model === "") throw new Refused("model: Field required");
  checkMaxTokens(body.max_tokens, limits.maxOutput);
  if (body.system !== undefined) checkSystem(body.system);
  if (body.tools !== undefined) checkTools(body.tools);
  const budget = checkThinking(body.thinking, body.max_tokens as number, limits);
  if (!Array.isArray(body.messages)) throw new Refused("messages: Field required");
  const turns = readTurns(body.messages);
  checkPairs(turns);
  checkServerTools(turns, memory);
  checkThoughts(turns, memory);
  if (budget !== null) checkBeginning(turns);
  if (limits.isBound && !dropsBlocks(body)) checkBinding(body, memory);
  checkEnd(turns, memory);
  const marks = countMarks(body);
  if (marks > MAX_MARKS) {
    throw new Refused(
      `A maximum of ${MAX_MARKS} blocks with cache_control may be provided. Found ${marks}.`,
    );
  }
}

function checkMaxTokens(value: unknown, most: number): void {
  if (value === undefined) throw new Refused("max_tokens: Field required");
  if (!Number.isInteger(value)) throw new Refused("max_tokens: Input should be a valid integer");
  if (Number(value) < 1) throw new Refused("max_tokens: Input should be greater than or equal to 1");
  if (Number(value) > most) {
    throw new Refused(
      `max_tokens: ${value} > ${most}, which is the maximum allowed number of output tokens for double`,
    );
  }
}

function checkSystem(system: unknown): void {
  if (typeof system === "string") return;
  if (!Array.isArray(system)) throw new Refused("system: Input should be a valid list");
  for (const [index, block] of system.entries()) {
    if (!isJson(block) || block.type !== "text") {
      throw new Refused(`system.${index}.type: Input should be 'text'`);
    }
    checkText(block, `system.${index}`);
  }
}

function checkTools(tools: unknown): void {
  if (!Array.isArray(tools)) throw new Refused("tools: Input should be a valid list");
  const names = new Set<unknown>();
  for (const [index, tool] of tools.entries()) {
    const at = `tools.${index}`;
    if (!isJson(tool)) throw new Refused(`${at}: Input should be a valid dictionary`);
    if (typeof tool.name !== "string" || !NAME.test(tool.name)) {
      throw new Refused(`${at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    }
    if (names.has(tool.name)) throw new Refused("tools: Tool names must be unique.");
    names.add(tool.name);
    if (tool.type !== undefined && tool.type !== "custom") {
      if (/_\d{8}$/.test(String(tool.type))) continue;
      throw new Refused(`${at}: Input tag '${tool.type}' found using 'type' does not match any of the tags`);
    }
    const schema = tool.input_schema;
    if (!isJson(schema)) throw new Refused(`${at}.custom.input_schema: Field required`);
    if (schema.type !== "object") {
      throw new Refused(`${at}.custom.input_schema.type: Input should be 'object'`);
    }
    if (schema.anyOf !== undefined || schema.oneOf !== undefined || schema.allOf !== undefined) {
      throw new Refused(
        `${at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`,
      );
    }
  }
}

/** The budget where a request sets one, else null. */
function checkThinking(thinking: unknown, maxTokens: number, { betas }: Limits): number | null {
  if (thinking === undefined) return null;
  if (!isJson(thinking)) throw new Refused("thinking: Input should be a valid dictionary");
  if (thinking.block_binding !== undefined && !betas.includes(BINDING_BETA)) {
    throw new Refused("thinking.block_binding: Extra inputs are not permitted");
  }
  if (thinking.type === "disabled" || thinking.type === "adaptive") return null;
  if (thinking.type !== "enabled") {
    throw new Refused(
      `thinking: Input tag '${thinking.type}' found using 'type' does not match any of the tags`,
    );
  }
  const budget = thinking.budget_tokens;
  if (!Number.isInteger(budget) || Number(budget) < 1_024) {
    throw new Refused("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024");
  }
  if (Number(budget) >= maxTokens) {
    throw new Refused("`max_tokens` must be greater than `thinking.budget_tokens`.");
  }
  return Number(budget);
}

/** Joins neighbours of one role, after every block was looked at by itself. */
function readTurns(messages: readonly unknown[]): readonly Turn[] {
  if (messages.length === 0) throw new Refused("messages: at least one message is required");
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`;
    if (!isJson(message)) throw new Refused(`${at}: Input should be a valid dictionary`);
    const { role, content } = message;
    if (role !== "user" && role !== "assistant") {
      throw new Refused(`${at}.role: Input should be 'user' or 'assistant'`);
    }
    const blocks = readBlocks(content, { at, role });
    const last = turns.at(-1);
    // A call is answered in the next message: nothing more can be joined to the message that makes it.
    if (last?.role === role && role === "assistant") refuseOpen(last, index);
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, blocks: [...blocks] });
  }
  if (turns[0]?.role !== "user") throw new Refused('messages: first message must use the "user" role');
  return turns;
}

function refuseOpen({ blocks }: Turn, index: number): void {
  const open = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id);
  if (open.length > 0) throw new Refused(unanswered(index - 1, open));
}

function unanswered(index: number, ids: readonly unknown[]): string {
  return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
    `${
      ids.join(", ")
    }. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
}

function readBlocks(
  content: unknown,
  { at, role }: { readonly at: string; readonly role: "user" | "assistant" },
): readonly Json[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (!Array.isArray(blocks)) throw new Refused(`${at}.content: Input should be a valid list`);
  if (blocks.length === 0 || content === "") {
    throw new Refused(`${at}: ${role} messages must have non-empty content`);
  }
  for (const [index, block] of blocks.entries()) checkBlock(block, { at: `${at}.content.${index}`, role });
  return blocks;
}

function checkBlock(
  block: unknown,
  { at, role }: { readonly at: string; readonly role: "user" | "assistant" },
): void {
  const kinds = role === "user" ? USER_BLOCKS : ASSISTANT_BLOCKS;
  const type = isJson(block) ? String(block.type) : "";
  const fields = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (!isJson(block) || fields === undefined) {
    throw new Refused(
      `${at}: Input tag '${type}' found using 'type' does not match any of the expected tags: ` +
        Object.keys(kinds).join(", "),
    );
  }
  const extra = Object.keys(block).find((name) => name !== "type" && !fields.split(" ").includes(name));
  if (extra !== undefined) throw new Refused(`${at}.${type}.${extra}: Extra inputs are not permitted`);
  const mark = block.cache_control;
  if (mark !== undefined && !(isJson(mark) && mark.type === "ephemeral")) {
    throw new Refused(`${at}.${type}.cache_control: Input should be { type: "ephemeral" }`);
  }
  checkFields(block, at);
}

function checkFields(block: Json, at: string): void {
  switch (block.type) {
    case "text":
      return checkText(block, at);
    case "image":
      return checkSource(block.source, { at, types: IMAGES, kinds: ["base64", "url"] });
    case "document":
      return checkSource(block.source, { at, types: ["application/pdf"], kinds: ["base64", "url", "text"] });
    case "tool_result":
      if (typeof block.tool_use_id !== "string" || !ID.test(block.tool_use_id)) {
        throw new Refused(`${at}.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
      }
      return checkResult(block, at);
    case "thinking":
      if (typeof block.thinking !== "string" || typeof block.signature !== "string") {
        throw new Refused(`${at}.thinking.signature: Field required`);
      }
      return;
    case "redacted_thinking":
      if (typeof block.data !== "string") throw new Refused(`${at}.redacted_thinking.data: Field required`);
      return;
    case "tool_use":
    case "server_tool_use":
      if (typeof block.id !== "string" || !ID.test(block.id)) {
        throw new Refused(`${at}.${block.type}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
      }
      if (typeof block.name !== "string" || !NAME.test(block.name)) {
        throw new Refused(`${at}.${block.type}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
      }
      if (!isJson(block.input)) {
        throw new Refused(`${at}.${block.type}.input: Input should be a valid dictionary`);
      }
      return;
  }
}

function checkText(block: Json, at: string): void {
  if (typeof block.text !== "string") throw new Refused(`${at}.text.text: Field required`);
  if (block.text === "") throw new Refused("messages: text content blocks must be non-empty");
  if (block.text.trim() === "") {
    throw new Refused("messages: text content blocks must contain non-whitespace text");
  }
}

function checkSource(
  source: unknown,
  { at, kinds, types }: {
    readonly at: string;
    readonly kinds: readonly string[];
    readonly types: readonly string[];
  },
): void {
  if (!isJson(source) || !kinds.includes(String(source.type))) {
    throw new Refused(`${at}.source: Input tag does not match any of the expected tags: ${kinds.join(", ")}`);
  }
  const { data, media_type: mediaType, type, url } = source;
  if (type === "url") {
    if (!/^https?:\/\//.test(String(url))) {
      throw new Refused(`${at}.source.url.url: Only HTTPS URLs are supported.`);
    }
  } else if (type === "text") {
    if (mediaType !== "text/plain" || typeof data !== "string" || data === "") {
      throw new Refused(`${at}.source.text: document content must be non-empty`);
    }
  } else {
    if (!types.includes(String(mediaType))) {
      throw new Refused(`${at}.source.base64.media_type: Input should be ${types.join(", ")}`);
    }
    if (typeof data !== "string" || !BASE64.test(data)) {
      throw new Refused(`${at}.source.base64.data: invalid base64 data`);
    }
    checkImage(data, { at, mediaType: String(mediaType) });
  }
}

/** The service looks into an image. */
function checkImage(
  data: string,
  { at, mediaType }: { readonly at: string; readonly mediaType: string },
): void {
  const starts = { "image/png": "iVBOR", "image/jpeg": "/9j/", "image/gif": "R0lGOD", "image/webp": "UklGR" };
  const found = Object.entries(starts).find(([, start]) => data.startsWith(start))?.[0];
  if (found === undefined || found === mediaType) return;
  throw new Refused(
    `${at}.source.base64.data: Image does not match the provided media type ${mediaType}`,
  );
}

function checkResult(block: Json, at: string): void {
  const { content } = block;
  if (content === undefined || typeof content === "string") return;
  if (!Array.isArray(content)) throw new Refused(`${at}.tool_result.content: Input should be a valid list`);
  for (const [index, inner] of content.entries()) {
    const place = `${at}.tool_result.content.${index}`;
    if (isJson(inner) && inner.type === "tool_result") throw new Refused(`${place}: Input tag 'tool_result'`);
    checkBlock(inner, { at: place, role: "user" });
    if (block.is_error === true && inner.type !== "text") {
      throw new Refused(`${at}: all content must be type "text" if "is_error" is true`);
    }
  }
}

function callsOf({ blocks }: Turn): readonly unknown[] {
  return blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id);
}

function checkPairs(turns: readonly Turn[]): void {
  const seen = new Set<unknown>();
  for (const [index, turn] of turns.entries()) {
    const previous = turns[index - 1];
    const owed = previous === undefined ? [] : callsOf(previous);
    if (turn.role === "assistant") {
      for (const id of callsOf(turn)) {
        if (seen.has(id)) throw new Refused("messages: `tool_use` ids must be unique");
        seen.add(id);
      }
      if (index === turns.length - 1 && callsOf(turn).length > 0) {
        throw new Refused(unanswered(index, callsOf(turn)));
      }
      continue;
    }
    const open = new Set(owed);
    let isFirst = true;
    for (const [place, { tool_use_id: id, type }] of turn.blocks.entries()) {
      if (type !== "tool_result") {
        isFirst = false;
        continue;
      }
      if (!owed.includes(id)) {
        throw new Refused(
          `messages.${index}.content.${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        );
      }
      if (!open.delete(id)) {
        throw new Refused(
          `messages.${index}.content.${place}: each tool_use must have a single result. Found multiple ` +
            `\`tool_result\` blocks with id: ${id}`,
        );
      }
      // Anything before a result: the service does not find the result "immediately after".
      if (!isFirst) throw new Refused(unanswered(index - 1, [id]));
    }
    if (open.size > 0) throw new Refused(unanswered(index - 1, [...open]));
  }
}

/** The service's own tools: each block as it was sent, each call with its result. */
function checkServerTools(turns: readonly Turn[], memory: Memory): void {
  for (const [index, turn] of turns.entries()) {
    if (turn.role !== "assistant") continue;
    const next = turns.slice(index + 1).find(({ role }) => role === "assistant");
    const previous = turns.slice(0, index).findLast(({ role }) => role === "assistant");
    for (const [place, block] of turn.blocks.entries()) {
      if (!isServerBlock(block)) continue;
      const at = `messages.${index}.content.${place}`;
      if (memory.blocks.get(serverKey(block)) !== bare(block)) {
        throw new Refused(`${at}: Invalid \`encrypted_content\` in \`${block.type}\` block`);
      }
      if (block.type === "server_tool_use") {
        // With calls of the client's beside it, it is run when their results come; a paused one is run now.
        const where = callsOf(turn).length > 0 ? [turn, next] : [turn];
        const isAnswered = where.some((other) =>
          other?.blocks.some(({ tool_use_id: id }) => id === block.id)
        );
        const isLast = index === turns.length - 1 || (index === turns.length - 2 && callsOf(turn).length > 0);
        if (!isAnswered && !isLast) {
          throw new Refused(
            `messages.${index}: \`${block.name}\` tool use with id \`${block.id}\` was found without a ` +
              `corresponding \`${block.name}_tool_result\` block`,
          );
        }
      } else if (block.tool_use_id !== undefined) {
        const calls = [...(previous?.blocks ?? []), ...turn.blocks.slice(0, place)];
        if (!calls.some(({ id }) => id === block.tool_use_id)) {
          throw new Refused(`${at}: unexpected \`tool_use_id\` found in \`${block.type}\` blocks`);
        }
      }
    }
  }
}

/** Thinking: each block as it was sent; in the latest message, all of its answer and in its order. */
function checkThoughts(turns: readonly Turn[], memory: Memory): void {
  for (const [index, turn] of turns.entries()) {
    for (const [place, block] of turn.blocks.entries()) {
      if (!isThought(block)) continue;
      if (memory.thoughts.get(thoughtKey(block))?.json !== bare(block)) {
        throw new Refused(
          `messages.${index}.content.${place}: Invalid \`signature\` in \`${block.type}\` block`,
        );
      }
    }
    const last = turn.blocks.at(-1);
    const isPaused = index === turns.length - 1 && last !== undefined && memory.paused.has(bare(last));
    if (turn.role === "assistant" && last !== undefined && isThought(last) && !isPaused) {
      throw new Refused(`messages.${index}: The final block in an assistant message cannot be \`thinking\`.`);
    }
  }
  const latest = turns.findLastIndex(({ role }) => role === "assistant");
  const thoughts = (turns[latest]?.blocks ?? []).filter(isThought).map((block) =>
    memory.thoughts.get(thoughtKey(block))
  );
  let expected = 0;
  for (const [at, thought] of thoughts.entries()) {
    const isWhole = thought?.place === expected &&
      (thoughts[at - 1] === undefined || expected === 0 || thoughts[at - 1]?.answer === thought.answer);
    if (!isWhole) throw new Refused(modified(latest));
    expected = expected + 1 === thought.count ? 0 : expected + 1;
  }
  if (expected !== 0) throw new Refused(modified(latest));
}

function modified(index: number): string {
  return `messages.${index}.content: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message ` +
    "cannot be modified. These blocks must remain as they were in the original response.";
}

/** With a budget, the message that is being answered must begin with thinking. */
function checkBeginning(turns: readonly Turn[]): void {
  const asked = turns.findLastIndex(({ role, blocks }) =>
    role === "user" && !blocks.some(({ type }) => type === "tool_result")
  );
  const first = turns[asked + 1]?.blocks[0];
  if (first === undefined || isThought(first)) return;
  throw new Refused(
    `messages.${asked + 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found ` +
      `\`${first.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block ` +
      "(preceeding the lastmost set of `tool_use` and `tool_result` blocks). To avoid this requirement, disable " +
      "`thinking`.",
  );
}

/** A message of the assistant's at the end is a prefill, which newer models refuse, unless the answer was paused. */
function checkEnd(turns: readonly Turn[], memory: Memory): void {
  const last = turns.at(-1);
  if (last?.role !== "assistant") return;
  const block = last.blocks.at(-1);
  if (block !== undefined && memory.paused.has(bare(block))) return;
  throw new Refused(
    "This model does not support assistant message prefill. The conversation must end with a user message.",
  );
}

/** Whether a request lets the service leave out thinking that is bound to something else. */
export function dropsBlocks({ thinking }: Json): boolean {
  return isJson(thinking) && isJson(thinking.block_binding) &&
    thinking.block_binding.prefix_mismatch_behavior === "drop_block";
}

function checkBinding(body: Json, memory: Memory): void {
  const { index } = findUnbound(body, memory) ?? {};
  if (index === undefined) return;
  throw new Refused(
    `messages.${index}.content.0: Invalid \`signature\` in \`thinking\` block. The block is bound to a different ` +
      'conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
  );
}

function countMarks(body: Json): number {
  return JSON.stringify(body).split('"cache_control":{').length - 1;
}
