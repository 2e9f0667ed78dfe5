import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import type { ModelSettings } from "../../src/core/settings.ts";
import { aiSdk } from "../../src/models/ai_sdk.ts";
import { anthropic } from "../../src/models/anthropic.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { openaiResponses } from "../../src/models/openai_responses.ts";
import type { Model, ToolSchema } from "../../src/ports.ts";
import { startAnthropicDouble } from "../support/anthropic_double.ts";
import { startDouble } from "../support/openai_double.ts";
import { startResponsesDouble } from "../support/responses_double.ts";

type Fields = Readonly<Record<string, unknown>>;

const schema = { type: "object", properties: { a: { type: "string" } }, additionalProperties: false };
const tool: ToolSchema = {
  name: "look",
  description: "Looks",
  inputSchema: { type: "object", properties: {} },
};
const script = () => ({ text: "Fine." });

/** What a model is sent for some settings, the fields that every request has left out. */
async function sent(
  model: (url: string) => Model,
  double: {
    readonly url: string;
    readonly requests: readonly Fields[];
    readonly violations: readonly string[];
  },
  { settings, tools = [tool] }: {
    readonly settings: ModelSettings;
    readonly tools?: readonly ToolSchema[];
  },
): Promise<Fields> {
  const request = {
    system: "",
    messages: [{ role: "user" as const, content: "Hi" }],
    tools,
    maxOutput: 2_000,
  };
  const ask = async (more: { readonly settings?: ModelSettings }): Promise<Fields> => {
    await Array.fromAsync(model(double.url).stream({ ...request, ...more }, new AbortController().signal));
    return double.requests.at(-1) ?? {};
  };
  const bare = await ask({});
  const set = await ask({ settings });
  assert.deepEqual(double.violations, []);
  const lost = Object.keys(bare).filter((name) => !(name in set));
  const changed = Object.entries(set).filter(([name, value]) =>
    JSON.stringify(value) !== JSON.stringify(bare[name])
  );
  return { ...Object.fromEntries(changed), ...Object.fromEntries(lost.map((name) => [name, undefined])) };
}

const ALL: ModelSettings = {
  temperature: 1.5,
  topP: 0.5,
  presencePenalty: 0.1,
  frequencyPenalty: 0.2,
  stop: ["END"],
  seed: 7,
  effort: "low",
  toolChoice: { tool: "look" },
  parallelToolCalls: false,
  format: { kind: "json-schema", name: "answer", schema, strict: true },
};

const chat = (baseURL: string): Model => openaiChat({ model: "m", baseURL });
const messages = (baseURL: string): Model => anthropic({ model: "m", baseURL, apiKey: "k" });
const thinking = (baseURL: string): Model =>
  anthropic({ model: "m", baseURL, apiKey: "k", thinking: { budgetTokens: 1_024 } });
const responses = (baseURL: string): Model => openaiResponses({ model: "m", baseURL });

Deno.test("openaiChat() passes every setting on", async () => {
  await using double = startDouble({ script });
  assert.deepEqual(await sent(chat, double, { settings: ALL }), {
    temperature: 1.5,
    top_p: 0.5,
    presence_penalty: 0.1,
    frequency_penalty: 0.2,
    stop: ["END"],
    seed: 7,
    reasoning_effort: "low",
    response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } },
    tool_choice: { type: "function", function: { name: "look" } },
    parallel_tool_calls: false,
  });
});

Deno.test("openaiChat() says nothing about tools where there are none", async () => {
  await using double = startDouble({ script });
  const settings: ModelSettings = { toolChoice: "none", parallelToolCalls: true, format: { kind: "json" } };
  assert.deepEqual(await sent(chat, double, { settings, tools: [] }), {
    response_format: { type: "json_object" },
  });
});

Deno.test("openaiResponses() passes on what its protocol has a place for", async () => {
  await using double = startResponsesDouble({ script, reasons: true });
  assert.deepEqual(await sent(responses, double, { settings: ALL }), {
    temperature: 1.5,
    top_p: 0.5,
    reasoning: { effort: "low" },
    text: { format: { type: "json_schema", name: "answer", schema, strict: true } },
    tool_choice: { type: "function", name: "look" },
    parallel_tool_calls: false,
  });
});

Deno.test("anthropic() passes on what its protocol has a place for", async () => {
  await using double = startAnthropicDouble({ script });
  assert.deepEqual(await sent(messages, double, { settings: ALL }), {
    temperature: 1,
    stop_sequences: ["END"],
    tool_choice: { type: "tool", name: "look", disable_parallel_tool_use: true },
    output_config: { format: { type: "json_schema", schema } },
  });
});

Deno.test("anthropic() tells a model that thinks neither how to draw nor what to call", async () => {
  await using double = startAnthropicDouble({ script });
  const auto = await sent(thinking, double, {
    settings: { temperature: 0.2, topP: 0.9, toolChoice: "auto", parallelToolCalls: false },
  });
  assert.deepEqual(auto, { tool_choice: { type: "auto", disable_parallel_tool_use: true } });
  // A call that is forced goes before thinking, which the service would refuse beside it.
  const forced = await sent(thinking, double, { settings: { toolChoice: "required" } });
  assert.deepEqual(forced, { thinking: undefined, tool_choice: { type: "any" } });
});

Deno.test("anthropic() refuses a form of the answer that it cannot ask for", async () => {
  await using double = startAnthropicDouble({ script });
  await assert.rejects(
    () => sent(messages, double, { settings: { format: { kind: "json" } } }),
    (error) => error instanceof SelvageError && error.code === "setting_unsupported",
  );
  assert.equal(double.requests.length, 1, "only the request without settings was sent");
});

Deno.test("aiSdk() passes on what the interface has a place for", async () => {
  const asked: Fields[] = [];
  const model = aiSdk({
    specificationVersion: "v4",
    provider: "example",
    modelId: "m",
    doStream: (options) => {
      asked.push({ ...options });
      const parts = [{ type: "finish", finishReason: { unified: "stop" } }];
      return Promise.resolve({ stream: ReadableStream.from(parts) });
    },
  });
  const request = { system: "", messages: [{ role: "user" as const, content: "Hi" }], tools: [tool] };
  await Array.fromAsync(
    model.stream({ ...request, maxOutput: 9, settings: ALL }, new AbortController().signal),
  );
  const { prompt: _, tools: __, abortSignal: ___, maxOutputTokens: ____, ...settings } = asked[0] ?? {};
  assert.deepEqual(settings, {
    temperature: 1.5,
    topP: 0.5,
    presencePenalty: 0.1,
    frequencyPenalty: 0.2,
    stopSequences: ["END"],
    seed: 7,
    reasoning: "low",
    responseFormat: { type: "json", schema, name: "answer" },
    toolChoice: { type: "tool", toolName: "look" },
  });
});
