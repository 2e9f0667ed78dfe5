import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { openaiChat, type OpenAIChatOptions } from "../../src/models/openai_chat.ts";
import { ManualClock } from "../support/clock.ts";
import { ending, type FakeAnswer, fakeFetch, frame } from "../support/fake_fetch.ts";
import { rawHead, startRaw } from "../support/raw_upstream.ts";
import { codeOf, failureOf, type Outcome, outcomeOf, textOf } from "./_answers.ts";
import { NOT_TOO_LONG, refusalBody as body, TOO_LONG } from "./_openai_refusals.ts";

const KEY = "sk-very-secret";
const STALL_MS = 60_000;

function run(
  options: Partial<OpenAIChatOptions>,
  controller = new AbortController(),
): Promise<Outcome> {
  return outcomeOf(openaiChat({ model: "m", apiKey: KEY, maxRetries: 0, ...options }), { controller });
}

async function failure(answer: FakeAnswer): Promise<SelvageError> {
  return failureOf(await run({ fetch: fakeFetch(answer).fetch }));
}

Deno.test.each(TOO_LONG)(
  "openaiChat() throws context_length_exceeded for %i %s",
  async (status, text, window) => {
    const error = await failure({ status, reads: [text] });
    assert.equal(error.code, "context_length_exceeded");
    assert.equal(error.fields.window, window);
    assert.equal("window" in error.fields, window !== undefined);
    assert.equal(error.fields.retryable, false);
  },
);

Deno.test.each(NOT_TOO_LONG)(
  "openaiChat() throws no context_length_exceeded for %i %s",
  async (status, text) => {
    assert.notEqual((await failure({ status, reads: [text] })).code, "context_length_exceeded");
  },
);

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
  ["an error", 'data: {"error":{"message":"overloaded","type":"server_error"}}', "model_unavailable", true],
  [
    "an error with a status",
    'data: {"error":{"message":"overloaded","code":503}}',
    "model_unavailable",
    true,
  ],
  ["a rate limit", 'data: {"error":{"message":"slow down","code":429}}', "model_rate_limited", true],
  ["an error text", 'data: {"error":"overloaded"}', "model_unavailable", true],
  ["an error event", 'event: error\ndata: {"message":"overloaded"}', "model_unavailable", true],
  ["an error object", 'data: {"object":"error","message":"overloaded"}', "model_unavailable", true],
  ["a failed finish_reason", frame({}, "error").trimEnd(), "model_unavailable", true],
  ["a refusal", `data: ${JSON.stringify({ error: refusedFrame })}`, "model_refused", false],
  ["a refusal with a status", 'data: {"error":{"message":"no","code":400}}', "model_refused", false],
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

Deno.test.each([
  ["a refusal", { status: 400, reads: ["no"] }],
  ["a used-up quota", { status: 429, reads: [body("no credit", "insufficient_quota")] }],
  ["a refusal in the stream", { reads: [`data: ${JSON.stringify({ error: refusedFrame })}\n\n`] }],
  ["a cut stream", { reads: [": ping\n\n"] }],
])("openaiChat() does not try again after %s", async (_, answer) => {
  const fake = fakeFetch(answer);
  const { error } = await run({ fetch: fake.fetch, maxRetries: 2 });
  assert.ok(error instanceof SelvageError);
  assert.equal(fake.requests.length, 1);
});

Deno.test("openaiChat() takes all of an answer each frame of which says that it is the last", async () => {
  const clock = new ManualClock();
  const words = ["a", "b", "c"];
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const word = words.shift();
      // In the end it is alive, but nothing of an answer.
      controller.enqueue(
        encoder.encode(word === undefined ? ": ping\n\n" : frame({ content: word }, "stop")),
      );
      await clock.sleep(2_500);
    },
  }, { highWaterMark: 0 });
  const headers = { "content-type": "text/event-stream" };
  const outcome = run({ fetch: () => Promise.resolve(new Response(body, { headers })), clock });
  let isOver = false;
  void outcome.finally(() => isOver = true);
  while (!isOver) await clock.advance(500);
  const { error, events } = await outcome;
  assert.equal(error, undefined);
  assert.equal(textOf(events), "abc");
  // What the body still waits for.
  await clock.advance(2_500);
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
