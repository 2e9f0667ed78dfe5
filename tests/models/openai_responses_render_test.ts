/** Messages as the adapter for Responses writes them. Over 300 lines: tables of what becomes of each kind of part. */
import assert from "node:assert/strict";
import type { FilePart, Message, ToolOutput } from "../../src/core/message.ts";
import { openaiResponses } from "../../src/models/openai_responses.ts";
import type { ModelRequest } from "../../src/ports.ts";
import { startResponsesDouble } from "../support/responses_double.ts";
import type { Json } from "../support/wire_json.ts";
import { call, PNG, result, user } from "./_messages.ts";

/** The body that the double got, and what it refused. */
async function render(
  messages: readonly Message[],
  rest: Partial<ModelRequest> = {},
): Promise<{ readonly body: Json; readonly input: readonly Json[]; readonly violations: readonly string[] }> {
  await using upstream = startResponsesDouble({ script: () => ({ text: "ok" }) });
  const model = openaiResponses({ model: "m", baseURL: upstream.url, maxRetries: 0 });
  const request = { system: "", messages, tools: [], maxOutput: 77, ...rest };
  try {
    await Array.fromAsync(model.stream(request, new AbortController().signal));
  } catch {
    // What the double refuses is told by its violations.
  }
  const [body = {}] = upstream.requests;
  return { body, input: body.input as readonly Json[], violations: upstream.violations };
}

function wireCall(call_id: string, input: unknown = {}): Json {
  return { type: "function_call", call_id, name: "get", arguments: JSON.stringify(input) };
}

function wireResult(call_id: string, output: unknown = "x"): Json {
  return { type: "function_call_output", call_id, output };
}

function text(value: string): Json {
  return { type: "input_text", text: value };
}

const outputs: readonly (readonly [ToolOutput, unknown])[] = [
  [{ type: "text", value: "verbatim\n" }, "verbatim\n"],
  [{ type: "text", value: "" }, "(no output)"],
  [{ type: "text", value: " \n" }, "(no output)"],
  [{ type: "json", value: { a: [1] } }, '{"a":[1]}'],
  [{ type: "json", value: undefined }, "(no output)"],
  [{ type: "error-text", value: "no such file" }, "Error: no such file"],
  [{ type: "error-text", value: "" }, "Error: (no output)"],
  [{ type: "error-json", value: { code: 1 } }, 'Error: {"code":1}'],
  [{ type: "error-json", value: undefined }, "Error: (no output)"],
  [{ type: "execution-denied", reason: "not today" }, "Error: the call was denied: not today"],
  [{ type: "execution-denied" }, "Error: the call was denied"],
  [{ type: "content", value: [] }, "(no output)"],
  [{ type: "content", value: [{ type: "text", text: "" }] }, "(no output)"],
  [
    { type: "content", value: [{ type: "text", text: "two" }, { type: "text", text: "lines" }] },
    "two\nlines",
  ],
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
      { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
      { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
    ],
  ],
];

Deno.test("openaiResponses() renders every kind of result so that the service takes it", async () => {
  const ids = outputs.map((_, index) => `e1_${index}`);
  const { input, violations } = await render([
    user,
    { role: "assistant", content: ids.map((id) => call(id, { id })) },
    {
      role: "tool",
      content: outputs.map(([output], index) => (
        { type: "tool-result", toolCallId: `e1_${index}`, toolName: "get", output }
      )),
    },
  ]);
  assert.deepEqual(violations, []);
  assert.deepEqual(input, [
    { role: "user", content: "hi" },
    ...ids.map((id) => wireCall(id, { id })),
    ...outputs.map(([, output], index) => wireResult(`e1_${index}`, output)),
  ]);
});

const file = (mediaType: string, data: string, filename?: string): FilePart => (
  { type: "file", mediaType, data, ...(filename === undefined ? {} : { filename }) }
);
const image = (mediaType: string, data: string): Json => (
  { type: "input_image", image_url: `data:${mediaType};base64,${data}` }
);

const files: readonly (readonly [string, FilePart, Json | string])[] = [
  ["an image", file("image/png", PNG), image("image/png", PNG)],
  ["an image as a data URL", file("image/png", `data:image/png;base64,${PNG}`), image("image/png", PNG)],
  ["an image of a wrong type", file("image/jpeg", PNG), image("image/png", PNG)],
  ["an image of any type", file("image/*", "/9j/4AAQ"), image("image/jpeg", "/9j/4AAQ")],
  ["an image that says no more", file("image/webp", "AAAA"), image("image/webp", "AAAA")],
  ["an image by its link", file("image/*", "https://x/y.png"), {
    type: "input_image",
    image_url: "https://x/y.png",
  }],
  [
    "an image that the service does not know",
    file("image/svg+xml", "PHN2Zz4=", "a.svg"),
    "[file: a.svg, image/svg+xml, 8 characters of data, not shown]",
  ],
  ["a PDF", file("application/pdf", "JVBERi0=", "a.pdf"), {
    type: "input_file",
    filename: "a.pdf",
    file_data: "data:application/pdf;base64,JVBERi0=",
  }],
  ["a PDF without a name", file("application/pdf", "JVBERi0="), {
    type: "input_file",
    filename: "file.pdf",
    file_data: "data:application/pdf;base64,JVBERi0=",
  }],
  ["a PDF by its link", file("application/pdf", "https://x/z.pdf"), {
    type: "input_file",
    file_url: "https://x/z.pdf",
  }],
  ["a text", file("text/plain", "YQ=="), {
    type: "input_file",
    filename: "file.txt",
    file_data: "data:text/plain;base64,YQ==",
  }],
  ["a file of a long type", file("application/ld+json", "e30="), {
    type: "input_file",
    filename: "file.ld",
    file_data: "data:application/ld+json;base64,e30=",
  }],
  ["a text by its link", file("text/csv", "https://x/b.csv"), "[file: text/csv, https://x/b.csv]"],
  ["a sound", file("audio/wav", "AAAA"), "[file: audio/wav, 4 characters of data, not shown]"],
];

Deno.test.each(files)("openaiResponses() sends %s", async (_, part, wire) => {
  const { input, violations } = await render([{ role: "user", content: [part] }]);
  assert.deepEqual(violations, []);
  assert.deepEqual(input, [{ role: "user", content: typeof wire === "string" ? wire : [wire] }]);
});

const long = "e".repeat(80);

const shapes: readonly (readonly [string, readonly Message[], readonly Json[]])[] = [
  ["a list where there is more than a text", [
    { role: "user", content: [{ type: "text", text: "look" }, file("image/png", PNG)] },
    { role: "assistant", content: "I see." },
    { role: "user", content: [{ type: "text", text: "one" }, { type: "text", text: "two" }] },
  ], [
    { role: "user", content: [text("look"), image("image/png", PNG)] },
    { role: "assistant", content: "I see." },
    { role: "user", content: [text("one"), text("two")] },
  ]],
  ["something for nothing", [], [{ role: "user", content: "(no text)" }]],
  ["no empty text", [
    { role: "user", content: [{ type: "text", text: "" }, { type: "text", text: "hi" }] },
    { role: "assistant", content: [{ type: "text", text: "\n" }, call("a")] },
    result("a"),
    { role: "tool", content: [] },
    { role: "system", content: "" },
  ], [{ role: "user", content: "hi" }, wireCall("a"), wireResult("a")]],
  ["a marker where nothing is left", [
    { role: "user", content: " " },
    { role: "assistant", content: "" },
    { role: "user", content: [] },
    { role: "assistant", content: [{ type: "reasoning", text: "unsealed" }] },
  ], [
    { role: "user", content: "(no text)" },
    { role: "assistant", content: "(no answer)" },
    { role: "user", content: "(no text)" },
    { role: "assistant", content: "(no answer)" },
  ]],
  ["later system texts where they are", [user, { role: "system", content: "later" }, user], [
    { role: "user", content: "hi" },
    { role: "system", content: "later" },
    { role: "user", content: "hi" },
  ]],
  ["texts and calls in their order", [
    user,
    { role: "assistant", content: [{ type: "text", text: "a" }, call("a"), { type: "text", text: "b" }] },
    result("a"),
  ], [
    { role: "user", content: "hi" },
    { role: "assistant", content: "a" },
    wireCall("a"),
    { role: "assistant", content: "b" },
    wireResult("a"),
  ]],
  ["arguments as they are, and no file of the assistant's", [
    user,
    { role: "assistant", content: [file("image/png", PNG), call("a", undefined), call("b", [1])] },
    result("a"),
    result("b"),
  ], [
    { role: "user", content: "hi" },
    { role: "assistant", content: `[file: image/png, ${PNG.length} characters of data, not shown]` },
    wireCall("a"),
    wireCall("b", [1]),
    wireResult("a"),
    wireResult("b"),
  ]],
  ["ids that the service takes", [
    user,
    { role: "assistant", content: [call(""), call(""), call(long), call("a")] },
    { role: "tool", content: ["", long, "", "a"].flatMap((id) => result(id).content as never) },
    { role: "assistant", content: [call("a")] },
    result("a"),
  ], [
    { role: "user", content: "hi" },
    wireCall("call"),
    wireCall("call_2"),
    wireCall(`${"e".repeat(40)}_1adaro5`),
    wireCall("a"),
    wireResult("call"),
    wireResult(`${"e".repeat(40)}_1adaro5`),
    wireResult("call_2"),
    wireResult("a"),
    wireCall("a_2"),
    wireResult("a_2"),
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
  ], [
    { role: "user", content: "hi" },
    wireCall("ws:1", { q: 1 }),
    wireResult("ws:1", "[1]"),
    { role: "assistant", content: "found" },
    wireCall("ws:2"),
    wireResult("ws:2", "(no output)"),
    wireCall("a"),
    wireResult("a"),
  ]],
  ["nothing of what other providers have left", [
    user,
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "t", providerOptions: { anthropic: { signature: "s" } } },
        {
          type: "reasoning",
          text: "t",
          providerOptions: { openai: { itemId: "rs_1", reasoningEncryptedContent: "E" } },
        },
        { ...call("a"), providerOptions: { openai: { itemId: "fc_1" } } },
      ],
    },
    result("a"),
  ], [{ role: "user", content: "hi" }, wireCall("a"), wireResult("a")]],
];

Deno.test.each(shapes)("openaiResponses() makes of messages %s", async (_, messages, items) => {
  const found = await render(messages);
  assert.deepEqual(found.violations, []);
  assert.deepEqual(found.input, items);
});

Deno.test("openaiResponses() leaves out what there is none of", async () => {
  const tools = [{ name: "get", description: "", inputSchema: { type: "object" } }];
  const { body, violations } = await render([user], { tools });
  assert.deepEqual(violations, []);
  assert.equal("instructions" in body, false);
  assert.deepEqual(body.tools, [{
    type: "function",
    name: "get",
    parameters: { type: "object" },
    strict: false,
  }]);
  assert.equal("tools" in (await render([user])).body, false);
});

/** One item of reasoning with its follower, as an answer of the model `m` at the default place leaves them. */
function thinking(id: string): Message {
  const from = "api.openai.com/m";
  const item = { id, type: "reasoning", summary: [], encrypted_content: "E" };
  return {
    role: "assistant",
    content: [
      { type: "reasoning", text: "", providerOptions: { openai: { from, item } } },
      { type: "text", text: "x", providerOptions: { openai: { from, after: id, id: `msg_${id}` } } },
    ],
  };
}

/** Bodies of requests that never arrive. */
async function bodiesOf(requests: readonly (readonly Message[])[]): Promise<string[]> {
  const bodies: string[] = [];
  const model = openaiResponses({
    model: "m",
    maxRetries: 0,
    fetch: (_, init) => {
      bodies.push(new TextDecoder().decode(init?.body as Uint8Array));
      return Promise.reject(new TypeError("no network"));
    },
  });
  for (const messages of requests) {
    const events = model.stream(
      { system: "", messages, tools: [], maxOutput: 77 },
      new AbortController().signal,
    );
    await assert.rejects(Array.fromAsync(events), { code: "model_unreachable" });
  }
  return bodies;
}

Deno.test("openaiResponses() sends no item twice", async () => {
  const [body = ""] = await bodiesOf([[
    user,
    thinking("rs_1"),
    user,
    thinking("rs_2"),
    user,
    thinking("rs_1"),
    user,
  ]]);
  const ids = (JSON.parse(body).input as Json[]).flatMap(({ id }) => id ?? []);
  assert.deepEqual(ids, ["rs_1", "msg_rs_1", "rs_2", "msg_rs_2"]);
});

Deno.test("openaiResponses() begins a longer request with the bytes of the shorter one", async () => {
  const messages: Message[] = [user];
  const requests = Array.from({ length: 12 }, (_, step) => {
    const id = step % 3 === 0 ? "" : step % 3 === 1 ? "same" : `${long}${step}`;
    messages.push(thinking(`rs_${step % 5}`), { role: "assistant", content: [call(id)] }, result(id));
    return [...messages];
  });
  const bodies = await bodiesOf(requests);
  for (const [index, body] of bodies.entries()) {
    assert.ok(bodies[index + 1]?.startsWith(body.slice(0, -2)) ?? true, `step ${index}`);
  }
  // What was kept of earlier requests makes the same bytes as what is rendered anew.
  assert.deepEqual(await bodiesOf(requests.slice(-1)), bodies.slice(-1));
});
