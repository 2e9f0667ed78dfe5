/** Where parts of an answer end, from the adapters whose providers say so. */
import assert from "node:assert/strict";
import { anthropic } from "../../src/models/anthropic.ts";
import { aiSdk } from "../../src/models/ai_sdk.ts";
import { openaiResponses } from "../../src/models/openai_responses.ts";
import type { Model, ModelEvent } from "../../src/ports.ts";
import { startAnthropicDouble } from "../support/anthropic_double.ts";
import { startResponsesDouble } from "../support/responses_double.ts";
import { request } from "./_answers.ts";
import { createAnthropic } from "npm:@ai-sdk/anthropic@4.0.105";

const reply = {
  reasoning: "I think so.",
  text: "Let me look.",
  calls: [{ name: "add", input: { a: 1 } }, { name: "add", input: { a: 2 } }],
};

const tools = [{ name: "add", description: "adds", inputSchema: { type: "object", properties: {} } }];

/** The kinds of an answer's events, repeats left out, with what providers say of its parts. */
async function outline(model: Model): Promise<readonly string[]> {
  const events = model.stream({ ...request, tools }, new AbortController().signal);
  const lines = (await Array.fromAsync(events)).map(lineOf);
  return lines.filter((line, at) => line !== lines[at - 1]);
}

function lineOf(event: ModelEvent): string {
  switch (event.type) {
    case "tool.input.delta":
    case "tool.input.end":
      return `${event.type} ${event.call}`;
    case "part.end":
      return `end of ${event.kind}${event.providerOptions === undefined ? "" : ", signed"}`;
    default:
      return event.type;
  }
}

const WHOLE = [
  "reasoning.delta",
  "end of reasoning, signed",
  "text.delta",
  "end of text",
  "tool.input.delta 0",
  "tool.input.end 0",
  "tool.input.delta 1",
  "tool.input.end 1",
  "finish",
];

Deno.test("anthropic() tells where each part ends, with the signature of reasoning", async () => {
  await using double = startAnthropicDouble({ script: () => reply, bound: true });
  const model = anthropic({
    model: "claude-x",
    apiKey: "k",
    baseURL: double.url,
    thinking: { budgetTokens: 1024 },
  });
  assert.deepEqual(await outline(model), WHOLE);
});

Deno.test("openaiResponses() tells where each part ends", async () => {
  await using double = startResponsesDouble({ script: () => reply });
  const model = openaiResponses({ model: "gpt-x", baseURL: double.url });
  assert.deepEqual((await outline(model)).map((line) => line.replace("text, signed", "text")), WHOLE);
});

Deno.test("aiSdk() tells where each part ends, where its provider does", async () => {
  await using double = startAnthropicDouble({ script: () => reply, bound: true });
  const provider = createAnthropic({ baseURL: `${double.url}/v1`, apiKey: "k" });
  const model = aiSdk(provider("claude-x"), { window: 200_000, maxOutput: 4_000 });
  assert.deepEqual(await outline(model), WHOLE);
});
