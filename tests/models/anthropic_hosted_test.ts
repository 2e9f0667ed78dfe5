/** Tools that the provider of Messages runs by itself, and answers that it pauses. */
import assert from "node:assert/strict";
import { type MessagesReply, promptTokens } from "../support/anthropic_double.ts";
import type { Json } from "../support/wire_json.ts";
import { blocksOf, double, modelOf, tools } from "./_anthropic_upstream.ts";
import { collect, finishOf, request, textOf } from "./_answers.ts";
import { resultsOf } from "./_messages.ts";

const search = {
  call: { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "é" } },
  result: {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: [
      {
        type: "web_search_result",
        url: "https://x/y",
        title: "Y",
        encrypted_content: "Eo8=",
        page_age: null,
      },
    ],
  },
  citation: {
    type: "web_search_result_location",
    url: "https://x/y",
    title: "Y",
    encrypted_index: "Eo8=",
    cited_text: "yes",
  },
};

Deno.test("anthropic() keeps tools that the provider runs with their results, and sends both back unchanged", async () => {
  await using upstream = double([
    {
      blocks: [
        { type: "text", text: "I search." },
        search.call,
        search.result,
        { type: "text", text: "It says yes.", citations: [search.citation] },
        { type: "tool_use", id: "toolu_a", name: "get", input: {} },
      ],
    },
    { text: "Done." },
  ]);
  const providerTools = [{ type: "web_search_20250305", name: "web_search" }];
  const model = modelOf(upstream, { providerTools });
  const events = await collect(model, { ...request, tools });
  // Only calls that the loop answers are counted and shown as such.
  assert.deepEqual(events.filter((event) => event.type === "tool.input.delta").map((event) => event.call), [
    0,
  ]);
  const { message, reason } = finishOf(events);
  assert.equal(reason, "tool-calls");
  assert.deepEqual(message.content, [
    { type: "text", text: "I search." },
    {
      type: "tool-call",
      toolCallId: "srvtoolu_1",
      toolName: "web_search",
      input: { query: "é" },
      providerExecuted: true,
      providerOptions: { anthropic: { block: search.call } },
    },
    {
      type: "tool-result",
      toolCallId: "srvtoolu_1",
      toolName: "web_search",
      output: {
        type: "json",
        value: [{ type: "web_search_result", url: "https://x/y", title: "Y", page_age: null }],
      },
      providerOptions: { anthropic: { block: search.result } },
    },
    {
      type: "text",
      text: "It says yes.",
      providerOptions: { anthropic: { citations: [search.citation] } },
    },
    { type: "tool-call", toolCallId: "toolu_a", toolName: "get", input: {} },
  ]);
  const messages = [...request.messages, message, resultsOf(message)];
  await collect(model, { ...request, tools, messages });
  assert.deepEqual(upstream.violations, []);
  const [sent] = upstream.requests;
  assert.deepEqual((sent?.tools as Json[])[0], providerTools[0]);
  assert.deepEqual(blocksOf(upstream.requests[1], 1).slice(1, 4), [
    search.call,
    search.result,
    { type: "text", text: "It says yes.", citations: [search.citation] },
  ]);
});

Deno.test("anthropic() leaves a provider's call open beside calls of ours, and takes its result from the next message", async () => {
  await using upstream = double([
    { blocks: [search.call, { type: "tool_use", id: "toolu_a", name: "get", input: {} }] },
    { blocks: [search.result, { type: "text", text: "It says yes." }] },
    { text: "Done." },
  ]);
  const model = modelOf(upstream);
  const first = finishOf(await collect(model)).message;
  const messages = [...request.messages, first, resultsOf(first)];
  const second = finishOf(await collect(model, { ...request, messages })).message;
  assert.ok(typeof second.content !== "string");
  assert.deepEqual(second.content.map(({ type }) => type), ["tool-result", "text"]);
  await collect(model, { ...request, messages: [...messages, second, { role: "user", content: "go on" }] });
  assert.deepEqual(upstream.violations, []);
});

Deno.test("anthropic() leaves out a provider's call that was cut off before its result", async () => {
  await using upstream = double([
    { blocks: [{ type: "text", text: "I search." }, search.call], stopReason: "max_tokens" },
    { text: "Done." },
  ]);
  const model = modelOf(upstream);
  const { message, reason } = finishOf(await collect(model));
  assert.equal(reason, "length");
  await collect(model, {
    ...request,
    messages: [...request.messages, message, { role: "user", content: "go on" }],
  });
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(blocksOf(upstream.requests[1], 1), [{ type: "text", text: "I search." }]);
});

Deno.test("anthropic() shows what a provider's tool failed with as an error", async () => {
  const content = { type: "web_search_tool_result_error", error_code: "max_uses_exceeded" };
  await using upstream = double([{ blocks: [search.call, { ...search.result, content }] }]);
  const { message } = finishOf(await collect(modelOf(upstream)));
  assert.ok(typeof message.content !== "string");
  const result = message.content[1];
  assert.deepEqual(result?.type === "tool-result" && result.output, { type: "error-json", value: content });
});

Deno.test("anthropic() carries blocks that it does not know as they are", async () => {
  const upload = { type: "container_upload", file_id: "file_1" };
  await using upstream = double([{ blocks: [upload, { type: "text", text: "Done." }] }, {}]);
  const model = modelOf(upstream);
  const { message } = finishOf(await collect(model));
  await collect(model, {
    ...request,
    messages: [...request.messages, message, { role: "user", content: "?" }],
  });
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(blocksOf(upstream.requests[1], 1)[0], upload);
});

Deno.test("anthropic() lets an answer that was paused go on, and makes one message of it", async () => {
  await using upstream = double([
    {
      blocks: [{ type: "thinking", thinking: "first" }, { type: "text", text: "I search." }, search.call],
      stopReason: "pause_turn",
    },
    { blocks: [search.result, { type: "text", text: " It says" }], stopReason: "pause_turn" },
    {
      blocks: [{ type: "text", text: " yes." }, { type: "tool_use", id: "toolu_a", name: "get", input: {} }],
    },
    {},
  ]);
  const model = modelOf(upstream, { thinking: { budgetTokens: 2_000 } });
  const events = await collect(model);
  const { message, reason, usage } = finishOf(events);
  assert.equal(reason, "tool-calls");
  assert.equal(textOf(events, "text.delta"), "I search. It says yes.");
  assert.ok(typeof message.content !== "string");
  assert.deepEqual(message.content.map(({ type }) => type), [
    "reasoning",
    "text",
    "tool-call",
    "tool-result",
    "text",
    "text",
    "tool-call",
  ]);
  assert.equal(upstream.requests.length, 3);
  assert.equal(
    usage?.inputTokens,
    promptTokens(upstream.requests[2] ?? {}),
    "the last input holds all before",
  );
  assert.deepEqual(blocksOf(upstream.requests[2], 1).map(({ type }) => type), [
    "thinking",
    "text",
    "server_tool_use",
    "web_search_tool_result",
    "text",
  ]);
  await collect(model, { ...request, messages: [...request.messages, message, resultsOf(message)] });
  assert.deepEqual(upstream.violations, []);
});

Deno.test("anthropic() lets a paused answer go on five times at most", async () => {
  await using upstream = double([{ text: "still", stopReason: "pause_turn" }]);
  const { message, reason } = finishOf(await collect(modelOf(upstream)));
  assert.equal(upstream.requests.length, 6);
  assert.equal(reason, "length");
  assert.equal(message.content.length, 6);
  assert.deepEqual(upstream.violations, []);
});

Deno.test.each([
  ["with nothing said", { stopReason: "pause_turn" }, "length"],
  ["with calls of ours", { calls: [{ name: "get", input: {} }], stopReason: "pause_turn" }, "tool-calls"],
])("anthropic() ends a paused answer %s", async (_, reply: MessagesReply, reason) => {
  await using upstream = double([reply]);
  assert.equal(finishOf(await collect(modelOf(upstream))).reason, reason);
  assert.equal(upstream.requests.length, 1);
});
