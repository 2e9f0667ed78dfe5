import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { openaiResponses, type OpenAIResponsesOptions } from "../../src/models/openai_responses.ts";
import type { ModelEvent, ModelRequest } from "../../src/ports.ts";
import { ManualClock } from "../support/clock.ts";
import { type FakeAnswer, fakeFetch } from "../support/fake_fetch.ts";
import { rawHead, startRaw } from "../support/raw_upstream.ts";
import { type Fault, startResponsesDouble } from "../support/responses_double.ts";
import { added, call, closed, ending, event, input, text } from "../support/responses_frames.ts";

const request: ModelRequest = {
  system: "",
  messages: [{ role: "user", content: "hi" }],
  tools: [],
  maxOutput: 100,
};
const KEY = "sk-very-secret";
const STALL_MS = 60_000;

/** What came, and how it ended. */
interface Outcome {
  readonly events: readonly ModelEvent[];
  readonly error: unknown;
}

async function run(
  options: Partial<OpenAIResponsesOptions>,
  controller = new AbortController(),
): Promise<Outcome> {
  const model = openaiResponses({ model: "m", apiKey: KEY, maxRetries: 0, ...options });
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

function body(message: string, code: string | null = null, type = "invalid_request_error"): string {
  return JSON.stringify({ error: { message, code, type, param: null } });
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
  [304, "model_bad_response", false],
])("openaiResponses() throws for status %i %s, retryable %s", async (status, code, retryable) => {
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
  [400, body("too much", "context_length_exceeded"), undefined],
  [
    400,
    body(
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the " +
        "messages, 1000 in the completion).",
    ),
    8_192,
  ],
  [400, body("Input tokens exceed the configured limit of 272,000 tokens."), 272_000],
  [
    400,
    JSON.stringify({ error: { message: "too long", type: "exceed_context_size_error", n_ctx: 4096 } }),
    4_096,
  ],
  [400, body("request (9 tokens) exceeds the available context size (8 tokens), try increasing it"), 8],
  [
    400,
    body("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    131_072,
  ],
  [400, body("The input token count (9) exceeds the maximum number of tokens allowed (1048576)."), 1_048_576],
  [400, body("Prompt contains 40000 tokens, too large for model with 32768 maximum context length"), 32_768],
  [400, body("Requested tokens (2285) exceed context window of 2048"), 2_048],
  [400, body("prompt is too long: 9 tokens > 8 maximum"), undefined],
  [413, body("Please reduce the length of the messages."), undefined],
  [422, JSON.stringify({ detail: "maximum context length is 10 tokens" }), 10],
])("openaiResponses() throws context_length_exceeded for %i %s", async (status, wire, window) => {
  const error = await failure({ status, reads: [wire] });
  assert.equal(error.code, "context_length_exceeded");
  assert.equal(error.fields.window, window);
  assert.equal("window" in error.fields, window !== undefined);
  assert.equal(error.fields.retryable, false);
});

Deno.test.each([
  [400, body("Invalid 'x': string too long. Expected a string with maximum length 40")],
  [400, body("the context of this request is not allowed")],
  [500, body("maximum context length is 10 tokens")],
])("openaiResponses() throws no context_length_exceeded for %i %s", async (status, wire) => {
  assert.notEqual((await failure({ status, reads: [wire] })).code, "context_length_exceeded");
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
])("openaiResponses() carries the upstream's words of %j", async (wire, upstream) => {
  const error = await failure({ status: 502, reads: wire === "" ? [] : [wire] });
  assert.equal(error.fields.upstream, upstream);
});

Deno.test("openaiResponses() keeps the key out of every error", async () => {
  const echo = `Incorrect key ${KEY}`;
  const answers: FakeAnswer[] = [
    { status: 401, reads: [body(echo)] },
    { reads: [echo], headers: { "content-type": "text/html" } },
    { reads: [`data: {"error":${JSON.stringify({ message: echo })}}\n\n`] },
    { reads: [failed({ code: "server_error", message: echo })] },
    { reads: [`data: {${echo}\n\n`] },
    { status: 400, reads: [body(`maximum context length, ${echo}`)] },
  ];
  for (const answer of answers) {
    const error = await failure(answer);
    assert.ok(!Deno.inspect(error).includes(KEY), error.code);
    assert.ok(String(error.fields.upstream).includes("Incorrect key [key]"), error.code);
  }
});

Deno.test("openaiResponses() reads the status alone where the rest of the refusal is lost", async () => {
  const error = await failure({ status: 404, reads: ["half"], end: "error" });
  assert.equal(error.code, "model_not_found");
});

Deno.test("openaiResponses() reads no more of a refusal than it needs", async () => {
  const fake = fakeFetch({ status: 400, reads: Array(100).fill("x".repeat(8_192)), end: "hang" });
  const { error } = await run({ fetch: fake.fetch });
  assert.equal(codeOf(error), "model_refused");
  assert.equal(fake.cancelled, 1);
});

Deno.test.each([
  ["a whole completion", {
    reads: [JSON.stringify({ choices: [] })],
    headers: { "content-type": "application/json" },
  }],
  ["a page", { reads: ["<html>"], headers: { "content-type": "text/html; charset=utf-8" } }],
  ["plain text", { reads: ["hello"], headers: { "content-type": "text/plain" } }],
  ["a frame that is no JSON", { reads: ["data: {oops\n\n"] }],
  ["a frame that is no object", { reads: ["data: 1\n\n"] }],
  ["a call without a name", { reads: [added(0, call("a", { name: "" })), ending()] }],
  ["arguments without their call", { reads: [input({ item_id: "fc_a", output_index: 0 }, "{}")] }],
  ["a call that only the client could answer", {
    reads: [
      closed(0, { id: "ctc_1", type: "custom_tool_call", call_id: "a", name: "patch", input: "x" }),
      ending(),
    ],
  }],
  ["a frame without end", { reads: ["data: ", ...Array(17).fill("x".repeat(1_048_576))] }],
])("openaiResponses() throws model_bad_response for %s", async (_, answer) => {
  const error = await failure(answer);
  assert.equal(error.code, "model_bad_response");
  assert.equal(error.fields.retryable, false);
});

Deno.test.each([
  ["nothing", []],
  ["comments alone", [": ping\n\n"]],
  ["no response.completed", [text("x")]],
  ["an end mark without a response.completed", [text("x"), "data: [DONE]\n\n"]],
  ["half a last frame", [text("x"), ending().slice(0, 60)]],
  ["a call that looks whole", [
    added(0, call("a")) + input({ item_id: "fc_a" }, "{}") +
    closed(0, call("a", { arguments: "{}", status: "completed" })),
  ]],
])("openaiResponses() throws model_stream_cut for %s", async (_, reads) => {
  const { error, events } = await run({ fetch: fakeFetch({ reads }).fetch });
  assert.equal(codeOf(error), "model_stream_cut");
  assert.ok(error instanceof SelvageError && error.fields.retryable === true);
  assert.ok(events.every((event) => event.type !== "finish"));
});

const failed = (error: unknown): string =>
  event({ type: "response.failed", response: { status: "failed", error, output: [] } });
const error = (fields: Record<string, unknown>): string => event({ type: "error", param: null, ...fields });
const down = { code: "server_error", message: "The server had an error." };
const limited = { code: "rate_limit_exceeded", message: "Rate limit reached. Please try again in 1.898s." };

const IN_STREAM: readonly (readonly [string, string, string, boolean, string])[] = [
  ["an error event", error(down), "model_unavailable", true, "model_stream_error"],
  [
    "an error event with its fields in an object",
    error({ error: down }),
    "model_unavailable",
    true,
    "model_stream_error",
  ],
  ["a failed response", failed(down), "model_unavailable", true, "model_stream_error"],
  ["an overload", failed({ code: "server_is_overloaded" }), "model_unavailable", true, "model_stream_error"],
  [
    "a status",
    'data: {"error":{"message":"overloaded","code":503}}\n\n',
    "model_unavailable",
    true,
    "model_stream_error",
  ],
  ["a rate limit", failed(limited), "model_rate_limited", true, "model_stream_error"],
  [
    "the status of one",
    error({ code: 429, message: "slow down" }),
    "model_rate_limited",
    true,
    "model_stream_error",
  ],
  ["a failed response without a word", failed(null), "model_stream_error", true, "model_stream_error"],
  [
    "a cancelled response",
    event({ type: "response.cancelled" }),
    "model_stream_error",
    true,
    "model_stream_error",
  ],
  ["an error text", 'data: {"error":"overload"}\n\n', "model_stream_error", true, "model_stream_error"],
  [
    "an event that is named error",
    'event: error\ndata: {"message":"no"}\n\n',
    "model_stream_error",
    true,
    "model_stream_error",
  ],
  [
    "a refusal",
    error({ code: "invalid_prompt", message: "no" }),
    "model_refused",
    false,
    "model_stream_error",
  ],
  [
    "a refusal by its type",
    error({ error: { type: "invalid_request_error", message: "no" } }),
    "model_refused",
    false,
    "model_stream_error",
  ],
  [
    "a refusal by its status",
    error({ code: 400, message: "no" }),
    "model_refused",
    false,
    "model_stream_error",
  ],
  [
    "a used-up quota",
    failed({ code: "insufficient_quota", message: "no" }),
    "model_refused",
    false,
    "model_stream_error",
  ],
  [
    "a request that is too long",
    failed({
      code: "context_length_exceeded",
      message: "Your input exceeds the context window of this model.",
    }),
    "context_length_exceeded",
    false,
    "model_stream_error",
  ],
];

Deno.test.each(IN_STREAM)(
  "openaiResponses() throws for %s in the stream by what of the answer was seen",
  async (_, wire, code, retryable, late) => {
    const early = await failure({ reads: [`${wire}${ending()}`] });
    assert.deepEqual([early.code, early.fields.retryable], [code, retryable]);
    const { error, events } = await run({
      fetch: fakeFetch({ reads: [text("x") + wire] }).fetch,
      maxRetries: 2,
    });
    assert.equal(codeOf(error), late);
    assert.equal(textOf(events), "x");
  },
);

Deno.test("openaiResponses() tries again after an error in the stream that came before anything of the answer", async () => {
  const clock = new ManualClock();
  const fake = fakeFetch({ reads: [failed(limited)] }, { reads: [error(down)] }, {
    reads: [text("x"), ending()],
  });
  const outcome = run({ fetch: fake.fetch, clock, maxRetries: 2 });
  await clock.untilSleeping((ms) => ms < STALL_MS);
  const [wait = 0] = clock.sleeping;
  assert.ok(wait >= 1_898 && wait <= 2_148, `found a wait of ${wait} ms`);
  await clock.advance(wait);
  await clock.untilSleeping((ms) => ms < STALL_MS);
  await clock.advance(clock.sleeping[0] ?? 0);
  assert.equal(textOf((await outcome).events), "x");
});

Deno.test("openaiResponses() throws context_length_exceeded where the double says it in its stream", async () => {
  await using double = startResponsesDouble({ script: () => ({}), window: 50, lateTooLong: true });
  const { error } = await run({ baseURL: double.url });
  assert.equal(codeOf(error), "context_length_exceeded");
});

const FAULTS: readonly (readonly [string, Fault, string | undefined, string])[] = [
  ["a status", { status: 503 }, "model_unavailable", ""],
  ["a cut before the first delta", { cutAfter: 2 }, "model_unreachable", ""],
  ["a cut in the text", { cutAfter: 6 }, "model_stream_cut", "one two"],
  ["garbage", { garbageAfter: 6 }, "model_bad_response", "one two"],
  ["an error event", { errorFrameAfter: 6 }, "model_stream_error", "one two"],
  ["a failed response", { errorFrameAfter: 6, failed: true }, "model_stream_error", "one two"],
  ["no end mark", { noDone: true }, "model_stream_cut", "one two three"],
];

Deno.test.each(FAULTS)("openaiResponses() meets %s of the double", async (_, fault, code, text) => {
  await using double = startResponsesDouble({
    script: () => ({ text: "one two three" }),
    faults: () => fault,
  });
  const { error, events } = await run({ baseURL: double.url });
  assert.equal(codeOf(error), code);
  assert.equal(textOf(events), text);
  assert.equal(events.some((event) => event.type === "finish"), code === undefined);
});

Deno.test("openaiResponses() throws model_auth for a wrong key", async () => {
  await using double = startResponsesDouble({ script: () => ({}), token: "other" });
  const { error } = await run({ baseURL: double.url });
  assert.equal(codeOf(error), "model_auth");
});

Deno.test("openaiResponses() throws context_length_exceeded for the window of the double", async () => {
  await using double = startResponsesDouble({ script: () => ({}), window: 50 });
  const { error } = await run({ baseURL: double.url });
  assert.ok(error instanceof SelvageError);
  assert.equal(error.code, "context_length_exceeded");
});

Deno.test("openaiResponses() throws model_unreachable where nobody listens", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const { error } = await run({ baseURL: `http://127.0.0.1:${port}/v1` });
  assert.ok(error instanceof SelvageError);
  assert.equal(error.code, "model_unreachable");
  assert.equal(error.fields.retryable, true);
  assert.ok(error.cause instanceof TypeError);
});

Deno.test("openaiResponses() throws model_unreachable where the connection is closed without an answer", async () => {
  await using upstream = startRaw(() => {});
  const { error } = await run({ baseURL: upstream.url });
  assert.equal(codeOf(error), "model_unreachable");
});

Deno.test("openaiResponses() does not try again what another attempt cannot change", async () => {
  const denied = new Deno.errors.PermissionDenied("no net");
  const { error } = await run({ maxRetries: 2, fetch: () => Promise.reject(denied) });
  assert.ok(error instanceof SelvageError);
  assert.deepEqual([error.code, error.fields.retryable, error.cause], ["model_unreachable", false, denied]);
});

Deno.test("openaiResponses() tries again after 429, 5xx and lost connections, and then answers", async () => {
  const clock = new ManualClock();
  const faults: (Fault | undefined)[] = [{ status: 429 }, { status: 500 }, { cutAfter: 2 }, undefined];
  await using double = startResponsesDouble({
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

Deno.test("openaiResponses() gives up after maxRetries", async () => {
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
])("openaiResponses() waits as retry-after %s asks", async (value, least, most) => {
  const clock = new ManualClock(1_700_000_000_000);
  const headers = { "retry-after": value };
  const fake = fakeFetch({ status: 429, headers, reads: ["slow down"] }, {
    reads: [text("x"), ending()],
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
  ["a used-up quota", { status: 429, reads: [body("no credit", "insufficient_quota")] }],
  ["a refusal in the stream", { reads: [error({ code: "invalid_prompt", message: "no" })] }],
  ["a cut stream", { reads: [": ping\n\n"] }],
])("openaiResponses() does not try again after %s", async (_, answer) => {
  const fake = fakeFetch(answer);
  const { error } = await run({ fetch: fake.fetch, maxRetries: 2 });
  assert.ok(error instanceof SelvageError);
  assert.equal(fake.requests.length, 1);
});

Deno.test("openaiResponses() does not try again once a delta was passed on", async () => {
  const fake = fakeFetch({ reads: [text("x")], end: "error" });
  const { error, events } = await run({ fetch: fake.fetch, maxRetries: 2 });
  assert.equal(codeOf(error), "model_stream_cut");
  assert.ok(error instanceof SelvageError && error.cause instanceof TypeError);
  assert.equal(textOf(events), "x");
  assert.equal(fake.requests.length, 1);
});

Deno.test("openaiResponses() ends a wait between attempts when the signal aborts", async () => {
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

Deno.test("openaiResponses() throws model_stalled after stallMs of silence, and lets go of the connection", async () => {
  const clock = new ManualClock();
  await using double = startResponsesDouble({
    script: () => ({ text: "one two" }),
    faults: () => ({ hangAfter: 5 }),
  });
  const model = openaiResponses({ model: "m", baseURL: double.url, clock, stallMs: 1_000 });
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

Deno.test("openaiResponses() starts the silence anew with every read", async () => {
  const clock = new ManualClock();
  await using upstream = startRaw(async ({ write }) => {
    await write(rawHead());
    for (const word of ["a", "b", "c"]) {
      await write(text(word));
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

Deno.test("openaiResponses() throws model_stalled where not even headers come", async () => {
  const clock = new ManualClock();
  await using upstream = startRaw(({ closed }) => closed);
  const outcome = run({ baseURL: upstream.url, clock });
  await clock.untilSleeping((ms) => ms === STALL_MS);
  await clock.advance(STALL_MS);
  assert.equal(codeOf((await outcome).error), "model_stalled");
});

Deno.test("openaiResponses() reports a clock that fails", async () => {
  const clock = { now: () => 0, sleep: () => Promise.reject(new Error("no time")) };
  const { error } = await run({ clock, fetch: fakeFetch({ reads: [], end: "hang" }).fetch });
  assert.match(String(error), /no time/);
});

Deno.test("openaiResponses() ends with the signal's reason and closes the upstream in mid-stream", async () => {
  await using double = startResponsesDouble({
    script: () => ({ text: "one two" }),
    faults: () => ({ hangAfter: 5 }),
  });
  const controller = new AbortController();
  const model = openaiResponses({ model: "m", baseURL: double.url });
  const events = model.stream(request, controller.signal)[Symbol.asyncIterator]();
  await events.next();
  const next = events.next();
  controller.abort("enough");
  await assert.rejects(next, (reason) => reason === "enough");
  await double.untilLeft(1);
  assert.equal(double.open, 0);
});

Deno.test("openaiResponses() closes the upstream when the signal aborts between two reads", async () => {
  await using double = startResponsesDouble({
    script: () => ({ text: "one two" }),
    faults: () => ({ hangAfter: 5 }),
  });
  const controller = new AbortController();
  const model = openaiResponses({ model: "m", baseURL: double.url });
  const events = model.stream(request, controller.signal)[Symbol.asyncIterator]();
  await events.next();
  controller.abort("enough");
  await double.untilLeft(1);
  await assert.rejects(events.next(), (reason) => reason === "enough");
});

Deno.test("openaiResponses() closes the upstream when the consumer leaves", async () => {
  await using double = startResponsesDouble({
    script: () => ({ text: "one two" }),
    faults: () => ({ hangAfter: 5 }),
  });
  const model = openaiResponses({ model: "m", baseURL: double.url });
  for await (const event of model.stream(request, new AbortController().signal)) {
    assert.equal(event.type, "text.delta");
    break;
  }
  await double.untilLeft(1);
});

Deno.test("openaiResponses() ends while it waits for headers", async () => {
  await using upstream = startRaw(({ closed }) => closed);
  const controller = new AbortController();
  const clock = new ManualClock();
  const outcome = run({ baseURL: upstream.url, clock }, controller);
  while (upstream.count === 0) await clock.advance(0);
  controller.abort("enough");
  assert.equal((await outcome).error, "enough");
});

Deno.test("openaiResponses() sends nothing under a signal that has aborted", async () => {
  const fake = fakeFetch({ reads: [ending()] });
  const controller = new AbortController();
  controller.abort("enough");
  assert.equal((await run({ fetch: fake.fetch }, controller)).error, "enough");
  assert.equal(fake.requests.length, 0);
});

Deno.test("openaiResponses() gives no finish under a signal that has aborted", async () => {
  const controller = new AbortController();
  const fake = fakeFetch({ reads: [text("x") + ending()] });
  const seen: string[] = [];
  const consume = async (): Promise<void> => {
    for await (
      const event of openaiResponses({ model: "m", fetch: fake.fetch }).stream(request, controller.signal)
    ) {
      seen.push(event.type);
      controller.abort("enough");
    }
  };
  await assert.rejects(consume(), (reason) => reason === "enough");
  assert.deepEqual(seen, ["text.delta"]);
});

Deno.test("openaiResponses() leaves no upstream open when 500 clients leave at once after garbage collections", async () => {
  const script = new URL("../support/responses_abort_script.ts", import.meta.url).pathname;
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
