/** Prompts that the adapter for the AI SDK makes of messages. */
import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import type { AssistantMessage, Message, ToolOutput } from "../../src/core/message.ts";
import { aiSdk } from "../../src/models/ai_sdk.ts";
import type { Json } from "../support/wire_json.ts";
import { collect, request } from "./_answers.ts";
import { finish, finished, language, named, promptOf, run, text } from "./_language.ts";

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

Deno.test("aiSdk() leaves out a provider's call that was cut off before its result, unless a call of ours stands beside it", async () => {
  const { message } = await finished(hosted);
  const content = message.content as Exclude<AssistantMessage["content"], string>;
  const cut = content.filter(({ type }) => type !== "tool-result");
  const ours = { type: "tool-call", toolCallId: "a", toolName: "get", input: {} } as const;
  for (const [parts, isKept] of [[cut, false], [[...cut, ours], true], [content, true]] as const) {
    const prompt = await promptOf([{ role: "user", content: "hi" }, { role: "assistant", content: parts }]);
    const said = prompt[1]?.["content"] as readonly Json[];
    assert.equal(said.some(({ toolCallId }) => toolCallId === "s"), isKept);
  }
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

const AHEAD = { type: "text", text: "The output is what follows:" };
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
    value: [AHEAD, { type: "file", mediaType: "image/png", data: { type: "url", url: url("y") } }],
  }, { type: "text", value: "[file: image/png, https://x/y]" }],
  [{ type: "content", value: [] }, { type: "text", value: "(no output)" }, {
    type: "text",
    value: "(no output)",
  }],
  [{ type: "content", value: [{ type: "text", text: " " }] }, { type: "text", value: "(no output)" }, {
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
  await collect(adapter, { ...request, system: "First.", messages, tools });
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
    maxOutputTokens: request.maxOutput,
    tools: [{ type: "p" }, { type: "function", name: "get", inputSchema: { type: "object" } }],
    providerOptions: { x: { y: 1 } },
    headers: { a: "b" },
  });
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
    await collect(adapter, { ...request, messages });
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
  const asked = collect(stuck);
  await assert.rejects(asked, (error) => error instanceof SelvageError && error.code === "model_refused");
});
