import assert from "node:assert/strict";
import { openaiResponses } from "../../src/models/openai_responses.ts";
import { ManualClock } from "../support/clock.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { startResponsesDouble } from "../support/responses_double.ts";
import { event } from "../support/event_frames.ts";
import { added, call, closed, ending, input, text } from "../support/responses_frames.ts";
import { codeOf, textOf } from "./_answers.ts";
import { asking, testErrors } from "./_errors.ts";
import { NOT_TOO_LONG, refusalBody as body, TOO_LONG } from "./_openai_refusals.ts";

const STALL_MS = 60_000;

const { failure, run } = asking(openaiResponses);

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
  ["a failed response without a word", failed(null), "model_unavailable", true, "model_stream_error"],
  [
    "a cancelled response",
    event({ type: "response.cancelled" }),
    "model_unavailable",
    true,
    "model_stream_error",
  ],
  ["an error text", 'data: {"error":"overload"}\n\n', "model_unavailable", true, "model_stream_error"],
  [
    "an event that is named error",
    'event: error\ndata: {"message":"no"}\n\n',
    "model_unavailable",
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

testErrors("openaiResponses()", { failure, run }, {
  tooLong: TOO_LONG,
  notTooLong: NOT_TOO_LONG,
  echoes: (echo) => [
    { status: 401, reads: [body(echo)] },
    { reads: [echo], headers: { "content-type": "text/html" } },
    { reads: [`data: {"error":${JSON.stringify({ message: echo })}}\n\n`] },
    { reads: [failed({ code: "server_error", message: echo })] },
    { reads: [`data: {${echo}\n\n`] },
    { status: 400, reads: [body(`maximum context length, ${echo}`)] },
  ],
  badResponse: [
    ["a whole completion", {
      reads: [JSON.stringify({ choices: [] })],
      headers: { "content-type": "application/json" },
    }],
    ["a call without a name", { reads: [added(0, call("a", { name: "" })), ending()] }],
    ["arguments without their call", { reads: [input({ item_id: "fc_a", output_index: 0 }, "{}")] }],
    ["a call that only the client could answer", {
      reads: [
        closed(0, { id: "ctc_1", type: "custom_tool_call", call_id: "a", name: "patch", input: "x" }),
        ending(),
      ],
    }],
  ],
  cut: [
    ["no response.completed", [text("x")]],
    ["an end mark without a response.completed", [text("x"), "data: [DONE]\n\n"]],
    ["half a last frame", [text("x"), ending().slice(0, 60)]],
    ["a call that looks whole", [
      added(0, call("a")) + input({ item_id: "fc_a" }, "{}") +
      closed(0, call("a", { arguments: "{}", status: "completed" })),
    ]],
  ],
  final: [
    ["a used-up quota", { status: 429, reads: [body("no credit", "insufficient_quota")] }],
    ["a refusal in the stream", { reads: [error({ code: "invalid_prompt", message: "no" })] }],
  ],
});
