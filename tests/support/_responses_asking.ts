/** Requests of the Responses protocol written by hand, and the double that they are sent to. */
import assert from "node:assert/strict";
import {
  type ResponsesDouble,
  type ResponsesDoubleOptions,
  startResponsesDouble,
} from "./responses_double.ts";
import type { Json } from "./wire_json.ts";

/** What a user says. */
export const user = { role: "user", content: "hi" };

/** The shortest body. */
export const base = { model: "m", store: false, input: [user] };

/** A call on the wire. */
export function call(call_id: unknown, more: Json = {}): Json {
  return { type: "function_call", call_id, name: "get", arguments: "{}", ...more };
}

/** A result on the wire. */
export function result(call_id: unknown, more: Json = {}): Json {
  return { type: "function_call_output", call_id, output: "done", ...more };
}

/** A body with one message of the user. */
export function gives(...content: unknown[]): Json {
  return { input: [{ role: "user", content }] };
}

/** A body with one tool. */
export function tool(more: Json = {}): Json {
  return {
    tools: [{ type: "function", name: "get", parameters: { type: "object" }, strict: false, ...more }],
  };
}

/** Sends a body. */
export function post(double: ResponsesDouble, body: unknown): Promise<Response> {
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(`${double.url}/responses`, { method: "POST", body: sent });
}

/** The answer to a body that is taken. */
export async function answerOf(double: ResponsesDouble, body: unknown): Promise<Json> {
  const response = await post(double, body);
  const found = await response.json();
  assert.equal(response.status, 200, JSON.stringify(found));
  return found;
}

/** The data of each frame, after its name was compared with its type and its number with its place. */
export async function framesOf(response: Response): Promise<Json[]> {
  return (await response.text()).split("\n\n").filter((frame) => frame !== "").map((frame, index) => {
    const [, name, data = ""] = /^event: ([\w.]+)\ndata: (.*)$/.exec(frame) ?? [];
    if (data.endsWith('"delta":"')) return { type: "garbage" };
    const { sequence_number, ...parsed } = JSON.parse(data);
    assert.equal(parsed.type, name);
    assert.equal(sequence_number, index);
    return parsed;
  });
}

/** A double that counts messages. */
export function start(options: Partial<ResponsesDoubleOptions> = {}): ResponsesDouble {
  return startResponsesDouble({
    script: ({ messages }) => ({ text: `got ${messages.length} messages` }),
    ...options,
  });
}
