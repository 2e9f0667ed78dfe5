import assert from "node:assert/strict";
import type { ModelRequest } from "../../src/ports.ts";
import {
  type AnthropicDouble,
  type AnthropicDoubleOptions,
  type Fault,
  type MessagesReply,
  startAnthropicDouble,
} from "./anthropic_double.ts";
import type { Json } from "./anthropic_wire_request.ts";

const user = { role: "user", content: "hi" };
const base = { model: "m", max_tokens: 100, messages: [user] };
const HEADERS = { "x-api-key": "k", "anthropic-version": "2023-06-01" };

function asks(...content: unknown[]): Json {
  return { role: "assistant", content };
}

function gives(...content: unknown[]): Json {
  return { role: "user", content };
}

function call(id: unknown, more: Json = {}): Json {
  return { type: "tool_use", id, name: "get", input: {}, ...more };
}

function result(id: unknown, more: Json = {}): Json {
  return { type: "tool_result", tool_use_id: id, content: "done", ...more };
}

function text(value: string, more: Json = {}): Json {
  return { type: "text", text: value, ...more };
}

function post(double: AnthropicDouble, body: unknown, headers: HeadersInit = HEADERS): Promise<Response> {
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(`${double.url}/v1/messages`, { method: "POST", body: sent, headers });
}

async function answerOf(
  double: AnthropicDouble,
  body: unknown,
): Promise<{ readonly content: readonly Json[] }> {
  const response = await post(double, body);
  const found = await response.json();
  assert.equal(response.status, 200, JSON.stringify(found));
  return found;
}

/** The data of each frame, after its name was compared with its type. */
async function framesOf(response: Response): Promise<Json[]> {
  return (await response.text()).split("\n\n").filter((frame) => frame !== "").map((frame) => {
    const [, name, data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
    if (data.endsWith("{")) return { type: "garbage" };
    const parsed = JSON.parse(data);
    assert.equal(parsed.type, name);
    return parsed;
  });
}

function start(options: Partial<AnthropicDoubleOptions> = {}): AnthropicDouble {
  return startAnthropicDouble({
    script: ({ messages }) => ({ text: `got ${messages.length} messages` }),
    ...options,
  });
}

const png = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
const mark = { cache_control: { type: "ephemeral" } };

const VIOLATIONS: readonly (readonly [string, Json, RegExp])[] = [
  ["a missing model", { model: "" }, /model: Field required/],
  ["an unknown parameter", { tail: 1 }, /tail: Extra inputs are not permitted/],
  ["no max_tokens", { max_tokens: undefined }, /max_tokens: Field required/],
  ["max_tokens that are no number", { max_tokens: "9" }, /max_tokens: Input should be a valid integer/],
  ["max_tokens of 0", { max_tokens: 0 }, /greater than or equal to 1/],
  ["max_tokens that are too many", { max_tokens: 996 }, /996 > 995, which is the maximum allowed/],
  [
    "a request that is too long",
    { messages: [gives(text("x".repeat(5_000)))] },
    /prompt is too long: \d+ tokens > 1000/,
  ],
  ["an answer that is too long", { max_tokens: 995 }, /exceed context limit: \d+ \+ 995 > 1000/],
  ["system that is no text", { system: [{ type: "image" }] }, /system\.0\.type/],
  ["system that is a number", { system: 1 }, /system: Input should be a valid list/],
  ["an empty system text", { system: [text("")] }, /must be non-empty/],
  ["no messages", { messages: undefined }, /messages: Field required/],
  ["an empty messages list", { messages: [] }, /at least one message/],
  ["a message that is no object", { messages: ["hi"] }, /valid dictionary/],
  ["an unknown role", { messages: [{ role: "tool", content: "x" }] }, /'user' or 'assistant'/],
  [
    "a first message of the assistant's",
    { messages: [asks(text("x")), user] },
    /first message must use the "user"/,
  ],
  [
    "an end of the assistant's",
    { messages: [user, asks(text("x"))] },
    /does not support assistant message prefill/,
  ],
  ["empty content", { messages: [{ role: "user", content: "" }] }, /must have non-empty content/],
  ["an empty list of blocks", { messages: [gives()] }, /must have non-empty content/],
  ["content that is a number", { messages: [{ role: "user", content: 1 }] }, /valid list/],
  ["an empty text", { messages: [gives(text(""))] }, /must be non-empty/],
  ["a blank text", { messages: [gives(text("\n"))] }, /must contain non-whitespace text/],
  ["a text without its text", { messages: [gives({ type: "text" })] }, /text\.text: Field required/],
  ["an unknown block", { messages: [gives({ type: "audio" })] }, /Input tag 'audio'/],
  ["a block of another role", { messages: [gives(call("a"))] }, /Input tag 'tool_use'/],
  [
    "an image of the assistant's",
    { messages: [user, asks({ type: "image", source: png }), user] },
    /Input tag 'image'/,
  ],
  ["a field too many", { messages: [gives(text("x", { tail: 1 }))] }, /text\.tail: Extra inputs/],
  ["an image of a kind that is not taken", {
    messages: [gives({ type: "image", source: { ...png, media_type: "image/svg+xml" } })],
  }, /media_type: Input should be/],
  ["an image that is of another kind", {
    messages: [gives({ type: "image", source: { ...png, media_type: "image/jpeg" } })],
  }, /does not match the provided media type/],
  ["an image that is no base64", {
    messages: [gives({ type: "image", source: { ...png, data: "data:image/png;base64,AA" } })],
  }, /invalid base64 data/],
  ["an image without a source", { messages: [gives({ type: "image" })] }, /source: Input tag/],
  ["a link that is none", {
    messages: [gives({ type: "image", source: { type: "url", url: "file:///x" } })],
  }, /Only HTTPS URLs/],
  ["an empty document", {
    messages: [gives({ type: "document", source: { type: "text", media_type: "text/plain", data: "" } })],
  }, /document content/],
  ["a call without a result", { messages: [user, asks(call("a")), user] }, /ids were found without .*: a\./],
  ["a call without a result at the end", { messages: [user, asks(call("a"))] }, /ids were found without/],
  ["a call with some of its results", {
    messages: [user, asks(call("a"), call("b")), gives(result("b"))],
  }, /ids were found without .*: a\./],
  ["a call that another message follows", {
    messages: [user, asks(call("a")), asks(text("x")), gives(result("a"))],
  }, /ids were found without/],
  ["a result behind a text", {
    messages: [user, asks(call("a")), gives(text("x"), result("a"))],
  }, /ids were found without/],
  ["a result without a call", { messages: [gives(result("a"))] }, /unexpected `tool_use_id`/],
  ["a result of an earlier message", {
    messages: [user, asks(call("a")), gives(result("a")), asks(text("x")), gives(result("a"))],
  }, /unexpected `tool_use_id`/],
  ["two results of one call", {
    messages: [user, asks(call("a")), gives(result("a"), result("a"))],
  }, /must have a single result/],
  [
    "two calls of one id",
    { messages: [user, asks(call("a"), call("a")), gives(result("a"))] },
    /must be unique/,
  ],
  ["one id in two messages", {
    messages: [user, asks(call("a")), gives(result("a")), asks(call("a")), gives(result("a"))],
  }, /must be unique/],
  [
    "an id with a dot",
    { messages: [user, asks(call("a.b")), gives(result("a.b"))] },
    /id: String should match/,
  ],
  ["a result for an id with a dot", { messages: [gives(result("a.b"))] }, /tool_use_id: String should match/],
  ["a call with a bad name", {
    messages: [user, asks(call("a", { name: "a b" })), gives(result("a"))],
  }, /name: String should match/],
  ["arguments that are text", {
    messages: [user, asks(call("a", { input: "{}" })), gives(result("a"))],
  }, /input: Input should be a valid dictionary/],
  ["a result within a result", {
    messages: [user, asks(call("a")), gives(result("a", { content: [result("b")] }))],
  }, /Input tag 'tool_result'/],
  ["an error with an image", {
    messages: [
      user,
      asks(call("a")),
      gives(result("a", { content: [{ type: "image", source: png }], is_error: true })),
    ],
  }, /all content must be type "text"/],
  ["a result that is a number", {
    messages: [user, asks(call("a")), gives(result("a", { content: 1 }))],
  }, /tool_result\.content/],
  ["thinking that it has not made", {
    messages: [user, asks({ type: "thinking", thinking: "t", signature: "s" }, text("x")), user],
  }, /messages\.1\.content\.0: Invalid `signature`/],
  ["thinking without a signature", {
    messages: [user, asks({ type: "thinking", thinking: "t" }, text("x")), user],
  }, /signature: Field required/],
  ["redacted thinking without its data", {
    messages: [user, asks({ type: "redacted_thinking" }, text("x")), user],
  }, /data: Field required/],
  ["a provider's call that it has not made", {
    messages: [user, asks(call("s", { type: "server_tool_use", name: "web_search" }), text("x")), user],
  }, /Invalid `encrypted_content`/],
  [
    "too small a budget",
    { thinking: { type: "enabled", budget_tokens: 1_000 } },
    /greater than or equal to 1024/,
  ],
  [
    "too big a budget",
    { thinking: { type: "enabled", budget_tokens: 2_000 } },
    /`max_tokens` must be greater/,
  ],
  ["an unknown kind of thinking", { thinking: { type: "deep" } }, /Input tag 'deep'/],
  ["thinking that is no object", { thinking: true }, /thinking: Input should be/],
  [
    "a binding without its beta",
    { thinking: { type: "adaptive", block_binding: {} } },
    /block_binding: Extra inputs/,
  ],
  ["tools that are no list", { tools: {} }, /tools: Input should be a valid list/],
  ["a tool that is no object", { tools: [1] }, /tools\.0: Input should be/],
  [
    "a tool with a bad name",
    { tools: [{ name: "a b", input_schema: { type: "object" } }] },
    /name: String should/,
  ],
  ["two tools of one name", {
    tools: [{ name: "a", input_schema: { type: "object" } }, { name: "a", input_schema: { type: "object" } }],
  }, /Tool names must be unique/],
  ["a tool without a schema", { tools: [{ name: "a" }] }, /input_schema: Field required/],
  [
    "a schema that is no object",
    { tools: [{ name: "a", input_schema: {} }] },
    /type: Input should be 'object'/,
  ],
  ["a schema of several", {
    tools: [{ name: "a", input_schema: { type: "object", anyOf: [] } }],
  }, /does not support oneOf/],
  ["a tool of another kind", { tools: [{ name: "a", type: "function" }] }, /Input tag 'function'/],
  ["five cache marks", {
    messages: [gives(...Array.from({ length: 5 }, () => text("x", mark)))],
  }, /A maximum of 4 blocks .* Found 5/],
  [
    "another cache mark",
    { messages: [gives(text("x", { cache_control: "yes" }))] },
    /cache_control: Input should/,
  ],
  ["a mark on thinking", {
    messages: [user, asks({ type: "thinking", thinking: "t", signature: "s", ...mark }, text("x")), user],
  }, /cache_control: Extra inputs/],
];

for (const [name, body, message] of VIOLATIONS) {
  Deno.test(`startAnthropicDouble() refuses ${name}`, async () => {
    await using double = start({ window: 1_000, maxOutput: 995 });
    const response = await post(double, { ...base, ...body });
    assert.equal(response.status, 400);
    const { error, type } = await response.json();
    assert.match(error.message, message);
    assert.deepEqual([type, error.type], ["error", "invalid_request_error"]);
    assert.deepEqual(double.violations, [error.message]);
    assert.equal(double.requests.length, 1);
  });
}

Deno.test("startAnthropicDouble() refuses a body that is no JSON", async () => {
  await using double = start();
  const response = await post(double, "{");
  assert.equal(response.status, 400);
  await response.body?.cancel();
  assert.equal(double.violations.length, 1);
});

Deno.test("startAnthropicDouble() wants a key and a version, and knows one path", async () => {
  await using double = start({ token: "t" });
  const version = { "anthropic-version": "2023-06-01" };
  for (
    const [headers, status, type] of [
      [version, 401, "authentication_error"],
      [{ ...version, "x-api-key": "x" }, 401, "authentication_error"],
      [{ "x-api-key": "t" }, 400, "invalid_request_error"],
    ] as const
  ) {
    const response = await post(double, base, headers);
    assert.equal(response.status, status);
    assert.equal((await response.json()).error.type, type);
  }
  assert.equal(double.violations.length, 2, "a wrong key is no fault of the request");
  for (const key of [{ "x-api-key": "t" }, { authorization: "Bearer t" }]) {
    const right = await post(double, base, { ...version, ...key });
    assert.equal(right.status, 200);
    await right.body?.cancel();
  }
  const elsewhere = await fetch(`${double.url}/v1/complete`, { headers: { ...version, "x-api-key": "t" } });
  assert.equal(elsewhere.status, 404);
  await elsewhere.body?.cancel();
});

Deno.test("startAnthropicDouble() joins neighbours of one role, as the service does", async () => {
  await using double = start();
  await answerOf(double, { ...base, messages: [user, user, asks(text("a")), asks(text("b")), user] });
  assert.deepEqual(double.violations, []);
});

const enabled = { thinking: { type: "enabled", budget_tokens: 1_024 }, max_tokens: 2_000 };
const thoughtful: MessagesReply = {
  blocks: [{ type: "thinking", thinking: "one" }, { type: "redacted_thinking" }, call("a")],
};

const TAMPERED: readonly (readonly [string, (content: readonly Json[]) => readonly Json[], RegExp | null])[] =
  [
    ["as it was", (content) => content, null],
    [
      "with other words",
      ([first, ...rest]) => [{ ...first, thinking: "two" }, ...rest],
      /Invalid `signature`/,
    ],
    [
      "in another order",
      ([first, second, third]) => [second ?? {}, first ?? {}, third ?? {}],
      /cannot be modified/,
    ],
    ["without its second part", ([first, , third]) => [first ?? {}, third ?? {}], /cannot be modified/],
    ["without its first part", ([, ...rest]) => rest, /cannot be modified/],
    [
      "not at all",
      (content) => content.slice(2),
      /Expected `thinking` or `redacted_thinking`, but found `tool_use`/,
    ],
    [
      "as the last block",
      ([first, second, third]) => [third ?? {}, first ?? {}, second ?? {}],
      /final block/,
    ],
  ];

Deno.test.each(TAMPERED)("startAnthropicDouble() gets its thinking back %s", async (_, edit, message) => {
  await using double = start({ script: () => thoughtful });
  const { content } = await answerOf(double, { ...base, ...enabled });
  const messages = [user, asks(...edit(content)), gives(result("a"))];
  const response = await post(double, { ...base, ...enabled, messages });
  const { error } = await response.json();
  assert.equal(response.status, message === null ? 200 : 400);
  if (message !== null) assert.match(error.message, message);
});

Deno.test("startAnthropicDouble() asks for no thinking where a message is not being answered", async () => {
  await using double = start();
  const messages = [user, asks(call("a")), gives(result("a")), asks(text("x")), user];
  await answerOf(double, { ...base, ...enabled, messages });
  await answerOf(double, { ...base, messages: messages.slice(0, 3) });
  assert.deepEqual(double.violations, []);
});

const search = call("srv", { type: "server_tool_use", name: "web_search" });
const found = result("srv", { type: "web_search_tool_result", content: [{ encrypted_content: "E" }] });

Deno.test("startAnthropicDouble() takes its own tools back as they were, each call with its result", async () => {
  await using double = start({ script: () => ({ blocks: [search, found, text("x")] }) });
  const { content } = await answerOf(double, base);
  await answerOf(double, { ...base, messages: [user, asks(...content), user] });
  assert.deepEqual(double.violations, []);
  const changed = { ...found, content: [{ encrypted_content: "F" }] };
  for (
    const [blocks, message] of [
      [[search, changed], /Invalid `encrypted_content`/],
      [[search, text("x")], /`web_search` tool use with id `srv` was found without/],
      [[found, text("x")], /unexpected `tool_use_id` found in `web_search_tool_result`/],
    ] as const
  ) {
    const response = await post(double, { ...base, messages: [user, asks(...blocks), user] });
    assert.match((await response.json()).error.message, message);
  }
});

Deno.test("startAnthropicDouble() goes on with an answer that it has paused", async () => {
  let n = 0;
  await using double = start({
    script: () => n++ === 0 ? { blocks: [search], stopReason: "pause_turn" } : { blocks: [found, text("x")] },
  });
  const first = await answerOf(double, base);
  const second = await answerOf(double, { ...base, messages: [user, asks(...first.content)] });
  await answerOf(double, { ...base, messages: [user, asks(...first.content, ...second.content), user] });
  assert.deepEqual(double.violations, []);
});

Deno.test("startAnthropicDouble({ bound: true }) binds thinking to what stands before it", async () => {
  await using double = start({ bound: true, script: () => ({ reasoning: "well", text: "x" }) });
  const { content } = await answerOf(double, base);
  const said = asks(...content);
  await answerOf(double, { ...base, messages: [gives(text("hi", mark)), said, user] });
  const moved = { ...base, messages: [gives(text("a summary")), said, user] };
  const refused = await post(double, moved);
  assert.match((await refused.json()).error.message, /bound to a different conversation/);
  assert.equal(double.dropped, 0);
  const thinking = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
  const headers = { ...HEADERS, "anthropic-beta": "other, thinking-binding-controls-2026-08-01" };
  const taken = await post(double, { ...moved, thinking }, headers);
  assert.equal(taken.status, 200);
  await taken.body?.cancel();
  assert.equal(double.dropped, 1);
});

Deno.test("startAnthropicDouble() bills what its cache has as read, and what is marked as written", async () => {
  await using double = start();
  const long = text("word ".repeat(100), mark);
  const bill = async (messages: readonly Json[]): Promise<Json> => {
    const response = await post(double, { ...base, messages });
    return (await response.json()).usage;
  };
  const first = await bill([gives(long)]);
  assert.equal(first.cache_read_input_tokens, 0);
  assert.ok(Number(first.cache_creation_input_tokens) > 100);
  const second = await bill([gives(text(long.text as string)), asks(text("x")), gives(text("y", mark))]);
  assert.equal(second.cache_read_input_tokens, first.cache_creation_input_tokens);
  const far = Array.from({ length: 21 }, () => text("z"));
  const third = await bill([gives(long), asks(text("x")), gives(...far, text("y", mark))]);
  assert.equal(third.cache_read_input_tokens, first.cache_creation_input_tokens, "by its own mark");
  const fourth = await bill([
    gives(text(long.text as string)),
    asks(text("w")),
    gives(...far, text("y", mark)),
  ]);
  assert.equal(fourth.cache_read_input_tokens, 0, "too far back");
});

Deno.test("startAnthropicDouble() gives the script the request that the wire says", async () => {
  const seen: ModelRequest[] = [];
  let reply: MessagesReply = {
    blocks: [{ type: "thinking", thinking: "t" }, call("a", { input: { q: 1 } }), call("b")],
  };
  await using double = start({
    script: (request) => {
      seen.push(request);
      return reply;
    },
  });
  const { content } = await answerOf(double, { ...base, ...enabled });
  reply = {};
  await answerOf(double, {
    ...base,
    system: [text("one"), text("two")],
    tools: [{ name: "get", input_schema: { type: "object" } }, {
      type: "web_search_20250305",
      name: "web_search",
    }],
    messages: [
      gives(text("look"), { type: "image", source: png }, {
        type: "document",
        source: { type: "url", url: "https://x/z.pdf" },
      }),
      asks(text("both"), ...content),
      gives(result("b", { content: [text("second")], is_error: true }), result("a"), text("and")),
    ],
  });
  assert.deepEqual(double.violations, []);
  const output = (type: string, value: string) => ({ type, value });
  assert.deepEqual(seen[1], {
    system: "one\n\ntwo",
    maxOutput: 100,
    tools: [{ name: "get", description: "", inputSchema: { type: "object" } }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "file", mediaType: "image/png", data: png.data },
          { type: "file", mediaType: "document/*", data: "https://x/z.pdf" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "both" },
          { type: "reasoning", text: "t" },
          { type: "tool-call", toolCallId: "a", toolName: "get", input: { q: 1 } },
          { type: "tool-call", toolCallId: "b", toolName: "get", input: {} },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "b", toolName: "get", output: output("error-text", "second") },
          { type: "tool-result", toolCallId: "a", toolName: "get", output: output("text", "done") },
        ],
      },
      { role: "user", content: [{ type: "text", text: "and" }] },
    ],
  });
});

const streamed = { ...base, stream: true };

Deno.test("startAnthropicDouble() streams events as the service does", async () => {
  await using double = start({
    script: () => ({ reasoning: "well", text: "hello there", calls: [{ name: "get", input: { q: "é😀" } }] }),
  });
  const response = await post(double, { ...streamed, ...enabled });
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  const [head, ping, ...frames] = await framesOf(response);
  const { usage, ...message } = head?.message as Json;
  assert.deepEqual(message, {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    stop_sequence: null,
  });
  assert.equal((usage as Json).output_tokens, 1);
  assert.deepEqual(ping, { type: "ping" });
  assert.deepEqual(frames.pop(), { type: "message_stop" });
  const last = frames.pop();
  assert.deepEqual(last?.delta, { stop_reason: "tool_use", stop_sequence: null });
  assert.ok(Number((last?.usage as Json).output_tokens) > 1);
  const starts = frames.flatMap(({ content_block: block }) => block ?? []);
  assert.deepEqual(starts, [
    { type: "thinking", thinking: "", signature: "" },
    { type: "text", text: "" },
    { type: "tool_use", id: "toolu_1_0", name: "get", input: {} },
  ]);
  const deltas = frames.flatMap(({ delta, index }) =>
    delta === undefined ? [] : [[index, delta as Json] as const]
  );
  assert.deepEqual(deltas.slice(0, 4), [
    [0, { type: "thinking_delta", thinking: "well" }],
    [0, { type: "signature_delta", signature: "sig/1+0==" }],
    [1, { type: "text_delta", text: "hello" }],
    [1, { type: "text_delta", text: " there" }],
  ]);
  const json = deltas.slice(4).map(([, delta]) => delta.partial_json);
  assert.equal(json[0], "");
  assert.ok(json.length >= 4);
  assert.deepEqual(JSON.parse(json.join("")), { q: "é😀" });
  assert.equal(frames.filter(({ type }) => type === "content_block_stop").length, 3);
});

Deno.test("startAnthropicDouble() thinks only where it is asked to", async () => {
  await using double = start({ script: () => ({ reasoning: "well", text: "x" }) });
  const plain = await answerOf(double, base);
  assert.deepEqual(plain.content.map(({ type }) => type), ["text"]);
  const asked = await answerOf(double, { ...base, thinking: { type: "adaptive" } });
  assert.deepEqual(asked.content.map(({ type }) => type), ["thinking", "text"]);
});

Deno.test("startAnthropicDouble() answers 500 and records it where the script throws", async () => {
  await using double = start({
    script: () => {
      throw new Error("no idea");
    },
  });
  const response = await post(double, base);
  assert.equal(response.status, 500);
  assert.equal((await response.json()).error.type, "api_error");
  assert.match(double.violations[0] ?? "", /no idea/);
});

const opening = ["message_start", "ping", "content_block_start"];

const BROKEN: readonly (readonly [string, Fault, readonly string[]])[] = [
  ["garbage", { garbageAfter: 3 }, [...opening, "garbage"]],
  ["an error event", { errorFrameAfter: 3 }, [...opening, "error"]],
  ["no end mark", { noDone: true }, [
    ...opening,
    ...Array(3).fill("content_block_delta"),
    "content_block_stop",
    "message_delta",
  ]],
];

for (const [name, fault, expected] of BROKEN) {
  Deno.test(`startAnthropicDouble() can answer with ${name}`, async () => {
    await using double = start({ faults: () => fault });
    const frames = await framesOf(await post(double, streamed));
    assert.deepEqual(frames.map(({ type }) => type), expected);
  });
}

Deno.test("startAnthropicDouble() can answer with a status, by request number", async () => {
  const headers = { "retry-after": "3" };
  await using double = start({
    faults: (number) => number === 1 ? { status: 529, headers } : { status: 502, body: "<h1>no</h1>" },
  });
  const first = await post(double, base);
  assert.equal(first.status, 529);
  assert.equal(first.headers.get("retry-after"), "3");
  assert.equal((await first.json()).type, "error");
  assert.equal(await (await post(double, base)).text(), "<h1>no</h1>");
});

Deno.test("startAnthropicDouble() can cut the connection", async () => {
  await using double = start({ faults: () => ({ cutAfter: 2 }) });
  const response = await post(double, streamed);
  await assert.rejects(response.text(), TypeError);
  assert.equal(double.open, 0);
});

Deno.test("startAnthropicDouble() can fall silent, and sees the client leave", async () => {
  await using double = start({ faults: () => ({ hangAfter: 1 }) });
  const reader = (await post(double, streamed)).body?.getReader();
  await reader?.read();
  assert.equal(double.open, 1);
  await reader?.cancel();
  await double.untilLeft(1);
  assert.equal(double.open, 0);
});

Deno.test("startAnthropicDouble() ends silent answers when it is disposed of", async () => {
  const double = start({ faults: () => ({ hangAfter: 1 }) });
  const response = await post(double, streamed);
  const body = response.text();
  await double[Symbol.asyncDispose]();
  assert.match(await body, /message_start/);
});
