import assert from "node:assert/strict";
import { openaiResponses } from "../../src/models/openai_responses.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { promptTokens } from "../support/responses_double.ts";
import { ending } from "../support/responses_frames.ts";
import { collect, finishOf, request, textOf } from "./_answers.ts";
import { called, double, modelOf, tools } from "./_responses_upstream.ts";

Deno.test("openaiResponses() streams text and usage", async () => {
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

Deno.test("openaiResponses() has nothing stored, and asks for its reasoning to keep", async () => {
  await using upstream = double([{ text: "fine" }]);
  await collect(modelOf(upstream), { ...request, system: "be brief", tools });
  const [body = {}] = upstream.requests;
  assert.deepEqual(body, {
    model: "m",
    stream: true,
    store: false,
    include: ["reasoning.encrypted_content"],
    max_output_tokens: 4_000,
    instructions: "be brief",
    tools: [{
      type: "function",
      name: "get",
      description: "Gets.",
      parameters: { type: "object", properties: {} },
      strict: false,
    }],
    input: [{ role: "user", content: "hi" }],
  });
  assert.equal(Object.keys(body).at(-1), "input");
});

Deno.test.each([["max_output_tokens", "length"], ["content_filter", "content-filter"]] as const)(
  "openaiResponses() reads an answer that is incomplete for %s as %s",
  async (incomplete, reason) => {
    await using upstream = double([{ items: [called("call_a")], incomplete }]);
    const finish = finishOf(await collect(modelOf(upstream)));
    assert.equal(finish.reason, reason);
    assert.ok(finish.usage !== undefined);
  },
);

Deno.test.each([
  [undefined, "https://api.openai.com/v1/responses"],
  ["https://api.openai.com/v1/", "https://api.openai.com/v1/responses"],
  ["https://x.example/openai?api-version=1", "https://x.example/openai/responses?api-version=1"],
])("openaiResponses({ baseURL: %s }) asks %s", async (baseURL, url) => {
  const fake = fakeFetch({ reads: [ending()] });
  await collect(
    openaiResponses({ model: "m", fetch: fake.fetch, ...(baseURL === undefined ? {} : { baseURL }) }),
  );
  assert.equal(fake.requests[0]?.url, url);
});

Deno.test("openaiResponses() sends the key, the headers and the wish for reasoning it was given", async () => {
  const fake = fakeFetch({ reads: [ending()] });
  const headers = { "x-title": "selvage", "accept": "*/*" };
  const reasoning = { effort: "low", summary: "auto" };
  await collect(openaiResponses({ model: "m", apiKey: "sk-1", headers, reasoning, fetch: fake.fetch }));
  await collect(openaiResponses({ model: "m", fetch: fake.fetch }));
  const [first, second] = fake.requests;
  assert.equal(first?.headers.get("authorization"), "Bearer sk-1");
  assert.equal(first?.headers.get("x-title"), "selvage");
  assert.equal(first?.headers.get("accept"), "*/*");
  assert.equal(second?.headers.get("authorization"), null);
  assert.deepEqual(JSON.parse(first?.body ?? "").reasoning, reasoning);
  assert.equal("reasoning" in JSON.parse(second?.body ?? ""), false);
});

Deno.test("openaiResponses() asks for no fewer tokens than the service gives", async () => {
  await using upstream = double([{ text: "fine" }]);
  await collect(modelOf(upstream), { ...request, maxOutput: 5 });
  assert.deepEqual(upstream.violations, []);
  assert.equal(upstream.requests[0]?.max_output_tokens, 16);
});

Deno.test("openaiResponses() shows what it was told about the model", () => {
  const { stream: _, ...facts } = openaiResponses({ model: "m", window: 9, maxOutput: 2, tokenFactor: 1.5 });
  assert.deepEqual(facts, {
    id: "m",
    window: 9,
    maxOutput: 2,
    tokenFactor: 1.5,
    media: "unknown",
    dialect: "openai-responses",
  });
  assert.equal(openaiResponses({ model: "gpt-5" }).window, 400_000);
});
