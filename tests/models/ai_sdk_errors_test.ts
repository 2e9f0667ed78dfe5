/** What the adapter for the AI SDK makes of errors that a package throws or streams. */
import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { ManualClock } from "../support/clock.ts";
import { failureOf } from "./_answers.ts";
import { finish, KEY, named, run, text } from "./_language.ts";

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
  [
    named("AI_APICallError", "x", { cause: named("AI_EmptyResponseBodyError") }),
    "model_bad_response",
    false,
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
    "model_stream_error",
  ],
  ["a rate limit", { message: "m", type: "x", statusCode: 429 }, "model_rate_limited", "model_stream_error"],
  [
    "a failure",
    { message: "m", type: "server_error", code: null },
    "model_unavailable",
    "model_stream_error",
  ],
  ["a refusal", { message: "m", type: "x", statusCode: 400 }, "model_refused", "model_stream_error"],
  ["a text", "m", "model_unavailable", "model_stream_error"],
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

Deno.test("aiSdk() reads dates in retry-after, of errors in the stream too", async () => {
  const headers = { "retry-after": "Tue, 14 Nov 2023 22:13:25 GMT" };
  const refused = named("AI_APICallError", "x", { statusCode: 429, responseHeaders: headers });
  const clock = new ManualClock(1_700_000_000_000);
  for (const parts of [refused, [{ type: "error", error: refused }]]) {
    const { code, fields } = failureOf(await run(parts, { clock }));
    assert.deepEqual([code, fields.retryAfterMs], ["model_rate_limited", 5_000]);
  }
});

const circle: Record<string, unknown> = {};
circle["self"] = circle;

Deno.test.each([
  ["a tool-call part whose input", { type: "tool-call", toolCallId: "a", toolName: "get", input: 1n }],
  ["a tool-call part whose input", { type: "tool-call", toolCallId: "a", toolName: "get", input: circle }],
  ["a tool-call part whose input", { type: "tool-call", toolCallId: "a", toolName: "get", input: () => 1 }],
  ["a tool-result part whose result", {
    type: "tool-result",
    toolCallId: "a",
    toolName: "get",
    result: [1n],
  }],
  ["a text-end part whose providerMetadata", {
    type: "text-end",
    id: "1",
    providerMetadata: { x: { y: 1n } },
  }],
])("aiSdk() names %s JSON cannot hold", async (found, part) => {
  const { code, fields, message } = failureOf(await run([...text, part, finish()]));
  assert.deepEqual([code, fields.retryable], ["model_bad_response", false]);
  assert.ok(message.includes(`found ${found} JSON cannot hold, wanted`), message);
});

Deno.test("aiSdk() takes an error that JSON cannot hold for one that says nothing", async () => {
  const { code } = failureOf(await run([...text, { type: "error", error: circle }]));
  assert.equal(code, "model_stream_error");
});
