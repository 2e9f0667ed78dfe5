/**
 * What the real Messages service refuses, written from its wire rules and from nothing of ours, so that it can
 * convict our own adapter and compaction.
 */
import { findUnbound, type Memory } from "./anthropic_wire_request.ts";
import { checkText, NAME, Refused } from "./anthropic_wire_blocks.ts";
import {
  checkBeginning,
  checkEnd,
  checkPairs,
  checkServerTools,
  checkThoughts,
  readTurns,
} from "./anthropic_wire_turns.ts";
import { hasHalfPair, isJson, type Json } from "./wire_json.ts";

/** What a request is held against. */
export interface Limits {
  readonly maxOutput: number;
  /** Values of `anthropic-beta`. */
  readonly betas: readonly string[];
  /** Whether thinking is bound to what stands before it. */
  readonly isBound: boolean;
}

const MAX_MARKS = 4;
const BINDING_BETA = "thinking-binding-controls-2026-08-01";

const PARAMETERS = new Set(
  ("model messages max_tokens system tools tool_choice stream stop_sequences temperature top_k top_p metadata " +
    "service_tier thinking container context_management mcp_servers output_config").split(" "),
);

/** Checks everything about a body but its length; null where the service would take it. */
export function findRefusal(body: unknown, memory: Memory, limits: Limits): string | null {
  try {
    if (hasHalfPair(body)) {
      throw new Refused("The request body is not valid JSON: no low surrogate in string");
    }
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
