/** What the double for Chat Completions refuses, streams and breaks. Over 300 lines: a third of them is one table. */
import assert from "node:assert/strict";
import type { ModelRequest } from "../../src/ports.ts";
import { type Double, type DoubleOptions, type Fault, startDouble } from "./openai_double.ts";

type Body = Readonly<Record<string, unknown>>;

const user = { role: "user", content: "hi" };
const base = { model: "m", messages: [user] };

function call(id: string, text = "{}", name = "get"): unknown {
  return { id, type: "function", function: { name, arguments: text } };
}

function asks(...calls: unknown[]): unknown {
  return { role: "assistant", content: null, tool_calls: calls };
}

function result(id: string, content: unknown = "done"): unknown {
  return { role: "tool", tool_call_id: id, content };
}

function tool(name: string, parameters: unknown = { type: "object" }): unknown {
  return { type: "function", function: { name, parameters } };
}

function post(double: Double, body: unknown, headers: HeadersInit = {}): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(`${double.url}/chat/completions`, { method: "POST", body: text, headers });
}

async function dataOf(response: Response): Promise<string[]> {
  return (await response.text()).split("\n\n").filter((frame) => frame !== "").map((frame) => frame.slice(6));
}

function start(options: Partial<DoubleOptions> = {}): Double {
  return startDouble({ script: ({ messages }) => ({ text: `got ${messages.length} messages` }), ...options });
}

const VIOLATIONS: readonly (readonly [string, Body, RegExp])[] = [
  ["an empty messages array", { messages: [] }, /empty array/],
  ["messages that are no array", { messages: "hi" }, /Missing required parameter: 'messages'/],
  ["a missing model", { model: "" }, /model parameter/],
  ["an unknown parameter", { tail: 1 }, /Unrecognized request argument/],
  [
    "stream_options without stream",
    { stream_options: { include_usage: true } },
    /only allowed when 'stream'/,
  ],
  ["a token limit of 0", { max_tokens: 0 }, /at least 1/],
  ["both token limits", { max_tokens: 1, max_completion_tokens: 1 }, /same time/],
  ["an unknown role", { messages: [{ role: "bot", content: "x" }] }, /Invalid value: 'bot'/],
  ["a message that is no object", { messages: ["hi"] }, /expected an object/],
  ["user content that is a number", { messages: [{ role: "user", content: 1 }] }, /a list of parts/],
  ["an empty list of parts", { messages: [{ role: "user", content: [] }] }, /a list of parts/],
  [
    "an image in a tool message",
    {
      messages: [
        user,
        asks(call("a")),
        result("a", [{ type: "image_url", image_url: { url: "https://x/y" } }]),
      ],
    },
    /expected one of text/,
  ],
  [
    "a part without its field",
    { messages: [{ role: "user", content: [{ type: "text" }] }] },
    /a field of 'text' is missing/,
  ],
  [
    "a file without its name",
    {
      messages: [{ role: "user", content: [{ type: "file", file: { file_data: "data:a/b;base64,AA==" } }] }],
    },
    /a field of 'file' is missing/,
  ],
  ["an assistant without content or calls", { messages: [user, { role: "assistant" }] }, /got null/],
  ["an empty list of calls", { messages: [user, asks()] }, /tool_calls': empty array/],
  ["a tool message as the first one", { messages: [result("a")] }, /must be a response to a prec/],
  ["an orphan after a user message", { messages: [user, result("a")] }, /must be a response to a prec/],
  [
    "a result that answers another message",
    { messages: [user, asks(call("a")), result("a"), asks(call("b")), result("a")] },
    /no open call/,
  ],
  [
    "a result behind a user message",
    { messages: [user, asks(call("a")), user, result("a")] },
    /did not have response messages: a/,
  ],
  ["a second result", { messages: [user, asks(call("a")), result("a"), result("a")] }, /'a' is no open call/],
  [
    "a call without a result before the next message",
    { messages: [user, asks(call("a"), call("b")), result("a"), user] },
    /did not have response messages: b/,
  ],
  [
    "a call without a result at the end",
    { messages: [user, asks(call("a"))] },
    /did not have response messages: a/,
  ],
  ["two calls of one id", { messages: [user, asks(call("a"), call("a")), result("a")] }, /Duplicate value/],
  ["a call without an id", { messages: [user, asks(call("")), result("")] }, /1 to 40 characters/],
  ["a call with a long id", { messages: [user, asks(call("x".repeat(41)))] }, /1 to 40 characters/],
  ["cut off arguments", { messages: [user, asks(call("a", '{"q":')), result("a")] }, /a string of JSON/],
  ["a call with a bad name", { messages: [user, asks(call("a", "{}", "a.b"))] }, /does not match pattern/],
  ["a call of another type", { messages: [user, asks({ id: "a" })] }, /expected \{ id, type/],
  [
    "a result without an id",
    { messages: [user, asks(call("a")), { role: "tool", content: "x" }] },
    /tool_call_id/,
  ],
  ["an empty list of tools", { tools: [] }, /'tools': empty array/],
  ["too many tools", { tools: Array(129).fill(tool("a")) }, /array too long/],
  ["a tool with a bad name", { tools: [tool("read file")] }, /does not match pattern/],
  ["a tool with a long name", { tools: [tool("x".repeat(65))] }, /does not match pattern/],
  ["a schema that is no object", { tools: [tool("a", {})] }, /type: "object"/],
  ["a tool of another type", { tools: [{ name: "a" }] }, /type: "function"/],
  ["a request that is too long", { max_tokens: 991 }, /maximum context length is 1000 tokens/],
  ["an answer that is too long", { max_tokens: 999 }, /at most 995 tokens/],
];

for (const [name, body, message] of VIOLATIONS) {
  Deno.test(`startDouble() refuses ${name}`, async () => {
    await using double = start({ window: 1_000, maxOutput: 995 });
    const response = await post(double, { ...base, ...body });
    assert.equal(response.status, 400);
    const { error } = await response.json();
    assert.match(error.message, message);
    assert.equal(error.type, "invalid_request_error");
    assert.deepEqual(double.violations, [error.message]);
    assert.equal(double.requests.length, 1);
  });
}

Deno.test("startDouble() refuses a body that is no JSON", async () => {
  await using double = start();
  const response = await post(double, "{");
  assert.equal(response.status, 400);
  await response.body?.cancel();
  assert.equal(double.violations.length, 1);
});

Deno.test("startDouble() says context_length_exceeded where the window is passed", async () => {
  await using double = start({ window: 30 });
  const response = await post(double, { ...base, max_tokens: 25 });
  const { error } = await response.json();
  assert.equal(error.code, "context_length_exceeded");
  assert.match(error.message, /you requested 35 tokens \(10 in the messages, 25 in the completion\)/);
});

Deno.test("startDouble() refuses a wrong token and unknown paths", async () => {
  await using double = start({ token: "t" });
  const wrong = await post(double, base, { authorization: "Bearer x" });
  assert.equal(wrong.status, 401);
  assert.equal((await wrong.json()).error.code, "invalid_api_key");
  const headers = { authorization: "Bearer t" };
  const right = await post(double, base, headers);
  assert.equal(right.status, 200);
  await right.body?.cancel();
  const models = await fetch(`${double.url}/models`, { headers });
  assert.equal((await models.json()).data[0].id, "double");
  const elsewhere = await fetch(`${double.url}/engines`, { headers });
  assert.equal(elsewhere.status, 404);
  await elsewhere.body?.cancel();
  assert.deepEqual(double.violations, []);
});

Deno.test("startDouble() gives the script the request that the wire says", async () => {
  const seen: ModelRequest[] = [];
  await using double = start({
    script: (request) => {
      seen.push(request);
      return {};
    },
  });
  const parts = [
    { type: "text", text: "look" },
    { type: "image_url", image_url: { url: "https://x/y.png" } },
    { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AA==" } },
  ];
  const response = await post(double, {
    ...base,
    max_completion_tokens: 7,
    tools: [tool("get")],
    messages: [
      { role: "system", content: "one" },
      { role: "developer", content: [{ type: "text", text: "two" }] },
      { role: "user", content: parts },
      { role: "assistant", content: "both", tool_calls: [call("a", '{"q":1}'), call("b")] },
      result("b", "second"),
      result("a", [{ type: "text", text: "first" }]),
      { role: "assistant", content: "fine" },
    ],
  });
  await response.body?.cancel();
  assert.deepEqual(double.violations, []);
  const results = [["b", "second"], ["a", "first"]].map(([toolCallId, value]) => ({
    type: "tool-result",
    toolCallId,
    toolName: "get",
    output: { type: "text", value },
  }));
  assert.deepEqual(seen, [{
    system: "one\n\ntwo",
    maxOutput: 7,
    tools: [{ name: "get", description: "", inputSchema: { type: "object" } }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "file", mediaType: "image/*", data: "https://x/y.png" },
          { type: "file", mediaType: "application/octet-stream", data: "data:application/pdf;base64,AA==" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "both" },
          { type: "tool-call", toolCallId: "a", toolName: "get", input: { q: 1 } },
          { type: "tool-call", toolCallId: "b", toolName: "get", input: {} },
        ],
      },
      { role: "tool", content: results },
      { role: "assistant", content: "fine" },
    ],
  }]);
});

Deno.test("startDouble() streams chunks as the service does", async () => {
  await using double = start({
    script: () => ({
      reasoning: "well then",
      text: "hello there",
      calls: [{ name: "get", input: { q: "é😀" } }],
    }),
  });
  const response = await post(double, { ...base, stream: true, stream_options: { include_usage: true } });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const data = await dataOf(response);
  assert.equal(data.pop(), "[DONE]");
  const chunks = data.map((text) => JSON.parse(text));
  const usage = chunks.pop();
  assert.deepEqual(usage.choices, []);
  assert.equal(usage.usage.prompt_tokens, 10);
  assert.ok(usage.usage.completion_tokens > 0);
  assert.ok(chunks.every((chunk) => chunk.usage === null));
  assert.equal(chunks.pop().choices[0].finish_reason, "tool_calls");
  const deltas = chunks.map((chunk) => chunk.choices[0].delta);
  assert.deepEqual(deltas.slice(0, 5), [
    { role: "assistant", content: "" },
    { reasoning_content: "well" },
    { reasoning_content: " then" },
    { content: "hello" },
    { content: " there" },
  ]);
  const [first, ...rest] = deltas.slice(5).map((delta) => delta.tool_calls[0]);
  assert.deepEqual(first, {
    index: 0,
    id: "call_1_0",
    type: "function",
    function: { name: "get", arguments: "" },
  });
  assert.ok(rest.length >= 3);
  assert.deepEqual(JSON.parse(rest.map((fragment) => fragment.function.arguments).join("")), { q: "é😀" });
});

Deno.test("startDouble() answers in one piece where no stream is asked for", async () => {
  await using double = start({ script: () => ({ calls: [{ name: "get", input: { q: 1 } }] }) });
  const { choices, usage } = await (await post(double, base)).json();
  assert.equal(choices[0].finish_reason, "tool_calls");
  assert.deepEqual(choices[0].message, {
    role: "assistant",
    content: null,
    tool_calls: [call("call_1_0", '{"q":1}')],
  });
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
});

Deno.test("startDouble() answers 500 and records it where the script throws", async () => {
  await using double = start({
    script: () => {
      throw new Error("no idea");
    },
  });
  const response = await post(double, base);
  assert.equal(response.status, 500);
  await response.body?.cancel();
  assert.match(double.violations[0] ?? "", /no idea/);
});

const streamed = { ...base, stream: true };

const BROKEN: readonly (readonly [string, Fault, readonly string[]])[] = [
  ["garbage", { garbageAfter: 1 }, ["role", "garbage"]],
  ["an error frame", { errorFrameAfter: 2 }, ["role", "got", "error"]],
  ["no end mark", { noDone: true }, ["role", "got", " 1", " messages", "stop"]],
];

for (const [name, fault, expected] of BROKEN) {
  Deno.test(`startDouble() can answer with ${name}`, async () => {
    await using double = start({ faults: () => fault });
    const kinds = (await dataOf(await post(double, streamed))).map((text) => {
      if (text.endsWith("[{")) return "garbage";
      const { choices, error } = JSON.parse(text);
      if (error !== undefined) return "error";
      const { delta, finish_reason } = choices[0];
      return finish_reason ?? (delta.role === undefined ? delta.content : "role");
    });
    assert.deepEqual(kinds, expected);
  });
}

Deno.test("startDouble() can answer with a status, by request number", async () => {
  const headers = { "retry-after": "3" };
  await using double = start({
    faults: (number) => number === 1 ? { status: 429, body: "slow down", headers } : undefined,
  });
  const first = await post(double, base);
  assert.equal(first.status, 429);
  assert.equal(first.headers.get("retry-after"), "3");
  assert.equal(await first.text(), "slow down");
  const second = await post(double, base);
  assert.equal(second.status, 200);
  await second.body?.cancel();
});
