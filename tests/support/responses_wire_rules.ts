/**
 * What the real Responses service refuses, written from its wire rules and from nothing of ours, so that it can convict
 * our own adapter and compaction.
 */
import { checkName, emptyArray, invalid, missing, Refused, wrongType } from "./responses_refused.ts";
import { checkItem } from "./responses_wire_items.ts";
import { checkIds, checkPairs, checkReasoning, type Issued } from "./responses_wire_order.ts";
import { hasHalfPair, isJson, type Json } from "./wire_json.ts";

/** Why a request is refused. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly code: string | null;
  readonly param: string | null;
}

/** What a request is held against. */
export interface Limits {
  /** Items of earlier answers by their ids. */
  readonly issued: ReadonlyMap<string, Issued>;
  readonly maxOutput: number;
  /** Whether the model reasons. */
  readonly reasons: boolean;
}

const MIN_OUTPUT_TOKENS = 16;
const MAX_TOOLS = 128;

const PARAMETERS = new Set(
  ("model input instructions stream stream_options store include max_output_tokens max_tool_calls tools tool_choice " +
    "parallel_tool_calls reasoning temperature top_p top_logprobs truncation text metadata user service_tier " +
    "previous_response_id conversation prompt prompt_cache_key prompt_cache_retention safety_identifier background " +
    "context_management").split(" "),
);

const INCLUDES = new Set([
  "reasoning.encrypted_content",
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "message.output_text.logprobs",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
]);

/** Checks everything about a body but its length; null where the service would take it. */
export function findRefusal(body: unknown, limits: Limits): Refusal | null {
  try {
    if (hasHalfPair(body)) {
      throw new Refused("The request body is not valid JSON: no low surrogate in string");
    }
    checkBody(body, limits);
    return null;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { message, more, param } = error;
    return { status: more.status ?? 400, message, code: more.code ?? null, param };
  }
}

function checkBody(body: unknown, limits: Limits): void {
  if (!isJson(body)) throw new Refused("We could not parse the JSON body of your request.");
  const unknown = Object.keys(body).find((name) => !PARAMETERS.has(name));
  if (unknown !== undefined) {
    throw new Refused(`Unknown parameter: '${unknown}'.`, unknown, { code: "unknown_parameter" });
  }
  if (typeof body.model !== "string" || body.model === "") throw missing("model");
  checkOutputLimit(body.max_output_tokens, limits.maxOutput);
  checkInclude(body, limits);
  if (body.instructions !== undefined && typeof body.instructions !== "string") {
    throw wrongType("instructions", "a string", body.instructions);
  }
  if (body.reasoning !== undefined && !limits.reasons) {
    throw new Refused(
      "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
      "reasoning.effort",
      {
        code: "unsupported_parameter",
      },
    );
  }
  if (typeof body.previous_response_id === "string") {
    throw new Refused(
      `Previous response with id '${body.previous_response_id}' not found.`,
      "previous_response_id",
      { code: "previous_response_not_found" },
    );
  }
  if (body.tools !== undefined) checkTools(body.tools);
  if (body.input === undefined || body.input === "") {
    throw new Refused(
      'One of "input" or "previous_response_id" or "prompt" or "conversation" must be provided.',
      "input",
      { code: "missing_required_parameter" },
    );
  }
  if (typeof body.input === "string") return;
  if (!Array.isArray(body.input)) {
    throw wrongType("input", "one of an array of objects or a string", body.input);
  }
  if (body.input.length === 0) throw emptyArray("input");
  for (const [index, item] of body.input.entries()) checkItem(item, `input[${index}]`);
  checkIds(body.input);
  checkPairs(body.input);
  checkReasoning(body.input, { ...limits, isStored: body.store !== false });
}

function checkOutputLimit(value: unknown, most: number): void {
  if (value === undefined || value === null) return;
  if (!Number.isInteger(value)) throw wrongType("max_output_tokens", "an integer", value);
  if (Number(value) < MIN_OUTPUT_TOKENS) {
    throw new Refused(
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${MIN_OUTPUT_TOKENS}, but got ` +
        `${value} instead.`,
      "max_output_tokens",
      { code: "integer_below_min_value" },
    );
  }
  if (Number(value) > most) {
    throw invalid(
      `max_output_tokens is too large: ${value}. This model supports at most ${most} output tokens.`,
      "max_output_tokens",
    );
  }
}

function checkInclude({ include }: Json, { reasons }: Limits): void {
  if (include === undefined || include === null) return;
  if (!Array.isArray(include)) throw wrongType("include", "an array", include);
  for (const [index, value] of include.entries()) {
    if (!INCLUDES.has(String(value))) {
      throw invalid(
        `Invalid value: '${value}'. Supported values are: ${
          [...INCLUDES].map((name) => `'${name}'`).join(", ")
        }.`,
        `include[${index}]`,
      );
    }
    if (value === "reasoning.encrypted_content" && !reasons) {
      throw new Refused("Encrypted content is not supported with this model.", "include");
    }
  }
}

function checkTools(tools: unknown): void {
  if (!Array.isArray(tools)) throw wrongType("tools", "an array of objects", tools);
  if (tools.length > MAX_TOOLS) {
    throw new Refused(`Invalid 'tools': array too long. Expected at most ${MAX_TOOLS}.`, "tools", {
      code: "array_above_max_length",
    });
  }
  const names = new Set<unknown>();
  for (const [index, tool] of tools.entries()) {
    const at = `tools[${index}]`;
    if (!isJson(tool)) throw wrongType(at, "an object", tool);
    if (tool.type === undefined) throw missing(`${at}.type`);
    if (tool.type !== "function") {
      if (/^(web_search|file_search|code_interpreter|image_generation|mcp)/.test(String(tool.type))) continue;
      throw invalid(
        `Invalid value: '${tool.type}'. Supported values are: 'function', 'web_search', …`,
        `${at}.type`,
      );
    }
    // The place where Chat Completions has it.
    if (tool.name === undefined) throw missing(`${at}.name`);
    checkName(tool.name, `${at}.name`);
    if (names.has(tool.name)) throw invalid(`Duplicate tool name '${tool.name}'.`, at);
    names.add(tool.name);
    if (tool.description !== undefined && typeof tool.description !== "string") {
      throw wrongType(`${at}.description`, "a string", tool.description);
    }
    checkSchema(tool, at);
  }
}

function checkSchema({ name, parameters, strict = true }: Json, at: string): void {
  if (!isJson(parameters) || parameters.type !== "object") {
    throw new Refused(
      `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"', got 'type: ` +
        `"${isJson(parameters) ? parameters.type : "None"}"'.`,
      `${at}.parameters`,
      { code: "invalid_function_parameters" },
    );
  }
  if (strict !== true) return;
  const required = Array.isArray(parameters.required) ? parameters.required : [];
  const properties = isJson(parameters.properties) ? Object.keys(parameters.properties) : [];
  if (parameters.additionalProperties === false && properties.every((key) => required.includes(key))) return;
  throw new Refused(
    `Invalid schema for function '${name}': In context=(), 'additionalProperties' is required to be supplied and to ` +
      "be false, and 'required' to include every key in properties.",
    `${at}.parameters`,
    { code: "invalid_function_parameters" },
  );
}
