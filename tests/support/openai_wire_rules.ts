/**
 * What the real Chat Completions service refuses, written from its wire rules and from nothing of ours, so that it
 * can convict our own adapter and compaction.
 */
import { hasHalfPair, isJson, isJsonText, type Json } from "./wire_json.ts";

/** Why a request is refused. */
export interface Refusal {
  readonly message: string;
  readonly code: string | null;
  readonly param: string | null;
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_ID_CHARS = 40;
const MAX_TOOLS = 128;

// The parameters of the service that an agent loop has a use for; any other is "unrecognized" there as well.
const PARAMETERS = new Set(
  ("model messages stream stream_options max_tokens max_completion_tokens tools tool_choice parallel_tool_calls " +
    "temperature top_p n stop seed user metadata store response_format reasoning_effort presence_penalty " +
    "frequency_penalty logit_bias logprobs top_logprobs service_tier prompt_cache_key safety_identifier verbosity")
    .split(" "),
);

const IMAGE_URL = /^(https?:\/\/[^/]|data:image\/[^;]+;base64,[A-Za-z0-9+/]+={0,2}$)/;
const FILE_DATA = /^data:[^;]+;base64,[A-Za-z0-9+/]+={0,2}$/;

/** Tells what is wrong with the first thing that is. */
class Refused extends Error {
  constructor(message: string, readonly param: string | null = null) {
    super(message);
  }
}

/** Rules that only some of the servers have which speak the protocol. */
export interface WireRules {
  /** True where the model's template takes turns of user and assistant only, as that of Mistral or Gemma does. */
  readonly alternates?: boolean;
}

/** Checks everything about a body but its length; null where the service would take it. */
export function findRefusal(body: unknown, { alternates = false }: WireRules = {}): Refusal | null {
  try {
    if (hasHalfPair(body)) {
      throw new Refused("The request body is not valid JSON: no low surrogate in string");
    }
    checkBody(body);
    if (alternates) checkRuns(body.messages);
    return null;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { message: error.message, code: null, param: error.param };
  }
}

function checkBody(body: unknown): asserts body is Json & { readonly messages: readonly Json[] } {
  if (!isJson(body)) throw new Refused("We could not parse the JSON body of your request.");
  if (typeof body.model !== "string" || body.model === "") {
    throw new Refused("you must provide a model parameter", "model");
  }
  const unknown = Object.keys(body).find((name) => !PARAMETERS.has(name));
  if (unknown !== undefined) throw new Refused(`Unrecognized request argument supplied: ${unknown}`, unknown);
  if (body.stream_options !== undefined && body.stream !== true) {
    throw new Refused(
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      "stream_options",
    );
  }
  for (const name of ["max_tokens", "max_completion_tokens"]) {
    const value = body[name];
    if (value !== undefined && !(Number.isInteger(value) && Number(value) > 0)) {
      throw new Refused(
        `Invalid '${name}': expected an integer of at least 1, but got ${value} instead.`,
        name,
      );
    }
  }
  if (body.max_tokens !== undefined && body.max_completion_tokens !== undefined) {
    throw new Refused("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.");
  }
  if (body.tools !== undefined) checkTools(body.tools);
  if (!Array.isArray(body.messages)) throw new Refused("Missing required parameter: 'messages'.", "messages");
  checkMessages(body.messages);
}

function checkTools(tools: unknown): void {
  if (!Array.isArray(tools)) throw new Refused("Invalid type for 'tools': expected an array.", "tools");
  if (tools.length === 0) {
    throw new Refused("Invalid 'tools': empty array. Expected length 1 at least.", "tools");
  }
  if (tools.length > MAX_TOOLS) {
    throw new Refused(`Invalid 'tools': array too long, over ${MAX_TOOLS}.`, "tools");
  }
  for (const [index, tool] of tools.entries()) {
    const at = `tools[${index}]`;
    if (!isJson(tool) || tool.type !== "function" || !isJson(tool.function)) {
      throw new Refused(`Invalid '${at}': expected { type: "function", function }.`, at);
    }
    checkName(tool.function.name, `${at}.function.name`);
    const { description, parameters } = tool.function;
    if (description !== undefined && typeof description !== "string") {
      throw new Refused(`Invalid type for '${at}.function.description': expected a string.`, at);
    }
    if (parameters !== undefined && !(isJson(parameters) && parameters.type === "object")) {
      throw new Refused(`Invalid schema for '${at}': schema must be a JSON Schema of 'type: "object"'.`, at);
    }
  }
}

function checkName(name: unknown, at: string): asserts name is string {
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new Refused(
      `Invalid '${at}': string does not match pattern. Expected '^[a-zA-Z0-9_-]{1,64}$'.`,
      at,
    );
  }
}

function checkMessages(messages: readonly unknown[]): void {
  if (messages.length === 0) {
    throw new Refused(
      "Invalid 'messages': empty array. Expected an array with minimum length 1.",
      "messages",
    );
  }
  // Calls of the directly preceding assistant message that wait for an answer; null where there is no such message.
  let waiting: Set<string> | null = null;
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    if (!isJson(message)) throw new Refused(`Invalid type for '${at}': expected an object.`, at);
    if (message.role !== "tool") {
      refuseWaiting(waiting, at);
      waiting = null;
    }
    switch (message.role) {
      case "system":
      case "developer":
        checkContent(message.content, `${at}.content`, ["text"]);
        break;
      case "user":
        checkContent(message.content, `${at}.content`, ["text", "image_url", "file", "input_audio"]);
        break;
      case "assistant":
        waiting = checkAssistant(message, at);
        break;
      case "tool":
        waiting = checkResult(message, waiting, at);
        break;
      default:
        throw new Refused(
          `Invalid value: '${message.role}'. Supported values are: 'system', 'assistant', …`,
          at,
        );
    }
  }
  refuseWaiting(waiting, "messages");
}

/** In the words of such templates. */
function checkRuns(messages: readonly Json[]): void {
  for (const [index, { role }] of messages.entries()) {
    if (role !== "user" || messages[index + 1]?.role !== "user") continue;
    throw new Refused("Conversation roles must alternate user/assistant/user/assistant/...");
  }
}

function refuseWaiting(waiting: ReadonlySet<string> | null, at: string): void {
  if (waiting === null || waiting.size === 0) return;
  throw new Refused(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${[...waiting].join(", ")}`,
    at,
  );
}

function checkAssistant(message: Json, at: string): Set<string> | null {
  const calls = message.tool_calls;
  const content = message.content ?? null;
  if (content === null && calls === undefined) {
    throw new Refused("Invalid value for 'content': expected a string, got null.", `${at}.content`);
  }
  if (content !== null) checkContent(content, `${at}.content`, ["text", "refusal"]);
  if (calls === undefined) return null;
  if (!Array.isArray(calls) || calls.length === 0) {
    throw new Refused(
      `Invalid '${at}.tool_calls': empty array. Expected length 1 at least.`,
      `${at}.tool_calls`,
    );
  }
  const ids = new Set<string>();
  for (const [index, call] of calls.entries()) {
    const place = `${at}.tool_calls[${index}]`;
    if (!isJson(call) || call.type !== "function" || !isJson(call.function)) {
      throw new Refused(`Invalid '${place}': expected { id, type: "function", function }.`, place);
    }
    if (typeof call.id !== "string" || call.id === "" || call.id.length > MAX_ID_CHARS) {
      throw new Refused(
        `Invalid '${place}.id': expected a string of 1 to ${MAX_ID_CHARS} characters.`,
        place,
      );
    }
    if (ids.has(call.id)) {
      throw new Refused(`Duplicate value for 'tool_call_id' of '${call.id}' in message.`, place);
    }
    ids.add(call.id);
    checkName(call.function.name, `${place}.function.name`);
    if (!isJsonText(call.function.arguments)) {
      throw new Refused(`Invalid '${place}.function.arguments': expected a string of JSON.`, place);
    }
  }
  return ids;
}

function checkResult(message: Json, waiting: Set<string> | null, at: string): Set<string> {
  const id = message.tool_call_id;
  if (typeof id !== "string") throw new Refused(`Missing required parameter: '${at}.tool_call_id'.`, at);
  if (waiting === null) {
    throw new Refused(
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      at,
    );
  }
  if (!waiting.delete(id)) {
    throw new Refused(
      `Invalid parameter: 'tool_call_id' of '${id}' is no open call of the message before it.`,
      at,
    );
  }
  checkContent(message.content, `${at}.content`, ["text"]);
  return waiting;
}

function checkContent(content: unknown, at: string, allowed: readonly string[]): void {
  if (typeof content === "string") return;
  if (!Array.isArray(content) || content.length === 0) {
    throw new Refused(`Invalid type for '${at}': expected a string or a list of parts.`, at);
  }
  for (const [index, part] of content.entries()) {
    const place = `${at}[${index}]`;
    if (!isJson(part) || typeof part.type !== "string" || !allowed.includes(part.type)) {
      throw new Refused(`Invalid '${place}.type': expected one of ${allowed.join(", ")}.`, place);
    }
    if (!isPartWhole(part)) {
      throw new Refused(`Invalid '${place}': a field of '${part.type}' is missing.`, place);
    }
  }
}

function isPartWhole(part: Json): boolean {
  switch (part.type) {
    case "text":
      return typeof part.text === "string";
    case "refusal":
      return typeof part.refusal === "string";
    case "image_url":
      return isJson(part.image_url) && IMAGE_URL.test(String(part.image_url.url));
    case "file":
      return isJson(part.file) &&
        (typeof part.file.file_id === "string" ||
          typeof part.file.filename === "string" && FILE_DATA.test(String(part.file.file_data)));
    default:
      return isJson(part[String(part.type)]);
  }
}
