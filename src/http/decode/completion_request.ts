/**
 * A request of Chat Completions as a turn: its messages in the canonical form, its tools as tools of the client, the
 * rest as settings. What cannot be honoured is refused, what does not matter here is passed over.
 *
 * @module
 */
import * as z from "zod";
import { TOOL_NAME, TOOL_NAME_RULE } from "../../compaction/render.ts";
import { SelvageError } from "../../core/errors.ts";
import type { Message } from "../../core/message.ts";
import type { AnswerFormat, ModelSettings, ToolChoice } from "../../core/settings.ts";
import { isDeeperThan, MAX_DEPTH } from "../../loop/depth.ts";
import { firstTwice } from "../../loop/ready.ts";
import type { ToolSchema } from "../../ports.ts";
import { canonicalMessages, message } from "./completion_messages.ts";

/** Tools that one request may bring along. */
const MAX_TOOLS = 128;

const functionName = z.string().regex(TOOL_NAME, `wanted ${TOOL_NAME_RULE}`);

const tool = z.object({
  type: z.literal("function"),
  function: z.object({
    name: functionName,
    description: z.string().max(20_000).nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
});

const choice = z.union([
  z.enum(["auto", "none", "required"]),
  z.object({ type: z.literal("function"), function: z.object({ name: functionName }) }),
], { error: 'wanted "auto", "none", "required" or { type: "function", function: { name } }' });

const format = z.union([
  z.object({ type: z.enum(["text", "json_object"]) }),
  z.object({
    type: z.literal("json_schema"),
    json_schema: z.object({
      name: functionName,
      description: z.string().nullish(),
      schema: z.record(z.string(), z.unknown()),
      strict: z.boolean().nullish(),
    }),
  }),
], { error: 'wanted { type: "text" }, { type: "json_object" } or { type: "json_schema", json_schema }' });

const penalty = z.number().min(-2).max(2).nullish();
const limit = z.int().min(1).max(100_000_000).nullish();

const body = z.object({
  model: z.string().min(1).max(128),
  messages: z.array(message).min(1).max(20_000),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(tool).max(MAX_TOOLS).nullish(),
  tool_choice: choice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: format.nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  stop: z.union([z.string(), z.array(z.string()).max(16)], { error: "wanted text, or at most 16 texts" })
    .nullish(),
  seed: z.int().nullish(),
  max_tokens: limit,
  max_completion_tokens: limit,
  reasoning_effort: z.string().max(40).nullish(),
  // What would change the answer and cannot be done here.
  n: z.literal(1, { error: "wanted 1: a turn has one answer" }).nullish(),
  logprobs: z.literal(false, { error: "wanted false: a turn has no log probabilities" }).nullish(),
  modalities: z.array(z.literal("text", { error: 'wanted ["text"]' })).nullish(),
  audio: z.null({ error: "wanted nothing: a turn answers in text" }).optional(),
  functions: z.null({ error: "wanted nothing: use tools" }).optional(),
  function_call: z.null({ error: "wanted nothing: use tool_choice" }).optional(),
  web_search_options: z.null({ error: "wanted nothing: give the agent a tool" }).optional(),
});

/** What a request of Chat Completions asks for. */
export interface CompletionRequest {
  /** The agent. */
  readonly model: string;
  /** The messages, `developer` ones as `system`. */
  readonly messages: readonly Message[];
  readonly isStream: boolean;
  readonly includesUsage: boolean;
  readonly settings: ModelSettings;
  readonly clientTools: readonly ToolSchema[];
}

/** The schema of a request's body. */
export const completionBody: z.ZodType<z.output<typeof body>> = body;

/**
 * Reads a request.
 *
 * @param asked The body as `completionBody` has found it to be.
 * @throws SelvageError `bad_request` (field: `field`) for what cannot be asked here.
 */
export function decodeCompletion(asked: z.output<typeof body>): CompletionRequest {
  const clientTools = (asked.tools ?? []).map((given): ToolSchema => ({
    name: given.function.name,
    description: given.function.description ?? "",
    inputSchema: given.function.parameters ?? { type: "object", properties: {} },
  }));
  for (const field of ["tools", "response_format"] as const) {
    if (!isDeeperThan(asked[field], MAX_DEPTH)) continue;
    throw new SelvageError(
      "bad_request",
      `Cannot use ${field}: found JSON nested more than ${MAX_DEPTH} levels deep, wanted at most that`,
      { fields: { field } },
    );
  }
  const twice = firstTwice(clientTools.map(({ name }) => name));
  if (twice !== undefined) {
    throw new SelvageError(
      "bad_request",
      `Cannot use the tools: found two called ${twice}, wanted one of each name`,
      { fields: { field: "tools" } },
    );
  }
  return {
    model: asked.model,
    messages: canonicalMessages(asked.messages),
    isStream: asked.stream === true,
    includesUsage: asked.stream_options?.include_usage === true,
    settings: settingsOf(asked),
    clientTools,
  };
}

function settingsOf(asked: z.output<typeof body>): ModelSettings {
  const { response_format: form, stop, tool_choice: wanted } = asked;
  const found = {
    temperature: asked.temperature,
    topP: asked.top_p,
    presencePenalty: asked.presence_penalty,
    frequencyPenalty: asked.frequency_penalty,
    stop: typeof stop === "string" ? [stop] : stop,
    seed: asked.seed,
    maxOutput: asked.max_completion_tokens ?? asked.max_tokens,
    effort: asked.reasoning_effort,
    toolChoice: wanted && toolChoiceOf(wanted),
    parallelToolCalls: asked.parallel_tool_calls,
    format: form && formatOf(form),
  };
  return Object.fromEntries(
    Object.entries(found).filter(([, value]) => value !== null && value !== undefined),
  );
}

function toolChoiceOf(wanted: z.output<typeof choice>): ToolChoice {
  return typeof wanted === "string" ? wanted : { tool: wanted.function.name };
}

function formatOf(form: z.output<typeof format>): AnswerFormat {
  if (form.type !== "json_schema") return { kind: form.type === "text" ? "text" : "json" };
  const { name, description, schema, strict } = form.json_schema;
  return {
    kind: "json-schema",
    name,
    schema,
    ...(typeof description === "string" ? { description } : {}),
    ...(typeof strict === "boolean" ? { strict } : {}),
  };
}
