/** A loop that the AI SDK runs, with `compactSteps()` in it. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { checkMessages, readTranscript } from "@selvage/selvage/core";
import { compactSteps } from "@selvage/selvage/ai-sdk";
import { generateText, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import * as z from "zod";

const STEPS = 40;
let step = 0;
const sizes = [];
const model = new MockLanguageModelV3({
  doGenerate({ prompt }) {
    sizes.push(JSON.stringify(prompt).length);
    deepEqual(checkMessages(readTranscript(prompt, { format: "ai-sdk" })), []);
    step++;
    const tokens = { total: Math.ceil(JSON.stringify(prompt).length / 4) };
    return Promise.resolve({
      content: step > STEPS
        ? [{ type: "text", text: "Done." }]
        : [{ type: "tool-call", toolCallId: `c${step}`, toolName: "read", input: `{"path":"${step}.ts"}` }],
      finishReason: step > STEPS ? { unified: "stop" } : { unified: "tool-calls" },
      usage: { inputTokens: tokens, outputTokens: { total: 10 } },
      warnings: [],
    });
  },
});
const read = tool({
  inputSchema: z.object({ path: z.string() }),
  execute: () => "const line = 0;\n".repeat(150),
});
const applied = [];
const { text } = await generateText({
  model,
  tools: { read },
  stopWhen: stepCountIs(STEPS + 1),
  prompt: "Read all of them.",
  prepareStep: compactSteps({
    window: 16_000,
    maxOutput: 1_000,
    onEvent: (event) => event.type === "compaction" && event.phase === "applied" && applied.push(event),
  }),
});
equal(text, "Done.");
ok(applied.length > 0);
ok(Math.max(...sizes) < 16_000 * 4, `found a request of ${Math.max(...sizes)} characters`);
