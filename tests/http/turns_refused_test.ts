/** What `POST /v1/turns` refuses before anything is stored. */
import { equal, match, ok } from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";

function makeApp(store = memoryStore()) {
  return createApp({ agents: { default: { model: scripted({ script: () => ({ text: "Hi." }) }) } }, store });
}

function post(body: unknown): RequestInit {
  return { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) };
}

const BAD: readonly {
  readonly name: string;
  readonly body: unknown;
  readonly status: number;
  readonly code: string;
}[] = [
  { name: "no JSON", body: "{", status: 400, code: "bad_json" },
  { name: "empty body", body: "", status: 400, code: "bad_json" },
  { name: "an array", body: [], status: 400, code: "bad_request" },
  { name: "null", body: "null", status: 400, code: "bad_request" },
  { name: "no input", body: {}, status: 400, code: "bad_request" },
  { name: "a number as input", body: { input: 4 }, status: 400, code: "bad_request" },
  { name: "an unknown part", body: { input: [{ type: "audio" }] }, status: 400, code: "bad_request" },
  { name: "no parts", body: { input: [] }, status: 400, code: "bad_request" },
  { name: "an unknown field", body: { input: "x", sesion: "s" }, status: 400, code: "bad_request" },
  { name: "a session with a slash", body: { input: "x", session: "../x" }, status: 400, code: "bad_request" },
  { name: "an empty session", body: { input: "x", session: "" }, status: 400, code: "bad_request" },
  { name: "stream as text", body: { input: "x", stream: "no" }, status: 400, code: "bad_request" },
  { name: "an unknown agent", body: { input: "x", agent: "nobody" }, status: 400, code: "unknown_agent" },
  {
    name: "an agent named __proto__",
    body: { input: "x", agent: "__proto__" },
    status: 400,
    code: "unknown_agent",
  },
  { name: "an empty input", body: { input: " \n" }, status: 400, code: "input_empty" },
  { name: "empty parts", body: { input: [{ type: "text", text: "" }] }, status: 400, code: "input_empty" },
  {
    name: "an input over the window",
    body: { input: "word ".repeat(120_000) },
    status: 413,
    code: "input_too_large",
  },
  {
    name: "a body over 1 MiB",
    body: { input: "x".repeat(1024 * 1024) },
    status: 413,
    code: "body_too_large",
  },
];

for (const { name, body, status, code } of BAD) {
  Deno.test(`POST /v1/turns refuses ${name} and stores nothing`, async () => {
    const store = memoryStore();
    const app = makeApp(store);
    const wanted = typeof body === "object" && body !== null && !Array.isArray(body) && !("session" in body)
      ? { ...body, session: "s" }
      : body;
    const response = await app.request("/v1/turns", post(wanted));
    equal(response.status, status);
    equal(response.headers.get("content-type"), "application/problem+json");
    const problem = await response.json();
    equal(problem.code, code);
    equal(problem.status, status);
    match(problem.detail, /^Cannot .*(found|wanted|body)/);
    equal(await store.read({ tenant: "local", session: "s" }), null);
  });
}

Deno.test("POST /v1/turns names both numbers of an input that is too large", async () => {
  const response = await makeApp().request("/v1/turns", post({ input: "word ".repeat(120_000) }));
  const problem = await response.json();
  ok(problem.tokens > problem.limit && problem.limit > 0, JSON.stringify(problem));
});

Deno.test("POST /v1/turns counts a body without a length", async () => {
  const chunk = new TextEncoder().encode(" ".repeat(64 * 1024));
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent++ < 64) controller.enqueue(chunk);
      else controller.close();
    },
  });
  const response = await makeApp().request("/v1/turns", { method: "POST", body });
  equal(response.status, 413);
  await response.body?.cancel();
});

Deno.test("POST /v1/turns says which part of an input is wrong, and how", async () => {
  const good = { type: "text", text: "a" };
  const cases: readonly (readonly [unknown, string])[] = [
    [[{ type: "image" }], 'input.0.type: found "image", wanted "text" or "file"'],
    [[good, {}], 'input.1.type: found nothing, wanted "text" or "file"'],
    [[good, { type: "text", text: 3 }], "input.1.text: found 3, wanted text"],
    [
      [{ type: "file", mediaType: "image/png", data: "?" }],
      'input.0.data: found "?", wanted base64 or an http(s) URL',
    ],
    [["a"], 'input.0: found "a", wanted an object'],
    [[{ ...good, x: 1 }], "input.0.x: found a field that nobody knows, wanted no such field"],
    [[], "input: found an empty list, wanted at least 1 of them"],
    [
      {},
      'input: found an object, wanted text, or 1 to 100 parts { type: "text", text } or { type: "file", mediaType, data }',
    ],
  ];
  for (const [input, wanted] of cases) {
    const response = await makeApp().request("/v1/turns", post({ input }));
    const { detail, field } = await response.json();
    equal(response.status, 400);
    equal(detail, `Cannot use the body: ${wanted}`);
    equal(field, wanted.split(":")[0]);
  }
});
