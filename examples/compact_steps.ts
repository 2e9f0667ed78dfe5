/**
 * An agent on the AI SDK that reads sixty logs, and the one line that lets it do so in a window of 12,000 tokens. Any
 * service that speaks OpenAI's protocol will do:
 *
 *     OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_MODEL=llama3 \
 *       deno run --allow-net --allow-env --allow-sys examples/compact_steps.ts
 */
import process from "node:process";
import { compactSteps } from "@selvage/selvage/ai-sdk";
import { createOpenAICompatible } from "npm:@ai-sdk/openai-compatible@3.0.92";
import { stepCountIs, streamText, tool } from "npm:ai@7.0.173";
import * as z from "zod";

const { OPENAI_API_KEY = "", OPENAI_BASE_URL = "https://api.openai.com/v1", OPENAI_MODEL = "gpt-4o-mini" } =
  process.env;
const provider = createOpenAICompatible({
  name: "openai",
  baseURL: OPENAI_BASE_URL,
  apiKey: OPENAI_API_KEY,
  includeUsage: true,
});

const readLog = tool({
  description: "Reads the log of a day, from 1 to 60",
  inputSchema: z.object({ day: z.number().int().min(1).max(60) }),
  execute: ({ day }) =>
    Array.from({ length: 40 }, (_, line) => `day ${day}, ${line}:00: ${(day * 7 + line) % 90} requests`).join(
      "\n",
    ),
});

const run = streamText({
  model: provider(OPENAI_MODEL),
  tools: { readLog },
  prompt:
    "Read the log of every day from 1 to 60, one after the other, then say that you have read all of them.",
  stopWhen: stepCountIs(100),
  prepareStep: compactSteps({ window: 12_000, onEvent }), // the one line
});

function onEvent(event: { readonly type: string; readonly phase?: string; readonly pairs?: number }): void {
  if (event.phase === "applied") console.log(`compacted: ${event.pairs} calls went into the ledger`);
}

console.log(await run.text);
console.log(`${(await run.steps).length} steps`);
