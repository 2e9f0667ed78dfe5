/** The adapter for Responses over a double that gives one reply after the other. */
import type { AssistantMessage } from "../../src/core/message.ts";
import { openaiResponses, type OpenAIResponsesOptions } from "../../src/models/openai_responses.ts";
import type { Model } from "../../src/ports.ts";
import {
  type ResponsesDouble,
  type ResponsesDoubleOptions,
  type ResponsesReply,
  startResponsesDouble,
} from "../support/responses_double.ts";
import type { Json } from "../support/wire_json.ts";
import { collect, finishOf, request } from "./_answers.ts";
import { resultsOf } from "./_messages.ts";

/** Tools of a request. */
export const tools = [{ name: "get", description: "Gets.", inputSchema: { type: "object", properties: {} } }];

/** A double that gives its replies one after the other, the last one again and again. */
export function double(
  replies: readonly ResponsesReply[],
  options: Partial<ResponsesDoubleOptions> = {},
): ResponsesDouble {
  let n = 0;
  return startResponsesDouble({ script: () => replies[Math.min(n++, replies.length - 1)] ?? {}, ...options });
}

/** The adapter over a double. */
export function modelOf(upstream: ResponsesDouble, options: Partial<OpenAIResponsesOptions> = {}): Model {
  return openaiResponses({ model: "m", baseURL: upstream.url, ...options });
}

/** The items of a body. */
export function itemsOf(body: Json | undefined): readonly Json[] {
  return body?.input as readonly Json[];
}

/** An item of text. */
export const said = (text: string, more: Json = {}): Json => ({
  type: "message",
  status: "completed",
  content: [{ type: "output_text", annotations: [], logprobs: [], text }],
  role: "assistant",
  ...more,
});

/** An item of reasoning. */
export const thought = (...texts: string[]): Json => ({
  type: "reasoning",
  summary: texts.map((text) => ({ type: "summary_text", text })),
});

/** An item of a call. */
export const called = (call_id: string, input: unknown = {}, more: Json = {}): Json => ({
  type: "function_call",
  status: "completed",
  arguments: JSON.stringify(input),
  call_id,
  name: "get",
  ...more,
});

/** Asks, answers the calls, asks again with another message in between. */
export async function twoSteps(
  upstream: ResponsesDouble,
  model: Model,
  { again = model, edit = (message: AssistantMessage): AssistantMessage => message } = {},
): Promise<{ readonly message: AssistantMessage; readonly second: Json }> {
  const events = await collect(model);
  const { message } = finishOf(events);
  const results = resultsOf(message);
  await collect(again, { ...request, messages: [...request.messages, edit(message), results] });
  return { message, second: upstream.requests.at(-1) ?? {} };
}
