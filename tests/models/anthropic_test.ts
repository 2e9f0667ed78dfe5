import assert from "node:assert/strict";
import { anthropic } from "../../src/models/anthropic.ts";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import { promptTokens } from "../support/anthropic_double.ts";
import type { Json } from "../support/wire_json.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { double, modelOf, tools } from "./_anthropic_upstream.ts";
import { collect, finishOf, request, textOf } from "./_answers.ts";
import { resultsOf } from "./_messages.ts";

/** A block without the mark for the cache. */
function unmarked(blocks: readonly Json[]): readonly Json[] {
  return blocks.map(({ cache_control: _, ...block }) => block);
}

Deno.test("anthropic() streams text and usage", async () => {
  await using upstream = double([{ text: "It is fine — 好的." }]);
  const events = await collect(modelOf(upstream));
  assert.equal(textOf(events, "text.delta"), "It is fine — 好的.");
  const { message, reason, usage } = finishOf(events);
  assert.equal(reason, "stop");
  assert.deepEqual(message, { role: "assistant", content: [{ type: "text", text: "It is fine — 好的." }] });
  assert.equal(usage?.inputTokens, promptTokens(upstream.requests[0] ?? {}));
  assert.ok((usage?.outputTokens ?? 0) > 1);
  assert.equal(usage?.cachedTokens, 0);
  assert.deepEqual(upstream.violations, []);
});

const said: ScriptedReply = { text: "x" };
const called: ScriptedReply = { text: "x", calls: [{ name: "get", input: {} }] };

Deno.test.each([
  ["end_turn", said, "stop"],
  ["stop_sequence", said, "stop"],
  ["tool_use", called, "tool-calls"],
  ["max_tokens", said, "length"],
  ["max_tokens", called, "length"],
  ["refusal", said, "content-filter"],
  ["refusal", {}, "content-filter"],
  ["model_context_window_exceeded", said, "length"],
  ["compaction", said, "stop"],
])("anthropic() reads stop_reason %s of %j as %s", async (stopReason, reply, reason) => {
  await using upstream = double([{ ...reply, stopReason }]);
  assert.equal(finishOf(await collect(modelOf(upstream))).reason, reason);
});

Deno.test("anthropic() throws context_length_exceeded where the window was full before a word", async () => {
  await using upstream = double([{ stopReason: "model_context_window_exceeded" }]);
  await assert.rejects(collect(modelOf(upstream)), { code: "context_length_exceeded" });
});

Deno.test("anthropic() reads the provider's cache of the request before, however many calls lie between", async () => {
  const calls = Array.from({ length: 16 }, (_, index) => ({ name: "get", input: { index } }));
  await using upstream = double([{ calls }]);
  const model = modelOf(upstream);
  let messages = request.messages;
  let before = 0;
  for (let step = 0; step < 3; step++) {
    const { message, usage } = finishOf(
      await collect(model, { ...request, system: "be brief", tools, messages }),
    );
    if (step > 0) assert.equal(usage?.cachedTokens, before, "all of the last request comes from the cache");
    before = usage?.inputTokens ?? 0;
    messages = [...messages, message, resultsOf(message)];
  }
  assert.deepEqual(upstream.violations, []);
  const marks = JSON.stringify(upstream.requests[2]).split('"cache_control":{"type":"ephemeral"}').length - 1;
  assert.equal(marks, 4);
});

Deno.test("anthropic({ cache: false }) marks nothing", async () => {
  await using upstream = double([{}]);
  await collect(modelOf(upstream, { cache: false }), { ...request, system: "be brief", tools });
  assert.ok(!JSON.stringify(upstream.requests[0]).includes("cache_control"));
});

Deno.test.each([
  [undefined, "https://api.anthropic.com/v1/messages"],
  ["https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"],
  ["http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/messages"],
  ["https://x.example/claude?region=eu", "https://x.example/claude/v1/messages?region=eu"],
])("anthropic({ baseURL: %s }) asks %s", async (baseURL, url) => {
  const fake = fakeFetch({ reads: [], status: 400 });
  const model = anthropic({ model: "m", fetch: fake.fetch, ...(baseURL === undefined ? {} : { baseURL }) });
  await assert.rejects(collect(model), { code: "model_refused" });
  assert.equal(fake.requests[0]?.url, url);
});

Deno.test("anthropic() sends the key, the version and the headers it was given", async () => {
  const fake = fakeFetch({ reads: [], status: 400 });
  const headers = { "anthropic-beta": "interleaved-thinking-2025-05-14", "x-title": "selvage" };
  const base = { fetch: fake.fetch } as const;
  for (
    const options of [
      { ...base, model: "m", apiKey: "sk-ant", headers },
      { ...base, model: "claude-fable-5-1", thinking: {}, headers, version: "2026-10-21" },
    ]
  ) await assert.rejects(collect(anthropic(options)));
  const [first, second] = fake.requests;
  assert.equal(first?.headers.get("x-api-key"), "sk-ant");
  assert.equal(first?.headers.get("authorization"), null);
  assert.equal(first?.headers.get("anthropic-version"), "2023-06-01");
  assert.equal(first?.headers.get("x-title"), "selvage");
  assert.equal(first?.headers.get("anthropic-beta"), "interleaved-thinking-2025-05-14");
  assert.ok(!first?.body.includes("sk-ant"));
  assert.equal(second?.headers.get("x-api-key"), null);
  assert.equal(second?.headers.get("anthropic-version"), "2026-10-21");
  assert.equal(
    second?.headers.get("anthropic-beta"),
    "interleaved-thinking-2025-05-14, thinking-binding-controls-2026-08-01",
  );
});

Deno.test("anthropic() shows what it was told about the model", () => {
  const { stream: _, ...facts } = anthropic({ model: "m", window: 9, maxOutput: 2, tokenFactor: 1.5 });
  assert.deepEqual(facts, {
    id: "m",
    window: 9,
    maxOutput: 2,
    tokenFactor: 1.5,
    media: "unknown",
    dialect: "anthropic",
  });
  const { stream: __, ...defaults } = anthropic({ model: "claude-sonnet-4-5" });
  assert.deepEqual(defaults, {
    id: "claude-sonnet-4-5",
    window: 200_000,
    maxOutput: 64_000,
    tokenFactor: 1.11,
    media: "anthropic",
    dialect: "anthropic",
  });
});

Deno.test("anthropic() refuses a budget for thinking that the service does not take", () => {
  assert.throws(() => anthropic({ model: "m", thinking: { budgetTokens: 1_000 } }), {
    name: "RangeError",
    message: /budgetTokens 1000, wanted at least 1024/,
  });
});

Deno.test("anthropic() renders a conversation with an unmarked tail so that blocks stay equal from step to step", async () => {
  await using upstream = double([{ calls: [{ name: "get", input: {} }] }]);
  const model = modelOf(upstream);
  let messages = request.messages;
  for (let step = 0; step < 4; step++) {
    const { message } = finishOf(await collect(model, { ...request, tools, messages }));
    messages = [...messages, message, resultsOf(message)];
  }
  const [, , third, fourth] = upstream.requests.map(({ messages }) => messages as readonly Json[]);
  const before = third?.map(({ content }) => unmarked(content as Json[]));
  assert.deepEqual(fourth?.slice(0, 5).map(({ content }) => unmarked(content as Json[])), before);
});
