/** Thinking in Messages: what is kept of it, and when it is asked for. */
import assert from "node:assert/strict";
import { anthropic, type AnthropicOptions } from "../../src/models/anthropic.ts";
import type { ModelRequest } from "../../src/ports.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { blocksOf, double, modelOf } from "./_anthropic_upstream.ts";
import { collect, finishOf, request, textOf } from "./_answers.ts";
import { call, result, resultsOf, user } from "./_messages.ts";

Deno.test("anthropic() keeps thinking with its signature, and sends it back unchanged", async () => {
  await using upstream = double([
    {
      blocks: [
        { type: "thinking", thinking: "think — about\n it " },
        { type: "redacted_thinking" },
        { type: "thinking", thinking: "" },
        { type: "text", text: "Let me look." },
        { type: "tool_use", id: "toolu_a", name: "get", input: { q: 1 } },
      ],
    },
    { text: "Done." },
  ]);
  const model = modelOf(upstream, { thinking: { budgetTokens: 2_000 } });
  const events = await collect(model);
  assert.equal(textOf(events, "reasoning.delta"), "think — about\n it ");
  const { message } = finishOf(events);
  assert.deepEqual(message.content, [
    {
      type: "reasoning",
      text: "think — about\n it ",
      providerOptions: { anthropic: { signature: "sig/1+0==" } },
    },
    { type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: "red/1+1==" } } },
    { type: "reasoning", text: "", providerOptions: { anthropic: { signature: "sig/1+2==" } } },
    { type: "text", text: "Let me look." },
    { type: "tool-call", toolCallId: "toolu_a", toolName: "get", input: { q: 1 } },
  ]);
  await collect(model, { ...request, messages: [...request.messages, message, resultsOf(message)] });
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(upstream.requests[1]?.thinking, { type: "enabled", budget_tokens: 2_000 });
  assert.deepEqual(blocksOf(upstream.requests[1], 1).slice(0, 3), [
    { type: "thinking", thinking: "think — about\n it ", signature: "sig/1+0==" },
    { type: "redacted_thinking", data: "red/1+1==" },
    { type: "thinking", thinking: "", signature: "sig/1+2==" },
  ]);
});

const thoughtful = {
  type: "reasoning",
  text: "t",
  providerOptions: { anthropic: { signature: "s" } },
} as const;
const toolCall = call("a");
const toolResult = result("a");

const thinkingCases: readonly (readonly [string, AnthropicOptions, Partial<ModelRequest>, unknown])[] = [
  ["a budget", { model: "m", thinking: { budgetTokens: 2_000 } }, {}, {
    type: "enabled",
    budget_tokens: 2_000,
  }],
  ["a budget over the answer's limit", { model: "m", thinking: { budgetTokens: 9_000 } }, {}, {
    type: "enabled",
    budget_tokens: 2_000,
  }],
  [
    "a budget and no room for it",
    { model: "m", thinking: { budgetTokens: 2_000 } },
    { maxOutput: 2_000 },
    undefined,
  ],
  ["no budget", { model: "m", thinking: {} }, {}, { type: "adaptive" }],
  ["nothing", { model: "m" }, {}, undefined],
  ["a budget, answering a message that begins with thinking", {
    model: "m",
    thinking: { budgetTokens: 2_000 },
  }, {
    messages: [user, { role: "assistant", content: [thoughtful, toolCall] }, toolResult, {
      role: "assistant",
      content: [{ ...toolCall, toolCallId: "b" }],
    }, { role: "tool", content: [] }],
  }, { type: "enabled", budget_tokens: 2_000 }],
  ["a budget, answering a message without thinking", { model: "m", thinking: { budgetTokens: 2_000 } }, {
    messages: [user, { role: "assistant", content: [toolCall] }, toolResult],
  }, undefined],
  ["a budget, after a message without thinking", { model: "m", thinking: { budgetTokens: 2_000 } }, {
    messages: [user, { role: "assistant", content: [toolCall] }, toolResult, {
      role: "assistant",
      content: "x",
    }, user],
  }, { type: "enabled", budget_tokens: 2_000 }],
  [
    "a budget that the model does not take",
    { model: "claude-fable-5-1", thinking: { budgetTokens: 2_000 } },
    {},
    { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } },
  ],
  ["nothing of a model that binds thinking", { model: "claude-fable-5-1" }, {}, undefined],
  ["nothing of a model that binds thinking, with thinking to send back", { model: "claude-fable-5-1" }, {
    messages: [user, { role: "assistant", content: [thoughtful, toolCall] }, toolResult],
  }, { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } }],
];

Deno.test.each(thinkingCases)(
  "anthropic() asks for thinking as it can: %s",
  async (_, options, asked, expected) => {
    const fake = fakeFetch({ reads: [], status: 400 });
    await assert.rejects(collect(anthropic({ ...options, fetch: fake.fetch }), { ...request, ...asked }));
    const { headers, body = "{}" } = fake.requests[0] ?? {};
    const { thinking } = JSON.parse(body);
    assert.deepEqual(thinking, expected);
    const beta = JSON.parse(body).thinking?.block_binding === undefined
      ? null
      : "thinking-binding-controls-2026-08-01";
    assert.equal(headers?.get("anthropic-beta"), beta);
  },
);
