/** Packages of the AI SDK over the doubles' bytes: their models give the events that our own adapters give. */
import assert from "node:assert/strict";
import { aiSdk } from "../../src/models/ai_sdk.ts";
import { keepResponses } from "../../src/models/keep_responses.ts";
import type { AiSdkLanguageModel } from "../../src/models/ai_sdk_types.ts";
import type { ModelEvent } from "../../src/ports.ts";
import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from "npm:@ai-sdk/provider@4.0.38";
import { startAnthropicDouble } from "../support/anthropic_double.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { startGeminiDouble } from "../support/gemini_double.ts";
import { startDouble } from "../support/openai_double.ts";
import { collect, request } from "./_answers.ts";
import { type Dialect, DIALECTS } from "./_dialects.ts";
import { PNG } from "./_messages.ts";
import { REPLIES } from "./_replies.ts";

function dialect(name: string): Dialect {
  const found = DIALECTS.find((other) => other.name === name);
  assert.ok(found !== undefined, name);
  return found;
}

async function read(name: string, reads: readonly Uint8Array[]): Promise<ModelEvent[]> {
  const model = await dialect(name).model({ fetch: fakeFetch({ reads }).fetch, thinks: true });
  return await collect(model);
}

/** Events with neighbours of one kind joined: how many parts a text comes in is nobody's promise. */
function joined(events: readonly ModelEvent[]): readonly ModelEvent[] {
  const all: ModelEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    if (last?.type === "tool.input.delta" && event.type === "tool.input.delta" && last.call === event.call) {
      all[all.length - 1] = { ...last, delta: last.delta + event.delta };
    } else if (
      (last?.type === "text.delta" && event.type === "text.delta") ||
      (last?.type === "reasoning.delta" && event.type === "reasoning.delta")
    ) all[all.length - 1] = { ...last, text: last.text + event.text };
    else all.push(event);
  }
  return all;
}

Deno.test.each(REPLIES)(
  "aiSdk() over @ai-sdk/openai-compatible reads %s as openaiChat() does",
  async (_, reply) => {
    await using double = startDouble({ script: () => reply });
    const response = await fetch(`${double.url}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({
        model: "m",
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: "user", content: "hi" }],
      }),
    });
    const reads = await Array.fromAsync(response.body ?? []);
    const events = await read("openaiChat()", reads);
    assert.ok(events.length > 1);
    assert.deepEqual(joined(await read("aiSdk() over @ai-sdk/openai-compatible", reads)), joined(events));
  },
);

Deno.test.each(REPLIES)("aiSdk() over @ai-sdk/anthropic reads %s as anthropic() does", async (_, reply) => {
  await using double = startAnthropicDouble({ script: () => reply });
  const response = await fetch(`${double.url}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": "k", "anthropic-version": "2023-06-01" },
    body: JSON.stringify({
      model: "m",
      max_tokens: 4_000,
      stream: true,
      thinking: { type: "enabled", budget_tokens: 2_000 },
      messages: [{ role: "user", content: "hi" }],
    }),
  });
  const reads = await Array.fromAsync(response.body ?? []);
  const events = await read("anthropic()", reads);
  assert.ok(events.length > 1);
  assert.deepEqual(joined(await read("aiSdk() over @ai-sdk/anthropic", reads)), joined(events));
});

Deno.test.each(REPLIES)("aiSdk() over @ai-sdk/google reads %s as its double meant it", async (_, reply) => {
  await using double = startGeminiDouble({ script: () => reply });
  const model = await dialect("aiSdk() over @ai-sdk/google").model({ baseURL: double.url });
  const events = joined(await collect(model));
  const { calls = [], reasoning, text } = reply;
  assert.deepEqual(events.slice(0, -1), [
    ...(reasoning === undefined ? [] : [{ type: "reasoning.delta", text: reasoning }]),
    ...(text === undefined ? [] : [{ type: "text.delta", text }]),
    ...calls.map(({ input, name }, call) => ({
      type: "tool.input.delta",
      call,
      name,
      delta: JSON.stringify(input),
    })),
  ]);
  const finish = events.at(-1);
  assert.ok(finish?.type === "finish");
  assert.equal(finish.reason, calls.length > 0 ? "tool-calls" : "stop");
  assert.deepEqual(finish.message.content, [
    ...(reasoning === undefined ? [] : [{ type: "reasoning", text: reasoning }]),
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...calls.map(({ input, name }, index) => ({
      type: "tool-call",
      toolCallId: `call_1_${index}`,
      toolName: name,
      input,
    })),
  ]);
  assert.ok((finish.usage?.inputTokens ?? 0) > 0 && (finish.usage?.outputTokens ?? 0) > 0);
});

Deno.test("aiSdk() takes the language models of three versions of the interface", () => {
  const given = { provider: "example.chat", modelId: "m", supportedUrls: {} } as const;
  const unused = (): never => {
    throw new Error("not asked");
  };
  const two: LanguageModelV2 = { specificationVersion: "v2", ...given, doGenerate: unused, doStream: unused };
  const three: LanguageModelV3 = {
    specificationVersion: "v3",
    ...given,
    doGenerate: unused,
    doStream: unused,
  };
  const four: LanguageModelV4 = {
    specificationVersion: "v4",
    ...given,
    doGenerate: unused,
    doStream: unused,
  };
  // That this compiles is the test.
  const models: readonly AiSdkLanguageModel[] = [two, three, four];
  for (const model of models) assert.equal(aiSdk(model).dialect, "ai-sdk");
});

Deno.test("aiSdk() sends a result of files alone so that no package leaves it out", async () => {
  const { createGoogle } = await import("npm:@ai-sdk/google@4.0.121");
  await using double = startGeminiDouble({
    script: ({ messages }) =>
      messages.length > 2 ? { text: "Seen." } : { calls: [{ name: "get", input: {} }] },
  });
  // Before Gemini 3 a result holds no file: the package sends it beside the result, and none where that is all.
  const provider = createGoogle({ apiKey: "k", baseURL: double.url, fetch: keepResponses() });
  const model = aiSdk(provider("gemini-2.5-flash"), { window: 100_000, maxOutput: 1_000 });
  const tools = [{ name: "get", description: "Gets it", inputSchema: { type: "object" } }];
  const first = (await collect(model, { ...request, tools })).at(-1);
  assert.ok(first?.type === "finish" && typeof first.message.content !== "string");
  const [call] = first.message.content;
  assert.ok(call?.type === "tool-call");
  const { toolCallId, toolName } = call;
  const value = [{ type: "file", mediaType: "image/png", data: PNG }] as const;
  const result = { type: "tool-result", toolCallId, toolName, output: { type: "content", value } } as const;
  const messages = [...request.messages, first.message, { role: "tool", content: [result] } as const];
  const last = (await collect(model, { ...request, tools, messages })).at(-1);
  assert.ok(last?.type === "finish" && last.reason === "stop");
  assert.deepEqual(double.violations, []);
  assert.ok(JSON.stringify(double.requests[1]).includes(PNG));
});
