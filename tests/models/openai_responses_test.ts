import assert from "node:assert/strict";
import type { AssistantMessage, Message } from "../../src/core/message.ts";
import { openaiResponses, type OpenAIResponsesOptions } from "../../src/models/openai_responses.ts";
import type { Model, ModelEvent, ModelRequest } from "../../src/ports.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import {
  promptTokens,
  type ResponsesDouble,
  type ResponsesDoubleOptions,
  type ResponsesReply,
  startResponsesDouble,
} from "../support/responses_double.ts";
import { ending } from "../support/responses_frames.ts";
import type { Json } from "../support/responses_wire_rules.ts";

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
  replies: readonly ResponsesReply[],
  options: Partial<ResponsesDoubleOptions> = {},
): ResponsesDouble {
  let n = 0;
  return startResponsesDouble({ script: () => replies[Math.min(n++, replies.length - 1)] ?? {}, ...options });
}

function modelOf(upstream: ResponsesDouble, options: Partial<OpenAIResponsesOptions> = {}): Model {
  return openaiResponses({ model: "m", baseURL: upstream.url, ...options });
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

function itemsOf(body: Json | undefined): readonly Json[] {
  return body?.input as readonly Json[];
}

const said = (text: string, more: Json = {}): Json => ({
  type: "message",
  status: "completed",
  content: [{ type: "output_text", annotations: [], logprobs: [], text }],
  role: "assistant",
  ...more,
});
const thought = (...texts: string[]): Json => ({
  type: "reasoning",
  summary: texts.map((text) => ({ type: "summary_text", text })),
});
const called = (call_id: string, input: unknown = {}, more: Json = {}): Json => ({
  type: "function_call",
  status: "completed",
  arguments: JSON.stringify(input),
  call_id,
  name: "get",
  ...more,
});

Deno.test("openaiResponses() streams text and usage", async () => {
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

Deno.test.each([[1], [16]])("openaiResponses() puts %i calls together from pieces", async (count) => {
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
      { type: "tool-call", toolCallId: `call_1_${index}`, toolName: name, input }
    )),
  ]);
  for (const [index, { input, name }] of calls.entries()) {
    assert.deepEqual(JSON.parse(inputOf(events, index)), input);
    assert.ok(events.some((event) => event.type === "tool.input.delta" && event.name === name));
  }
  const shuffled = resultsOf(message, (ids) => ids.toReversed());
  await collect(model, { ...request, messages: [...request.messages, message, shuffled] });
  assert.deepEqual(upstream.violations, []);
});

const thoughtful: ResponsesReply = {
  items: [
    thought("think — about\n it ", "and again"),
    said("Let me look.", { phase: "commentary" }),
    thought(),
    called("call_a", { q: 1 }),
    called("call_b", { q: 2 }, { namespace: "files" }),
  ],
};

/** Asks, answers the calls, asks again with another message in between. */
async function twoSteps(
  upstream: ResponsesDouble,
  model: Model,
  { again = model, edit = (message: AssistantMessage): AssistantMessage => message } = {},
): Promise<{ readonly message: AssistantMessage; readonly second: Json }> {
  const events = await collect(model);
  const { message } = finishOf(events);
  const results = resultsOf(message);
  await collect(again, { ...request, messages: [...request.messages, edit(message), results] });
  return { message, second: upstream.requests.at(-1) ?? {} };
}

Deno.test("openaiResponses() sends its reasoning back unchanged, with the item that followed it", async () => {
  await using upstream = double([thoughtful, { text: "Done." }]);
  const model = modelOf(upstream);
  const { message, second } = await twoSteps(upstream, model);
  const from = `${new URL(upstream.url).host}/m`;
  const sealed = (index: number, ...texts: string[]): Json => (
    { id: `rs_1_${index}`, ...thought(...texts), encrypted_content: `ENC/1+${index}==` }
  );
  assert.deepEqual(message.content, [
    {
      type: "reasoning",
      text: "think — about\n it \n\nand again",
      providerOptions: { openai: { from, item: sealed(0, "think — about\n it ", "and again") } },
    },
    {
      type: "text",
      text: "Let me look.",
      providerOptions: { openai: { from, more: { phase: "commentary" }, id: "msg_1_1", after: "rs_1_0" } },
    },
    { type: "reasoning", text: "", providerOptions: { openai: { from, item: sealed(2) } } },
    {
      type: "tool-call",
      toolCallId: "call_a",
      toolName: "get",
      input: { q: 1 },
      providerOptions: { openai: { from, id: "fc_1_3", after: "rs_1_2" } },
    },
    {
      type: "tool-call",
      toolCallId: "call_b",
      toolName: "get",
      input: { q: 2 },
      providerOptions: { openai: { from, more: { namespace: "files" } } },
    },
  ]);
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(itemsOf(second), [
    { role: "user", content: "hi" },
    sealed(0, "think — about\n it ", "and again"),
    {
      type: "message",
      id: "msg_1_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Let me look.", annotations: [] }],
      phase: "commentary",
    },
    sealed(2),
    { type: "function_call", id: "fc_1_3", call_id: "call_a", name: "get", arguments: '{"q":1}' },
    { type: "function_call", namespace: "files", call_id: "call_b", name: "get", arguments: '{"q":2}' },
    { type: "function_call_output", call_id: "call_a", output: "of call_a" },
    { type: "function_call_output", call_id: "call_b", output: "of call_b" },
  ]);
  assert.equal(joined(await collect(modelOf(upstream)), "reasoning.delta"), "");
});

Deno.test("openaiResponses() streams summaries of reasoning as paragraphs", async () => {
  await using upstream = double([{ items: [thought("one two", "three"), said("So.")] }]);
  const events = await collect(modelOf(upstream));
  assert.equal(joined(events, "reasoning.delta"), "one two\n\nthree");
});

type Part = Exclude<AssistantMessage["content"], string>[number];
const EDITS: readonly (readonly [string, (parts: readonly Part[]) => readonly Part[], readonly string[]])[] =
  [
    ["without what followed it", (parts) => parts.filter(({ type }) => type !== "text"), [
      "rs_1_2",
      "fc_1_3",
    ]],
    [
      "with another text behind it",
      (parts) => parts.map((part) => part.type === "text" ? { type: "text", text: "(edited)" } : part),
      ["rs_1_2", "fc_1_3"],
    ],
    ["at the end", (parts) => [...parts.slice(2), ...parts.slice(0, 1)], ["rs_1_2", "fc_1_3"]],
    ["itself left out", (parts) => parts.filter(({ type }) => type !== "reasoning"), []],
    ["in front of the one it followed", ([first, ...rest]) => [...rest, ...(first ? [first] : [])], [
      "rs_1_2",
      "fc_1_3",
    ]],
  ];

Deno.test.each(EDITS)("openaiResponses() gets reasoning past the service %s", async (_, edit, ids) => {
  await using upstream = double([thoughtful, { text: "Done." }]);
  const { second } = await twoSteps(upstream, modelOf(upstream), {
    edit: ({ content }) => ({ role: "assistant", content: edit(content as readonly Part[]) }),
  });
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(itemsOf(second).flatMap(({ id }) => id ?? []), ids);
});

Deno.test("openaiResponses() leaves the reasoning of another model out", async () => {
  await using upstream = double([thoughtful, { text: "Done." }]);
  const { second } = await twoSteps(upstream, modelOf(upstream), {
    again: modelOf(upstream, { model: "other" }),
  });
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(itemsOf(second).slice(1, 4), [
    { role: "assistant", content: "Let me look." },
    { type: "function_call", call_id: "call_a", name: "get", arguments: '{"q":1}' },
    { type: "function_call", call_id: "call_b", name: "get", arguments: '{"q":2}' },
  ]);
});

Deno.test("openaiResponses() leaves out of a second attempt what the service cannot read any more", async () => {
  await using upstream = double([thoughtful, { text: "Done." }]);
  const model = modelOf(upstream);
  const { message } = finishOf(await collect(model));
  upstream.forget();
  const messages = [...request.messages, message, resultsOf(message)];
  assert.equal(finishOf(await collect(model, { ...request, messages })).reason, "stop");
  assert.equal(upstream.violations.length, 1);
  assert.match(upstream.violations[0] ?? "", /could not be verified/);
  // The next one does not begin with it.
  await collect(model, {
    ...request,
    messages: [...messages, { role: "assistant", content: "x" }, ...request.messages],
  });
  assert.equal(upstream.violations.length, 1);
  assert.equal(upstream.requests.length, 4);
});

Deno.test("openaiResponses() does not ask a model for reasoning that has none, after it was told so", async () => {
  await using upstream = double([{ text: "fine" }], { reasons: false });
  const model = modelOf(upstream);
  for (let step = 0; step < 2; step++) assert.equal(joined(await collect(model), "text.delta"), "fine");
  assert.deepEqual(upstream.requests.map(({ include }) => include !== undefined), [true, false, false]);
  assert.equal(upstream.violations.length, 1);
});

Deno.test("openaiResponses() does not send the same request twice where there is nothing to leave out", async () => {
  const reads = [JSON.stringify({ error: { message: "The encrypted content could not be verified." } })];
  const fake = fakeFetch({ status: 400, reads });
  const model = openaiResponses({ model: "m", fetch: fake.fetch });
  await assert.rejects(collect(model), { code: "model_refused" });
  assert.equal(fake.requests.length, 1);
});

const search: Json = {
  type: "web_search_call",
  status: "completed",
  action: { type: "search", query: "é😀" },
};
const list: Json = { type: "mcp_list_tools", server_label: "s", tools: [] };
const mcp: Json = {
  type: "mcp_call",
  status: "completed",
  server_label: "s",
  name: "roll",
  arguments: '{"n":6}',
  output: "4",
};
const hosted: ResponsesReply = {
  items: [
    list,
    thought("search"),
    search,
    mcp,
    { ...mcp, status: "failed", error: "no" },
    thought("so"),
    said("4."),
  ],
};

Deno.test("openaiResponses() takes tools that the provider runs as calls with results, and gives them back whole", async () => {
  await using upstream = double([hosted, { text: "Done." }]);
  const model = modelOf(upstream, { providerTools: [{ type: "web_search" }] });
  const { message, second } = await twoSteps(upstream, model);
  assert.ok(typeof message.content !== "string");
  const shown = message.content.flatMap((part) =>
    part.type === "tool-call"
      ? [[part.toolCallId, part.toolName, part.input, part.providerExecuted]]
      : part.type === "tool-result"
      ? [[part.toolCallId, part.toolName, part.output]]
      : []
  );
  assert.deepEqual(shown, [
    ["ws_1_2", "web_search", { type: "search", query: "é😀" }, true],
    ["ws_1_2", "web_search", { type: "json", value: {} }],
    ["mcp_1_3", "roll", { n: 6 }, true],
    ["mcp_1_3", "roll", { type: "json", value: { server_label: "s", output: "4" } }],
    ["mcp_1_4", "roll", { n: 6 }, true],
    ["mcp_1_4", "roll", { type: "error-json", value: "no" }],
  ]);
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(second.tools, [{ type: "web_search" }]);
  assert.deepEqual(itemsOf(second).slice(1, 6).map(({ id, type }) => [id, type]), [
    ["mcpl_1_0", "mcp_list_tools"],
    ["rs_1_1", "reasoning"],
    ["ws_1_2", "web_search_call"],
    ["mcp_1_3", "mcp_call"],
    ["mcp_1_4", "mcp_call"],
  ]);
});

Deno.test("openaiResponses() shows another model the provider's tools as tools like any other", async () => {
  await using upstream = double([hosted, { text: "Done." }]);
  const { second } = await twoSteps(upstream, modelOf(upstream), {
    again: modelOf(upstream, { model: "other" }),
  });
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(itemsOf(second).slice(1), [
    {
      type: "function_call",
      call_id: "ws_1_2",
      name: "web_search",
      arguments: '{"type":"search","query":"é😀"}',
    },
    { type: "function_call_output", call_id: "ws_1_2", output: "{}" },
    { type: "function_call", call_id: "mcp_1_3", name: "roll", arguments: '{"n":6}' },
    { type: "function_call_output", call_id: "mcp_1_3", output: '{"server_label":"s","output":"4"}' },
    { type: "function_call", call_id: "mcp_1_4", name: "roll", arguments: '{"n":6}' },
    { type: "function_call_output", call_id: "mcp_1_4", output: 'Error: "no"' },
    { role: "assistant", content: "4." },
  ]);
});

Deno.test("openaiResponses() sends the provider's item not without the reasoning before it", async () => {
  await using upstream = double([hosted, { text: "Done." }]);
  const { second } = await twoSteps(upstream, modelOf(upstream), {
    edit: ({ content }) => ({
      role: "assistant",
      content: (content as readonly Part[]).filter(({ type, text }: Part & { text?: string }) =>
        type !== "reasoning" || text === ""
      ),
    }),
  });
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(itemsOf(second).slice(1, 5).map(({ id, type }) => [id, type]), [
    ["mcpl_1_0", "mcp_list_tools"],
    [undefined, "function_call"],
    [undefined, "function_call_output"],
    ["mcp_1_3", "mcp_call"],
  ]);
});

Deno.test("openaiResponses() keeps a refusal and citations", async () => {
  const annotation = { type: "url_citation", url: "https://x/y", title: "Y", start_index: 0, end_index: 2 };
  const items = [
    said("", {
      content: [{ type: "output_text", text: "It says yes.", annotations: [annotation], logprobs: [] }],
    }),
    said("", { content: [{ type: "refusal", refusal: "I will not." }] }),
  ];
  await using upstream = double([{ items }, { text: "Done." }]);
  const { message, second } = await twoSteps(upstream, modelOf(upstream));
  assert.ok(typeof message.content !== "string");
  assert.deepEqual(message.content.map((part) => part.type === "text" && part.text), [
    "It says yes.",
    "I will not.",
  ]);
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(itemsOf(second).slice(1).map(({ content }) => content), [
    [{ type: "output_text", text: "It says yes.", annotations: [annotation] }],
    [{ type: "refusal", refusal: "I will not." }],
  ]);
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

Deno.test("openaiResponses() refuses settings that cannot work, and does not quote the key", () => {
  assert.throws(() => openaiResponses({ model: "m", apiKey: "sk-secret\u{1f511}" }), (error) => {
    return error instanceof TypeError && !error.message.includes("secret") && error.cause === undefined;
  });
  assert.throws(() => openaiResponses({ model: "m", baseURL: "localhost" }), { name: "TypeError" });
  for (const name of ["window", "maxOutput", "stallMs", "tokenFactor"]) {
    assert.throws(() => openaiResponses({ model: "m", [name]: 0 }), {
      name: "RangeError",
      message: new RegExp(name),
    });
  }
});
