import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { anthropic } from "../../src/models/anthropic.ts";
import { ManualClock } from "../support/clock.ts";
import { startAnthropicDouble } from "../support/anthropic_double.ts";
import { event } from "../support/event_frames.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { textOf } from "./_answers.ts";
import { asking, testErrors } from "./_errors.ts";

const STALL_MS = 60_000;

const { failure, run } = asking(anthropic);

function body(message: string, type = "invalid_request_error"): string {
  return JSON.stringify({ type: "error", error: { type, message }, request_id: "req_1" });
}

const BEGIN = event({ type: "message_start", message: { usage: { input_tokens: 9, output_tokens: 1 } } });

/** The frames of one piece of text. */
function frame(text: string): string {
  return event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
}

const DELTA = event({
  type: "message_delta",
  delta: { stop_reason: "end_turn" },
  usage: { output_tokens: 4 },
});
const STOP = event({ type: "message_stop" });

/** The frames that end a message. */
function ending(): string {
  return DELTA + STOP;
}

function errorEvent(type: string, message = "Overloaded"): string {
  return event({ type: "error", error: { type, message } });
}

Deno.test.each([
  ["an overload", errorEvent("overloaded_error"), "model_unavailable", true],
  ["a rate limit", errorEvent("rate_limit_error"), "model_rate_limited", true],
  ["an error", errorEvent("api_error"), "model_unavailable", true],
  ["a time-out", errorEvent("timeout_error"), "model_unavailable", true],
  ["a refusal", errorEvent("invalid_request_error"), "model_refused", false],
  [
    "an error event without a type",
    'event: error\ndata: {"message":"overloaded"}\n\n',
    "model_unavailable",
    true,
  ],
  [
    "an error of another protocol",
    'data: {"error":{"message":"overloaded"}}\n\n',
    "model_unavailable",
    true,
  ],
  [
    "a request that is too long",
    errorEvent("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
    "context_length_exceeded",
    false,
  ],
])("anthropic() throws for a frame with %s", async (_, wire, code, retryable) => {
  const error = await failure({ reads: [`${BEGIN}${wire}${ending()}`] });
  assert.equal(error.code, code);
  assert.equal(error.fields.retryable, retryable);
});

Deno.test.each([
  ["an overload", errorEvent("overloaded_error"), "model_stream_error", true],
  ["a rate limit", errorEvent("rate_limit_error"), "model_stream_error", true],
  ["a refusal", errorEvent("invalid_request_error"), "model_stream_error", false],
  ["an error", errorEvent("api_error"), "model_stream_error", true],
  ["a request that is too long", errorEvent("api_error", "prompt is too long"), "model_stream_error", true],
])(
  "anthropic() throws for a late frame with %s, after what came before",
  async (_, wire, code, retryable) => {
    const fake = fakeFetch({ reads: [BEGIN + frame("x") + wire] });
    const { error, events } = await run({ fetch: fake.fetch, maxRetries: 2 });
    assert.ok(error instanceof SelvageError);
    assert.deepEqual([error.code, error.fields.retryable], [code, retryable]);
    assert.equal(textOf(events), "x");
    assert.equal(fake.requests.length, 1);
  },
);

Deno.test.each([["overloaded_error"], ["rate_limit_error"], ["api_error"]])(
  "anthropic() tries again after an %s in the stream before anything was said",
  async (type) => {
    const clock = new ManualClock();
    const fake = fakeFetch({ reads: [BEGIN + errorEvent(type)] }, { reads: [BEGIN + frame("x") + ending()] });
    const outcome = run({ fetch: fake.fetch, clock, maxRetries: 1 });
    await clock.untilSleeping((ms) => ms < STALL_MS);
    await clock.advance(clock.sleeping[0] ?? 0);
    const { error, events } = await outcome;
    assert.deepEqual([error, textOf(events)], [undefined, "x"]);
  },
);

Deno.test("anthropic() tries again inside an answer that was paused, and repeats nothing of it", async () => {
  const clock = new ManualClock();
  let n = 0;
  await using double = startAnthropicDouble({
    script: () => n++ === 0 ? { text: "one", stopReason: "pause_turn" } : { text: " two" },
    faults: (number) => number === 2 ? { status: 529 } : undefined,
  });
  const outcome = run({ baseURL: double.url, clock, maxRetries: 1 });
  // Half a second at the most, and no less than half of it: any other sleep waits for the end of a stream.
  const isPause = (ms: number): boolean => ms >= 250 && ms <= 500;
  await clock.untilSleeping(isPause);
  await clock.advance(clock.sleeping.find(isPause) ?? 0);
  const { error, events } = await outcome;
  assert.equal(error, undefined);
  assert.equal(textOf(events), "one two");
  assert.equal(double.requests.length, 3);
  assert.deepEqual(double.violations, []);
});

Deno.test("anthropic() ends inside an answer that was paused when the signal aborts", async () => {
  await using double = startAnthropicDouble({
    script: () => ({ text: "one", stopReason: "pause_turn" }),
    faults: (number) => number === 2 ? { hangAfter: 2 } : undefined,
  });
  const controller = new AbortController();
  const clock = new ManualClock();
  const outcome = run({ baseURL: double.url, clock }, controller);
  while (double.requests.length < 2) await clock.advance(0);
  controller.abort("enough");
  const { error, events } = await outcome;
  assert.equal(error, "enough");
  assert.ok(events.every((event) => event.type !== "finish"));
  assert.deepEqual(clock.sleeping, []);
});

testErrors("anthropic()", { failure, run }, {
  tooLong: [
    [400, body("prompt is too long: 210000 tokens > 200000 maximum"), 200_000],
    [
      400,
      body(
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or " +
          "`max_tokens` and try again",
      ),
      200_000,
    ],
    [413, body("Request exceeds the maximum size", "request_too_large"), undefined],
    [413, body("Prompt is too long"), undefined],
    [400, body("This model's maximum context length is 8192 tokens."), 8_192],
    [422, JSON.stringify({ detail: "maximum context length is 10 tokens" }), 10],
  ],
  notTooLong: [
    [400, body("max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens for m")],
    [413, "<h1>Payload too large</h1>"],
    [500, body("prompt is too long: 9 tokens > 8 maximum", "api_error")],
  ],
  echoes: (echo) => [
    { status: 401, reads: [body(echo)] },
    { reads: [echo], headers: { "content-type": "text/html" } },
    { reads: [errorEvent("api_error", echo)] },
    { reads: [`data: {${echo}\n\n`] },
    { status: 400, reads: [body(`prompt is too long, ${echo}`)] },
    { status: 400, reads: [body(`maximum context length, ${echo}`)] },
  ],
  badResponse: [
    ["a whole message", {
      reads: [JSON.stringify({ type: "message", content: [] })],
      headers: { "content-type": "application/json" },
    }],
    ["a call without a name", {
      reads: [
        BEGIN +
        event({ type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "a" } }) +
        ending(),
      ],
    }],
    ["arguments without their call", {
      reads: [
        BEGIN +
        event({
          type: "content_block_delta",
          index: 0,
          delta: { type: "input_json_delta", partial_json: "{}" },
        }),
      ],
    }],
  ],
  cut: [
    ["no end", [BEGIN + frame("x")]],
    ["no message_stop", [BEGIN + frame("x") + DELTA]],
    ["a message_stop without a stop_reason", [BEGIN + frame("x") + STOP]],
    ["half a last frame", [BEGIN + frame("x") + DELTA + STOP.slice(0, 40)]],
    ["a call that looks whole", [
      BEGIN +
      event({
        type: "content_block_start",
        index: 0,
        content_block: { type: "tool_use", id: "a", name: "get" },
      }) +
      event({
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json: "{}" },
      }) +
      event({ type: "content_block_stop", index: 0 }),
    ]],
  ],
  final: [
    ["a refusal in the stream", { reads: [errorEvent("invalid_request_error")] }],
    ["a redirect", { status: 307, reads: [], headers: { location: "https://elsewhere.example/" } }],
  ],
});
