/** An app whose model has nothing to do, and ways to post transcripts to it. */
import { equal, match } from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Json } from "./chat.ts";

export const model = scripted({ script: () => ({ text: "Hello." }) });
export const app = createApp({ agents: { default: { model } }, store: memoryStore() });

/** Posts a body, text as it is. */
export async function send(
  route: string,
  body: unknown,
): Promise<{ status: number; type: string; text: string }> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await app.request(`/v1/${route}`, { method: "POST", body: text });
  return {
    status: response.status,
    type: response.headers.get("content-type") ?? "",
    text: await response.text(),
  };
}

/** What a route answers that takes a body. */
export async function post(route: string, body: unknown): Promise<Json> {
  const { status, type, text } = await send(route, body);
  equal(status, 200, text.slice(0, 500));
  match(type, /^application\/json/);
  return JSON.parse(text);
}

/** The problem that a route answers with. */
export async function refused(route: string, body: unknown): Promise<Json> {
  const { status, type, text } = await send(route, body);
  equal(type, "application/problem+json", text.slice(0, 500));
  const problem = JSON.parse(text);
  equal(problem.status, status);
  return problem;
}
