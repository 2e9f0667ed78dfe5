/** What the double for Messages takes and refuses. */
import assert from "node:assert/strict";
import type { Json } from "./wire_json.ts";
import {
  answerOf,
  asks,
  base,
  call,
  gives,
  mark,
  png,
  post,
  result,
  start,
  text,
  user,
} from "./_anthropic_asking.ts";

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
