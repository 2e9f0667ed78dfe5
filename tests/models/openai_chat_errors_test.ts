import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { openaiChat, type OpenAIChatOptions } from "../../src/models/openai_chat.ts";
import type { ModelEvent, ModelRequest } from "../../src/ports.ts";
import { ManualClock } from "../support/clock.ts";
import { ending, type FakeAnswer, fakeFetch, frame } from "../support/fake_fetch.ts";
import { type Fault, startDouble } from "../support/openai_double.ts";
import { rawHead, startRaw } from "../support/raw_upstream.ts";

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
  options: Partial<OpenAIChatOptions>,
  controller = new AbortController(),
): Promise<Outcome> {
  const model = openaiChat({ model: "m", apiKey: KEY, maxRetries: 0, ...options });
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
])("openaiChat() throws for status %i %s, retryable %s", async (status, code, retryable) => {
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
])("openaiChat() throws context_length_exceeded for %i %s", async (status, text, window) => {
  const error = await failure({ status, reads: [text] });
  assert.equal(error.code, "context_length_exceeded");
  assert.equal(error.fields.window, window);
  assert.equal("window" in error.fields, window !== undefined);
  assert.equal(error.fields.retryable, false);
});

Deno.test.each([
  [400, body("Invalid 'x': string too long. Expected a string with maximum length 40")],
  [400, body("the context of this request is not allowed")],
  [500, body("maximum context length is 10 tokens")],
])("openaiChat() throws no context_length_exceeded for %i %s", async (status, text) => {
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
])("openaiChat() carries the upstream's words of %j", async (text, upstream) => {
  const error = await failure({ status: 502, reads: text === "" ? [] : [text] });
  assert.equal(error.fields.upstream, upstream);
});

Deno.test("openaiChat() keeps the key out of every error", async () => {
  const echo = `Incorrect key ${KEY}`;
  const answers: FakeAnswer[] = [
    { status: 401, reads: [body(echo)] },
    { reads: [echo], headers: { "content-type": "text/html" } },
    { reads: [`data: {"error":${JSON.stringify({ message: echo })}}\n\n`] },
    { reads: [`data: {${echo}\n\n`] },
    { status: 400, reads: [body(`maximum context length, ${echo}`)] },
  ];
  for (const answer of answers) {
    const error = await failure(answer);
    assert.ok(!Deno.inspect(error).includes(KEY), error.code);
    assert.ok(String(error.fields.upstream).includes("Incorrect key [key]"), error.code);
  }
});

Deno.test("openaiChat() reads the status alone where the rest of the refusal is lost", async () => {
  const error = await failure({ status: 404, reads: ["half"], end: "error" });
  assert.equal(error.code, "model_not_found");
});

Deno.test("openaiChat() reads no more of a refusal than it needs", async () => {
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
  ["a call without a name", {
    reads: [frame({ tool_calls: [{ index: 0, function: { arguments: "{}" } }] }), ending()],
  }],
  ["a frame without end", { reads: ["data: ", ...Array(17).fill("x".repeat(1_048_576))] }],
])("openaiChat() throws model_bad_response for %s", async (_, answer) => {
  const error = await failure(answer);
  assert.equal(error.code, "model_bad_response");
  assert.equal(error.fields.retryable, false);
});

Deno.test.each([
  ["nothing", []],
  ["comments alone", [": ping\n\n"]],
  ["no finish_reason", [frame({ content: "x" })]],
  ["an end mark without a finish_reason", [frame({ content: "x" }), "data: [DONE]\n\n"]],
  ["half a last frame", [frame({ content: "x" }), frame({}, "stop").slice(0, 30)]],
  ["a call that looks whole", [
    frame({ tool_calls: [{ index: 0, id: "a", function: { name: "get", arguments: "{}" } }] }),
  ]],
])("openaiChat() throws model_stream_cut for %s", async (_, reads) => {
  const { error, events } = await run({ fetch: fakeFetch({ reads }).fetch });
  assert.equal(codeOf(error), "model_stream_cut");
  assert.ok(error instanceof SelvageError && error.fields.retryable === true);
  assert.ok(events.every((event) => event.type !== "finish"));
});

const refusedFrame = { message: "no", type: "invalid_request_error" };

Deno.test.each([
  ["an error", 'data: {"error":{"message":"overloaded","type":"server_error"}}', "model_stream_error", true],
  [
    "an error with a status",
    'data: {"error":{"message":"overloaded","code":503}}',
    "model_stream_error",
    true,
  ],
  ["a rate limit", 'data: {"error":{"message":"slow down","code":429}}', "model_stream_error", true],
  ["an error text", 'data: {"error":"overloaded"}', "model_stream_error", true],
  ["an error event", 'event: error\ndata: {"message":"overloaded"}', "model_stream_error", true],
  ["an error object", 'data: {"object":"error","message":"overloaded"}', "model_stream_error", true],
  ["a failed finish_reason", frame({}, "error").trimEnd(), "model_stream_error", true],
  ["a refusal", `data: ${JSON.stringify({ error: refusedFrame })}`, "model_stream_error", false],
  ["a refusal with a status", 'data: {"error":{"message":"no","code":400}}', "model_stream_error", false],
  [
    "a request that is too long",
    'data: {"error":{"message":"no","code":"context_length_exceeded"}}',
    "context_length_exceeded",
    false,
  ],
])("openaiChat() throws for a frame with %s", async (_, wire, code, retryable) => {
  const error = await failure({ reads: [`${wire}\n\n${ending()}`] });
  assert.equal(error.code, code);
  assert.equal(error.fields.retryable, retryable);
});

Deno.test("openaiChat() throws model_stream_error for a late error, whatever it says, after what came before", async () => {
  const late = `${
    frame({ content: "x" })
  }data: {"error":{"message":"no","code":"context_length_exceeded"}}\n\n`;
  const { error, events } = await run({ fetch: fakeFetch({ reads: [late] }).fetch });
  assert.equal(codeOf(error), "model_stream_error");
  assert.equal(textOf(events), "x");
});

const FAULTS: readonly (readonly [string, Fault, string | undefined, string])[] = [
  ["a status", { status: 503 }, "model_unavailable", ""],
  ["a cut before the first delta", { cutAfter: 1 }, "model_unreachable", ""],
  ["a cut in the text", { cutAfter: 3 }, "model_stream_cut", "one two"],
  ["garbage", { garbageAfter: 3 }, "model_bad_response", "one two"],
  ["an error frame", { errorFrameAfter: 3 }, "model_stream_error", "one two"],
  ["no end mark", { noDone: true }, undefined, "one two three"],
];

Deno.test.each(FAULTS)("openaiChat() meets %s of the double", async (_, fault, code, text) => {
  await using double = startDouble({ script: () => ({ text: "one two three" }), faults: () => fault });
  const { error, events } = await run({ baseURL: double.url });
  assert.equal(codeOf(error), code);
  assert.equal(textOf(events), text);
  assert.equal(events.some((event) => event.type === "finish"), code === undefined);
});

Deno.test("openaiChat() throws model_auth for a wrong key", async () => {
  await using double = startDouble({ script: () => ({}), token: "other" });
  const { error } = await run({ baseURL: double.url });
  assert.equal(codeOf(error), "model_auth");
});

Deno.test("openaiChat() throws context_length_exceeded with the window of the double", async () => {
  await using double = startDouble({ script: () => ({}), window: 50 });
  const { error } = await run({ baseURL: double.url });
  assert.ok(error instanceof SelvageError);
  assert.deepEqual([error.code, error.fields.window], ["context_length_exceeded", 50]);
});

Deno.test("openaiChat() throws model_unreachable where nobody listens", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const { error } = await run({ baseURL: `http://127.0.0.1:${port}/v1` });
  assert.ok(error instanceof SelvageError);
  assert.equal(error.code, "model_unreachable");
  assert.equal(error.fields.retryable, true);
  assert.ok(error.cause instanceof TypeError);
});

Deno.test("openaiChat() throws model_unreachable where the connection is closed without an answer", async () => {
  await using upstream = startRaw(() => {});
  const { error } = await run({ baseURL: upstream.url });
  assert.equal(codeOf(error), "model_unreachable");
});

Deno.test("openaiChat() does not try again what another attempt cannot change", async () => {
  const denied = new Deno.errors.PermissionDenied("no net");
  const { error } = await run({ maxRetries: 2, fetch: () => Promise.reject(denied) });
  assert.ok(error instanceof SelvageError);
  assert.deepEqual([error.code, error.fields.retryable, error.cause], ["model_unreachable", false, denied]);
});

Deno.test("openaiChat() tries again after 429, 5xx and lost connections, and then answers", async () => {
  const clock = new ManualClock();
  const faults: (Fault | undefined)[] = [{ status: 429 }, { status: 500 }, { cutAfter: 1 }, undefined];
  await using double = startDouble({
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

Deno.test("openaiChat() gives up after maxRetries", async () => {
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
])("openaiChat() waits as retry-after %s asks", async (value, least, most) => {
  const clock = new ManualClock(1_700_000_000_000);
  const headers = { "retry-after": value };
  const fake = fakeFetch({ status: 429, headers, reads: ["slow down"] }, {
    reads: [frame({ content: "x" }), ending()],
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
  ["an error frame", { reads: ['data: {"error":{"message":"overloaded"}}\n\n'] }],
  ["a cut stream", { reads: [": ping\n\n"] }],
])("openaiChat() does not try again after %s", async (_, answer) => {
  const fake = fakeFetch(answer);
  const { error } = await run({ fetch: fake.fetch, maxRetries: 2 });
  assert.ok(error instanceof SelvageError);
  assert.equal(fake.requests.length, 1);
});

Deno.test("openaiChat() does not try again once a delta was passed on", async () => {
  const fake = fakeFetch({ reads: [frame({ content: "x" })], end: "error" });
  const { error, events } = await run({ fetch: fake.fetch, maxRetries: 2 });
  assert.equal(codeOf(error), "model_stream_cut");
  assert.ok(error instanceof SelvageError && error.cause instanceof TypeError);
  assert.equal(textOf(events), "x");
  assert.equal(fake.requests.length, 1);
});

Deno.test("openaiChat() ends a wait between attempts when the signal aborts", async () => {
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

Deno.test("openaiChat() throws model_stalled after stallMs of silence, and lets go of the connection", async () => {
  const clock = new ManualClock();
  await using double = startDouble({ script: () => ({ text: "one two" }), faults: () => ({ hangAfter: 2 }) });
  const model = openaiChat({ model: "m", baseURL: double.url, clock, stallMs: 1_000 });
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

Deno.test("openaiChat() starts the silence anew with every read", async () => {
  const clock = new ManualClock();
  await using upstream = startRaw(async ({ write }) => {
    await write(rawHead());
    for (const word of ["a", "b", "c"]) {
      await write(frame({ content: word }));
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

Deno.test("openaiChat() throws model_stalled where not even headers come", async () => {
  const clock = new ManualClock();
  await using upstream = startRaw(({ closed }) => closed);
  const outcome = run({ baseURL: upstream.url, clock });
  await clock.untilSleeping((ms) => ms === STALL_MS);
  await clock.advance(STALL_MS);
  assert.equal(codeOf((await outcome).error), "model_stalled");
});

Deno.test("openaiChat() takes silence after the finish_reason as the end", async () => {
  const clock = new ManualClock();
  const fake = fakeFetch({ reads: [frame({ content: "x" }), frame({}, "stop")], end: "hang" });
  const outcome = run({ fetch: fake.fetch, clock });
  await clock.advance(STALL_MS);
  const { error, events } = await outcome;
  assert.equal(error, undefined);
  assert.equal(events.at(-1)?.type, "finish");
  assert.equal(fake.cancelled, 1);
});

Deno.test("openaiChat() reports a clock that fails", async () => {
  const clock = { now: () => 0, sleep: () => Promise.reject(new Error("no time")) };
  const { error } = await run({ clock, fetch: fakeFetch({ reads: [], end: "hang" }).fetch });
  assert.match(String(error), /no time/);
});

Deno.test("openaiChat() ends with the signal's reason and closes the upstream in mid-stream", async () => {
  await using double = startDouble({ script: () => ({ text: "one two" }), faults: () => ({ hangAfter: 2 }) });
  const controller = new AbortController();
  const model = openaiChat({ model: "m", baseURL: double.url });
  const events = model.stream(request, controller.signal)[Symbol.asyncIterator]();
  await events.next();
  const next = events.next();
  controller.abort("enough");
  await assert.rejects(next, (reason) => reason === "enough");
  await double.untilLeft(1);
  assert.equal(double.open, 0);
});

Deno.test("openaiChat() closes the upstream when the signal aborts between two reads", async () => {
  await using double = startDouble({ script: () => ({ text: "one two" }), faults: () => ({ hangAfter: 2 }) });
  const controller = new AbortController();
  const model = openaiChat({ model: "m", baseURL: double.url });
  const events = model.stream(request, controller.signal)[Symbol.asyncIterator]();
  await events.next();
  controller.abort("enough");
  await double.untilLeft(1);
  await assert.rejects(events.next(), (reason) => reason === "enough");
});

Deno.test("openaiChat() closes the upstream when the consumer leaves", async () => {
  await using double = startDouble({ script: () => ({ text: "one two" }), faults: () => ({ hangAfter: 2 }) });
  const model = openaiChat({ model: "m", baseURL: double.url });
  for await (const event of model.stream(request, new AbortController().signal)) {
    assert.equal(event.type, "text.delta");
    break;
  }
  await double.untilLeft(1);
});

Deno.test("openaiChat() ends while it waits for headers", async () => {
  await using upstream = startRaw(({ closed }) => closed);
  const controller = new AbortController();
  const clock = new ManualClock();
  const outcome = run({ baseURL: upstream.url, clock }, controller);
  while (upstream.count === 0) await clock.advance(0);
  controller.abort("enough");
  assert.equal((await outcome).error, "enough");
});

Deno.test("openaiChat() sends nothing under a signal that has aborted", async () => {
  const fake = fakeFetch({ reads: [ending()] });
  const controller = new AbortController();
  controller.abort("enough");
  assert.equal((await run({ fetch: fake.fetch }, controller)).error, "enough");
  assert.equal(fake.requests.length, 0);
});

Deno.test("openaiChat() gives no finish under a signal that has aborted", async () => {
  const controller = new AbortController();
  const fake = fakeFetch({ reads: [frame({ content: "x" }) + ending()] });
  const seen: string[] = [];
  const consume = async (): Promise<void> => {
    for await (
      const event of openaiChat({ model: "m", fetch: fake.fetch }).stream(request, controller.signal)
    ) {
      seen.push(event.type);
      controller.abort("enough");
    }
  };
  await assert.rejects(consume(), (reason) => reason === "enough");
  assert.deepEqual(seen, ["text.delta"]);
});
