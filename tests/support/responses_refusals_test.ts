/** What the double for Responses takes and refuses. */
import assert from "node:assert/strict";
import type { Json } from "./wire_json.ts";
import { answerOf, base, call, gives, post, result, start, tool, user } from "./_responses_asking.ts";

const VIOLATIONS: readonly (readonly [string, Json, string | null, RegExp])[] = [
  ["a missing model", { model: undefined }, "missing_required_parameter", /'model'/],
  ["an unknown parameter", { messages: [] }, "unknown_parameter", /Unknown parameter: 'messages'/],
  ["too few tokens", { max_output_tokens: 15 }, "integer_below_min_value", /a value >= 16, but got 15/],
  ["too many tokens", { max_output_tokens: 996 }, "invalid_value", /at most 995 output tokens/],
  ["tokens that are no number", { max_output_tokens: "99" }, "invalid_type", /an integer, but got a string/],
  ["instructions that are no text", { instructions: [] }, "invalid_type", /a string, but got an array/],
  ["an earlier response", { previous_response_id: "resp_1" }, "previous_response_not_found", /not found/],
  ["an include that is no list", { include: "x" }, "invalid_type", /'include'/],
  ["an include that there is none of", { include: ["usage"] }, "invalid_value", /Invalid value: 'usage'/],
  ["no input", { input: undefined }, "missing_required_parameter", /One of "input"/],
  ["an empty text", { input: "" }, "missing_required_parameter", /One of "input"/],
  ["an empty input", { input: [] }, "empty_array", /Invalid 'input': empty array/],
  [
    "input that is a number",
    { input: 1 },
    "invalid_type",
    /an array of objects or a string, but got a number/,
  ],
  ["an item that is no object", { input: ["hi"] }, "invalid_type", /'input\[0\]': expected an object/],
  [
    "an item without a type",
    { input: [{ content: "hi" }] },
    "missing_required_parameter",
    /'input\[0\]\.type'/,
  ],
  ["an item of an unknown type", { input: [{ type: "tool" }] }, "invalid_value", /Invalid value: 'tool'/],
  ["an unknown field", { input: [{ ...user, name: "x" }] }, "unknown_parameter", /'input\[0\]\.name'/],
  ["an unknown role", { input: [{ ...user, role: "tool" }] }, "invalid_value", /Invalid value: 'tool'/],
  ["a message without content", { input: [{ role: "user" }] }, "missing_required_parameter", /content/],
  ["content that is null", { input: [{ role: "user", content: null }] }, "invalid_type", /but got null/],
  ["an empty list of parts", gives(), "empty_array", /'input\[0\]\.content': empty array/],
  ["a part that is no object", gives("x"), "invalid_type", /content\[0\]/],
  [
    "a part of Chat Completions",
    gives({ type: "text", text: "x" }),
    "invalid_value",
    /Invalid value: 'text'/,
  ],
  [
    "a part of the other side",
    { input: [{ role: "assistant", content: [{ type: "input_text", text: "x" }] }] },
    "invalid_value",
    /Supported values are: 'output_text', 'refusal'/,
  ],
  ["a text without its text", gives({ type: "input_text" }), "missing_required_parameter", /\.text/],
  [
    "a refusal without its text",
    { input: [{ role: "assistant", content: [{ type: "refusal" }] }] },
    "missing_required_parameter",
    /\.refusal/,
  ],
  ["an image without a place", gives({ type: "input_image" }), "missing_required_parameter", /image_url/],
  [
    "an image that is no URL",
    gives({ type: "input_image", image_url: "AAAA" }),
    "invalid_value",
    /Expected a valid URL/,
  ],
  [
    "an image of a kind that is not taken",
    gives({ type: "input_image", image_url: "data:image/svg+xml;base64,AAAA" }),
    "invalid_image_format",
    /unsupported image/,
  ],
  [
    "a file without data",
    gives({ type: "input_file", filename: "a" }),
    "missing_required_parameter",
    /file_data/,
  ],
  [
    "a file without a name",
    gives({ type: "input_file", file_data: "data:application/pdf;base64,AA" }),
    "missing_required_parameter",
    /filename/,
  ],
  [
    "a file that is no data URL",
    gives({ type: "input_file", filename: "a", file_data: "AA" }),
    "invalid_value",
    /data URL/,
  ],
  [
    "a call without a result",
    { input: [user, call("a"), user] },
    null,
    /No tool output found for function call a\./,
  ],
  [
    "a call with some of its results",
    { input: [user, call("a"), call("b"), result("b")] },
    null,
    /No tool output found for function call a\./,
  ],
  [
    "a result without a call",
    { input: [user, result("a")] },
    null,
    /No tool call found for function call output with call_id a\./,
  ],
  ["a result before its call", { input: [user, result("a"), call("a")] }, null, /No tool call found/],
  [
    "two results of one call",
    { input: [user, call("a"), result("a"), result("a")] },
    null,
    /No tool call found/,
  ],
  [
    "two calls of one id",
    { input: [user, call("a"), result("a"), call("a"), result("a")] },
    null,
    /Duplicate/,
  ],
  ["a call without an id", { input: [user, call(undefined)] }, "missing_required_parameter", /call_id/],
  ["an empty id", { input: [user, call(""), result("")] }, "empty_string", /call_id': empty string/],
  [
    "an id that is too long",
    { input: [user, call("x".repeat(65)), result("x".repeat(65))] },
    "string_above_max_length",
    /maximum length 64, but got a string with length 65/,
  ],
  ["an id that is a number", { input: [user, call(1)] }, "invalid_type", /call_id/],
  [
    "a call without a name",
    { input: [user, call("a", { name: undefined })] },
    "missing_required_parameter",
    /name/,
  ],
  [
    "a call with a bad name",
    { input: [user, call("a", { name: "a b" })] },
    "invalid_value",
    /does not match pattern/,
  ],
  [
    "arguments that are no text",
    { input: [user, call("a", { arguments: {} })] },
    "invalid_type",
    /arguments/,
  ],
  [
    "arguments that are no JSON",
    { input: [user, call("a", { arguments: "{" })] },
    "invalid_value",
    /arguments/,
  ],
  [
    "a result without output",
    { input: [user, call("a"), result("a", { output: undefined })] },
    "missing_required_parameter",
    /output/,
  ],
  [
    "a result that is a number",
    { input: [user, call("a"), result("a", { output: 1 })] },
    "invalid_type",
    /output/,
  ],
  [
    "an item id of another kind",
    { input: [user, call("a", { id: "call_a" }), result("a")] },
    "invalid_value",
    /'call_a'\. Expected an ID that begins with 'fc'/,
  ],
  [
    "an item id that is too long",
    { input: [user, call("a", { id: `fc_${"x".repeat(70)}` })] },
    "string_above_max_length",
    /id/,
  ],
  ["an item id that is a number", { input: [user, call("a", { id: 1 })] }, "invalid_type", /id/],
  [
    "one item twice",
    { input: [user, call("a", { id: "fc_1" }), result("a"), call("b", { id: "fc_1" }), result("b")] },
    null,
    /Duplicate item found with id fc_1/,
  ],
  [
    "an output item without a status",
    { input: [user, { type: "message", id: "msg_1", role: "assistant", content: "x" }] },
    "missing_required_parameter",
    /status/,
  ],
  [
    "reasoning without a summary",
    { input: [user, { type: "reasoning", id: "rs_1" }] },
    "missing_required_parameter",
    /summary/,
  ],
  [
    "a provider's item without an id",
    { input: [user, { type: "web_search_call" }] },
    "missing_required_parameter",
    /id/,
  ],
  ["tools that are no list", { tools: {} }, "invalid_type", /'tools'/],
  ["too many tools", { tools: Array(129).fill({}) }, "array_above_max_length", /at most 128/],
  ["a tool that is no object", { tools: [1] }, "invalid_type", /tools\[0\]/],
  ["a tool without a type", { tools: [{ name: "a" }] }, "missing_required_parameter", /type/],
  ["a tool of another kind", { tools: [{ type: "news" }] }, "invalid_value", /'news'/],
  [
    "a tool in the form of Chat Completions",
    { tools: [{ type: "function", function: { name: "get" } }] },
    "missing_required_parameter",
    /tools\[0\]\.name/,
  ],
  ["a tool with a bad name", tool({ name: "a b" }), "invalid_value", /does not match pattern/],
  ["a tool with a number for a description", tool({ description: 1 }), "invalid_type", /description/],
  [
    "two tools of one name",
    { tools: [...tool().tools as Json[], ...tool().tools as Json[]] },
    "invalid_value",
    /Duplicate/,
  ],
  ["a schema that is no object", tool({ parameters: {} }), "invalid_function_parameters", /'type: "object"'/],
  [
    "a loose schema, strict by default",
    tool({ strict: undefined, parameters: { type: "object", properties: { a: {} } } }),
    "invalid_function_parameters",
    /'additionalProperties' is required/,
  ],
  [
    "a request that is too long",
    { input: "x".repeat(4_100) },
    "context_length_exceeded",
    /exceeds the context window/,
  ],
];

Deno.test.each(VIOLATIONS)("startResponsesDouble() refuses %s", async (_, body, code, message) => {
  await using double = start({ window: 1_000, maxOutput: 995 });
  const response = await post(double, { ...base, ...body });
  assert.equal(response.status, 400);
  const { error } = await response.json();
  assert.match(error.message, message);
  assert.deepEqual([error.type, error.code], ["invalid_request_error", code]);
  assert.deepEqual(double.violations, [error.message]);
  assert.equal(double.requests.length, 1);
});

Deno.test("startResponsesDouble() refuses a body that is no JSON", async () => {
  await using double = start();
  const response = await post(double, "{");
  assert.equal(response.status, 400);
  await response.body?.cancel();
  assert.equal(double.violations.length, 1);
});

Deno.test("startResponsesDouble() wants its key, and knows one path", async () => {
  await using double = start({ token: "t" });
  const wrong = await post(double, base);
  assert.equal(wrong.status, 401);
  assert.equal((await wrong.json()).error.code, "invalid_api_key");
  const headers = { authorization: "Bearer t" };
  const right = await fetch(`${double.url}/responses`, {
    method: "POST",
    headers,
    body: JSON.stringify(base),
  });
  assert.equal(right.status, 200);
  await right.body?.cancel();
  const elsewhere = await fetch(`${double.url}/chat/completions`, { headers });
  assert.equal(elsewhere.status, 404);
  await elsewhere.body?.cancel();
  assert.deepEqual(double.violations, [], "neither is a fault of the request");
});

Deno.test.each([
  ["a text for input", { input: "hi" }],
  ["a message of each role", {
    input: ["system", "developer", "user", "assistant"].map((role) => ({ role, content: "x" })),
  }],
  ["empty content", { input: [{ role: "user", content: "" }] }],
  [
    "a tool that is strict",
    tool({ strict: true, parameters: { type: "object", additionalProperties: false } }),
  ],
  ["a tool of the provider's", { tools: [{ type: "web_search" }] }],
  ["files in a result", {
    input: [
      user,
      call("a"),
      result("a", { output: [{ type: "input_image", image_url: "https://x/y.png" }] }),
    ],
  }],
])("startResponsesDouble() takes %s", async (_, body) => {
  await using double = start();
  await answerOf(double, { ...base, ...body });
  assert.deepEqual(double.violations, []);
});
