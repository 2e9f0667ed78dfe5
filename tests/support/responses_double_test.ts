import assert from "node:assert/strict";
import type { ModelRequest } from "../../src/ports.ts";
import {
  type Fault,
  type ResponsesDouble,
  type ResponsesDoubleOptions,
  type ResponsesReply,
  startResponsesDouble,
} from "./responses_double.ts";
import type { Json } from "./responses_wire_rules.ts";

const user = { role: "user", content: "hi" };
const base = { model: "m", store: false, input: [user] };
const SEALED = { include: ["reasoning.encrypted_content"] };

function call(call_id: unknown, more: Json = {}): Json {
  return { type: "function_call", call_id, name: "get", arguments: "{}", ...more };
}

function result(call_id: unknown, more: Json = {}): Json {
  return { type: "function_call_output", call_id, output: "done", ...more };
}

function gives(...content: unknown[]): Json {
  return { input: [{ role: "user", content }] };
}

function tool(more: Json = {}): Json {
  return {
    tools: [{ type: "function", name: "get", parameters: { type: "object" }, strict: false, ...more }],
  };
}

function post(double: ResponsesDouble, body: unknown): Promise<Response> {
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(`${double.url}/responses`, { method: "POST", body: sent });
}

async function answerOf(double: ResponsesDouble, body: unknown): Promise<Json> {
  const response = await post(double, body);
  const found = await response.json();
  assert.equal(response.status, 200, JSON.stringify(found));
  return found;
}

/** The data of each frame, after its name was compared with its type and its number with its place. */
async function framesOf(response: Response): Promise<Json[]> {
  return (await response.text()).split("\n\n").filter((frame) => frame !== "").map((frame, index) => {
    const [, name, data = ""] = /^event: ([\w.]+)\ndata: (.*)$/.exec(frame) ?? [];
    if (data.endsWith('"delta":"')) return { type: "garbage" };
    const { sequence_number, ...parsed } = JSON.parse(data);
    assert.equal(parsed.type, name);
    assert.equal(sequence_number, index);
    return parsed;
  });
}

function start(options: Partial<ResponsesDoubleOptions> = {}): ResponsesDouble {
  return startResponsesDouble({
    script: ({ messages }) => ({ text: `got ${messages.length} messages` }),
    ...options,
  });
}

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

const thoughtful: ResponsesReply = { reasoning: "well", text: "So.", calls: [{ name: "get", input: {} }] };
type Edit = (output: readonly Json[]) => readonly Json[];

const TAMPERED: readonly (readonly [string, Edit, RegExp | null])[] = [
  ["as it was", (output) => output, null],
  [
    "with nothing behind it that has an id",
    ([first, ...rest]) => [first ?? {}, ...rest.map(({ id: _, status: __, ...item }) => item)],
    null,
  ],
  ["not at all, and no id", (output) => output.slice(1).map(({ id: _, status: __, ...item }) => item), null],
  [
    "not at all",
    (output) => output.slice(1),
    /'msg_1_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1_0'/,
  ],
  ["with other words", ([first, ...rest]) => [{ ...first, summary: [] }, ...rest], /could not be verified/],
  [
    "under another id",
    ([first, ...rest]) => [{ ...first, id: "rs_9" }, ...rest.map(({ id: _, ...item }) => item)],
    /could not be verified/,
  ],
  [
    "without its sealed content",
    ([first, ...rest]) => [{ ...first, encrypted_content: null }, ...rest],
    /Items are not persisted/,
  ],
  [
    "in front of another item",
    ([first, said, called]) => [first ?? {}, called ?? {}, { role: "assistant", content: said?.content }],
    /without its required following item/,
  ],
  [
    "at the end",
    ([first, said, called]) =>
      [said ?? {}, called ?? {}, first ?? {}].map((item) =>
        item === first ? item : { ...item, id: undefined, status: undefined }
      ),
    /without its required following item/,
  ],
];

Deno.test.each(TAMPERED)("startResponsesDouble() gets its reasoning back %s", async (_, edit, message) => {
  await using double = start({ script: () => thoughtful });
  const { output } = await answerOf(double, { ...base, ...SEALED });
  const edited = edit(output as readonly Json[]);
  // Results follow all that was said, whatever its order.
  const response = await post(double, { ...base, input: [user, ...edited, result("call_1_0")] });
  const { error } = await response.json();
  if (message === null) assert.equal(response.status, 200, JSON.stringify(error));
  else {
    assert.match(error.message, message);
    assert.equal(response.status, /persisted/.test(error.message) ? 404 : 400);
  }
  assert.deepEqual(double.violations, message === null ? [] : [error.message]);
});

Deno.test("startResponsesDouble() refuses reasoning before a user's message", async () => {
  await using double = start({ script: () => ({ reasoning: "well" }) });
  const { output } = await answerOf(double, { ...base, ...SEALED });
  const response = await post(double, { ...base, input: [user, ...output as Json[], user] });
  assert.match((await response.json()).error.message, /without its required following item/);
});

Deno.test("startResponsesDouble() refuses an item of its own tools that it has not made", async () => {
  await using double = start();
  const response = await post(double, { ...base, input: [user, { type: "web_search_call", id: "ws_1" }] });
  assert.equal(response.status, 404);
  assert.match((await response.json()).error.message, /Item with id 'ws_1' not found/);
});

Deno.test("startResponsesDouble() seals only what it was asked for, and forgets it when told to", async () => {
  await using double = start({ script: () => ({ reasoning: "well", text: "So." }) });
  const open = await answerOf(double, base);
  assert.equal("encrypted_content" in ((open.output as Json[])[0] ?? {}), false);
  const sealed = await answerOf(double, { ...base, ...SEALED });
  double.forget();
  const response = await post(double, { ...base, input: [user, ...sealed.output as Json[]] });
  const { error } = await response.json();
  assert.equal(error.code, "invalid_encrypted_content");
});

Deno.test("startResponsesDouble() has models that do not reason", async () => {
  await using double = start({ reasons: false, script: () => ({ reasoning: "well", text: "So." }) });
  for (const body of [SEALED, { reasoning: { effort: "low" } }]) {
    const response = await post(double, { ...base, ...body });
    assert.match((await response.json()).error.message, /not supported with this model/);
  }
  const { output } = await answerOf(double, base);
  assert.deepEqual((output as Json[]).map(({ type }) => type), ["message"]);
});

Deno.test("startResponsesDouble() gives its script the request", async () => {
  const seen: ModelRequest[] = [];
  await using double = start({
    script: (request) => {
      seen.push(request);
      return {};
    },
  });
  await answerOf(double, {
    ...base,
    instructions: "be brief",
    max_output_tokens: 99,
    ...tool({ description: "Gets." }),
    input: [
      { role: "developer", content: [{ type: "input_text", text: "and kind" }] },
      {
        role: "user",
        content: [{ type: "input_text", text: "hi" }, { type: "input_image", image_url: "https://x/y" }],
      },
      { role: "assistant", content: [{ type: "output_text", text: "So." }] },
      call("a", { arguments: '{"q":1}' }),
      call("b"),
      result("b", { output: [{ type: "input_text", text: "two" }] }),
      result("a"),
    ],
  });
  const output = (value: string) => ({ type: "text", value });
  assert.deepEqual(seen, [{
    system: "be brief\n\nand kind",
    messages: [
      {
        role: "user",
        content: [{ type: "text", text: "hi" }, { type: "file", mediaType: "image/*", data: "https://x/y" }],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "So." },
          { type: "tool-call", toolCallId: "a", toolName: "get", input: { q: 1 } },
          { type: "tool-call", toolCallId: "b", toolName: "get", input: {} },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "b", toolName: "get", output: output("two") },
          { type: "tool-result", toolCallId: "a", toolName: "get", output: output("done") },
        ],
      },
    ],
    tools: [{ name: "get", description: "Gets.", inputSchema: { type: "object" } }],
    maxOutput: 99,
  }]);
});

Deno.test("startResponsesDouble() streams each item from its start to its end, and all of them at the end", async () => {
  await using double = start({ script: () => thoughtful });
  const frames = await framesOf(await post(double, { ...base, ...SEALED, stream: true }));
  const kinds = frames.map(({ type }) => String(type).replace("response.", ""));
  assert.deepEqual(kinds.filter((kind, index) => kind !== kinds[index - 1]), [
    "created",
    "in_progress",
    "output_item.added",
    "reasoning_summary_part.added",
    "reasoning_summary_text.delta",
    "reasoning_summary_text.done",
    "reasoning_summary_part.done",
    "output_item.done",
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
    "output_item.added",
    "function_call_arguments.delta",
    "function_call_arguments.done",
    "output_item.done",
    "completed",
  ]);
  const { response } = frames.at(-1) as { readonly response: Json };
  const done = frames.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
  assert.deepEqual(response.output, done);
  assert.equal(response.status, "completed");
  assert.ok(Number((response.usage as Json).input_tokens) > 0);
});

const FAULTS: readonly (readonly [string, Fault, readonly string[]])[] = [
  ["sends garbage", { garbageAfter: 1 }, ["response.created", "garbage"]],
  ["sends an error", { errorFrameAfter: 1 }, ["response.created", "error"]],
  ["fails", { errorFrameAfter: 1, failed: true }, ["response.created", "response.failed"]],
];

Deno.test.each(FAULTS)("startResponsesDouble() %s where it was told to", async (_, fault, types) => {
  await using double = start({ faults: () => fault });
  const frames = await framesOf(await post(double, { ...base, stream: true }));
  assert.deepEqual(frames.map(({ type }) => type), types);
});

Deno.test("startResponsesDouble() tells by a status, or at the end of a stream, what it was told to", async () => {
  await using double = start({
    faults: (number) => number === 1 ? { status: 503, headers: { "retry-after": "1" } } : { noDone: true },
  });
  const refused = await post(double, { ...base, stream: true });
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "1"]);
  await refused.body?.cancel();
  const frames = await framesOf(await post(double, { ...base, stream: true }));
  assert.equal(frames.at(-1)?.type, "response.output_item.done");
});

Deno.test("startResponsesDouble() records a script that throws", async () => {
  await using double = start({
    script: () => {
      throw new Error("no idea");
    },
  });
  const response = await post(double, base);
  assert.equal(response.status, 500);
  assert.equal((await response.json()).error.type, "server_error");
  assert.match(double.violations[0] ?? "", /no idea/);
});

Deno.test("startResponsesDouble() can fall silent, and sees the client leave", async () => {
  await using double = start({ faults: () => ({ hangAfter: 2 }) });
  const response = await post(double, { ...base, stream: true });
  const reader = response.body?.getReader();
  await reader?.read();
  assert.equal(double.open, 1);
  await reader?.cancel();
  await double.untilLeft(1);
  assert.equal(double.open, 0);
});
