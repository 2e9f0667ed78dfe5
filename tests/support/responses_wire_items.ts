/** What the Responses service refuses of one item by itself. */
import {
  checkLength,
  checkName,
  emptyArray,
  invalid,
  missing,
  Refused,
  wrongType,
} from "./responses_refused.ts";
import { isJson, isJsonText, type Json } from "./wire_json.ts";

const MAX_ID_CHARS = 64;

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

/** One item by itself. */
export function checkItem(item: unknown, at: string): void {
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
      if (!/^data:[^;]+;base64,[A-Za-z0-9+/]+={0,2}$/.test(String(part.file_data))) {
        throw invalid(`Invalid '${at}.file_data'. Expected a base64-encoded data URL with a MIME type.`, at);
      }
      break;
    }
    default:
      if (typeof part.text !== "string") throw missing(`${at}.text`);
      break;
  }
}
