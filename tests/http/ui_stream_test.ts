/** The frames of a UI message stream, whatever becomes of an answer. */
import assert from "node:assert/strict";
import { UiStreamEncoder } from "../../src/http/encode/ui_stream.ts";
import type { TurnEventBody } from "../../src/loop/events.ts";
import { assertUiOrder, chunksOf } from "../support/ui_stream_rules.ts";

Deno.test("UiStreamEncoder tells once that a call of an answer that was cut off is not run", () => {
  const call = { step: 1, call: 0, ref: "e1.0", name: "read" };
  const usage = { inputTokens: 1, outputTokens: 1 };
  const events: readonly TurnEventBody[] = [
    { type: "turn.started", turn: "t", session: "s", agent: "default", model: "m" },
    { type: "step.started", step: 1 },
    { type: "tool.input.delta", ...call, delta: '{"n":' },
    { type: "error", code: "model_stream_cut", message: "Cut off", retryable: true },
    { type: "turn.finished", reason: "error", usage, steps: 1 },
  ];
  const encoder = new UiStreamEncoder();
  const frames = events.map((event, n) => encoder.encode({ ...event, id: `t:${n}` })).join("");
  const chunks = chunksOf(frames + encoder.end());
  assertUiOrder(chunks);
  const told = chunks.filter(({ type }) => type === "tool-output-error").map(({ toolCallId }) => toolCallId);
  assert.deepEqual(told, ["e1_0"]);
});
