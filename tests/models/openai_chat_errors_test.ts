import assert from "node:assert/strict";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { ManualClock } from "../support/clock.ts";
import { ending, fakeFetch, frame } from "../support/fake_fetch.ts";
import { rawHead, startRaw } from "../support/raw_upstream.ts";
import { codeOf, textOf } from "./_answers.ts";
import { asking, KEY, testErrors } from "./_errors.ts";
import { NOT_TOO_LONG, refusalBody as body, TOO_LONG } from "./_openai_refusals.ts";

const STALL_MS = 60_000;

const { failure, run } = asking(openaiChat);

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
  [
    "a rate limit in tokens",
    'data: {"error":{"message":"Input tokens exceed the limit of tokens per min (TPM)","code":"rate_limit_exceeded"}}',
    "model_rate_limited",
    true,
  ],
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

testErrors("openaiChat()", { failure, run }, {
  tooLong: TOO_LONG,
  notTooLong: NOT_TOO_LONG,
  echoes: (echo) => [
    { status: 401, reads: [body(echo)] },
    { reads: [echo], headers: { "content-type": "text/html" } },
    { reads: [`data: {"error":${JSON.stringify({ message: echo })}}\n\n`] },
    { reads: [`data: {${echo}\n\n`] },
    { status: 400, reads: [body(`maximum context length, ${echo}`)] },
  ],
  badResponse: [
    ["a whole completion", {
      reads: [JSON.stringify({ choices: [] })],
      headers: { "content-type": "application/json" },
    }],
    ["a call without a name", {
      reads: [frame({ tool_calls: [{ index: 0, function: { arguments: "{}" } }] }), ending()],
    }],
  ],
  cut: [
    ["no finish_reason", [frame({ content: "x" })]],
    ["an end mark without a finish_reason", [frame({ content: "x" }), "data: [DONE]\n\n"]],
    ["half a last frame", [frame({ content: "x" }), frame({}, "stop").slice(0, 30)]],
    ["a call that looks whole", [
      frame({ tool_calls: [{ index: 0, id: "a", function: { name: "get", arguments: "{}" } }] }),
    ]],
  ],
  final: [
    ["a used-up quota", { status: 429, reads: [body("no credit", "insufficient_quota")] }],
    ["a refusal in the stream", { reads: [`data: ${JSON.stringify({ error: refusedFrame })}\n\n`] }],
  ],
});
