import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { anthropic, type AnthropicOptions } from "../../src/models/anthropic.ts";
import type { ModelEvent, ModelRequest } from "../../src/ports.ts";
import { ManualClock } from "../support/clock.ts";
import { type Fault, startAnthropicDouble } from "../support/anthropic_double.ts";
import type { Json } from "../support/anthropic_wire_request.ts";
import { type FakeAnswer, fakeFetch } from "../support/fake_fetch.ts";
import { rawHead, startRaw } from "../support/raw_upstream.ts";

const request: ModelRequest = {
  system: "",
  messages: [{ role: "user", content: "hi" }],
  tools: [],
  maxOutput: 100,
};
const KEY = "sk-ant-very-secret";
const STALL_MS = 60_000;

/** What came, and how it ended. */
interface Outcome {
  readonly events: readonly ModelEvent[];
  readonly error: unknown;
}

async function run(
  options: Partial<AnthropicOptions>,
  controller = new AbortController(),
): Promise<Outcome> {
  const model = anthropic({ model: "m", apiKey: KEY, maxRetries: 0, ...options });
  const events: ModelEvent[] = [];
  try {
    for await (const event of model.stream(request, controller.signal)) events.push(event);
    return { events, error: undefined };
  } catch (error) {
    return { events, error };
  }
}

async function failure(answer: FakeAnswer): Promise<SelvageError> {
  const { error } = await run({ fetch: fakeFetch(answer).fetch });
  assert.ok(error instanceof SelvageError, `found ${error}, wanted a SelvageError`);
  return error;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof SelvageError ? error.code : undefined;
}

function textOf(events: readonly ModelEvent[]): string {
  return events.map((event) => event.type === "text.delta" ? event.text : "").join("");
}

function body(message: string, type = "invalid_request_error"): string {
  return JSON.stringify({ type: "error", error: { type, message }, request_id: "req_1" });
}

function event(data: Json): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
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
  [401, "model_auth", false],
  [403, "model_auth", false],
  [404, "model_not_found", false],
  [400, "model_refused", false],
  [413, "model_refused", false],
  [422, "model_refused", false],
  [429, "model_rate_limited", true],
  [500, "model_unavailable", true],
  [503, "model_unavailable", true],
  [529, "model_unavailable", true],
  [402, "model_refused", false],
  [307, "model_bad_response", false],
  [304, "model_bad_response", false],
])("anthropic() throws for status %i %s, retryable %s", async (status, code, retryable) => {
  const headers = { "content-type": "application/json" };
  const reads = status === 304 ? [] : [body("the provider's words")];
  const { fetch } = fakeFetch({ status: status === 304 ? 200 : status, reads, headers });
  const { error } = await run({
    // A Response of its own cannot have 304 and a body; the network's can.
    fetch: async (...args) => Object.defineProperty(await fetch(...args), "status", { value: status }),
  });
  assert.ok(error instanceof SelvageError);
  assert.equal(error.code, code);
  assert.equal(error.fields.retryable, retryable);
  assert.equal(error.fields.status, status);
  assert.equal(error.message, `Cannot get an answer from m: found HTTP status ${status}, wanted 200`);
  if (status !== 304) assert.equal(error.fields.upstream, "the provider's words");
});

Deno.test.each([
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
])("anthropic() throws context_length_exceeded for %i %s", async (status, text, window) => {
  const error = await failure({ status, reads: [text] });
  assert.equal(error.code, "context_length_exceeded");
  assert.equal(error.fields.window, window);
  assert.equal("window" in error.fields, window !== undefined);
  assert.equal(error.fields.retryable, false);
});

Deno.test.each([
  [400, body("max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens for m")],
  [413, "<h1>Payload too large</h1>"],
  [500, body("prompt is too long: 9 tokens > 8 maximum", "api_error")],
])("anthropic() throws no context_length_exceeded for %i %s", async (status, text) => {
  assert.notEqual((await failure({ status, reads: [text] })).code, "context_length_exceeded");
});

Deno.test.each([
  [JSON.stringify({ error: "a string" }), "a string"],
  [JSON.stringify({ message: "flat" }), "flat"],
  [JSON.stringify({ detail: [{ msg: "field required" }] }), '[{"msg":"field required"}]'],
  [JSON.stringify([{ error: { message: "in a list" } }]), "in a list"],
  ["<h1>Bad gateway</h1>", "<h1>Bad gateway</h1>"],
  ["", undefined],
  ["x".repeat(301), "x".repeat(300)],
  [`${"x".repeat(290)} ${KEY}`, `${"x".repeat(290)} [key]`],
])("anthropic() carries the upstream's words of %j", async (text, upstream) => {
  const error = await failure({ status: 502, reads: text === "" ? [] : [text] });
  assert.equal(error.fields.upstream, upstream);
});

Deno.test("anthropic() keeps the key out of every error", async () => {
  const echo = `Incorrect key ${KEY}`;
  const answers: FakeAnswer[] = [
    { status: 401, reads: [body(echo)] },
    { reads: [echo], headers: { "content-type": "text/html" } },
    { reads: [errorEvent("api_error", echo)] },
    { reads: [`data: {${echo}\n\n`] },
    { status: 400, reads: [body(`prompt is too long, ${echo}`)] },
    { status: 400, reads: [body(`maximum context length, ${echo}`)] },
  ];
  for (const answer of answers) {
    const error = await failure(answer);
    assert.ok(!Deno.inspect(error).includes(KEY), error.code);
    assert.ok(String(error.fields.upstream).includes("Incorrect key [key]"), error.code);
  }
});

Deno.test("anthropic() reads the status alone where the rest of the refusal is lost", async () => {
  const error = await failure({ status: 404, reads: ["half"], end: "error" });
  assert.equal(error.code, "model_not_found");
});

Deno.test("anthropic() reads no more of a refusal than it needs", async () => {
  const fake = fakeFetch({ status: 400, reads: Array(100).fill("x".repeat(8_192)), end: "hang" });
  const { error } = await run({ fetch: fake.fetch });
  assert.equal(codeOf(error), "model_refused");
  assert.equal(fake.cancelled, 1);
});

Deno.test.each([
  ["a whole message", {
    reads: [JSON.stringify({ type: "message", content: [] })],
    headers: { "content-type": "application/json" },
  }],
  ["a page", { reads: ["<html>"], headers: { "content-type": "text/html; charset=utf-8" } }],
  ["plain text", { reads: ["hello"], headers: { "content-type": "text/plain" } }],
  ["a frame that is no JSON", { reads: ["data: {oops\n\n"] }],
  ["a frame that is no object", { reads: ["data: 1\n\n"] }],
  ["a call without a name", {
    reads: [
      BEGIN + event({ type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "a" } }) +
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
  ["a frame without end", { reads: ["data: ", ...Array(17).fill("x".repeat(1_048_576))] }],
])("anthropic() throws model_bad_response for %s", async (_, answer) => {
  const error = await failure(answer);
  assert.equal(error.code, "model_bad_response");
  assert.equal(error.fields.retryable, false);
});

Deno.test.each([
  ["nothing", []],
  ["comments alone", [": ping\n\n"]],
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
])("anthropic() throws model_stream_cut for %s", async (_, reads) => {
  const { error, events } = await run({ fetch: fakeFetch({ reads }).fetch });
  assert.equal(codeOf(error), "model_stream_cut");
  assert.ok(error instanceof SelvageError && error.fields.retryable === true);
  assert.ok(events.every((event) => event.type !== "finish"));
});

Deno.test.each([
  ["an overload", errorEvent("overloaded_error"), "model_unavailable", true],
  ["a rate limit", errorEvent("rate_limit_error"), "model_rate_limited", true],
  ["an error", errorEvent("api_error"), "model_stream_error", true],
  ["a time-out", errorEvent("timeout_error"), "model_stream_error", true],
  ["a refusal", errorEvent("invalid_request_error"), "model_stream_error", false],
  [
    "an error event without a type",
    'event: error\ndata: {"message":"overloaded"}\n\n',
    "model_stream_error",
    true,
  ],
  [
    "an error of another protocol",
    'data: {"error":{"message":"overloaded"}}\n\n',
    "model_stream_error",
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
  ["an overload", errorEvent("overloaded_error"), "model_unavailable", false],
  ["a rate limit", errorEvent("rate_limit_error"), "model_rate_limited", false],
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

const FAULTS: readonly (readonly [string, Fault, string | undefined, string])[] = [
  ["a status", { status: 503 }, "model_unavailable", ""],
  ["a cut before the first delta", { cutAfter: 3 }, "model_unreachable", ""],
  ["a cut in the text", { cutAfter: 5 }, "model_stream_cut", "one two"],
  ["garbage", { garbageAfter: 5 }, "model_bad_response", "one two"],
  ["an error frame", { errorFrameAfter: 5 }, "model_stream_error", "one two"],
  ["an overload", { errorFrameAfter: 5, type: "overloaded_error" }, "model_unavailable", "one two"],
  ["no end mark", { noDone: true }, "model_stream_cut", "one two three"],
];

Deno.test.each(FAULTS)("anthropic() meets %s of the double", async (_, fault, code, text) => {
  await using double = startAnthropicDouble({
    script: () => ({ text: "one two three" }),
    faults: () => fault,
  });
  const { error, events } = await run({ baseURL: double.url });
  assert.equal(codeOf(error), code);
  assert.equal(textOf(events), text);
  assert.equal(events.some((event) => event.type === "finish"), code === undefined);
});

Deno.test("anthropic() throws model_auth for a wrong key", async () => {
  await using double = startAnthropicDouble({ script: () => ({}), token: "other" });
  const { error } = await run({ baseURL: double.url });
  assert.equal(codeOf(error), "model_auth");
});

Deno.test("anthropic() throws context_length_exceeded with the window of the double", async () => {
  await using double = startAnthropicDouble({ script: () => ({}), window: 5 });
  const { error } = await run({ baseURL: double.url });
  assert.ok(error instanceof SelvageError);
  assert.deepEqual([error.code, error.fields.window], ["context_length_exceeded", 5]);
});

Deno.test("anthropic() throws model_unreachable where nobody listens", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const { error } = await run({ baseURL: `http://127.0.0.1:${port}/v1` });
  assert.ok(error instanceof SelvageError);
  assert.equal(error.code, "model_unreachable");
  assert.equal(error.fields.retryable, true);
  assert.ok(error.cause instanceof TypeError);
});

Deno.test("anthropic() throws model_unreachable where the connection is closed without an answer", async () => {
  await using upstream = startRaw(() => {});
  const { error } = await run({ baseURL: upstream.url });
  assert.equal(codeOf(error), "model_unreachable");
});

Deno.test("anthropic() does not try again what another attempt cannot change", async () => {
  const denied = new Deno.errors.PermissionDenied("no net");
  const { error } = await run({ maxRetries: 2, fetch: () => Promise.reject(denied) });
  assert.ok(error instanceof SelvageError);
  assert.deepEqual([error.code, error.fields.retryable, error.cause], ["model_unreachable", false, denied]);
});

Deno.test("anthropic() tries again after 429, 5xx and lost connections, and then answers", async () => {
  const clock = new ManualClock();
  const faults: (Fault | undefined)[] = [{ status: 429 }, { status: 529 }, { cutAfter: 1 }, undefined];
  await using double = startAnthropicDouble({
    script: () => ({ text: "fine" }),
    faults: (number) => faults[number - 1],
  });
  const outcome = run({ baseURL: double.url, clock, maxRetries: 3 });
  for (const [attempt, longest] of [500, 1_000, 2_000].entries()) {
    await clock.untilSleeping((ms) => ms < STALL_MS);
    assert.equal(double.requests.length, attempt + 1);
    const [wait = 0, ...others] = clock.sleeping;
    assert.deepEqual(others, [], "nothing of the last attempt is left");
    assert.ok(wait >= longest / 2 && wait <= longest, `found a wait of ${wait} ms`);
    await clock.advance(wait);
  }
  const { error, events } = await outcome;
  assert.equal(error, undefined);
  assert.equal(textOf(events), "fine");
  assert.equal(double.requests.length, 4);
});

Deno.test.each([["overloaded_error"], ["rate_limit_error"]])(
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

Deno.test("anthropic() gives up after maxRetries", async () => {
  const clock = new ManualClock();
  const fake = fakeFetch({ status: 503, reads: ["busy"] });
  const outcome = run({ fetch: fake.fetch, clock, maxRetries: 2 });
  for (let attempt = 0; attempt < 2; attempt++) {
    await clock.untilSleeping((ms) => ms < STALL_MS);
    await clock.advance(clock.sleeping[0] ?? 0);
  }
  assert.equal(codeOf((await outcome).error), "model_unavailable");
  assert.equal(fake.requests.length, 3);
});

Deno.test.each([
  ["2", 2_000, 2_250],
  ["0.5", 500, 750],
  ["3600", 30_000, 30_000],
  ["Tue, 14 Nov 2023 22:13:25 GMT", 5_000, 5_250],
  ["Tue, 14 Nov 2023 22:13:00 GMT", 0, 250],
  ["soon", 250, 500],
])("anthropic() waits as retry-after %s asks", async (value, least, most) => {
  const clock = new ManualClock(1_700_000_000_000);
  const headers = { "retry-after": value };
  const fake = fakeFetch({ status: 429, headers, reads: ["slow down"] }, {
    reads: [BEGIN + frame("x") + ending()],
  });
  const outcome = run({ fetch: fake.fetch, clock, maxRetries: 1 });
  await clock.untilSleeping((ms) => ms < STALL_MS);
  const [wait = -1] = clock.sleeping;
  assert.ok(wait >= least && wait <= most, `found a wait of ${wait} ms`);
  await clock.advance(wait);
  assert.equal((await outcome).error, undefined);
});

Deno.test.each([
  ["a refusal", { status: 400, reads: ["no"] }],
  ["an error frame", { reads: [errorEvent("api_error")] }],
  ["a cut stream", { reads: [": ping\n\n"] }],
  ["a redirect", { status: 307, reads: [], headers: { location: "https://elsewhere.example/" } }],
])("anthropic() does not try again after %s", async (_, answer) => {
  const fake = fakeFetch(answer);
  const { error } = await run({ fetch: fake.fetch, maxRetries: 2 });
  assert.ok(error instanceof SelvageError);
  assert.equal(fake.requests.length, 1);
});

Deno.test("anthropic() does not try again once a delta was passed on", async () => {
  const fake = fakeFetch({ reads: [BEGIN + frame("x")], end: "error" });
  const { error, events } = await run({ fetch: fake.fetch, maxRetries: 2 });
  assert.equal(codeOf(error), "model_stream_cut");
  assert.ok(error instanceof SelvageError && error.cause instanceof TypeError);
  assert.equal(textOf(events), "x");
  assert.equal(fake.requests.length, 1);
});

Deno.test("anthropic() ends a wait between attempts when the signal aborts", async () => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const outcome = run(
    { fetch: fakeFetch({ status: 503, reads: [] }).fetch, clock, maxRetries: 2 },
    controller,
  );
  await clock.untilSleeping((ms) => ms < STALL_MS);
  controller.abort("enough");
  assert.equal((await outcome).error, "enough");
  assert.deepEqual(clock.sleeping, []);
});

Deno.test("anthropic() throws model_stalled after stallMs of silence, and lets go of the connection", async () => {
  const clock = new ManualClock();
  await using double = startAnthropicDouble({
    script: () => ({ text: "one two" }),
    faults: () => ({ hangAfter: 4 }),
  });
  const model = anthropic({ model: "m", apiKey: KEY, baseURL: double.url, clock, stallMs: 1_000 });
  const events = model.stream(request, new AbortController().signal)[Symbol.asyncIterator]();
  assert.deepEqual(await events.next(), { done: false, value: { type: "text.delta", text: "one" } });
  // A slow reader is not a silent upstream.
  await clock.advance(5_000);
  let isEnded = false;
  const stalled = assert.rejects(events.next(), (error) => {
    isEnded = true;
    return error instanceof SelvageError && error.code === "model_stalled" && error.fields.retryable === true;
  });
  await clock.advance(999);
  assert.equal(isEnded, false);
  await clock.advance(1);
  await stalled;
  await double.untilLeft(1);
  assert.deepEqual(clock.sleeping, []);
});

Deno.test("anthropic() starts the silence anew with every read", async () => {
  const clock = new ManualClock();
  await using upstream = startRaw(async ({ write }) => {
    await write(rawHead());
    for (const word of ["a", "b", "c"]) {
      await write(frame(word));
      await clock.sleep(600);
    }
    await write(ending());
  });
  const outcome = run({ baseURL: upstream.url, clock, stallMs: 1_000 });
  for (let word = 0; word < 3; word++) {
    await clock.untilSleeping((ms) => ms === 600);
    await clock.advance(600);
  }
  assert.equal((await outcome).error, undefined);
});

Deno.test("anthropic() throws model_stalled where not even headers come", async () => {
  const clock = new ManualClock();
  await using upstream = startRaw(({ closed }) => closed);
  const outcome = run({ baseURL: upstream.url, clock });
  await clock.untilSleeping((ms) => ms === STALL_MS);
  await clock.advance(STALL_MS);
  assert.equal(codeOf((await outcome).error), "model_stalled");
});

Deno.test("anthropic() reports a clock that fails", async () => {
  const clock = { now: () => 0, sleep: () => Promise.reject(new Error("no time")) };
  const { error } = await run({ clock, fetch: fakeFetch({ reads: [], end: "hang" }).fetch });
  assert.match(String(error), /no time/);
});

Deno.test("anthropic() ends with the signal's reason and closes the upstream in mid-stream", async () => {
  await using double = startAnthropicDouble({
    script: () => ({ text: "one two" }),
    faults: () => ({ hangAfter: 4 }),
  });
  const controller = new AbortController();
  const model = anthropic({ model: "m", apiKey: KEY, baseURL: double.url });
  const events = model.stream(request, controller.signal)[Symbol.asyncIterator]();
  await events.next();
  const next = events.next();
  controller.abort("enough");
  await assert.rejects(next, (reason) => reason === "enough");
  await double.untilLeft(1);
  assert.equal(double.open, 0);
});

Deno.test("anthropic() closes the upstream when the signal aborts between two reads", async () => {
  await using double = startAnthropicDouble({
    script: () => ({ text: "one two" }),
    faults: () => ({ hangAfter: 4 }),
  });
  const controller = new AbortController();
  const model = anthropic({ model: "m", apiKey: KEY, baseURL: double.url });
  const events = model.stream(request, controller.signal)[Symbol.asyncIterator]();
  await events.next();
  controller.abort("enough");
  await double.untilLeft(1);
  await assert.rejects(events.next(), (reason) => reason === "enough");
});

Deno.test("anthropic() closes the upstream when the consumer leaves", async () => {
  await using double = startAnthropicDouble({
    script: () => ({ text: "one two" }),
    faults: () => ({ hangAfter: 4 }),
  });
  const model = anthropic({ model: "m", apiKey: KEY, baseURL: double.url });
  for await (const event of model.stream(request, new AbortController().signal)) {
    assert.equal(event.type, "text.delta");
    break;
  }
  await double.untilLeft(1);
});

Deno.test("anthropic() ends while it waits for headers", async () => {
  await using upstream = startRaw(({ closed }) => closed);
  const controller = new AbortController();
  const clock = new ManualClock();
  const outcome = run({ baseURL: upstream.url, clock }, controller);
  while (upstream.count === 0) await clock.advance(0);
  controller.abort("enough");
  assert.equal((await outcome).error, "enough");
});

Deno.test("anthropic() sends nothing under a signal that has aborted", async () => {
  const fake = fakeFetch({ reads: [ending()] });
  const controller = new AbortController();
  controller.abort("enough");
  assert.equal((await run({ fetch: fake.fetch }, controller)).error, "enough");
  assert.equal(fake.requests.length, 0);
});

Deno.test("anthropic() gives no finish under a signal that has aborted", async () => {
  const controller = new AbortController();
  const fake = fakeFetch({ reads: [BEGIN + frame("x") + ending()] });
  const seen: string[] = [];
  const consume = async (): Promise<void> => {
    for await (
      const event of anthropic({ model: "m", fetch: fake.fetch }).stream(request, controller.signal)
    ) {
      seen.push(event.type);
      controller.abort("enough");
    }
  };
  await assert.rejects(consume(), (reason) => reason === "enough");
  assert.deepEqual(seen, ["text.delta"]);
});

Deno.test("anthropic() sends no key after a redirect", async () => {
  const heads: string[] = [];
  await using upstream = startRaw(async ({ head, write }) => {
    heads.push(head);
    await write(rawHead("307 Temporary Redirect", "text/plain", `location: /elsewhere\r\n`));
  });
  const { error } = await run({ baseURL: upstream.url, maxRetries: 2 });
  assert.equal(codeOf(error), "model_bad_response");
  assert.equal(heads.length, 1);
});

Deno.test("anthropic() tries again inside an answer that was paused, and repeats nothing of it", async () => {
  const clock = new ManualClock();
  let n = 0;
  await using double = startAnthropicDouble({
    script: () => n++ === 0 ? { text: "one", stopReason: "pause_turn" } : { text: " two" },
    faults: (number) => number === 2 ? { status: 529 } : undefined,
  });
  const outcome = run({ baseURL: double.url, clock, maxRetries: 1 });
  await clock.untilSleeping((ms) => ms < STALL_MS);
  await clock.advance(clock.sleeping[0] ?? 0);
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

Deno.test("anthropic() leaves no upstream open of 500 clients that leave at once, after garbage collections", async () => {
  const script = new URL("../support/anthropic_abort_script.ts", import.meta.url).pathname;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-lock", "--v8-flags=--expose-gc", "--allow-net=127.0.0.1", script],
    // The time of a hang, not of the test: a lost abort would wait for the stall timer.
    signal: AbortSignal.timeout(20_000),
  }).output();
  assert.equal(
    new TextDecoder().decode(stdout),
    "500 of 500 closed, 0 open\n",
    new TextDecoder().decode(stderr),
  );
  assert.equal(code, 0);
});
