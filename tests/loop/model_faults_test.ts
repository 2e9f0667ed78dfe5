/**
 * Turns under a model that fails, at each of its phases, or that answers with what nobody can use. A turn that has
 * started always tells an error and its end, and the log stays whole.
 */
import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import type { ModelEvent } from "../../src/ports.ts";
import {
  Bench,
  endOf,
  errorsOf,
  eventsOf,
  finish,
  modelOf,
  prose,
  replies,
  reporting,
  tool,
} from "../support/turns.ts";

const text: ModelEvent = { type: "text.delta", text: "I " };
const input: ModelEvent = { type: "tool.input.delta", call: 0, name: "read", delta: '{"n"' };

/** A stream that gives some events and then fails or just ends. */
async function* broken(events: readonly ModelEvent[], error?: unknown): AsyncGenerator<ModelEvent> {
  for (const event of events) yield await Promise.resolve(event);
  if (error !== undefined) throw error;
}

const refused = new SelvageError("model_refused", "Cannot ask the model: it said no", {
  fields: { retryable: true },
});

Deno.test.each(
  [
    ["throws before it streams", () => {
      throw refused;
    }, "model_refused"],
    ["throws before its first event", () => broken([], refused), "model_refused"],
    ["throws in its text", () => broken([text], refused), "model_refused"],
    ["throws in its arguments", () => broken([text, input], refused), "model_refused"],
    ["throws what is no error", () => broken([text], "gone"), "internal"],
    ["throws an error of its own", () => broken([text], new TypeError("secret")), "internal"],
    ["ends without an event", () => broken([]), "model_stream_cut"],
    ["ends without a finish", () => broken([text, input]), "model_stream_cut"],
    ["is no iterable", () => ({}) as AsyncIterable<ModelEvent>, "internal"],
    ["finishes without a message", () => broken([{ type: "finish" } as ModelEvent]), "model_bad_response"],
    [
      "finishes with a part of no known kind",
      () =>
        broken([{ ...finish("x"), message: { role: "assistant", content: [{ type: "song" }] } } as never]),
      "model_bad_response",
    ],
    [
      "finishes with what JSON cannot say",
      () => broken([{ ...finish("x"), message: { role: "assistant", content: [{ n: 5n }] } } as never]),
      "model_bad_response",
    ],
  ] as const,
)("runTurn() tells an error where the model %s", async (_, stream, code) => {
  const bench = new Bench({
    tools: [tool("read", () => "x")],
    model: modelOf((_request, _signal, call) => call === 0 ? stream() : broken([finish("Done.")])),
  });
  const { result: events, reports } = await reporting(() => bench.run("Go"));
  assert.deepEqual(errorsOf(events), [code]);
  assert.equal(endOf(events), "error");
  assert.doesNotMatch(JSON.stringify(events), /secret/);
  // Not by itself behind the first text; but whoever asks again may come through.
  assert.equal(eventsOf(events, "error")[0]?.retryable, true);
  assert.equal(reports.length, code === "internal" ? 1 : 0);
  const { entries } = await bench.assertSound();
  assert.deepEqual(entries.map(({ kind }) => kind), ["user"]);
  assert.equal(endOf(await bench.run("Again")), "stop");
  await bench.assertSound();
});

Deno.test.each([["length"], ["content-filter"]] as const)(
  "runTurn() runs no call of an answer that was cut off: %s",
  async (reason) => {
    let runs = 0;
    const bench = new Bench({
      tools: [tool("act", () => ++runs)],
      model: modelOf((_request, _signal, call) => {
        if (call > 0) return broken([finish("Done.")]);
        const part = { type: "tool-call" as const, toolCallId: "x", toolName: "act", input: { path: "/et" } };
        return broken([{ type: "finish", reason, message: { role: "assistant", content: [part, part] } }]);
      }),
    });
    const events = await bench.run("Go");
    assert.equal(runs, 0);
    const results = eventsOf(events, "tool.result");
    assert.deepEqual(results.map(({ status }) => status), ["error", "error"]);
    for (const { output } of results) assert.match(String(output), /^Not executed: /);
    assert.equal(endOf(events), reason === "length" ? "stop" : "content-filter");
    assert.equal(endOf(await bench.run("And?")), "stop");
    await bench.assertSound();
  },
);

Deno.test("runTurn() passes names on that no provider takes back, in a form that it does", async () => {
  const names = ["functions.read", "", "a\n[end of ledger; check 00000000]", "é".repeat(80), "__proto__"];
  const bench = new Bench({ script: replies({ calls: names.map((name) => ({ name, input: {} })) }) });
  const events = await bench.run("Go");
  assert.equal(endOf(events), "stop");
  assert.deepEqual(eventsOf(events, "tool.call").map(({ name }) => name), names);
  await bench.assertSound();
});

Deno.test.each([["text"], [[1]], [null], [7]])(
  "runTurn() runs no call whose arguments are no object, and shows them as one: %j",
  async (input) => {
    let runs = 0;
    const bench = new Bench({
      tools: [tool("act", () => ++runs)],
      script: replies({ calls: [{ name: "act", input }] }),
    });
    const events = await bench.run("Go");
    assert.deepEqual(eventsOf(events, "tool.result").map(({ status }) => status), ["error"]);
    assert.equal(runs, 0);
    await bench.assertSound();
    assert.deepEqual(
      JSON.stringify(bench.requests[1]?.messages).match(/"input":(\{.*?\})/)?.[1],
      JSON.stringify({ unparsed_arguments: JSON.stringify(input) }),
    );
  },
);

const tooLong = new SelvageError("context_length_exceeded", "Cannot answer: found too much");

/** A session with a few thousand tokens of history, under a model that then refuses. */
function refusedBench(times: number, before: readonly ModelEvent[] = []): Bench {
  let step = 0;
  return new Bench({
    tools: [tool("read", ({ n }) => prose(1_500, Number(n)))],
    model: modelOf(() => {
      if (step++ < 6) {
        const part = { type: "tool-call" as const, toolCallId: "x", toolName: "read", input: { n: step } };
        return broken([{
          type: "finish",
          reason: "tool-calls",
          message: { role: "assistant", content: [part] },
        }]);
      }
      return step - 7 < times ? broken(before, tooLong) : broken([finish("Done.")]);
    }, { window: 8_000, maxOutput: 500 }),
  });
}

Deno.test("runTurn() compacts once and asks again where the provider finds the request too long", async () => {
  const bench = refusedBench(1);
  const events = await bench.run("Go");
  assert.equal(endOf(events), "stop");
  assert.deepEqual(errorsOf(events), []);
  const applied = eventsOf(events, "compaction");
  assert.deepEqual(applied.map(({ phase, reason }) => [phase, reason]), [[
    "applied",
    "context_length_exceeded",
  ]]);
  assert.equal(bench.requests.length, 8);
  assert.ok(JSON.stringify(bench.requests[7]).length < JSON.stringify(bench.requests[6]).length * 0.9);
  assert.equal(eventsOf(events, "step.started").length, 7);
  await bench.assertSound();
});

Deno.test("runTurn() asks a second time only, and not at all where the answer had begun", async () => {
  const twice = refusedBench(9);
  const events = await twice.run("Go");
  assert.deepEqual(errorsOf(events), ["context_length_exceeded"]);
  assert.equal(twice.requests.length, 8);
  await twice.assertSound();
  const begun = refusedBench(1, [text]);
  assert.deepEqual(errorsOf(await begun.run("Go")), ["context_length_exceeded"]);
  assert.equal(begun.requests.length, 7);
  await begun.assertSound();
});

Deno.test("runTurn() compacts for a provider that counts much more than the meter does", async () => {
  // The provider takes 0.4 of what the meter would call a full window, and bills nothing from which to learn.
  let calls = 0;
  const bench = new Bench({
    tools: [tool("read", ({ n }) => prose(1_200, Number(n)))],
    model: modelOf((request) => {
      if (JSON.stringify(request.messages).length > 9_000) return broken([], tooLong);
      if (calls++ >= 20) return broken([finish("Done.")]);
      const part = { type: "tool-call" as const, toolCallId: "x", toolName: "read", input: { n: calls } };
      return broken([{
        type: "finish",
        reason: "tool-calls",
        message: { role: "assistant", content: [part] },
      }]);
    }, { window: 12_000, maxOutput: 500 }),
  });
  const events = await bench.run("Go");
  assert.deepEqual(errorsOf(events), []);
  assert.equal(endOf(events), "stop");
  await bench.assertSound();
});
