/** Language models of the AI SDK made of the parts that they stream, and the adapter over them. */
import assert from "node:assert/strict";
import type { Message } from "../../src/core/message.ts";
import { aiSdk, type AiSdkOptions } from "../../src/models/ai_sdk.ts";
import type { AiSdkCallOptions, AiSdkLanguageModel } from "../../src/models/ai_sdk_types.ts";
import type { Json } from "../support/wire_json.ts";
import { collect, type Finish, finishOf, type Outcome, outcomeOf, request } from "./_answers.ts";

/** The key of all models here. */
export const KEY = "sk-very-secret";

/** A bill. */
export const USAGE = { inputTokens: { total: 9, cacheRead: 4 }, outputTokens: { total: 3 } };

/** The last part of a stream. */
export const finish = (unified = "stop", raw: string | undefined = unified): Json => ({
  type: "finish",
  finishReason: { unified, raw },
  usage: USAGE,
});

/** The parts of a text. */
export const text: readonly Json[] = [
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "Hel" },
  { type: "text-delta", id: "0", delta: "lo" },
  { type: "text-end", id: "0" },
];

/** The parts of a call. */
export const call: readonly Json[] = [
  { type: "tool-input-start", id: "a", toolName: "get" },
  { type: "tool-input-delta", id: "a", delta: '{"q":' },
  { type: "tool-input-delta", id: "a", delta: "1}" },
  { type: "tool-input-end", id: "a" },
  { type: "tool-call", toolCallId: "a", toolName: "get", input: '{"q":1}' },
];

/** A language model made of its stream's parts, or of what it throws; and what it was asked. */
export function language(
  parts: readonly Json[] | Error,
  { provider = "example.messages", version = "v4" }: {
    readonly provider?: string;
    readonly version?: string;
  } = {},
) {
  const asked: AiSdkCallOptions[] = [];
  const seen = { cancelled: 0 };
  const model: AiSdkLanguageModel = {
    specificationVersion: version,
    provider,
    modelId: "m",
    doStream(options) {
      asked.push(options);
      if (parts instanceof Error) return Promise.reject(parts);
      let at = 0;
      const stream = new ReadableStream<Json & { readonly type: string }>({
        pull(controller) {
          const part = parts[at++];
          if (part === undefined) controller.close();
          else controller.enqueue(part as Json & { readonly type: string });
        },
        cancel() {
          seen.cancelled++;
        },
      }, { highWaterMark: 0 });
      return Promise.resolve({ stream });
    },
  };
  return { asked, model, seen };
}

/** An error as a package throws it: told by its name. */
export function named(name: string, message = "the words", more: Json = {}): Error {
  return Object.assign(new Error(message), { name, ...more });
}

/** What comes of an answer that streams these parts, or of what is thrown in its place. */
export async function run(
  parts: readonly Json[] | Error,
  { version = "v4", ...options }: AiSdkOptions & { readonly version?: string } = {},
): Promise<Outcome> {
  const { model } = language(parts, { version });
  return await outcomeOf(aiSdk(model, { maxRetries: 0, apiKey: KEY, ...options }));
}

/** The end of a whole answer. */
export async function finished(parts: readonly Json[], version = "v4"): Promise<Finish> {
  const { error, events } = await run(parts, { version });
  assert.equal(error, undefined);
  return finishOf(events);
}

/** What a model is asked for messages. */
export async function promptOf(
  messages: readonly Message[],
  options: { readonly version?: string; readonly provider?: string; readonly plainResults?: boolean } = {},
): Promise<readonly Json[]> {
  const { plainResults, ...made } = options;
  const { asked, model } = language([...text, finish()], made);
  const adapter = aiSdk(model, plainResults === undefined ? {} : { plainResults });
  await collect(adapter, { ...request, messages });
  return (asked[0]?.prompt ?? []) as readonly Json[];
}
