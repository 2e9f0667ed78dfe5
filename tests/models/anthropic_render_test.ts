/** Messages as the adapter for Messages writes them. Over 300 lines: tables of what becomes of each kind of part. */
import assert from "node:assert/strict";
import type { FilePart, Message, ToolOutput } from "../../src/core/message.ts";
import { anthropic } from "../../src/models/anthropic.ts";
import type { ModelRequest } from "../../src/ports.ts";
import { startAnthropicDouble } from "../support/anthropic_double.ts";
import type { Json } from "../support/wire_json.ts";
import { call, type Part, PNG, result, user } from "./_messages.ts";

/** The body that the double got, and what it refused. */
async function render(
  messages: readonly Message[],
  rest: Partial<ModelRequest> = {},
): Promise<{ readonly body: Json; readonly turns: readonly Json[]; readonly violations: readonly string[] }> {
  await using upstream = startAnthropicDouble({ script: () => ({ text: "ok" }) });
  const model = anthropic({ model: "m", apiKey: "k", baseURL: upstream.url, cache: false, maxRetries: 0 });
  const request = { system: "", messages, tools: [], maxOutput: 77, ...rest };
  try {
    await Array.fromAsync(model.stream(request, new AbortController().signal));
  } catch {
    // What the double refuses is told by its violations.
  }
  const [body = {}] = upstream.requests;
  return { body, turns: body.messages as readonly Json[], violations: upstream.violations };
}

function text(value: string): Json {
  return { type: "text", text: value };
}

function wireCall(id: string, input: unknown = {}): Json {
  return { type: "tool_use", id, name: "get", input };
}

function wireResult(id: string, content: unknown = "x", more: Json = {}): Json {
  return { type: "tool_result", tool_use_id: id, content, ...more };
}

const outputs: readonly (readonly [ToolOutput, unknown, boolean])[] = [
  [{ type: "text", value: "verbatim\n" }, "verbatim\n", false],
  [{ type: "text", value: "" }, "(no output)", false],
  [{ type: "text", value: " \n" }, "(no output)", false],
  [{ type: "json", value: { a: [1] } }, '{"a":[1]}', false],
  [{ type: "json", value: undefined }, "(no output)", false],
  [{ type: "error-text", value: "no such file" }, "no such file", true],
  [{ type: "error-text", value: "" }, "(no output)", true],
  [{ type: "error-json", value: { code: 1 } }, '{"code":1}', true],
  [{ type: "execution-denied", reason: "not today" }, "The call was denied: not today", true],
  [{ type: "execution-denied" }, "The call was denied", true],
  [{ type: "content", value: [] }, "(no output)", false],
  [{ type: "content", value: [{ type: "text", text: "" }] }, "(no output)", false],
  [
    {
      type: "content",
      value: [
        { type: "text", text: "two files" },
        { type: "file", mediaType: "image/png", data: PNG },
        { type: "file", mediaType: "application/pdf", data: "JVBERi0=", filename: "a.pdf" },
      ],
    },
    [
      text("two files"),
      { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
      {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
        title: "a.pdf",
      },
    ],
    false,
  ],
];

Deno.test("anthropic() renders every kind of result so that the service takes it", async () => {
  const ids = outputs.map((_, index) => `e1_${index}`);
  const { body, violations } = await render(
    [
      user,
      { role: "assistant", content: ids.map((id) => call(id, { id })) },
      {
        role: "tool",
        content: outputs.map(([output], index) => (
          { type: "tool-result", toolCallId: `e1_${index}`, toolName: "get", output }
        )),
      },
    ],
    {
      system: "be brief",
      tools: [{ name: "get", description: "Gets.", inputSchema: { type: "object", properties: {} } }],
    },
  );
  assert.deepEqual(violations, []);
  assert.deepEqual(Object.keys(body), ["model", "max_tokens", "stream", "tools", "system", "messages"]);
  assert.deepEqual(body, {
    model: "m",
    max_tokens: 77,
    stream: true,
    tools: [{ name: "get", description: "Gets.", input_schema: { type: "object", properties: {} } }],
    system: [text("be brief")],
    messages: [
      { role: "user", content: [text("hi")] },
      { role: "assistant", content: ids.map((id) => wireCall(id, { id })) },
      {
        role: "user",
        content: outputs.map(([, content, isError], index) =>
          wireResult(`e1_${index}`, content, isError ? { is_error: true } : {})
        ),
      },
    ],
  });
});

const file = (mediaType: string, data: string, filename?: string): FilePart => (
  { type: "file", mediaType, data, ...(filename === undefined ? {} : { filename }) }
);
const image = (media_type: string, data: string): Json => (
  { type: "image", source: { type: "base64", media_type, data } }
);

const files: readonly (readonly [string, FilePart, Json])[] = [
  ["an image", file("image/png", PNG), image("image/png", PNG)],
  ["an image as a data URL", file("image/png", `data:image/png;base64,${PNG}`), image("image/png", PNG)],
  ["an image of a wrong type", file("image/jpeg", PNG), image("image/png", PNG)],
  ["an image of any type", file("image/*", "/9j/4AAQ"), image("image/jpeg", "/9j/4AAQ")],
  ["an image that says no more", file("image/webp", "AAAA"), image("image/webp", "AAAA")],
  ["an image by its link", file("image/*", "https://x/y.png"), {
    type: "image",
    source: { type: "url", url: "https://x/y.png" },
  }],
  [
    "an image that the service does not know",
    file("image/svg+xml", "PHN2Zz4=", "a.svg"),
    text(
      "[file: a.svg, image/svg+xml, 8 characters of data, not shown]",
    ),
  ],
  ["a PDF", file("application/pdf", "JVBERi0=", "a.pdf"), {
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
    title: "a.pdf",
  }],
  ["a PDF by its link", file("application/pdf", "https://x/z.pdf"), {
    type: "document",
    source: { type: "url", url: "https://x/z.pdf" },
  }],
  ["a text", file("text/csv", btoa("a,b\n")), {
    type: "document",
    source: { type: "text", media_type: "text/plain", data: "a,b\n" },
  }],
  ["an empty text", file("text/plain", ""), text("[file: text/plain, 0 characters of data, not shown]")],
  [
    "a text that is none",
    file("text/plain", "/w=="),
    text(
      "[file: text/plain, 4 characters of data, not shown]",
    ),
  ],
  ["a text by its link", file("text/csv", "https://x/b.csv"), text("[file: text/csv, https://x/b.csv]")],
  ["a sound", file("audio/wav", "AAAA"), text("[file: audio/wav, 4 characters of data, not shown]")],
];

Deno.test.each(files)("anthropic() sends %s", async (_, part, block) => {
  const { turns, violations } = await render([{ role: "user", content: [part] }]);
  assert.deepEqual(violations, []);
  assert.deepEqual(turns, [{ role: "user", content: [block] }]);
});

const NONE = text("(no text)");
const signed = (signature: string): Part => (
  { type: "reasoning", text: "t", providerOptions: { anthropic: { signature } } }
);

const shapes: readonly (readonly [string, readonly Message[], readonly Json[]])[] = [
  ["two user messages as one", [user, { role: "user", content: [{ type: "text", text: "there" }] }], [
    { role: "user", content: [text("hi"), text("there")] },
  ]],
  ["two assistant messages as one", [user, { role: "assistant", content: "a" }, {
    role: "assistant",
    content: "b",
  }, user], [
    { role: "user", content: [text("hi")] },
    { role: "assistant", content: [text("a"), text("b")] },
    { role: "user", content: [text("hi")] },
  ]],
  ["results before anything else", [
    user,
    { role: "assistant", content: [call("a"), call("b")] },
    result("b"),
    user,
    result("a"),
  ], [
    { role: "user", content: [text("hi")] },
    { role: "assistant", content: [wireCall("a"), wireCall("b")] },
    { role: "user", content: [wireResult("b"), wireResult("a"), text("hi")] },
  ]],
  ["a beginning of the user's", [{ role: "assistant", content: "a" }, user], [
    { role: "user", content: [NONE] },
    { role: "assistant", content: [text("a")] },
    { role: "user", content: [text("hi")] },
  ]],
  ["something for nothing", [], [{ role: "user", content: [NONE] }]],
  ["no empty text", [
    { role: "user", content: [{ type: "text", text: "" }, { type: "text", text: "hi" }] },
    { role: "assistant", content: [{ type: "text", text: "\n" }, call("a")] },
    result("a"),
    { role: "tool", content: [] },
  ], [
    { role: "user", content: [text("hi")] },
    { role: "assistant", content: [wireCall("a")] },
    { role: "user", content: [wireResult("a")] },
  ]],
  ["a marker where nothing is left", [
    { role: "user", content: " " },
    { role: "assistant", content: "" },
    { role: "user", content: [] },
    { role: "assistant", content: [{ type: "reasoning", text: "unsigned" }] },
    user,
  ], [
    { role: "user", content: [NONE] },
    { role: "assistant", content: [text("(no answer)")] },
    { role: "user", content: [NONE] },
    { role: "assistant", content: [text("(no answer)")] },
    { role: "user", content: [text("hi")] },
  ]],
  ["arguments as an object, and no file of the assistant's", [
    user,
    {
      role: "assistant",
      content: [file("image/png", PNG), call("a", undefined), call("b", [1])],
    },
    result("a"),
    result("b"),
  ], [
    { role: "user", content: [text("hi")] },
    {
      role: "assistant",
      content: [
        text(`[file: image/png, ${PNG.length} characters of data, not shown]`),
        wireCall("a"),
        wireCall("b", { unparsed_arguments: "[1]" }),
      ],
    },
    { role: "user", content: [wireResult("a"), wireResult("b")] },
  ]],
  ["tools that another provider has run as tools like any other", [
    user,
    {
      role: "assistant",
      content: [
        { ...call("ws:1", { q: 1 }), providerExecuted: true },
        { type: "tool-result", toolCallId: "ws:1", toolName: "get", output: { type: "json", value: [1] } },
        { type: "text", text: "found" },
        { ...call("ws:2"), providerExecuted: true },
        { type: "tool-result", toolCallId: "gone", toolName: "get", output: { type: "json", value: 1 } },
        call("a"),
      ],
    },
    result("a"),
    { role: "assistant", content: [{ ...call(""), providerExecuted: true }] },
  ], [
    { role: "user", content: [text("hi")] },
    {
      role: "assistant",
      content: [wireCall("ws_1", { q: 1 }), text("found"), wireCall("ws_2"), wireCall("a")],
    },
    {
      role: "user",
      content: [wireResult("ws_1", "[1]"), wireResult("ws_2", "(no output)"), wireResult("a")],
    },
    { role: "assistant", content: [wireCall("call")] },
    { role: "user", content: [wireResult("call", "(no output)")] },
  ]],
];

Deno.test.each(shapes)("anthropic() makes of messages %s", async (_, messages, turns) => {
  const found = await render(messages);
  assert.deepEqual(found.violations, []);
  assert.deepEqual(found.turns, turns);
});

Deno.test("anthropic() sends thinking that is signed, and never as the last block", async () => {
  const { turns } = await render([
    user,
    {
      role: "assistant",
      content: [signed("s"), { type: "reasoning", text: "unsigned" }, {
        type: "reasoning",
        text: "",
        providerOptions: { openai: { itemId: "r" } },
      }],
    },
    user,
  ]);
  assert.deepEqual(turns[1]?.content, [
    { type: "thinking", thinking: "t", signature: "s" },
    text("(no answer)"),
  ]);
});

Deno.test("anthropic() sends who has made a call where it was no direct one", async () => {
  const caller = { type: "code_execution_20250825", tool_id: "srvtoolu_1" };
  const { turns } = await render([
    user,
    { role: "assistant", content: [{ ...call("a"), providerOptions: { anthropic: { caller } } }] },
    result("a"),
  ]);
  assert.deepEqual(turns[1]?.content, [{ ...wireCall("a"), caller }]);
});

Deno.test("anthropic() puts every system text at the top", async () => {
  const { body, violations } = await render([{ role: "system", content: "first" }, user, {
    role: "system",
    content: "later",
  }], { system: "be brief" });
  assert.deepEqual(violations, []);
  assert.deepEqual(body.system, [text("be brief\n\nfirst\n\nlater")]);
  assert.deepEqual(body.messages, [{ role: "user", content: [text("hi")] }]);
});

Deno.test("anthropic() leaves out what there is none of", async () => {
  const tools = [{ name: "get", description: "", inputSchema: { type: "object" } }];
  const { body, violations } = await render([user], { tools });
  assert.deepEqual(violations, []);
  assert.equal("system" in body, false);
  assert.deepEqual(body.tools, [{ name: "get", input_schema: { type: "object" } }]);
});
