/** Requests of the Messages protocol written by hand, and the double that they are sent to. */
import assert from "node:assert/strict";
import {
  type AnthropicDouble,
  type AnthropicDoubleOptions,
  startAnthropicDouble,
} from "./anthropic_double.ts";
import type { Json } from "./wire_json.ts";

/** What a user says. */
export const user = { role: "user", content: "hi" };

/** The shortest body. */
export const base = { model: "m", max_tokens: 100, messages: [user] };

/** Headers of a request that is let in. */
export const HEADERS = { "x-api-key": "k", "anthropic-version": "2023-06-01" };

/** A message of the model. */
export function asks(...content: unknown[]): Json {
  return { role: "assistant", content };
}

/** A message of the user. */
export function gives(...content: unknown[]): Json {
  return { role: "user", content };
}

/** A call on the wire. */
export function call(id: unknown, more: Json = {}): Json {
  return { type: "tool_use", id, name: "get", input: {}, ...more };
}

/** A result on the wire. */
export function result(id: unknown, more: Json = {}): Json {
  return { type: "tool_result", tool_use_id: id, content: "done", ...more };
}

/** A text block. */
export function text(value: string, more: Json = {}): Json {
  return { type: "text", text: value, ...more };
}

/** Sends a body. */
export function post(
  double: AnthropicDouble,
  body: unknown,
  headers: HeadersInit = HEADERS,
): Promise<Response> {
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(`${double.url}/v1/messages`, { method: "POST", body: sent, headers });
}

/** The answer to a body that is taken. */
export async function answerOf(
  double: AnthropicDouble,
  body: unknown,
): Promise<{ readonly content: readonly Json[] }> {
  const response = await post(double, body);
  const found = await response.json();
  assert.equal(response.status, 200, JSON.stringify(found));
  return found;
}

/** The data of each frame, after its name was compared with its type. */
export async function framesOf(response: Response): Promise<Json[]> {
  return (await response.text()).split("\n\n").filter((frame) => frame !== "").map((frame) => {
    const [, name, data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
    if (data.endsWith("{")) return { type: "garbage" };
    const parsed = JSON.parse(data);
    assert.equal(parsed.type, name);
    return parsed;
  });
}

/** A double that counts messages. */
export function start(options: Partial<AnthropicDoubleOptions> = {}): AnthropicDouble {
  return startAnthropicDouble({
    script: ({ messages }) => ({ text: `got ${messages.length} messages` }),
    ...options,
  });
}

/** An image. */
export const png = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };

/** What marks a block for the cache. */
export const mark = { cache_control: { type: "ephemeral" } };
