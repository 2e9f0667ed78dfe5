/**
 * What the real Responses service refuses, written from its wire rules and from nothing of ours, so that it can convict
 * our own adapter and compaction. Longer than most files: the rules are to be read in one go.
 */
import { isJson, type Json } from "./wire_json.ts";

export { isJson, type Json };

/** Why a request is refused. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly code: string | null;
  readonly param: string | null;
}

/** What the service can tell of an item that it has made, even where it stores nothing: the content is sealed. */
export interface Issued {
  /** The item as it was sent. */
  readonly json: string;
  /** Id of the reasoning directly before it, where there was one. */
  readonly before: string | null;
  /** Id of the item directly behind it, null at the end. */
  readonly next: string | null;
}

/** What a request is held against. */
export interface Limits {
  /** Items of earlier answers by their ids. */
  readonly issued: ReadonlyMap<string, Issued>;
  readonly maxOutput: number;
  /** Whether the model reasons. */
  readonly reasons: boolean;
}

const NAME = /^[A-Za-z0-9_-]+$/;
const MAX_NAME_CHARS = 64;
const MAX_ID_CHARS = 64;
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

/** Fields of each kind of item beside its type, and the prefix of its id; any other field is unknown there as well. */
const ITEMS: Readonly<Record<string, readonly [prefix: string, fields: string]>> = {
  message: ["msg_", "id role content status phase"],
  reasoning: ["rs_", "id summary content encrypted_content status"],
  function_call: ["fc_", "id call_id name arguments status namespace caller async"],
  function_call_output: ["fc_", "id call_id output status"],
  web_search_call: ["ws_", "id action status"],
  file_search_call: ["fs_", "id queries results status"],
  code_interpreter_call: ["ci_", "id code container_id outputs status"],
  image_generation_call: ["ig_", "id result status revised_prompt"],
  mcp_list_tools: ["mcpl_", "id server_label tools error"],
  mcp_call: ["mcp_", "id server_label name arguments output error status approval_request_id"],
  compaction: ["cmp_", "id encrypted_content"],
};

/** Items of tools that the service runs itself. */
const HOSTED = new Set(
  "web_search_call file_search_call code_interpreter_call image_generation_call mcp_list_tools mcp_call"
    .split(" "),
);

/** Tells what is wrong with the first thing that is. */
class Refused extends Error {
  constructor(
    message: string,
    readonly param: string | null = null,
    readonly more: { readonly code?: string; readonly status?: number } = {},
  ) {
    super(message);
  }
}

/** Checks everything about a body but its length; null where the service would take it. */
export function findRefusal(body: unknown, limits: Limits): Refusal | null {
  try {
    checkBody(body, limits);
    return null;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { message, more, param } = error;
    return { status: more.status ?? 400, message, code: more.code ?? null, param };
  }
}

function invalid(message: string, param: string): Refused {
  return new Refused(message, param, { code: "invalid_value" });
}

function missing(param: string): Refused {
  return new Refused(`Missing required parameter: '${param}'.`, param, {
    code: "missing_required_parameter",
  });
}

function wrongType(param: string, wanted: string, found: unknown): Refused {
  const kind = Array.isArray(found) ? "an array" : found === null ? "null" : `a ${typeof found}`;
  return new Refused(`Invalid type for '${param}': expected ${wanted}, but got ${kind} instead.`, param, {
    code: "invalid_type",
  });
}

function emptyArray(param: string): Refused {
  return new Refused(
    `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
    param,
    { code: "empty_array" },
  );
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

function checkName(name: unknown, at: string): void {
  if (typeof name !== "string") throw wrongType(at, "a string", name);
  checkLength(name, at, { most: MAX_NAME_CHARS });
  if (!NAME.test(name)) {
    throw invalid(
      `Invalid '${at}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      at,
    );
  }
}

function checkLength(text: string, at: string, { most }: { readonly most: number }): void {
  if (text === "") {
    throw new Refused(
      `Invalid '${at}': empty string. Expected a string with minimum length 1, but got an empty string instead.`,
      at,
      { code: "empty_string" },
    );
  }
  if (text.length > most) {
    throw new Refused(
      `Invalid '${at}': string too long. Expected a string with maximum length ${most}, but got a string with length ` +
        `${text.length} instead.`,
      at,
      { code: "string_above_max_length" },
    );
  }
}

/** One item by itself. */
function checkItem(item: unknown, at: string): void {
  if (!isJson(item)) throw wrongType(at, "an object", item);
  const { type = item.role === undefined ? undefined : "message" } = item;
  if (type === undefined) throw missing(`${at}.type`);
  const known = Object.hasOwn(ITEMS, String(type)) ? ITEMS[String(type)] : undefined;
  if (known === undefined) {
    const kinds = Object.keys(ITEMS).map((name) => `'${name}'`).join(", ");
    throw invalid(`Invalid value: '${type}'. Supported values are: ${kinds}.`, at);
  }
  const [prefix, fields] = known;
  const extra = Object.keys(item).find((name) => name !== "type" && !fields.split(" ").includes(name));
  if (extra !== undefined) {
    throw new Refused(`Unknown parameter: '${at}.${extra}'.`, `${at}.${extra}`, {
      code: "unknown_parameter",
    });
  }
  if (item.id !== undefined) {
    if (typeof item.id !== "string") throw wrongType(`${at}.id`, "a string", item.id);
    checkLength(item.id, `${at}.id`, { most: MAX_ID_CHARS });
    if (!item.id.startsWith(prefix)) {
      throw invalid(
        `Invalid '${at}.id': '${item.id}'. Expected an ID that begins with '${prefix.slice(0, -1)}'.`,
        `${at}.id`,
      );
    }
  }
  switch (type) {
    case "message":
      checkMessage(item, at);
      break;
    case "function_call":
      checkCallId(item, at);
      if (item.name === undefined) throw missing(`${at}.name`);
      checkName(item.name, `${at}.name`);
      if (typeof item.arguments !== "string") throw wrongType(`${at}.arguments`, "a string", item.arguments);
      if (!isJsonText(item.arguments)) {
        throw invalid(`Invalid '${at}.arguments': expected a string of JSON.`, `${at}.arguments`);
      }
      break;
    case "function_call_output":
      checkCallId(item, at);
      if (item.output === undefined) throw missing(`${at}.output`);
      checkContent(item.output, `${at}.output`, ["input_text", "input_image", "input_file"]);
      break;
    case "reasoning":
      if (!Array.isArray(item.summary)) throw missing(`${at}.summary`);
      break;
    default:
      if (item.id === undefined) throw missing(`${at}.id`);
      break;
  }
}

function checkCallId({ call_id }: Json, at: string): void {
  if (call_id === undefined) throw missing(`${at}.call_id`);
  if (typeof call_id !== "string") throw wrongType(`${at}.call_id`, "a string", call_id);
  checkLength(call_id, `${at}.call_id`, { most: MAX_ID_CHARS });
}

function checkMessage({ content, id, role, status }: Json, at: string): void {
  const roles = ["assistant", "system", "developer", "user"];
  if (!roles.includes(String(role))) {
    throw invalid(
      `Invalid value: '${role}'. Supported values are: ${roles.map((name) => `'${name}'`).join(", ")}.`,
      `${at}.role`,
    );
  }
  if (content === undefined) throw missing(`${at}.content`);
  const isSaid = role === "assistant";
  // With an id it is an output item, which has a status and a list of parts.
  if (id !== undefined && (!isSaid || !Array.isArray(content) || status === undefined)) {
    throw missing(`${at}.status`);
  }
  checkContent(
    content,
    `${at}.content`,
    isSaid ? ["output_text", "refusal"] : ["input_text", "input_image", "input_file"],
  );
}

function checkContent(content: unknown, at: string, allowed: readonly string[]): void {
  if (typeof content === "string") return;
  if (!Array.isArray(content)) throw wrongType(at, "one of an array of objects or a string", content);
  if (content.length === 0) throw emptyArray(at);
  for (const [index, part] of content.entries()) {
    const place = `${at}[${index}]`;
    if (!isJson(part)) throw wrongType(place, "an object", part);
    if (!allowed.includes(String(part.type))) {
      throw invalid(
        `Invalid value: '${part.type}'. Supported values are: ${
          allowed.map((name) => `'${name}'`).join(", ")
        }.`,
        place,
      );
    }
    checkPart(part, place);
  }
}

function checkPart(part: Json, at: string): void {
  switch (part.type) {
    case "refusal":
      if (typeof part.refusal !== "string") throw missing(`${at}.refusal`);
      break;
    case "input_image": {
      if (typeof part.file_id === "string") break;
      if (part.image_url === undefined) throw missing(`${at}.image_url`);
      const url = String(part.image_url);
      if (/^https?:\/\//.test(url)) break;
      const [, kind, data] = /^data:([^;]+);base64,(.*)$/s.exec(url) ?? [];
      if (kind === undefined || data === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) {
        throw invalid(
          `Invalid '${at}.image_url'. Expected a valid URL, but got a value with an invalid format.`,
          `${at}.image_url`,
        );
      }
      if (!/^image\/(png|jpe?g|gif|webp)$/.test(kind)) {
        throw new Refused(
          "You uploaded an unsupported image. Please make sure your image has of one the following formats: " +
            "['png', 'jpeg', 'gif', 'webp'].",
          at,
          { code: "invalid_image_format" },
        );
      }
      break;
    }
    case "input_file": {
      const ways = [part.file_id, part.file_url, part.file_data].filter((value) => value !== undefined);
      if (ways.length !== 1) throw missing(`${at}.file_data`);
      if (part.file_data === undefined) break;
      if (typeof part.filename !== "string") throw missing(`${at}.filename`);
      if (!/^data:[^;]+;base64,./.test(String(part.file_data))) {
        throw invalid(`Invalid '${at}.file_data'. Expected a base64-encoded data URL with a MIME type.`, at);
      }
      break;
    }
    default:
      if (typeof part.text !== "string") throw missing(`${at}.text`);
      break;
  }
}

/** No item twice, by its id. */
function checkIds(input: readonly Json[]): void {
  const seen = new Set<unknown>();
  for (const { id } of input) {
    if (id === undefined) continue;
    if (seen.has(id)) {
      throw new Refused(
        `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
        "input",
      );
    }
    seen.add(id);
  }
}

/** Every call has its output somewhere behind it, every output its call before it. */
function checkPairs(input: readonly Json[]): void {
  const open = new Set<unknown>();
  const calls = new Set<unknown>();
  for (const { call_id, type } of input) {
    if (type === "function_call") {
      if (calls.has(call_id)) throw new Refused(`Duplicate function call id ${call_id}.`, "input");
      calls.add(call_id);
      open.add(call_id);
    } else if (type === "function_call_output" && !open.delete(call_id)) {
      throw new Refused(`No tool call found for function call output with call_id ${call_id}.`, "input");
    }
  }
  for (const call of open) throw new Refused(`No tool output found for function call ${call}.`, "input");
}

function checkReasoning(
  input: readonly Json[],
  { isStored, issued }: Limits & { readonly isStored: boolean },
): void {
  for (const [index, item] of input.entries()) {
    const { id, type } = item;
    const known = issued.get(String(id));
    if (type === "reasoning") checkSealed(item, known, isStored);
    if (HOSTED.has(String(type)) && known === undefined) notStored(id);
    const before = input[index - 1];
    if (typeof known?.before === "string" && before?.id !== known.before) {
      throw new Refused(
        `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${known.before}'.`,
        "input",
      );
    }
    if (type === "reasoning" && !isFollowed(known, input[index + 1])) {
      throw new Refused(
        `Item '${id}' of type 'reasoning' was provided without its required following item.`,
        "input",
      );
    }
  }
}

function notStored(id: unknown): never {
  throw new Refused(
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` ` +
      "set to true, or remove this item from your input.",
    "input",
    { status: 404 },
  );
}

function checkSealed(item: Json, known: Issued | undefined, isStored: boolean): void {
  if (typeof item.encrypted_content !== "string" || item.encrypted_content === "") {
    if (known === undefined || !isStored) notStored(item.id);
    return;
  }
  if (known === undefined || JSON.stringify(item) !== known.json) {
    throw new Refused(
      `The encrypted content for item ${item.id} could not be verified. Reason: Encrypted content could not be ` +
        "decrypted or parsed.",
      null,
      { code: "invalid_encrypted_content" },
    );
  }
}

/** Whether what followed the reasoning in its answer follows it again: by its id where it has one. */
function isFollowed(known: Issued | undefined, next: Json | undefined): boolean {
  if (next === undefined || known?.next === null) return false;
  const isOutput = next.role === "assistant" || next.type === "function_call" || next.type === "reasoning" ||
    HOSTED.has(String(next.type));
  return isOutput && (next.id === undefined || next.id === known?.next);
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
