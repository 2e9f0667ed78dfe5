import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import type { AssistantMessage, Message, ToolOutput } from "../../src/core/message.ts";
import { aiSdk, type AiSdkOptions } from "../../src/models/ai_sdk.ts";
import type { AiSdkCallOptions, AiSdkLanguageModel } from "../../src/models/ai_sdk_types.ts";
import { keepResponses } from "../../src/models/keep_responses.ts";
import type { ModelEvent, ModelRequest } from "../../src/ports.ts";
import { ManualClock } from "../support/clock.ts";

type Json = Readonly<Record<string, unknown>>;

const request: ModelRequest = {
  system: "",
  messages: [{ role: "user", content: "hi" }],
  tools: [],
  maxOutput: 100,
};
const KEY = "sk-very-secret";
const SIGNATURE = { anthropic: { signature: "SIG==" } };
const USAGE = { inputTokens: { total: 9, cacheRead: 4 }, outputTokens: { total: 3 } };
const finish = (unified = "stop", raw: string | undefined = unified): Json => ({
  type: "finish",
  finishReason: { unified, raw },
  usage: USAGE,
});
const text: readonly Json[] = [
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "Hel" },
  { type: "text-delta", id: "0", delta: "lo" },
  { type: "text-end", id: "0" },
];
const call: readonly Json[] = [
  { type: "tool-input-start", id: "a", toolName: "get" },
  { type: "tool-input-delta", id: "a", delta: '{"q":' },
  { type: "tool-input-delta", id: "a", delta: "1}" },
  { type: "tool-input-end", id: "a" },
  { type: "tool-call", toolCallId: "a", toolName: "get", input: '{"q":1}' },
];

/** A language model made of its stream's parts, or of what it throws; and what it was asked. */
function language(
  parts: readonly Json[] | Error,
  { provider = "example.messages", version = "v4" }: {
    readonly provider?: string;
    readonly version?: string;
  } = {},
) {
  const asked: AiSdkCallOptions[] = [];
  const seen = { cancelled: 0 };
  const model: AiSdkLanguageModel = {
    specificationVersion: version,
    provider,
    modelId: "m",
    doStream(options) {
      asked.push(options);
      if (parts instanceof Error) return Promise.reject(parts);
      let at = 0;
      const stream = new ReadableStream<Json & { readonly type: string }>({
        pull(controller) {
          const part = parts[at++];
          if (part === undefined) controller.close();
          else controller.enqueue(part as Json & { readonly type: string });
        },
        cancel() {
          seen.cancelled++;
        },
      }, { highWaterMark: 0 });
      return Promise.resolve({ stream });
    },
  };
  return { asked, model, seen };
}

async function run(
  parts: readonly Json[] | Error,
  options: AiSdkOptions & { readonly version?: string } = {},
): Promise<{ readonly events: readonly ModelEvent[]; readonly error: unknown }> {
  const { version = "v4", ...rest } = options;
  const model = aiSdk(language(parts, { version }).model, { maxRetries: 0, apiKey: KEY, ...rest });
  const events: ModelEvent[] = [];
  try {
    for await (const event of model.stream(request, new AbortController().signal)) events.push(event);
    return { events, error: undefined };
  } catch (error) {
    return { events, error };
  }
}

async function finished(
  parts: readonly Json[],
  version = "v4",
): Promise<Extract<ModelEvent, { type: "finish" }>> {
  const { error, events } = await run(parts, { version });
  assert.equal(error, undefined);
  const last = events.at(-1);
  assert.ok(last?.type === "finish");
  return last;
}

/** What a model is asked for messages. */
async function promptOf(
  messages: readonly Message[],
  options: { readonly version?: string; readonly provider?: string; readonly plainResults?: boolean } = {},
): Promise<readonly Json[]> {
  const { plainResults, ...made } = options;
  const { asked, model } = language([...text, finish()], made);
  const adapter = aiSdk(model, plainResults === undefined ? {} : { plainResults });
  await Array.fromAsync(adapter.stream({ ...request, messages }, new AbortController().signal));
  return (asked[0]?.prompt ?? []) as readonly Json[];
}

Deno.test("aiSdk() gives text, reasoning and calls as they come, and the whole message last", async () => {
  const { events } = await run([
    { type: "stream-start", warnings: [] },
    { type: "reasoning-start", id: "0" },
    { type: "reasoning-delta", id: "0", delta: "hm" },
    { type: "reasoning-delta", id: "0", delta: "", providerMetadata: SIGNATURE },
    { type: "reasoning-end", id: "0" },
    ...text,
    ...call,
    { type: "source", id: "s" },
    finish("tool-calls"),
  ]);
  assert.deepEqual(events, [
    { type: "reasoning.delta", text: "hm" },
    { type: "text.delta", text: "Hel" },
    { type: "text.delta", text: "lo" },
    { type: "tool.input.delta", call: 0, name: "get", delta: "" },
    { type: "tool.input.delta", call: 0, name: "get", delta: '{"q":' },
    { type: "tool.input.delta", call: 0, name: "get", delta: "1}" },
    {
      type: "finish",
      reason: "tool-calls",
      message: {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm", providerOptions: SIGNATURE },
          { type: "text", text: "Hello" },
          { type: "tool-call", toolCallId: "a", toolName: "get", input: { q: 1 } },
        ],
      },
      usage: { inputTokens: 9, outputTokens: 3, cachedTokens: 4 },
    },
  ]);
});

Deno.test.each(
  [
    ["interrupted", [...call, finish("interrupted", undefined)], "model_stream_cut"],
    ["another finish that nobody gave", [...call, finish("other", "")], "model_stream_cut"],
    ["no finish", [...text, ...call], "model_stream_cut"],
    ["nothing", [], "model_stream_cut"],
    ["the finish reason error", [...call, finish("error")], "model_stream_error"],
    [
      "an error part",
      [...call, { type: "error", error: "broken" }, finish("tool-calls")],
      "model_stream_error",
    ],
    [
      "an error part that tells of a cut",
      [...call, {
        type: "error",
        error: Object.assign(new Error("Response stream ended without a finish reason."), {
          name: "AI_InvalidResponseDataError",
        }),
      }],
      "model_stream_cut",
    ],
    ["a part that is none", ["x" as unknown as Json], "model_bad_response"],
    ["a call without a name", [{ type: "tool-input-start", id: "a" }, finish()], "model_bad_response"],
    [
      "arguments without their call",
      [{ type: "tool-input-delta", id: "a", delta: "{}" }],
      "model_bad_response",
    ],
    ["a wish for an approval", [{ type: "tool-approval-request", approvalId: "p" }], "model_bad_response"],
    ["a full window", [finish("length", "model_context_window_exceeded")], "context_length_exceeded"],
  ] as const,
)("aiSdk() takes no answer that ends with %s", async (_, parts, code) => {
  const { error, events } = await run(parts);
  assert.ok(error instanceof SelvageError);
  assert.equal(error.code, code);
  assert.ok(events.every(({ type }) => type !== "finish"));
});

Deno.test.each([
  ["v4", { unified: "stop", raw: "end_turn" }, "stop"],
  ["v4", { unified: "other", raw: "new_reason" }, "stop"],
  ["v4", { unified: "length", raw: "length" }, "length"],
  ["v4", { unified: "stop", raw: "pause_turn" }, "length"],
  ["v3", { unified: "content-filter", raw: "refusal" }, "content-filter"],
  ["v2", "stop", "stop"],
  ["v2", "length", "length"],
])("aiSdk() reads the finish reason of %s %j as %s", async (version, finishReason, reason) => {
  const made = await finished([...text, { type: "finish", finishReason, usage: USAGE }], version);
  assert.equal(made.reason, reason);
});

Deno.test("aiSdk() takes no v2 answer whose end its provider does not know", async () => {
  const { error } = await run([...call, { type: "finish", finishReason: "unknown" }], { version: "v2" });
  assert.ok(error instanceof SelvageError && error.code === "model_stream_cut");
});

Deno.test.each([
  [USAGE, { inputTokens: 9, outputTokens: 3, cachedTokens: 4 }],
  [{ inputTokens: { total: undefined }, outputTokens: { total: 3 } }, undefined],
  [{ inputTokens: 9, outputTokens: undefined, cachedInputTokens: 2 }, {
    inputTokens: 9,
    outputTokens: 0,
    cachedTokens: 2,
  }],
  [undefined, undefined],
])("aiSdk() reads the usage %j", async (usage, read) => {
  assert.deepEqual((await finished([...text, { ...finish(), usage }])).usage, read);
});

Deno.test("aiSdk() takes calls that come whole, that begin only, and ids that come again", async () => {
  const { message, reason } = await finished([
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "one" },
    { type: "text-end", id: "0" },
    { type: "text-start", id: "0", providerMetadata: { google: { thoughtSignature: "S" } } },
    { type: "text-delta", id: "0", delta: "" },
    { type: "text-start", id: "1" },
    { type: "tool-call", toolCallId: "a", toolName: "get", input: '{"q":1}' },
    { type: "tool-call", toolCallId: "", toolName: "put", input: "{}" },
    { type: "tool-input-start", id: "c", toolName: "cut" },
    { type: "tool-input-delta", id: "c", delta: '{"q' },
    finish("length"),
  ]);
  assert.equal(reason, "length");
  assert.deepEqual(message.content, [
    { type: "text", text: "one" },
    { type: "text", text: "", providerOptions: { google: { thoughtSignature: "S" } } },
    { type: "tool-call", toolCallId: "a", toolName: "get", input: { q: 1 } },
    { type: "tool-call", toolCallId: "call_1", toolName: "put", input: {} },
    { type: "tool-call", toolCallId: "c", toolName: "cut", input: { unparsed_arguments: '{"q' } },
  ]);
});

const hosted: readonly Json[] = [
  { type: "tool-input-start", id: "s", toolName: "search", providerExecuted: true },
  { type: "tool-input-delta", id: "s", delta: '{"q":1}' },
  { type: "tool-call", toolCallId: "s", toolName: "search", input: '{"q":1}', providerExecuted: true },
  { type: "tool-result", toolCallId: "s", toolName: "search", result: ["half"], preliminary: true },
  { type: "tool-result", toolCallId: "s", toolName: "search", result: ["whole"] },
  { type: "custom", kind: "example.compaction", providerMetadata: { example: { sealed: "X" } } },
  { type: "custom", kind: "anthropic.message_start" },
  { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1, 2, 3]) } },
  { type: "file", mediaType: "image/png", data: "BBBB" },
  { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://x/y.png") } },
  ...text,
  finish(),
];

Deno.test("aiSdk() gives back to the provider what it has run, made and sealed itself", async () => {
  const { events } = await run(hosted);
  assert.deepEqual(events.map(({ type }) => type), ["text.delta", "text.delta", "finish"]);
  const { message, reason } = await finished(hosted);
  assert.equal(reason, "stop");
  const [user, said] = await promptOf([{ role: "user", content: "hi" }, message]);
  assert.equal(user?.["role"], "user");
  const content = said?.["content"] as readonly Json[];
  assert.deepEqual(content.map(({ providerOptions: _, ...part }) => part), [
    { type: "tool-call", toolCallId: "s", toolName: "search", input: { q: 1 }, providerExecuted: true },
    { type: "tool-result", toolCallId: "s", toolName: "search", output: { type: "json", value: ["whole"] } },
    { type: "custom", kind: "example.compaction" },
    { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
    { type: "file", mediaType: "image/png", data: { type: "data", data: "BBBB" } },
    { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://x/y.png") } },
    { type: "text", text: "Hello" },
  ]);
  assert.deepEqual(content[2]?.["providerOptions"], { example: { sealed: "X" } });
});

Deno.test("aiSdk() shows another provider the tools of the first as tools like any other", async () => {
  const { message } = await finished(hosted);
  const content = (message.content as Exclude<AssistantMessage["content"], string>).slice(0, 2);
  const prompt = await promptOf([
    { role: "user", content: "hi" },
    {
      role: "assistant",
      content: [...content, { type: "tool-call", toolCallId: "a", toolName: "get", input: {} }],
    },
    {
      role: "tool",
      content: [{
        type: "tool-result",
        toolCallId: "a",
        toolName: "get",
        output: { type: "text", value: "x" },
      }],
    },
    { role: "assistant", content },
    { role: "user", content: "And?" },
    { role: "assistant", content: content.slice(0, 1) },
  ], { provider: "other" });
  const shape = prompt.map((
    { content, role },
  ) => [
    role,
    ...(content as readonly Json[]).map(({ toolCallId, type }) => `${type} ${toolCallId ?? ""}`.trim()),
  ]);
  assert.deepEqual(shape, [
    ["user", "text"],
    ["assistant", "tool-call s", "tool-call a"],
    ["tool", "tool-result s", "tool-result a"],
    ["assistant", "tool-call s"],
    ["tool", "tool-result s"],
    ["user", "text"],
    ["assistant", "tool-call s"],
    ["tool", "tool-result s"],
  ]);
  assert.ok(!JSON.stringify(prompt).includes("providerExecuted"));
});

const PNG = "iVBORw0KGgo=";
const files = [
  { type: "text", text: "See." },
  { type: "file", mediaType: "image/jpeg", data: PNG },
  { type: "file", mediaType: "image/png", data: "https://x/y.png" },
  { type: "file", mediaType: "application/pdf", data: "AAAA", filename: "a.pdf" },
  { type: "file", mediaType: "application/pdf", data: "https://x/b.pdf" },
] as const;

const url = (path: string): URL => new URL(`https://x/${path}`);

Deno.test.each<[string, readonly Json[], readonly Json[]]>([
  ["v4", [
    { mediaType: "image/png", data: { type: "data", data: PNG } },
    { mediaType: "image/png", data: { type: "url", url: url("y.png") } },
    { mediaType: "application/pdf", data: { type: "data", data: "AAAA" }, filename: "a.pdf" },
    { mediaType: "application/pdf", data: { type: "url", url: url("b.pdf") } },
  ], [
    { type: "file", mediaType: "image/png", data: { type: "data", data: PNG } },
    { type: "file", mediaType: "image/png", data: { type: "url", url: url("y.png") } },
    { type: "file", mediaType: "application/pdf", data: { type: "data", data: "AAAA" }, filename: "a.pdf" },
    { type: "file", mediaType: "application/pdf", data: { type: "url", url: url("b.pdf") } },
  ]],
  ["v3", [
    { mediaType: "image/png", data: PNG },
    { mediaType: "image/png", data: url("y.png") },
    { mediaType: "application/pdf", data: "AAAA", filename: "a.pdf" },
    { mediaType: "application/pdf", data: url("b.pdf") },
  ], [
    { type: "image-data", mediaType: "image/png", data: PNG },
    { type: "image-url", url: "https://x/y.png" },
    { type: "file-data", mediaType: "application/pdf", data: "AAAA", filename: "a.pdf" },
    { type: "file-url", url: "https://x/b.pdf" },
  ]],
  ["v2", [
    { mediaType: "image/png", data: PNG },
    { mediaType: "image/png", data: url("y.png") },
    { mediaType: "application/pdf", data: "AAAA", filename: "a.pdf" },
    { mediaType: "application/pdf", data: url("b.pdf") },
  ], [
    { type: "media", mediaType: "image/png", data: PNG },
    { type: "text", text: "[file: image/png, https://x/y.png]" },
    { type: "media", mediaType: "application/pdf", data: "AAAA" },
    { type: "text", text: "[file: application/pdf, https://x/b.pdf]" },
  ]],
])("aiSdk() gives files the form that %s has for them", async (version, given, inResult) => {
  const result = { type: "tool-result", toolCallId: "a", toolName: "get" } as const;
  const prompt = await promptOf([
    { role: "user", content: files },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "a", toolName: "get", input: {} }] },
    { role: "tool", content: [{ ...result, output: { type: "content", value: files } }] },
  ], { version });
  assert.deepEqual(prompt[0]?.["content"], [
    { type: "text", text: "See." },
    ...given.map((part) => ({ type: "file", ...part })),
  ]);
  const [answer] = prompt[2]?.["content"] as readonly Json[];
  assert.deepEqual(answer?.["output"], {
    type: "content",
    value: [{ type: "text", text: "See." }, ...inResult],
  });
});

Deno.test.each<[ToolOutput, Json, Json]>([
  [{ type: "text", value: " " }, { type: "text", value: "(no output)" }, {
    type: "text",
    value: "(no output)",
  }],
  [{ type: "json", value: { a: 1 } }, { type: "json", value: { a: 1 } }, { type: "json", value: { a: 1 } }],
  [{ type: "json", value: undefined }, { type: "text", value: "(no output)" }, {
    type: "text",
    value: "(no output)",
  }],
  [{ type: "error-text", value: "no" }, { type: "error-text", value: "no" }, {
    type: "error-text",
    value: "Error: no",
  }],
  [{ type: "error-json", value: 1 }, { type: "error-json", value: 1 }, {
    type: "error-text",
    value: "Error: 1",
  }],
  [{ type: "error-json", value: undefined }, { type: "error-text", value: "(no output)" }, {
    type: "error-text",
    value: "Error: (no output)",
  }],
  [{ type: "execution-denied", reason: "no" }, { type: "execution-denied", reason: "no" }, {
    type: "error-text",
    value: "Error: the call was denied: no",
  }],
  [{ type: "content", value: [{ type: "file", mediaType: "image/png", data: "https://x/y" }] }, {
    type: "content",
    value: [{ type: "file", mediaType: "image/png", data: { type: "url", url: url("y") } }],
  }, { type: "text", value: "[file: image/png, https://x/y]" }],
  [{ type: "content", value: [] }, { type: "text", value: "(no output)" }, {
    type: "text",
    value: "(no output)",
  }],
])("aiSdk() renders the output %j, and marks it where results are plain", async (output, rendered, plain) => {
  const messages: Message[] = [
    { role: "user", content: "hi" },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "a", toolName: "get", input: {} }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "a", toolName: "get", output }] },
  ];
  const outputOf = (prompt: readonly Json[]): unknown =>
    (prompt[2]?.["content"] as readonly Json[])[0]?.["output"];
  assert.deepEqual(outputOf(await promptOf(messages)), rendered);
  assert.deepEqual(outputOf(await promptOf(messages, { provider: "any.chat" })), plain);
  assert.deepEqual(
    outputOf(await promptOf(messages, { provider: "any.chat", plainResults: false })),
    rendered,
  );
});

Deno.test("aiSdk() has v2 deny a call by words", async () => {
  const output = { type: "execution-denied" } as const;
  const prompt = await promptOf([
    { role: "user", content: "hi" },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "a", toolName: "get", output }] },
  ], { version: "v2" });
  assert.match(JSON.stringify(prompt), /"type":"error-text","value":"the call was denied"/);
});

Deno.test("aiSdk() fills what would be empty, puts system text first, and keeps providerOptions", async () => {
  const options = { anthropic: { cacheControl: { type: "ephemeral" } } };
  const { asked, model } = language([...text, finish()]);
  const adapter = aiSdk(model, {
    providerOptions: { x: { y: 1 } },
    headers: { a: "b" },
    providerTools: [{ type: "p" }],
  });
  const messages: Message[] = [
    { role: "assistant", content: [{ type: "reasoning", text: "unsigned" }] },
    { role: "user", content: [{ type: "text", text: " " }], providerOptions: options },
    { role: "system", content: "Later.", providerOptions: options },
    { role: "assistant", content: "" },
    { role: "assistant", content: [{ type: "file", mediaType: "image/png", data: "AAAA" }] },
    { role: "user", content: [{ type: "text", text: "x", providerOptions: options }] },
  ];
  const tools = [{ name: "get", description: "", inputSchema: { type: "object" } }];
  const asking = { ...request, system: "First.", messages, tools };
  await Array.fromAsync(adapter.stream(asking, new AbortController().signal));
  const { abortSignal, ...sent } = asked[0] ?? { prompt: [] };
  assert.ok(abortSignal instanceof AbortSignal);
  assert.deepEqual(sent, {
    prompt: [
      { role: "system", content: "First." },
      { role: "system", content: "Later.", providerOptions: options },
      { role: "user", content: [{ type: "text", text: "(no text)" }] },
      {
        role: "assistant",
        content: [{ type: "reasoning", text: "unsigned" }, { type: "text", text: "(no answer)" }],
      },
      { role: "user", content: [{ type: "text", text: "(no text)" }], providerOptions: options },
      { role: "assistant", content: [{ type: "text", text: "(no answer)" }] },
      {
        role: "assistant",
        content: [{ type: "text", text: "[file: image/png, 4 characters of data, not shown]" }],
      },
      { role: "user", content: [{ type: "text", text: "x", providerOptions: options }] },
    ],
    maxOutputTokens: 100,
    tools: [{ type: "p" }, { type: "function", name: "get", inputSchema: { type: "object" } }],
    providerOptions: { x: { y: 1 } },
    headers: { a: "b" },
  });
});

function named(name: string, message = "the words", more: Json = {}): Error {
  return Object.assign(new Error(message), { name, ...more });
}

Deno.test.each([
  [named("AI_LoadAPIKeyError"), "model_auth", false],
  [named("AI_NoSuchModelError"), "model_not_found", false],
  [named("AI_InvalidPromptError"), "model_refused", false],
  [named("AI_TypeValidationError"), "model_bad_response", false],
  [named("AI_InvalidResponseDataError"), "model_bad_response", false],
  [named("AI_APICallError", "x", { statusCode: 429, responseBody: "slow down" }), "model_rate_limited", true],
  [named("AI_APICallError", "overloaded", { statusCode: 529 }), "model_unavailable", true],
  [named("AI_APICallError", "x", { isRetryable: true }), "model_unreachable", true],
  [
    named("AI_APICallError", "x", { statusCode: 200, cause: new TypeError("lost") }),
    "model_unreachable",
    true,
  ],
  [new TypeError("lost"), "model_unreachable", true],
  [new Error("odd"), "model_unreachable", false],
  [new SelvageError("model_refused", "ours", { fields: { retryable: false } }), "model_refused", false],
])("aiSdk() throws for %s", async (thrown, code, retryable) => {
  const { error } = await run(thrown);
  assert.ok(error instanceof SelvageError);
  assert.deepEqual([error.code, error.fields.retryable], [code, retryable]);
});

Deno.test.each([
  [
    "an overload",
    { message: "m", type: "overloaded_error", statusCode: 529 },
    "model_unavailable",
    "model_unavailable",
  ],
  ["a rate limit", { message: "m", type: "x", statusCode: 429 }, "model_rate_limited", "model_stream_error"],
  [
    "a failure",
    { message: "m", type: "server_error", code: null },
    "model_unavailable",
    "model_stream_error",
  ],
  ["a refusal", { message: "m", type: "x", statusCode: 400 }, "model_refused", "model_stream_error"],
  ["a text", "m", "model_stream_error", "model_stream_error"],
  ["an error", new Error("m"), "model_unreachable", "model_stream_error"],
  ["a lost connection", new TypeError("m"), "model_unreachable", "model_stream_cut"],
  [
    "a request that is too long",
    { message: "prompt is too long: 9 tokens > 8 maximum" },
    "context_length_exceeded",
    "model_stream_error",
  ],
])("aiSdk() throws for %s in the stream by what of the answer was seen", async (_, error, early, late) => {
  const part = { type: "error", error };
  const codes = await Promise.all([[part], [...text, part]].map((parts) => run(parts)));
  assert.deepEqual(codes.map(({ error }) => error instanceof SelvageError ? error.code : error), [
    early,
    late,
  ]);
});

Deno.test("aiSdk() keeps the key out of its errors", async () => {
  for (
    const thrown of [
      named("AI_LoadSettingError", `wrong: ${KEY}`),
      named("AI_APICallError", "x", { statusCode: 401, responseBody: `wrong: ${KEY}` }),
    ]
  ) {
    const { error } = await run(thrown);
    assert.ok(error instanceof SelvageError);
    assert.equal(error.fields.upstream, "wrong: [key]");
  }
});

Deno.test("aiSdk() tells of files that the package cannot send, and goes on doing so", async () => {
  const prompts: string[] = [];
  const { model } = language([...text, finish()]);
  const adapter = aiSdk({
    ...model,
    doStream(options) {
      prompts.push(JSON.stringify(options.prompt));
      const isOdd = prompts.at(-1)?.includes('"mediaType":"application/zip"');
      return isOdd ? Promise.reject(named("AI_UnsupportedFunctionalityError")) : model.doStream(options);
    },
  }, { maxRetries: 0 });
  const file = { type: "file", mediaType: "application/zip", data: "AAAA" } as const;
  const ask = async (messages: readonly Message[]): Promise<unknown> =>
    await Array.fromAsync(adapter.stream({ ...request, messages }, new AbortController().signal));
  const messages: Message[] = [{
    role: "user",
    content: [file, { type: "file", mediaType: "image/png", data: PNG }],
  }];
  await ask(messages);
  assert.equal(prompts.length, 2);
  assert.match(prompts[1] ?? "", /\[file: application\/zip, 4 characters/);
  assert.ok(prompts[1]?.includes(PNG), "images stay");
  await ask(messages);
  assert.equal(prompts.length, 3);
  const stuck = aiSdk({
    ...model,
    doStream: () => Promise.reject(named("AI_UnsupportedFunctionalityError")),
  });
  const asked = Array.fromAsync(stuck.stream(request, new AbortController().signal));
  await assert.rejects(asked, (error) => error instanceof SelvageError && error.code === "model_refused");
});

Deno.test("aiSdk() lets go of a stream that is opened after the abort, and of one that is not read to its end", async () => {
  const { model, seen } = language([...text, finish(), { type: "ping" }, { type: "ping" }]);
  const opened = Promise.withResolvers<void>();
  const slow = aiSdk({
    ...model,
    // Deaf to the signal.
    async doStream(options) {
      await opened.promise;
      return await model.doStream(options);
    },
  });
  const controller = new AbortController();
  const ended = Array.fromAsync(slow.stream(request, controller.signal));
  controller.abort("enough");
  await assert.rejects(ended, (reason) => reason === "enough");
  opened.resolve();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.equal(seen.cancelled, 1);
  await Array.fromAsync(aiSdk(model).stream(request, new AbortController().signal));
  assert.equal(seen.cancelled, 2);
});

Deno.test("aiSdk() asks again by itself only while nothing of the answer was seen", async () => {
  const clock = new ManualClock();
  const { asked, model } = language(named("AI_APICallError", "x", {
    statusCode: 503,
    responseHeaders: { "retry-after": "2" },
  }));
  const adapter = aiSdk(model, { clock, maxRetries: 1 });
  const ended = assert.rejects(Array.fromAsync(adapter.stream(request, new AbortController().signal)));
  await clock.untilSleeping((ms) => ms < 60_000);
  const wait = clock.sleeping.find((ms) => ms < 60_000) ?? 0;
  assert.ok(wait >= 2_000 && wait <= 2_250, `found a wait of ${wait} ms`);
  await clock.advance(wait);
  await ended;
  assert.equal(asked.length, 2);
});

Deno.test("aiSdk() shows what it was told about the model, and refuses what cannot work", () => {
  const { model } = language([]);
  const { stream: _, ...shown } = aiSdk(model, { window: 8_000, maxOutput: 900, tokenFactor: 1.1 });
  assert.deepEqual(shown, {
    id: "m",
    window: 8_000,
    maxOutput: 900,
    dialect: "ai-sdk",
    tokenFactor: 1.1,
    media: "unknown",
  });
  assert.equal(aiSdk({ ...model, modelId: "claude-sonnet-4-5" }).window, 200_000);
  assert.throws(() => aiSdk({ ...model, specificationVersion: "v1" }), TypeError);
  assert.throws(() => aiSdk(model, { window: 0 }), RangeError);
  assert.throws(() => aiSdk(model, { stallMs: Number.NaN }), RangeError);
});

Deno.test("keepResponses() passes a request on, without redirects", async () => {
  const seen: (RequestInit | undefined)[] = [];
  const fetch = keepResponses((_, init) => {
    seen.push(init);
    return Promise.resolve(new Response("hello"));
  });
  const { signal } = new AbortController();
  assert.equal(await (await fetch("http://127.0.0.1:1/", { signal })).text(), "hello");
  assert.equal(await (await fetch(new Request("http://127.0.0.1:1/"))).text(), "hello");
  assert.deepEqual(seen.map((init) => init?.redirect), ["manual", "manual"]);
  assert.equal(seen[0]?.signal, signal);
});

Deno.test("keepResponses() uses the global fetch as it is when a request is made", async () => {
  const before = globalThis.fetch;
  const kept = keepResponses();
  try {
    globalThis.fetch = () => Promise.resolve(new Response("replaced"));
    assert.equal(await (await kept("http://127.0.0.1:1/")).text(), "replaced");
  } finally {
    globalThis.fetch = before;
  }
});
