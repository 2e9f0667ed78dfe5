import assert from "node:assert/strict";
import type { Message, ToolOutput } from "../../src/core/message.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { type ScriptedReply, scriptedTokens } from "../../src/models/scripted.ts";
import { type Double, type DoubleOptions, startDouble } from "../support/openai_double.ts";
import { ending, fakeFetch } from "../support/fake_fetch.ts";
import { collect, finishOf, request, textOf } from "./_answers.ts";

function double(reply: ScriptedReply, options: Partial<DoubleOptions> = {}): Double {
  return startDouble({ script: () => reply, ...options });
}

Deno.test("openaiChat() streams text, reasoning and usage", async () => {
  await using upstream = double({ reasoning: "think about it", text: "It is fine — 好的." });
  const events = await collect(openaiChat({ model: "m", baseURL: upstream.url }));
  assert.equal(textOf(events, "reasoning.delta"), "think about it");
  assert.equal(textOf(events, "text.delta"), "It is fine — 好的.");
  const { message, reason, usage } = finishOf(events);
  assert.equal(reason, "stop");
  assert.deepEqual(message, {
    role: "assistant",
    content: [{ type: "reasoning", text: "think about it" }, { type: "text", text: "It is fine — 好的." }],
  });
  const inputTokens = scriptedTokens([upstream.requests[0]?.messages, []]);
  assert.equal(usage?.inputTokens, inputTokens);
  assert.ok((usage?.outputTokens ?? 0) > 0);
  assert.equal(usage?.cachedTokens, 0);
  assert.deepEqual(upstream.violations, []);
});

const results: readonly (readonly [ToolOutput, string])[] = [
  [{ type: "text", value: "verbatim\n" }, "verbatim\n"],
  [{ type: "text", value: "" }, "(no output)"],
  [{ type: "text", value: " \n" }, "(no output)"],
  [{ type: "error-text", value: " " }, "Error: (no output)"],
  [{ type: "content", value: [{ type: "text", text: " " }] }, "(no output)"],
  [{ type: "json", value: { a: [1] } }, '{"a":[1]}'],
  [{ type: "json", value: undefined }, "(no output)"],
  [{ type: "error-text", value: "no such file" }, "Error: no such file"],
  [{ type: "error-text", value: "" }, "Error: (no output)"],
  [{ type: "error-json", value: { code: 1 } }, 'Error: {"code":1}'],
  [{ type: "execution-denied", reason: "not today" }, "Error: the call was denied: not today"],
  [{ type: "execution-denied" }, "Error: the call was denied"],
  [{ type: "content", value: [] }, "(no output)"],
  [
    {
      type: "content",
      value: [
        { type: "text", text: "two files" },
        { type: "file", mediaType: "image/png", data: "AAAA", filename: "a.png" },
        { type: "file", mediaType: "text/csv", data: "https://x/b.csv" },
      ],
    },
    "two files\n[file: a.png, image/png, 4 characters of data, not shown]\n[file: text/csv, https://x/b.csv]",
  ],
];

Deno.test("openaiChat() renders every kind of message so that the service takes it", async () => {
  const ids = results.map((_, index) => `e1.${index}`);
  const messages: readonly Message[] = [
    { role: "system", content: "later" },
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "file", mediaType: "image/png", data: "AAAA" },
        { type: "file", mediaType: "image/png", data: "https://x/y.png" },
        { type: "file", mediaType: "application/pdf", data: "AAAA", filename: "a.pdf" },
        { type: "file", mediaType: "audio/wav", data: "data:audio/wav;base64,AAAA" },
        { type: "file", mediaType: "application/pdf", data: "https://x/z.pdf" },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hidden", providerOptions: { x: { signature: "s" } } },
        { type: "text", text: "I will " },
        { type: "text", text: "look." },
        ...ids.map((id) => ({ type: "tool-call" as const, toolCallId: id, toolName: "get", input: { id } })),
      ],
    },
    {
      role: "tool",
      content: results.map(([output], index) => (
        { type: "tool-result", toolCallId: `e1.${index}`, toolName: "get", output }
      )),
    },
    { role: "assistant", content: [{ type: "reasoning", text: "only this" }] },
    { role: "assistant", content: "" },
    { role: "user", content: [{ type: "text", text: "one part" }] },
    { role: "tool", content: [] },
    {
      role: "assistant",
      content: [
        { type: "tool-call", toolCallId: "p", toolName: "search", input: undefined, providerExecuted: true },
        {
          type: "tool-result",
          toolCallId: "p",
          toolName: "search",
          output: { type: "text", value: "found" },
        },
        { type: "file", mediaType: "image/png", data: "AAAA" },
      ],
    },
  ];
  await using upstream = double({});
  const tools = [{ name: "get", description: "Gets.", inputSchema: { type: "object", properties: {} } }];
  const model = openaiChat({ model: "m", baseURL: upstream.url });
  await collect(model, { system: "be brief", messages, tools, maxOutput: 77 });
  await collect(model, { system: "be brief", messages, tools, maxOutput: 77 });
  assert.deepEqual(upstream.violations, []);
  const [body, again] = upstream.requests;
  assert.deepEqual(again, body, "bytes kept from the first request make the same request");
  assert.deepEqual(Object.keys(body ?? {}), [
    "model",
    "stream",
    "stream_options",
    "max_tokens",
    "tools",
    "messages",
  ]);
  assert.deepEqual(body, {
    model: "m",
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 77,
    tools: [{
      type: "function",
      function: { name: "get", description: "Gets.", parameters: { type: "object", properties: {} } },
    }],
    messages: [
      { role: "system", content: "be brief" },
      { role: "system", content: "later" },
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          { type: "image_url", image_url: { url: "https://x/y.png" } },
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } },
          { type: "file", file: { filename: "file", file_data: "data:audio/wav;base64,AAAA" } },
          { type: "text", text: "[file: application/pdf, https://x/z.pdf]" },
        ],
      },
      {
        role: "assistant",
        content: "I will look.",
        tool_calls: ids.map((id) => (
          { id, type: "function", function: { name: "get", arguments: JSON.stringify({ id }) } }
        )),
      },
      ...results.map(([, content], index) => ({ role: "tool", tool_call_id: `e1.${index}`, content })),
      { role: "assistant", content: "(no answer)" },
      { role: "assistant", content: "(no answer)" },
      { role: "user", content: "one part" },
      {
        role: "assistant",
        content: "[file: image/png, 4 characters of data, not shown]",
        tool_calls: [{ id: "p", type: "function", function: { name: "search", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "p", content: "found" },
    ],
  });
});

Deno.test("openaiChat() sends content null with calls alone, and no system message where there is none", async () => {
  await using upstream = double({});
  const call = { type: "tool-call", toolCallId: "a", toolName: "get", input: {} } as const;
  const result = {
    type: "tool-result",
    toolCallId: "a",
    toolName: "get",
    output: { type: "text", value: "x" },
  } as const;
  const messages: Message[] = [...request.messages, { role: "assistant", content: [call] }, {
    role: "tool",
    content: [result],
  }];
  await collect(openaiChat({ model: "m", baseURL: upstream.url }), { ...request, messages });
  assert.deepEqual(upstream.violations, []);
  const sent = upstream.requests[0]?.messages as { role: string; content: unknown }[];
  assert.deepEqual(sent.map(({ role }) => role), ["user", "assistant", "tool"]);
  assert.equal(sent[1]?.content, null);
  assert.equal("tools" in (upstream.requests[0] ?? {}), false);
});

Deno.test.each([
  [undefined, "https://api.openai.com/v1/chat/completions", "max_completion_tokens"],
  ["https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions", "max_completion_tokens"],
  ["http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1/chat/completions", "max_tokens"],
  [
    "https://x.example/gpt?api-version=1",
    "https://x.example/gpt/chat/completions?api-version=1",
    "max_tokens",
  ],
])("openaiChat({ baseURL: %s }) asks %s and sends %s", async (baseURL, url, limit) => {
  const fake = fakeFetch({ reads: [ending()] });
  const model = openaiChat({ model: "m", fetch: fake.fetch, ...(baseURL === undefined ? {} : { baseURL }) });
  await collect(model);
  assert.equal(fake.requests[0]?.url, url);
  assert.equal(JSON.parse(fake.requests[0]?.body ?? "")[limit], request.maxOutput);
});

Deno.test("openaiChat() sends the key and the headers it was given", async () => {
  const fake = fakeFetch({ reads: [ending()] });
  const headers = { "x-title": "selvage", "accept": "*/*" };
  await collect(openaiChat({ model: "m", apiKey: "sk-1", headers, fetch: fake.fetch }));
  await collect(openaiChat({ model: "m", fetch: fake.fetch }));
  const [first, second] = fake.requests.map((sent) => sent.headers);
  assert.equal(first?.get("authorization"), "Bearer sk-1");
  assert.equal(first?.get("x-title"), "selvage");
  assert.equal(first?.get("accept"), "*/*");
  assert.equal(first?.get("content-type"), "application/json");
  assert.equal(second?.get("authorization"), null);
});

Deno.test("openaiChat() shows what it was told about the model", () => {
  const model = openaiChat({ model: "m", window: 9, maxOutput: 2, tokenFactor: 1.5 });
  const { stream: _, ...facts } = model;
  assert.deepEqual(facts, {
    id: "m",
    window: 9,
    maxOutput: 2,
    tokenFactor: 1.5,
    media: "unknown",
    dialect: "openai-chat",
  });
  const { stream: __, ...defaults } = openaiChat({ model: "m" });
  assert.deepEqual(defaults, {
    id: "m",
    window: 32_000,
    maxOutput: 4_000,
    tokenFactor: 1.25,
    media: "unknown",
    dialect: "openai-chat",
  });
  assert.equal(openaiChat({ model: "gpt-4o" }).window, 128_000);
});
