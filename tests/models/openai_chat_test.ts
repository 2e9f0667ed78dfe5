import assert from "node:assert/strict";
import type { Message, ToolOutput } from "../../src/core/message.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { type ScriptedReply, scriptedTokens } from "../../src/models/scripted.ts";
import type { Model, ModelEvent, ModelRequest } from "../../src/ports.ts";
import { type Double, type DoubleOptions, startDouble } from "../support/openai_double.ts";
import { ending, fakeFetch, frame } from "../support/fake_fetch.ts";

const request: ModelRequest = {
  system: "",
  messages: [{ role: "user", content: "hi" }],
  tools: [],
  maxOutput: 100,
};

async function collect(
  model: Model,
  asked = request,
  signal = new AbortController().signal,
): Promise<ModelEvent[]> {
  return await Array.fromAsync(model.stream(asked, signal));
}

function double(reply: ScriptedReply, options: Partial<DoubleOptions> = {}): Double {
  return startDouble({ script: () => reply, ...options });
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

async function streamed(reads: readonly (string | Uint8Array)[]): Promise<ModelEvent[]> {
  const { fetch } = fakeFetch({ reads });
  return await collect(openaiChat({ model: "m", fetch }));
}

Deno.test("openaiChat() streams text, reasoning and usage", async () => {
  await using upstream = double({ reasoning: "think about it", text: "It is fine — 好的." });
  const events = await collect(openaiChat({ model: "m", baseURL: upstream.url }));
  assert.equal(joined(events, "reasoning.delta"), "think about it");
  assert.equal(joined(events, "text.delta"), "It is fine — 好的.");
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

Deno.test.each([[1], [16]])("openaiChat() puts %i calls together from fragments", async (count) => {
  const calls = Array.from({ length: count }, (_, index) => ({
    name: `tool_${index}`,
    input: { path: `/tmp/${index}`, text: "é😀\n".repeat(index), deep: { list: [index, null] } },
  }));
  await using upstream = double({ text: "Let me look.", calls });
  const events = await collect(openaiChat({ model: "m", baseURL: upstream.url }));
  const { message, reason } = finishOf(events);
  assert.equal(reason, "tool-calls");
  assert.deepEqual(message.content, [
    { type: "text", text: "Let me look." },
    ...calls.map(({ name, input }, index) => ({
      type: "tool-call",
      toolCallId: `call_1_${index}`,
      toolName: name,
      input,
    })),
  ]);
  for (const [index, { input }] of calls.entries()) {
    assert.deepEqual(JSON.parse(inputOf(events, index)), input);
  }
});

const results: readonly (readonly [ToolOutput, string])[] = [
  [{ type: "text", value: "verbatim\n" }, "verbatim\n"],
  [{ type: "text", value: "" }, "(no output)"],
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
  assert.equal(JSON.parse(fake.requests[0]?.body ?? "")[limit], 100);
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

Deno.test("openaiChat() refuses settings that cannot work, and does not quote the key", () => {
  const wrong = { name: "TypeError", message: /HTTP cannot carry/ };
  assert.throws(() => openaiChat({ model: "m", apiKey: "sk-secret\u{1f511}" }), wrong);
  assert.throws(() => openaiChat({ model: "m", apiKey: "sk-secret\u{1f511}" }), (error) => {
    return error instanceof Error && !error.message.includes("secret") && error.cause === undefined;
  });
  assert.throws(() => openaiChat({ model: "m", headers: { "a b": "c" } }), wrong);
  assert.throws(() => openaiChat({ model: "m", baseURL: "localhost" }), {
    name: "TypeError",
    message: /no URL/,
  });
  for (const name of ["window", "maxOutput", "stallMs", "tokenFactor"]) {
    assert.throws(() => openaiChat({ model: "m", [name]: 0 }), {
      name: "RangeError",
      message: new RegExp(name),
    });
  }
});

Deno.test("openaiChat() gives one event for neighbours of one kind in one network read", async () => {
  const call = (index: number, text: string, name?: string) =>
    frame({
      tool_calls: [{
        index,
        ...(name && { id: name }),
        function: { ...(name && { name }), arguments: text },
      }],
    });
  const events = await streamed([
    frame({ reasoning: "a" }) + frame({ reasoning_content: "b" }) + frame({ content: "c" }) +
    frame({ content: "d" }),
    frame({ content: "e" }) + call(0, "", "x") + call(0, '{"q"') + call(1, "{", "y") + call(0, ":1}") +
    call(1, "}"),
    ": keep-alive\n\n",
    frame({ content: null }) + ending("tool_calls"),
  ]);
  assert.deepEqual(events.slice(0, -1), [
    { type: "reasoning.delta", text: "ab" },
    { type: "text.delta", text: "cd" },
    { type: "text.delta", text: "e" },
    { type: "tool.input.delta", call: 0, name: "x", delta: '{"q"' },
    { type: "tool.input.delta", call: 1, name: "y", delta: "{" },
    { type: "tool.input.delta", call: 0, name: "x", delta: ":1}" },
    { type: "tool.input.delta", call: 1, name: "y", delta: "}" },
  ]);
  assert.deepEqual(finishOf(events).message.content, [
    { type: "reasoning", text: "ab" },
    { type: "text", text: "cde" },
    { type: "tool-call", toolCallId: "x", toolName: "x", input: { q: 1 } },
    { type: "tool-call", toolCallId: "y", toolName: "y", input: {} },
  ]);
});

Deno.test.each([["\n"], ["\r\n"], ["\r"]])(
  "openaiChat() reads frames split at any byte, lines ending in %j",
  async (eol) => {
    const text = frame({ role: "assistant", content: "" }) + ": ping\n\n" +
      frame({ content: "é😀" }) +
      frame({ tool_calls: [{ index: 0, id: "a", function: { name: "get", arguments: '{"q":' } }] }) +
      frame({ tool_calls: [{ index: 0, function: { arguments: '"ü"}' } }] }) +
      ending("tool_calls");
    const bytes = new TextEncoder().encode(text.replaceAll("\n", eol));
    const content = [
      { type: "text", text: "é😀" },
      { type: "tool-call", toolCallId: "a", toolName: "get", input: { q: "ü" } },
    ];
    for (let at = 0; at <= bytes.length; at++) {
      const events = await streamed(
        [bytes.subarray(0, at), bytes.subarray(at)].filter((read) => read.length > 0),
      );
      assert.deepEqual(finishOf(events).message.content, content, `split at ${at}`);
      assert.equal(joined(events, "text.delta"), "é😀");
    }
    const single = await streamed(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)));
    assert.deepEqual(finishOf(single).message.content, content);
  },
);

const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
const stop = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };

Deno.test.each([
  ["in a last chunk without choices", [stop, { choices: [], usage }], { inputTokens: 9, outputTokens: 4 }],
  ["in the chunk with the finish_reason", [{ ...stop, usage }], { inputTokens: 9, outputTokens: 4 }],
  [
    "in every chunk, null at first",
    [{ ...stop, usage: null }, { ...stop, usage: { ...usage, completion_tokens: 1 } }, {
      choices: [],
      usage,
    }],
    { inputTokens: 9, outputTokens: 4 },
  ],
  [
    "with cached tokens",
    [stop, { choices: [], usage: { ...usage, prompt_tokens_details: { cached_tokens: 6 } } }],
    { inputTokens: 9, outputTokens: 4, cachedTokens: 6 },
  ],
  [
    "with details that are null",
    [stop, { choices: [], usage: { ...usage, prompt_tokens_details: null } }],
    { inputTokens: 9, outputTokens: 4 },
  ],
  ["nowhere", [stop], undefined],
  ["as zeros", [stop, { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } }], undefined],
  ["as nonsense", [stop, { choices: [], usage: { prompt_tokens: "9" } }], undefined],
])("openaiChat() takes usage %s", async (_, chunks, expected) => {
  const data = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
  const finish = finishOf(await streamed([`${data}data: [DONE]\n\n`]));
  assert.deepEqual(finish.usage, expected);
  assert.equal("usage" in finish, expected !== undefined);
});

type Fragment = Readonly<Record<string, unknown>>;
const named = (name: string, text?: unknown) => ({ function: { name, arguments: text } });
const rest = (text: string) => ({ function: { arguments: text } });
const one = [["get", { q: 1 }]] as const;
const two = [["get", { q: 1 }], ["put", { q: 2 }]] as const;
const same = [["get", { q: 1 }], ["get", { q: 2 }]] as const;

const FRAGMENTS:
  readonly (readonly [string, readonly Fragment[][], readonly (readonly [string, unknown])[]])[] = [
    ["with arguments whole", [[{ index: 0, id: "a", ...named("get", '{"q":1}') }]], one],
    ["with arguments as an object", [[{ index: 0, id: "a", ...named("get", { q: 1 }) }]], one],
    ["without arguments", [[{ index: 0, id: "a", ...named("get") }]], [["get", {}]]],
    ["with blank arguments", [[{ index: 0, id: "a", ...named("get", " ") }]], [["get", {}]]],
    ["with a list for arguments", [[{ index: 0, id: "a", ...named("get", "[1]") }]], [["get", {
      unparsed_arguments: "[1]",
    }]]],
    ["cut off", [[{ index: 0, id: "a", ...named("get", '{"q"') }]], [["get", {
      unparsed_arguments: '{"q"',
    }]]],
    [
      "with id and name repeated",
      [[{ index: 0, id: "a", ...named("get", '{"q"') }], [{ index: 0, id: "a", ...named("get", ":1}") }]],
      one,
    ],
    [
      "with the name after the id and the arguments",
      [[{ index: 0, id: "a", ...rest('{"q"') }], [{ index: 0, ...named("get", ":1}") }]],
      one,
    ],
    [
      "interleaved",
      [
        [{ index: 0, id: "a", ...named("get") }, { index: 1, id: "b", ...named("put") }],
        [{ index: 1, ...rest('{"q":2}') }, { index: 0, ...rest('{"q":1}') }],
      ],
      two,
    ],
    [
      "with an index that starts at 1",
      [[{ index: 1, id: "a", ...named("get", '{"q":1}') }], [{
        index: 2,
        id: "b",
        ...named("put", '{"q":2}'),
      }]],
      two,
    ],
    [
      "with index 0 for every call",
      [
        [{ index: 0, id: "a", ...named("get", '{"q"') }],
        [{ index: 0, ...rest(":1}") }],
        [{ index: 0, id: "b", ...named("put", '{"q"') }],
        [{ index: 0, ...rest(":2}") }],
      ],
      two,
    ],
    [
      "with an id of its own for every fragment",
      [[{ index: 0, id: "a", ...named("get", '{"q"') }], [{ index: 0, id: "z", ...rest(":1}") }]],
      one,
    ],
    [
      "with an index that counts fragments",
      [[{ index: 0, id: "a", ...named("get", '{"q"') }], [{ index: 1, ...rest(":1}") }]],
      one,
    ],
    [
      "without index",
      [
        [{ id: "a", ...named("get", '{"q"') }],
        [rest(":1}")],
        [{ id: "b", ...named("put", "") }],
        [{ id: "b", ...rest('{"q":2}') }],
      ],
      two,
    ],
    ["without index in one chunk", [[{ id: "a", ...named("get", '{"q":1}') }, {
      id: "b",
      ...named("put", '{"q":2}'),
    }]], two],
    ["without index and id", [[named("get", '{"q":1}')], [named("get", '{"q":2}')]], same],
    ["without index and id in one chunk", [[named("get", '{"q":1}'), named("get", '{"q":2}')]], same],
    ["without index and id, the name repeated", [[named("get", '{"q"')], [named("get", ":1}")]], one],
    ["without index, the id behind it", [[rest("")], [{ id: "a", ...named("get", '{"q":1}') }]], one],
    ["with an empty entry beside it", [[{ index: 0, id: "a", ...named("get", '{"q":1}') }, {
      index: 1,
      ...named(""),
    }]], one],
  ];

Deno.test.each(FRAGMENTS)("openaiChat() takes calls %s", async (_, chunks, expected) => {
  const frames = chunks.map((tool_calls) => frame({ tool_calls }));
  const events = await streamed([...frames, ending("stop")]);
  const { message, reason } = finishOf(events);
  assert.equal(reason, "tool-calls", "whatever the server calls it");
  assert.ok(Array.isArray(message.content));
  const calls = message.content.filter((part) => part.type === "tool-call");
  assert.deepEqual(calls.map((call) => [call.toolName, call.input]), expected);
  assert.equal(new Set(calls.map((call) => call.toolCallId)).size, calls.length, "ids are there and differ");
  for (const [index, call] of calls.entries()) {
    const told = events.filter((event) => event.type === "tool.input.delta" && event.call === index);
    assert.ok(told.length > 0 && told.every((event) => "name" in event && event.name === call.toolName));
  }
});

Deno.test("openaiChat() takes the older function_call", async () => {
  const events = await streamed([
    frame({ function_call: { name: "get", arguments: '{"q"' } }) +
    frame({ function_call: { arguments: ":1}" } }),
    ending("function_call"),
  ]);
  const { message, reason } = finishOf(events);
  assert.equal(reason, "tool-calls");
  assert.deepEqual(message.content, [{
    type: "tool-call",
    toolCallId: "call_0",
    toolName: "get",
    input: { q: 1 },
  }]);
});

Deno.test.each([
  ["stop", "stop"],
  ["length", "length"],
  ["model_length", "length"],
  ["content_filter", "content-filter"],
  ["tool_calls", "stop"],
  ["eos", "stop"],
])("openaiChat() reads finish_reason %s of a text as %s", async (wire, reason) => {
  assert.equal(finishOf(await streamed([frame({ content: "x" }), ending(wire)])).reason, reason);
});

Deno.test("openaiChat() keeps the reason length where calls were cut off", async () => {
  const call = frame({ tool_calls: [{ index: 0, id: "a", function: { name: "get", arguments: '{"q' } }] });
  assert.equal(finishOf(await streamed([call, ending("length")])).reason, "length");
});

Deno.test.each([
  ["without an end mark", [frame({ content: "x" }), frame({}, "stop")]],
  ["without the last line's end", [frame({ content: "x" }), frame({}, "stop").trimEnd()]],
  ["with an empty delta for keep-alive", [
    "data: \n\n",
    'data: {"type":"ping"}\n\n',
    frame({ content: "x" }),
    ending(),
  ]],
  ["with content as parts", [frame({ content: [{ type: "text", text: "x" }] }), ending()]],
  ["with a refusal", [frame({ refusal: "x" }), ending()]],
  ["with chunks after the end mark", [frame({ content: "x" }), `${ending()}data: {oops\n\n`]],
  ["with a null error", ['data: {"error":null,"choices":[]}\n\n', frame({ content: "x" }), ending()]],
  ["with fields that event streams do not have", ["hello\n\n", frame({ content: "x" }), ending()]],
])("openaiChat() takes a stream %s", async (_, reads) => {
  assert.deepEqual(finishOf(await streamed(reads)).message.content, [{ type: "text", text: "x" }]);
});

Deno.test("openaiChat() takes the break of a connection after the finish_reason as the end", async () => {
  const { fetch } = fakeFetch({ reads: [frame({ content: "x" }), frame({}, "stop")], end: "error" });
  assert.equal(finishOf(await collect(openaiChat({ model: "m", fetch }))).reason, "stop");
});

Deno.test("openaiChat() finishes an answer that says nothing", async () => {
  const { message, reason } = finishOf(await streamed([ending()]));
  assert.deepEqual([message.content, reason], [[], "stop"]);
});
