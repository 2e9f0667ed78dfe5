/** The order of chunks in a UI message stream of the AI SDK, and what each of them must have. */
import assert from "node:assert/strict";
import type { AnyJson as Json } from "./any_json.ts";
import { dataOf } from "./sse.ts";

/** Fields that a chunk must have, by its type; a chunk of another type ends a client's run. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  "start": ["messageId"],
  "start-step": [],
  "finish-step": [],
  "text-start": ["id"],
  "text-delta": ["id", "delta"],
  "text-end": ["id"],
  "reasoning-start": ["id"],
  "reasoning-delta": ["id", "delta"],
  "reasoning-end": ["id"],
  "tool-input-start": ["toolCallId", "toolName"],
  "tool-input-delta": ["toolCallId", "inputTextDelta"],
  "tool-input-available": ["toolCallId", "toolName", "input"],
  "tool-output-available": ["toolCallId", "output"],
  "tool-output-error": ["toolCallId", "errorText"],
  "tool-output-denied": ["toolCallId"],
  "tool-approval-request": ["approvalId", "toolCallId"],
  "file": ["url", "mediaType"],
  "data-context": ["data", "transient"],
  "data-compaction": ["data"],
  "data-user-message": ["data", "id"],
  "error": ["errorText"],
  "abort": [],
  "finish": ["finishReason"],
};

/** Reads a stream to its end: its chunks, after checking frames and end mark. */
export async function readUiStream(response: Response): Promise<Json[]> {
  assert.equal(response.status, 200, await (response.status === 200 ? "" : response.clone().text()));
  assert.equal(response.headers.get("x-vercel-ai-ui-message-stream"), "v1");
  assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
  return chunksOf(await response.text());
}

/** The chunks of a whole stream. */
export function chunksOf(text: string): Json[] {
  const data = dataOf(text);
  assert.equal(data.indexOf("[DONE]"), data.length - 1, "[DONE] comes once, last");
  return data.slice(0, -1).map((json) => JSON.parse(json));
}

/**
 * Fails unless chunks follow the order that clients hold a stream to.
 *
 * @param chunks The whole stream.
 * @param known Ids of calls that the client has from an earlier stream of the message.
 */
export function assertUiOrder(chunks: readonly Json[], known: readonly string[] = []): void {
  let [isStarted, isInStep, end] = [false, false, ""];
  const open = new Set<string>();
  const used = new Set<string>();
  const calls = new Map<string, "streaming" | "available" | "answered">(
    known.map((id) => [id, "available"]),
  );
  const fail = (at: number, why: string): never =>
    assert.fail(`chunk ${at}: ${why}: ${JSON.stringify(chunks[at])}`);
  for (const [at, chunk] of chunks.entries()) {
    const { type } = chunk;
    const fields = FIELDS[type] ?? fail(at, "no such type");
    for (const field of fields) if (chunk[field] === undefined) fail(at, `no ${field}`);
    if (isStarted !== (type !== "start")) fail(at, "one start, first");
    if (end !== "" && end !== "error") fail(at, `nothing comes behind ${end}`);
    const kind = type.split("-")[0];
    switch (type) {
      case "start":
        isStarted = true;
        break;
      case "start-step":
        if (isInStep) fail(at, "a step in a step");
        isInStep = true;
        break;
      case "finish-step":
        if (!isInStep || open.size > 0) fail(at, `no step, or ${[...open]} open`);
        isInStep = false;
        break;
      case "text-start":
      case "reasoning-start":
        if (!isInStep || used.has(chunk.id)) fail(at, "outside of a step, or an id twice");
        used.add(chunk.id);
        open.add(`${kind} ${chunk.id}`);
        break;
      case "text-delta":
      case "reasoning-delta":
        if (!open.has(`${kind} ${chunk.id}`)) fail(at, "it was not started");
        break;
      case "text-end":
      case "reasoning-end":
        if (!open.delete(`${kind} ${chunk.id}`)) fail(at, "it was not started");
        break;
      case "tool-input-start":
        if (!isInStep || calls.has(chunk.toolCallId)) fail(at, "outside of a step, or a call twice");
        calls.set(chunk.toolCallId, "streaming");
        break;
      case "tool-input-delta":
        if (calls.get(chunk.toolCallId) !== "streaming") fail(at, "its input is not being streamed");
        break;
      case "tool-input-available":
        if ((calls.get(chunk.toolCallId) ?? "streaming") !== "streaming") fail(at, "a call twice");
        calls.set(chunk.toolCallId, "available");
        break;
      case "tool-approval-request":
        if (calls.get(chunk.toolCallId) !== "available") fail(at, "its call is not at hand");
        break;
      case "tool-output-available":
      case "tool-output-denied":
      case "tool-output-error":
        if (!calls.has(chunk.toolCallId) || calls.get(chunk.toolCallId) === "answered") {
          fail(at, "no such call, or a second answer");
        }
        if (chunk.preliminary !== true) calls.set(chunk.toolCallId, "answered");
        break;
      case "error":
      case "abort":
      case "finish":
        if (type === "finish" && isInStep) fail(at, "a step is open");
        if (end === "error" && type === "error") fail(at, "a second error");
        end = type;
        break;
    }
  }
  assert.notEqual(end, "", "the stream says how it ends");
  if (end !== "finish") return;
  assert.deepEqual([...open], []);
}
