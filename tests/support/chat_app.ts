/** A service for chat clients, what they send, and what its model was asked. */
import type { App } from "../../src/http/app.ts";
import { createApp } from "../../src/http/mod.ts";
import type { Agent } from "../../src/loop/agent.ts";
import { type Script, scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Json } from "./chat.ts";
import { prose, tool } from "./turns.ts";
import { assertUiOrder, readUiStream } from "./ui_stream_rules.ts";

/** Tools of the service. */
export const tools = [
  tool("read", ({ n, length }) => prose(Number(length), Number(n))),
  tool("fail", () => {
    throw new Error("no disk");
  }),
  tool("json", () => ({ a: [1, null] })),
];

/** A service with a model that has a script, and the messages of each request to it. */
export function appOf(
  script: Script,
  { window, ...agent }: Partial<Agent> & { readonly window?: number } = {},
): { readonly app: App; readonly asked: Json[] } {
  const asked: Json[] = [];
  const model = scripted({
    script: (request) => {
      asked.push(structuredClone(request.messages));
      return script(request);
    },
    maxOutput: 500,
    ...(window === undefined ? {} : { window }),
  });
  return { app: createApp({ agents: { default: { model, tools, ...agent } }, store: memoryStore() }), asked };
}

/** A text of the user, as a message of the UI. */
export function text(id: string, words: string): Json {
  return { id, role: "user", parts: [{ type: "text", text: words }] };
}

/** Sends a request about the chat `c`. */
export async function post(app: App, body: Json): Promise<Response> {
  return await app.request("/api/chat", { method: "POST", body: JSON.stringify({ id: "c", ...body }) });
}

/** Sends and reads a turn; its chunks without what has no place in a message. */
export async function send(app: App, body: Json): Promise<Json[]> {
  const chunks = await readUiStream(await post(app, body));
  assertUiOrder(chunks);
  return chunks;
}

/** The messages of the chat. */
export async function history(app: App, query = ""): Promise<Json[]> {
  return await (await app.request(`/api/chat/c${query}`)).json();
}

/** Texts of messages, one letter for the role before each. */
export function outline(messages: readonly Json[]): string[] {
  return messages.map(({ role, parts }) =>
    `${role[0]} ${parts.map((part: Json) => part.text ?? "").join("")}`
  );
}
