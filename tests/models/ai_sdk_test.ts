/** Streams of the AI SDK as answers, and how requests begin and end. */
import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { aiSdk } from "../../src/models/ai_sdk.ts";
import { ManualClock } from "../support/clock.ts";
import type { Json } from "../support/wire_json.ts";
import { collect, request } from "./_answers.ts";
import { call, finish, finished, language, named, run, text, USAGE } from "./_language.ts";

const SIGNATURE = { anthropic: { signature: "SIG==" } };

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
    ["a call that was begun only", [...call.slice(0, -1), finish("tool-calls")], "model_bad_response"],
    ["a call without its end", [...call.slice(0, -2), finish("stop")], "model_bad_response"],
    ["a call behind a whole one", [...call, ...call.slice(0, 2), finish("stop")], "model_bad_response"],
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

Deno.test("aiSdk() counts a call that turns out to be the provider's own among ours no more", async () => {
  const begun = (id: string, toolName: string): Json[] => [
    { type: "tool-input-start", id, toolName },
    { type: "tool-input-delta", id, delta: '{"q":' },
  ];
  const ended = (id: string, toolName: string, more: Json = {}): Json[] => [
    { type: "tool-call", toolCallId: id, toolName, input: '{"q":1}', ...more },
  ];
  const own = { providerExecuted: true };
  const { events } = await run([
    ...begun("a", "search"),
    ...ended("a", "search", own),
    ...begun("b", "search"),
    ...begun("c", "get"),
    ...ended("b", "search", own),
    { type: "tool-input-delta", id: "c", delta: "1}" },
    ...ended("c", "get"),
    ...begun("d", "get"),
    ...ended("d", "get"),
    finish("tool-calls"),
  ]);
  const told = events.flatMap((event) => event.type === "tool.input.delta" ? [[event.name, event.call]] : []);
  assert.deepEqual(told, [
    ["search", 0],
    ["search", 0],
    ["search", 0],
    ["search", 0],
    // Until it was known whose the call before it is.
    ["get", 1],
    ["get", 1],
    ["get", 0],
    ["get", 1],
    ["get", 1],
  ]);
});

Deno.test.each([["whole", "the same id", "x"], ["whole", "no id", ""], [
  "piece by piece",
  "the same id",
  "x",
]])(
  "aiSdk() takes calls that come %s with %s as calls of their own",
  async (how, _, id) => {
    const names = ["get", "put", "put"];
    const pieces = names.flatMap((toolName, n) => [
      { type: "tool-input-start", id, toolName },
      { type: "tool-input-delta", id, delta: `{"n":${n}}` },
      { type: "tool-input-end", id },
    ]);
    const whole = names.map((toolName, n) => ({
      type: "tool-call",
      toolCallId: id,
      toolName,
      input: `{"n":${n}}`,
    }));
    const { message } = await finished([...(how === "whole" ? [] : pieces), ...whole, finish("tool-calls")]);
    assert.ok(typeof message.content !== "string");
    assert.deepEqual(
      message.content.map((part) => part.type === "tool-call" ? [part.toolName, part.input] : part),
      names.map((name, n) => [name, { n }]),
    );
  },
);

Deno.test("aiSdk() takes no arguments for a call that was whole before", async () => {
  const { error } = await run([
    ...call,
    { type: "tool-input-delta", id: "a", delta: "1" },
    finish("tool-calls"),
  ]);
  assert.ok(error instanceof SelvageError);
  assert.equal(error.code, "model_bad_response");
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
  for await (const { type } of aiSdk(model).stream(request, new AbortController().signal)) {
    assert.equal(type, "text.delta");
    break;
  }
  assert.equal(seen.cancelled, 2);
});

Deno.test("aiSdk() asks again by itself only while nothing of the answer was seen", async () => {
  const clock = new ManualClock();
  const { asked, model } = language(named("AI_APICallError", "x", {
    statusCode: 503,
    responseHeaders: { "retry-after": "2" },
  }));
  const adapter = aiSdk(model, { clock, maxRetries: 1 });
  const ended = assert.rejects(collect(adapter));
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
