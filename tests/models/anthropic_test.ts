import assert from "node:assert/strict";
import type { AssistantMessage, Message } from "../../src/core/message.ts";
import { anthropic, type AnthropicOptions } from "../../src/models/anthropic.ts";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import type { Model, ModelEvent, ModelRequest } from "../../src/ports.ts";
import {
  type AnthropicDouble,
  type AnthropicDoubleOptions,
  type MessagesReply,
  promptTokens,
  startAnthropicDouble,
} from "../support/anthropic_double.ts";
import type { Json } from "../support/anthropic_wire_request.ts";
import { fakeFetch } from "../support/fake_fetch.ts";

const request: ModelRequest = {
  system: "",
  messages: [{ role: "user", content: "hi" }],
  tools: [],
  maxOutput: 4_000,
};
const tools = [{ name: "get", description: "Gets.", inputSchema: { type: "object", properties: {} } }];

async function collect(
  model: Model,
  asked = request,
  signal = new AbortController().signal,
): Promise<ModelEvent[]> {
  return await Array.fromAsync(model.stream(asked, signal));
}

/** A double that gives its replies one after the other, the last one again and again. */
function double(
  replies: readonly MessagesReply[],
  options: Partial<AnthropicDoubleOptions> = {},
): AnthropicDouble {
  let n = 0;
  return startAnthropicDouble({ script: () => replies[Math.min(n++, replies.length - 1)] ?? {}, ...options });
}

function modelOf(upstream: AnthropicDouble, options: Partial<AnthropicOptions> = {}): Model {
  return anthropic({ model: "m", apiKey: "sk-ant", baseURL: upstream.url, ...options });
}

function finishOf(events: readonly ModelEvent[]): Extract<ModelEvent, { type: "finish" }> {
  const last = events.at(-1);
  assert.ok(last?.type === "finish", `found ${JSON.stringify(last)} at the end, wanted finish`);
  assert.equal(events.filter((event) => event.type === "finish").length, 1);
  return last;
}

function joined(events: readonly ModelEvent[], type: "text.delta" | "reasoning.delta"): string {
  return events.map((event) => event.type === type ? event.text : "").join("");
}

function inputOf(events: readonly ModelEvent[], call: number): string {
  return events.map((event) => event.type === "tool.input.delta" && event.call === call ? event.delta : "")
    .join("");
}

/** Results of all calls of an answer, in the order given by `order`. */
function resultsOf({ content }: AssistantMessage, order = (ids: string[]): string[] => ids): Message {
  assert.ok(typeof content !== "string");
  const ids = content.flatMap((part) =>
    part.type === "tool-call" && part.providerExecuted !== true ? [part.toolCallId] : []
  );
  return {
    role: "tool",
    content: order(ids).map((toolCallId) => (
      {
        type: "tool-result",
        toolCallId,
        toolName: "get",
        output: { type: "text", value: `of ${toolCallId}` },
      }
    )),
  };
}

function blocksOf(body: Json | undefined, index: number): readonly Json[] {
  const message = (body?.messages as readonly Json[])[index];
  return message?.content as readonly Json[];
}

/** A block without the mark for the cache. */
function unmarked(blocks: readonly Json[]): readonly Json[] {
  return blocks.map(({ cache_control: _, ...block }) => block);
}

Deno.test("anthropic() streams text and usage", async () => {
  await using upstream = double([{ text: "It is fine — 好的." }]);
  const events = await collect(modelOf(upstream));
  assert.equal(joined(events, "text.delta"), "It is fine — 好的.");
  const { message, reason, usage } = finishOf(events);
  assert.equal(reason, "stop");
  assert.deepEqual(message, { role: "assistant", content: [{ type: "text", text: "It is fine — 好的." }] });
  assert.equal(usage?.inputTokens, promptTokens(upstream.requests[0] ?? {}));
  assert.ok((usage?.outputTokens ?? 0) > 1);
  assert.equal(usage?.cachedTokens, 0);
  assert.deepEqual(upstream.violations, []);
});

Deno.test.each([[1], [16]])("anthropic() puts %i calls together from pieces", async (count) => {
  const calls = Array.from({ length: count }, (_, index) => ({
    name: `tool_${index}`,
    input: index === 1
      ? {}
      : { path: `/tmp/${index}`, text: "é😀\n".repeat(index), deep: { list: [index, null] } },
  }));
  await using upstream = double([{ text: "Let me look.", calls }, { text: "Done." }]);
  const model = modelOf(upstream);
  const events = await collect(model);
  const { message, reason } = finishOf(events);
  assert.equal(reason, "tool-calls");
  assert.deepEqual(message.content, [
    { type: "text", text: "Let me look." },
    ...calls.map(({ name, input }, index) => (
      { type: "tool-call", toolCallId: `toolu_1_${index}`, toolName: name, input }
    )),
  ]);
  for (const [index, { input, name }] of calls.entries()) {
    assert.deepEqual(JSON.parse(inputOf(events, index) || "{}"), input);
    assert.ok(events.some((event) => event.type === "tool.input.delta" && event.name === name));
  }
  const shuffled = resultsOf(message, (ids) => ids.toReversed());
  await collect(model, { ...request, messages: [...request.messages, message, shuffled] });
  assert.deepEqual(upstream.violations, []);
});

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
  assert.equal(joined(events, "reasoning.delta"), "think — about\n it ");
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
  assert.equal(joined(events, "text.delta"), "I search. It says yes.");
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

Deno.test("anthropic() refuses settings that cannot work, and does not quote the key", () => {
  const wrong = { name: "TypeError", message: /HTTP cannot carry/ };
  assert.throws(() => anthropic({ model: "m", apiKey: "sk-secret\u{1f511}" }), wrong);
  assert.throws(() => anthropic({ model: "m", apiKey: "sk-secret\u{1f511}" }), (error) => {
    return error instanceof Error && !error.message.includes("secret") && error.cause === undefined;
  });
  assert.throws(() => anthropic({ model: "m", headers: { "a b": "c" } }), wrong);
  assert.throws(() => anthropic({ model: "m", baseURL: "localhost" }), {
    name: "TypeError",
    message: /no URL/,
  });
  for (const name of ["window", "maxOutput", "stallMs", "tokenFactor"]) {
    assert.throws(() => anthropic({ model: "m", [name]: 0 }), {
      name: "RangeError",
      message: new RegExp(name),
    });
  }
  assert.throws(() => anthropic({ model: "m", thinking: { budgetTokens: 1_000 } }), {
    name: "RangeError",
    message: /budgetTokens 1000, wanted at least 1024/,
  });
});

const thoughtful = {
  type: "reasoning",
  text: "t",
  providerOptions: { anthropic: { signature: "s" } },
} as const;
const toolCall = { type: "tool-call", toolCallId: "a", toolName: "get", input: {} } as const;
const toolResult: Message = {
  role: "tool",
  content: [{ type: "tool-result", toolCallId: "a", toolName: "get", output: { type: "text", value: "x" } }],
};
const user: Message = { role: "user", content: "hi" };

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
