/** What the Messages service refuses of one block by itself. */
import { isJson, type Json } from "./wire_json.ts";

/** Tells what is wrong with the first thing that is. */
export class Refused extends Error {}

/** What tools can be called. */
export const NAME = /^[A-Za-z0-9_-]{1,128}$/;
const ID = /^[A-Za-z0-9_-]+$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"];

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

/** One block: its kind, its fields, and what is in them. */
export function checkBlock(
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

/** A text with something to read in it. */
export function checkText(block: Json, at: string): void {
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
