import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { apiKeys, createApp, Drain } from "../../src/http/mod.ts";
import type { AppOptions } from "../../src/http/options.ts";
import { scripted } from "../../src/models/scripted.ts";
import type { Model } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Json } from "../support/chat.ts";
import { readCompletionStream } from "../support/openai_stream_rules.ts";
import { modelOf, replies, reporting } from "../support/turns.ts";

const hi = [{ role: "user", content: "Hi" }];

function makeApp(options: Partial<AppOptions> = {}) {
  return createApp({
    agents: { default: { model: scripted({ script: replies(), window: 20_000 }) } },
    store: memoryStore(),
    ...options,
  });
}

function post(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body), headers };
}

/** Fails unless a response tells an error as OpenAI's services do; gives the error. */
async function errorOf(response: Response, status: number): Promise<Json> {
  const body = await response.json();
  assert.equal(response.status, status, JSON.stringify(body));
  assert.deepEqual(Object.keys(body), ["error"]);
  assert.deepEqual(Object.keys(body.error), ["message", "type", "param", "code"]);
  assert.equal(typeof body.error.message, "string");
  assert.ok(body.error.message.length <= 900);
  return body.error;
}

const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
const said = (content: unknown) => ({ messages: [{ role: "user", content }] });
const f = (name: string) => ({ type: "function", function: { name } });

const BAD: readonly {
  readonly name: string;
  readonly body: unknown;
  readonly param?: string | null;
  readonly code?: string;
  readonly status?: number;
}[] = [
  { name: "no JSON", body: "{", param: null, code: "bad_json" },
  { name: "an empty body", body: "", param: null, code: "bad_json" },
  { name: "a list", body: [], param: "body" },
  { name: "null", body: "null", param: "body" },
  { name: "no model", body: { model: undefined, messages: hi }, param: "model" },
  {
    name: "an unknown model",
    body: { model: "gpt-9", messages: hi },
    param: "model",
    code: "model_not_found",
    status: 404,
  },
  {
    name: "a model of the prototype",
    body: { model: "constructor", messages: hi },
    param: "model",
    code: "model_not_found",
    status: 404,
  },
  { name: "no messages", body: {}, param: "messages" },
  { name: "an empty list of messages", body: { messages: [] }, param: "messages" },
  { name: "20,001 messages", body: { messages: Array(20_001).fill(hi[0]) }, param: "messages" },
  { name: "messages that are text", body: { messages: "Hi" }, param: "messages" },
  {
    name: "nobody who asks",
    body: { messages: [{ role: "system", content: "Be good." }] },
    param: "messages",
  },
  {
    name: "the assistant's word at the end",
    body: { messages: [...hi, { role: "assistant", content: "Yes?" }] },
    param: "messages",
  },
  { name: "a role that nobody has", body: { messages: [{ role: "robot", content: "Hi" }] } },
  {
    name: "the role of old functions",
    body: { messages: [...hi, { role: "function", name: "f", content: "1" }] },
  },
  { name: "a message without content", body: { messages: [{ role: "user" }] } },
  { name: "an empty message", body: said(""), code: "input_empty", param: null },
  { name: "a part that nobody knows", body: said([{ type: "video", video: "x" }]) },
  { name: "an image that is no URL", body: said([{ type: "image_url", image_url: { url: "cat.png" } }]) },
  {
    name: "an image of another scheme",
    body: said([{ type: "image_url", image_url: { url: "file:///etc/passwd" } }]),
  },
  { name: "a file by its id", body: said([{ type: "file", file: { file_id: "file-1" } }]) },
  {
    name: "audio of an unknown kind",
    body: said([{ type: "input_audio", input_audio: { data: "aa", format: "ogg" } }]),
  },
  { name: "two answers", body: { messages: hi, n: 2 }, param: "n" },
  { name: "log probabilities", body: { messages: hi, logprobs: true }, param: "logprobs" },
  { name: "spoken answers", body: { messages: hi, modalities: ["text", "audio"] } },
  { name: "old functions", body: { messages: hi, functions: [{ name: "f" }] }, param: "functions" },
  {
    name: "a search of the provider",
    body: { messages: hi, web_search_options: {} },
    param: "web_search_options",
  },
  { name: "a custom tool", body: { messages: hi, tools: [{ type: "custom", custom: { name: "f" } }] } },
  { name: "a tool without a name", body: { messages: hi, tools: [{ type: "function", function: {} }] } },
  { name: "a name that no tool can have", body: { messages: hi, tools: [f("a b")] } },
  { name: "two tools of one name", body: { messages: hi, tools: [f("a"), f("a")] }, param: "tools" },
  {
    name: "too many tools",
    body: { messages: hi, tools: Array.from({ length: 129 }, (_, n) => f(`f${n}`)) },
    param: "tools",
  },
  { name: "a choice that is none", body: { messages: hi, tool_choice: "maybe" }, param: "tool_choice" },
  { name: "a temperature that burns", body: { messages: hi, temperature: 3 }, param: "temperature" },
  { name: "a limit of nothing", body: { messages: hi, max_tokens: 0 }, param: "max_tokens" },
  {
    name: "half a token",
    body: { messages: hi, max_completion_tokens: 1.5 },
    param: "max_completion_tokens",
  },
  {
    name: "a form that is none",
    body: { messages: hi, response_format: { type: "xml" } },
    param: "response_format",
  },
  { name: "a stream that is maybe one", body: { messages: hi, stream: "yes" }, param: "stream" },
  {
    name: "arguments that are an object",
    body: {
      messages: [...hi, {
        role: "assistant",
        tool_calls: [{ ...call, function: { name: "f", arguments: {} } }],
      }],
    },
  },
  {
    name: "more than the window",
    body: said("word ".repeat(30_000)),
    code: "context_length_exceeded",
    param: null,
  },
  {
    name: "instructions of more than the window",
    body: { messages: [{ role: "system", content: "word ".repeat(30_000) }, ...hi] },
    code: "context_length_exceeded",
    param: "messages",
  },
];

for (const { name, body, param, code = "bad_request", status = 400 } of BAD) {
  Deno.test(`POST /v1/chat/completions refuses ${name}`, async () => {
    const store = memoryStore();
    const app = makeApp({ store });
    const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
    const asked = isObject ? { model: "default", ...body } : body;
    for (const headers of [{}, { "x-selvage-session": "s" }]) {
      const error = await errorOf(await app.request("/v1/chat/completions", post(asked, headers)), status);
      assert.equal(error.code, code);
      assert.equal(error.type, "invalid_request_error");
      if (param !== undefined) assert.equal(error.param, param);
    }
    assert.deepEqual(
      (await store.list({ tenant: "local" })).sessions.filter(({ head }) => head.length > 0),
      [],
    );
  });
}

Deno.test("POST /v1/chat/completions refuses JSON that is nested without end", async () => {
  const deep = (open: string, close: string): string => open.repeat(100_000) + close.repeat(100_000);
  for (
    const text of [
      deep("[", "]"),
      `{"model":"default","messages":[{"role":"user","content":${deep("[", "]")}}]}`,
    ]
  ) {
    await errorOf(await makeApp().request("/v1/chat/completions", post(text)), 400);
  }
  const parameters = JSON.parse(`${'{"a":'.repeat(3_000)}1${"}".repeat(3_000)}`);
  const tools = [{ type: "function", function: { name: "f", parameters } }];
  await errorOf(
    await makeApp().request("/v1/chat/completions", post({ model: "default", messages: hi, tools })),
    400,
  );
});

Deno.test("the routes of OpenAI's protocol tell every error in its form", async () => {
  const auth = apiKeys({ acme: "sk-acme-0123456789abcdef" });
  const app = makeApp({ auth });
  for (
    const [path, init] of [
      ["/v1/chat/completions", post({ model: "default", messages: hi })],
      ["/v1/chat/completions", { method: "GET" }],
      ["/v1/models", {}],
      ["/v1/models/default", {}],
      ["/v1/models/nobody", {}],
      ["/v1/chat/nothing", {}],
    ] as const
  ) {
    const error = await errorOf(await app.request(path, init), 401);
    assert.equal(error.code, "invalid_api_key");
  }
  const key = { authorization: "Bearer sk-acme-0123456789abcdef" };
  for (
    const [method, path] of [["GET", "chat/completions"], ["DELETE", "models"], ["POST", "models/default"]]
  ) {
    const response = await app.request(`/v1/${path}`, { method: `${method}`, headers: key });
    assert.ok(response.headers.has("allow"));
    assert.equal((await errorOf(response, 405)).code, "method_not_allowed");
  }
  assert.equal(
    (await errorOf(await app.request("/v1/chat/nothing", { headers: key }), 404)).code,
    "not_found",
  );
  const large = post("x".repeat(9 * 1024 * 1024), key);
  assert.equal((await errorOf(await app.request("/v1/chat/completions", large), 413)).code, "body_too_large");
  const packed = post("x", { ...key, "content-encoding": "gzip" });
  await errorOf(await app.request("/v1/chat/completions", packed), 415);
  const session = post({ model: "default", messages: hi }, { ...key, "x-selvage-session": "a/b" });
  assert.equal(
    (await errorOf(await app.request("/v1/chat/completions", session), 400)).param,
    "x-selvage-session",
  );
});

Deno.test("POST /v1/chat/completions is refused while the service goes down, and may be tried again", async () => {
  const drain = new Drain();
  await drain.start();
  const response = await makeApp({ drain }).request(
    "/v1/chat/completions",
    post({ model: "default", messages: hi }),
  );
  assert.equal(response.headers.get("retry-after"), "1");
  assert.equal(response.headers.get("x-should-retry"), null);
  const error = await errorOf(response, 503);
  assert.deepEqual([error.type, error.code], ["server_error", "shutting_down"]);
});

const FAULTS: readonly {
  readonly code: string;
  readonly retryable: boolean;
  readonly status: number;
  readonly told?: string;
}[] = [
  { code: "model_rate_limited", retryable: true, status: 429, told: "rate_limit_exceeded" },
  { code: "model_auth", retryable: false, status: 502 },
  { code: "model_stalled", retryable: true, status: 504 },
  { code: "setting_unsupported", retryable: false, status: 400 },
];

function failing(error: unknown): Model {
  // deno-lint-ignore require-yield -- it fails before it says anything
  return modelOf(async function* () {
    await Promise.resolve();
    throw error;
  });
}

for (const { code, retryable, status, told = code } of FAULTS) {
  Deno.test(`POST /v1/chat/completions tells ${code} of the model, with and without a stream`, async () => {
    const model = failing(new SelvageError(code, "Cannot ask the model", { fields: { retryable } }));
    const app = makeApp({ agents: { default: { model } } });
    const ask = (body: Json) =>
      app.request("/v1/chat/completions", post({ model: "default", messages: hi, ...body }));
    const response = await ask({});
    const isRetried = response.headers.get("x-should-retry") !== "false";
    if (status >= 500) assert.equal(isRetried, retryable);
    assert.equal((await errorOf(response, status)).code, told);
    const read = readCompletionStream(await (await ask({ stream: true })).text());
    assert.equal(read.error?.code, told);
  });
}

Deno.test("POST /v1/chat/completions keeps what went wrong inside to itself", async () => {
  const app = makeApp({ agents: { default: { model: failing(new Error("secret of the service")) } } });
  const { result, reports } = await reporting(async () => {
    const response = await app.request("/v1/chat/completions", post({ model: "default", messages: hi }));
    return await errorOf(response, 500);
  });
  assert.equal(result.code, "internal");
  assert.ok(!result.message.includes("secret"));
  assert.equal(reports.length, 1);
});
