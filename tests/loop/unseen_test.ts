/** What no counter sees of a context: what only the provider can read, and a window that nobody has named. */
import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { Bench, endOf, finish, modelOf, tool } from "../support/turns.ts";

Deno.test("a turn with much that only its provider can read is compacted before it fills the window", async () => {
  const signature = "Zm9v".repeat(1_000);
  let largest = 0;
  const model = modelOf(async function* ({ messages }, _signal, call) {
    const inputTokens = Math.round(JSON.stringify(messages).length / 3);
    largest = Math.max(largest, inputTokens);
    const usage = { inputTokens, outputTokens: 300 };
    if (call === 60) return yield { ...finish("Done."), usage };
    const thought = { type: "reasoning" as const, text: "So.", providerOptions: { maker: { signature } } };
    const part = { type: "tool-call" as const, toolCallId: `c${call}`, toolName: "get", input: {} };
    yield {
      type: "finish",
      reason: "tool-calls",
      usage,
      message: { role: "assistant", content: [thought, part] },
    };
  }, { window: 32_000, maxOutput: 2_000 });
  const bench = new Bench({
    tools: [tool("get", () => "some words of a result ".repeat(20))],
    model,
    agent: { maxSteps: 70 },
  });
  assert.equal(endOf(await bench.run("Go")), "stop");
  assert.ok(largest > 10_000 && largest < 30_000, `${largest} tokens`);
});

Deno.test("a provider that names no window, and has one far smaller than its model claims, ends no session", async () => {
  let refused = 0;
  let asked = 0;
  const model = modelOf(async function* ({ messages }) {
    const characters = JSON.stringify(messages).length;
    if (characters > 120_000) {
      refused++;
      throw new SelvageError(
        "context_length_exceeded",
        "Cannot ask the model: found a request that is too long",
      );
    }
    if (++asked % 40 === 0) return yield finish("Done.");
    const part = { type: "tool-call" as const, toolCallId: `c${asked}`, toolName: "get", input: {} };
    yield { type: "finish", reason: "tool-calls", message: { role: "assistant", content: [part] } };
  }, { window: 1_000_000, maxOutput: 4_000 });
  const bench = new Bench({ tools: [tool("get", () => "some words of a result ".repeat(300))], model });
  for (let turn = 0; turn < 4; turn++) assert.equal(endOf(await bench.run("Go")), "stop");
  assert.ok(refused > 0 && refused <= 3, `${refused} refusals`);
});
