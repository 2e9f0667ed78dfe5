/** The frames of a run of AG-UI, whatever becomes of its turn. */
import assert from "node:assert/strict";
import { AguiEncoder } from "../../src/http/encode/agui.ts";
import { AguiClient, type AguiEvent } from "../support/agui_client.ts";
import { outline } from "../support/agui_rig.ts";
import { dataOf } from "../support/sse.ts";

const OPTIONS = {
  threadId: "t",
  runId: "r",
  turn: "x",
  agent: "default",
  model: "m",
  state: null,
  answered: new Set<string>(),
};

Deno.test("AguiEncoder has an end for what has none", () => {
  const usage = { inputTokens: 1, outputTokens: 1 };
  const cases = [
    [[], null, { type: "RUN_ERROR", code: "turn_suspended" }],
    [[{ type: "step.started", step: 1 }, { type: "text.delta", step: 1, text: "a" }], null, {
      code: "turn_suspended",
    }],
    [[{ type: "text.delta", step: 1, text: "a" }], { code: "broken", detail: "d" }, {
      type: "RUN_ERROR",
      code: "broken",
    }],
    [[{ type: "turn.finished", reason: "aborted", usage, steps: 1 }], null, {
      outcome: { type: "cancelled" },
    }],
    [
      [{ type: "error", code: "context_exhausted", message: "m", retryable: false }, {
        type: "turn.finished",
        reason: "error",
        usage,
        steps: 1,
      }],
      null,
      { type: "RUN_ERROR", code: "context_exhausted", message: "m" },
    ],
  ] as const;
  for (const [events, problem, wanted] of cases) {
    const encoder = new AguiEncoder(OPTIONS);
    const sent = events.map((event, n) => encoder.encode({ ...event, id: `x:${n}` } as AguiEvent)).join("");
    const told = dataOf(sent + encoder.end(problem)).map((json) => JSON.parse(json));
    assert.equal(told[0].type, "RUN_STARTED");
    assert.partialDeepStrictEqual(told.at(-1), wanted);
    const open = told.filter(({ type }) => type === "TEXT_MESSAGE_START").length;
    assert.equal(told.filter(({ type }) => type === "TEXT_MESSAGE_END").length, open);
  }
});

Deno.test("AguiEncoder tells a step that begins anew so that a client can follow", async () => {
  const call = { step: 1, call: 0, ref: "e1.0", name: "read" };
  const usage = { inputTokens: 1, outputTokens: 1 };
  const events: readonly AguiEvent[] = [
    { type: "turn.started", turn: "x", session: "t1", agent: "default", model: "m" },
    { type: "step.started", step: 1 },
    { type: "text.delta", step: 1, text: "Let" },
    { type: "tool.input.delta", ...call, delta: '{"n":' },
    { type: "step.started", step: 1 },
    { type: "text.delta", step: 1, text: "Look" },
    { type: "tool.input.delta", ...call, delta: '{"n":2}' },
    { type: "tool.call", ...call, input: { n: 2 } },
    { type: "tool.result", ...call, status: "ok", output: "two", shortened: false, ms: 1 },
    { type: "tool.call", ...call, input: { n: 2 } },
    { type: "tool.result", ...call, status: "ok", output: "two", shortened: false, ms: 1 },
    { type: "step.started", step: 2 },
    { type: "text.delta", step: 2, text: "Two." },
    { type: "turn.finished", reason: "stop", usage, steps: 2 },
  ];
  const one = new AguiClient("http://localhost/agui", {
    fetch: async (_, { body }) => {
      const { threadId, runId } = JSON.parse(String(body));
      const encoder = new AguiEncoder({ ...OPTIONS, threadId, runId });
      const frames = await Promise.resolve(events.map((event) => encoder.encode(event)).join(""));
      return new Response(frames + encoder.end(), { headers: { "content-type": "text/event-stream" } });
    },
  });
  assert.deepEqual((await one.run("Go.")).outcome, { type: "success" });
  assert.deepEqual(outline(one.messages), [
    "u Go.",
    'a Let read{"n":',
    'a Look read{"n":2}',
    "t two",
    "a Two.",
  ]);
});
