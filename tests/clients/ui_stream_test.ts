/** The stream of `/api/chat`, frame by frame, beside that of the AI SDK's own server for the same answers of a model. */
import assert from "node:assert/strict";
import * as z from "zod";
import { createAnthropic as anthropic6 } from "anthropic-sdk6";
import { createAnthropic as anthropic7 } from "anthropic-sdk7";
import * as ai6 from "ai6";
import * as ai7 from "ai7";
import { createOpenAI as openai6 } from "openai-sdk6";
import { createOpenAI as openai7 } from "openai-sdk7";
import { createApp } from "../../src/http/mod.ts";
import { anthropic } from "../../src/models/anthropic.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { startAnthropicDouble } from "../support/anthropic_double.ts";
import type { Json } from "../support/chat.ts";
import { startDouble } from "../support/openai_double.ts";
import { replies } from "../support/turns.ts";
import { assertUiOrder, chunksOf } from "../support/ui_stream_rules.ts";

/** One answer of a model, or of several steps, and what goes wrong. */
interface Case {
  readonly replies: readonly Json[];
  readonly faults?: (number: number, dialect: string) => Json;
  readonly maxSteps?: number;
  /** Cancelled once the stream says so. */
  readonly isCancelled?: boolean;
  readonly thinks?: boolean;
  /** Only with this dialect. */
  readonly only?: "openai" | "anthropic";
}

const add = (a: number, b: number) => ({ name: "add", input: { a, b } });

const CASES: Readonly<Record<string, Case>> = {
  "a text": { replies: [{ text: "Hello there, friend." }] },
  "a text and a call": { replies: [{ text: "Let me look.", calls: [add(1, 2)] }, { text: "It is 3." }] },
  "parallel calls": { replies: [{ calls: [add(1, 2), add(2, 4), add(3, 9)] }, { text: "Done." }] },
  "a tool that fails": { replies: [{ calls: [{ name: "fail", input: { a: 1 } }] }, { text: "It failed." }] },
  "a call without arguments": { replies: [{ calls: [{ name: "none", input: {} }] }, { text: "Fine." }] },
  "reasoning": { replies: [{ reasoning: "I think so.", text: "Yes." }], thinks: true, only: "anthropic" },
  "reasoning and a call": {
    replies: [{ reasoning: "I think so.", calls: [add(1, 2)] }, { reasoning: "More.", text: "Yes." }],
    thinks: true,
    only: "anthropic",
  },
  "an answer that is too long": {
    replies: [{ text: "Cut off here", stopReason: "max_tokens" }],
    only: "anthropic",
  },
  "the last step": { replies: [{ calls: [add(1, 2)] }, { calls: [add(1, 2)] }], maxSteps: 2 },
  "an error before the answer": { replies: [{ text: "x" }], faults: () => ({ status: 400 }) },
  "an error before the second answer": {
    replies: [{ calls: [add(1, 2)] }, { text: "x" }],
    faults: (number) => number === 2 ? { status: 400 } : undefined,
  },
  "an error within an answer": {
    replies: [{ calls: [add(1, 2)] }, { text: "x y z" }],
    faults: (number) => number === 2 ? { errorFrameAfter: 4 } : undefined,
  },
  "an abort": {
    replies: [{ text: "x" }],
    // Behind the first piece of the text.
    faults: (_, dialect) => ({ hangAfter: dialect === "openai" ? 2 : 4 }),
    isCancelled: true,
  },
  "a client's tool": { replies: [{ text: "Hm.", calls: [{ name: "ask", input: { q: "why" } }] }] },
  "an approval": { replies: [{ text: "Hm.", calls: [{ name: "remove", input: { path: "x" } }] }] },
};

const VERSIONS = [
  { version: 6, ai: ai6, openai: openai6, anthropic: anthropic6 },
  { version: 7, ai: ai7, openai: openai7, anthropic: anthropic7 },
] as const;

const schemas = {
  add: z.object({ a: z.number(), b: z.number() }),
  fail: z.object({ a: z.number() }),
  none: z.object({}),
  ask: z.object({ q: z.string() }),
  remove: z.object({ path: z.string() }),
};

/** The tools do the same in the same order; results of parallel calls land in that of the calls. */
const tools = [
  defineTool({
    name: "add",
    description: "Adds",
    input: schemas.add,
    async execute({ a, b }) {
      await new Promise((resolve) => setTimeout(resolve, 30 * a));
      return { sum: a + b };
    },
  }),
  defineTool({
    name: "fail",
    description: "Fails",
    input: schemas.fail,
    execute() {
      throw new Error("no disk");
    },
  }),
  defineTool({ name: "none", description: "Nothing", input: schemas.none, execute: () => "nothing" }),
  defineTool({ name: "ask", description: "Asks", input: schemas.ask }),
  defineTool({
    name: "remove",
    description: "Removes",
    input: schemas.remove,
    needsApproval: () => true,
    execute: () => "removed",
  }),
];

function double(dialect: string, { replies: list, faults, thinks = false }: Case) {
  const rest = faults === undefined ? {} : { faults: (number: number) => faults(number, dialect) };
  return dialect === "openai"
    ? startDouble({ script: replies(...list), ...rest })
    : startAnthropicDouble({ script: replies(...list), bound: thinks, ...rest });
}

/** What the AI SDK's own server sends. */
async function theirs(dialect: string, sdk: Json, asked: Case): Promise<string> {
  await using upstream = double(dialect, asked);
  const { ai } = sdk;
  const model = dialect === "openai"
    ? sdk.openai({ baseURL: upstream.url, apiKey: "k" }).chat("m")
    : sdk.anthropic({ baseURL: `${upstream.url}/v1`, apiKey: "k" })("claude-x");
  const run = (name: string) => async (input: Json) => {
    return await tools.find((tool) => tool.name === name)?.execute?.(input, {} as never);
  };
  const own = Object.fromEntries(
    Object.entries(schemas).map(([name, inputSchema]) => [
      name,
      ai.tool({
        inputSchema,
        ...(name === "ask" ? {} : { execute: run(name) }),
        ...(name === "remove" ? { needsApproval: true } : {}),
      }),
    ]),
  );
  const stop = new AbortController();
  const result = ai.streamText({
    model,
    messages: [{ role: "user", content: "hi" }],
    tools: own,
    stopWhen: (ai.stepCountIs ?? ai.isStepCount)(asked.maxSteps ?? 20),
    maxRetries: 0,
    maxOutputTokens: 4_000,
    abortSignal: stop.signal,
    onError() {},
    ...(asked.thinks
      ? { providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } } }
      : {}),
  });
  const response = result.toUIMessageStreamResponse({ sendReasoning: true });
  return await readAll(response, asked, () => stop.abort());
}

/** What we send. */
async function ours(dialect: string, asked: Case): Promise<string> {
  await using upstream = double(dialect, asked);
  const common = { apiKey: "k", baseURL: upstream.url, maxRetries: 0 };
  const model = dialect === "openai" ? openaiChat({ model: "m", ...common }) : anthropic({
    model: "claude-x",
    ...common,
    ...(asked.thinks ? { thinking: { budgetTokens: 1_024 } } : {}),
  });
  const app = createApp({
    agents: { default: { model, tools, maxSteps: asked.maxSteps ?? 20 } },
    store: memoryStore(),
  });
  const messages = [{ id: "u1", role: "user", parts: [{ type: "text", text: "hi" }] }];
  const response = await app.request("/api/chat", {
    method: "POST",
    body: JSON.stringify({ id: "c", messages, trigger: "submit-message" }),
  });
  return await readAll(response, asked, async () => {
    const { running } = await (await app.request("/v1/sessions/c")).json();
    await app.request(`/v1/turns/${running.turn}/cancel`, { method: "POST" });
  });
}

async function readAll(response: Response, { isCancelled }: Case, cancel: () => unknown): Promise<string> {
  let text = "";
  let isAsked = false;
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    if (isCancelled !== true || isAsked || !text.includes('"text-delta"')) continue;
    isAsked = true;
    void cancel();
  }
  return text;
}

/**
 * Chunks in a form that can be compared: ids are counted, pieces joined (how many a text comes in is nobody's promise),
 * sentences of errors left out. What we add, and what a provider says about itself, is left out too.
 */
function normalised(chunks: readonly Json[]): Json[] {
  const ids = new Map<string, number>();
  const count = (id: string): number => ids.get(id) ?? (ids.set(id, ids.size), ids.size - 1);
  const list: Json[] = [];
  let step = 0;
  for (const { messageId: _id, messageMetadata: _metadata, ...chunk } of structuredClone(chunks) as Json[]) {
    if (chunk.type.startsWith("data-") || chunk.type === "custom") continue;
    if (chunk.type === "start-step") step++;
    if ("id" in chunk) chunk.id = count(`${step} ${chunk.id}`);
    if ("toolCallId" in chunk) chunk.toolCallId = count(`call ${chunk.toolCallId}`);
    if ("approvalId" in chunk) chunk.approvalId = "an approval";
    if ("errorText" in chunk) chunk.errorText = "an error";
    if ("reason" in chunk) delete chunk.reason;
    const last = list.at(-1);
    const isNext = last?.type === chunk.type && last.id === chunk.id &&
      last.toolCallId === chunk.toolCallId &&
      last.providerMetadata === undefined && chunk.providerMetadata === undefined;
    if (isNext && "delta" in chunk) last.delta += chunk.delta;
    else if (isNext && "inputTextDelta" in chunk) last.inputTextDelta += chunk.inputTextDelta;
    else list.push(chunk);
  }
  return list;
}

for (const sdk of VERSIONS) {
  for (const dialect of ["openai", "anthropic"] as const) {
    for (const [name, asked] of Object.entries(CASES)) {
      if (asked.only !== undefined && asked.only !== dialect) continue;
      Deno.test(`/api/chat sends what ai ${sdk.version} sends of ${name} from ${dialect}`, async () => {
        const mine = chunksOf(await ours(dialect, asked));
        assertUiOrder(mine);
        const wanted = normalised(chunksOf(await theirs(dialect, sdk, asked)));
        const found = normalised(mine);
        // Text that an error has left open is closed here, whatever its provider has said.
        const hasError = wanted.some(({ type }) => type === "error");
        const isEnd = ({ type }: Json): boolean => hasError && type === "text-end";
        assert.deepEqual(found.filter((chunk) => !isEnd(chunk)), wanted.filter((chunk) => !isEnd(chunk)));
      });
    }
  }
}
