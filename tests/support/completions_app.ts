/** A service for clients of Chat Completions, and what its model was asked. */
import { createApp } from "../../src/http/mod.ts";
import type { AppOptions } from "../../src/http/options.ts";
import type { Agent } from "../../src/loop/agent.ts";
import { type Script, scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Json } from "./chat.ts";
import { watch } from "./watched.ts";

/** What a service is made of: its one agent and the window of its model, what is in every request, and the rest. */
export interface CompletionsAppOptions extends Partial<AppOptions> {
  readonly agent?: Partial<Agent>;
  readonly window?: number;
  readonly fields?: Json;
}

/** Makes a service whose one agent has a model with a script. */
export function completionsApp(
  script: Script,
  { agent = {}, window, fields = {}, ...options }: CompletionsAppOptions = {},
) {
  const watched = watch(script);
  const limits = window === undefined ? {} : { window, maxOutput: 500 };
  const store = memoryStore();
  const app = createApp({
    agents: { default: { model: scripted({ script: watched.script, ...limits }), ...agent } },
    store,
    ...options,
  });
  const post = (body: Json, headers: Record<string, string> = {}): Promise<Response> =>
    Promise.resolve(app.request("/v1/chat/completions", {
      method: "POST",
      body: JSON.stringify({ model: "default", ...fields, ...body }),
      headers,
    }));
  const complete = async (body: Json, headers: Record<string, string> = {}): Promise<Json> =>
    await (await post(body, headers)).json();
  return { app, post, complete, requests: watched.requests, store };
}
