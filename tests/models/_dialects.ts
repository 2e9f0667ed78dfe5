/** Every dialect that a model can speak, each with its strict double, for tests that hold for all of them. */
import { aiSdk } from "../../src/models/ai_sdk.ts";
import { anthropic } from "../../src/models/anthropic.ts";
import { keepResponses } from "../../src/models/keep_responses.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { openaiResponses } from "../../src/models/openai_responses.ts";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import type { Clock, Model, ModelRequest } from "../../src/ports.ts";
import { startAnthropicDouble } from "../support/anthropic_double.ts";
import type { AnyDouble, StreamFault } from "../support/double_server.ts";
import { ending, frame } from "../support/fake_fetch.ts";
import { startGeminiDouble } from "../support/gemini_double.ts";
import { startDouble } from "../support/openai_double.ts";
import { startResponsesDouble } from "../support/responses_double.ts";
import { event } from "../support/event_frames.ts";
import { added, call, ending as responseEnding, input, text } from "../support/responses_frames.ts";

/** Settings that all models have. */
export interface ModelSettings {
  readonly baseURL?: string;
  readonly apiKey?: string;
  readonly fetch?: typeof globalThis.fetch;
  readonly clock?: Clock;
  readonly stallMs?: number;
  readonly maxRetries?: number;
  readonly window?: number;
  readonly maxOutput?: number;
  /** Whether the model is to think before it answers. */
  readonly thinks?: boolean;
}

/** Settings that all doubles have. */
export interface DoubleSettings {
  readonly script: (request: ModelRequest) => ScriptedReply;
  readonly window?: number;
  readonly maxOutput?: number;
  readonly token?: string;
  readonly faults?: (number: number) => StreamFault | undefined;
}

/** Pieces of a stream, written by hand. */
export interface Wire {
  /** A piece of text, after whatever must come before it. */
  readonly text: (text: string) => string;
  /** The end of a message. */
  readonly end: string;
  /** The end of a message that the output limit has cut off in the arguments of a call of `get`. */
  readonly cutArguments: string;
  /** A call of `get` that looks whole, in a message that is not. */
  readonly wholeCall: string;
  /** An answer that says that it is whole, without the end mark of the stream; where the protocol knows such. */
  readonly unmarked?: string;
  /** An error that is as well told by the status 503. */
  readonly error: string;
  /** An error of the service that says no more than that. */
  readonly failure: string;
  /** Something that no version of the protocol has had so far. */
  readonly unknown: string;
  /** Two calls of `get`, `{"n":1}` and `{"n":2}`, that a careless server has numbered, and the end. */
  readonly oddIndexes: string;
}

/** A dialect. */
export interface Dialect {
  /** How the model is made. */
  readonly name: string;
  /** True where a package of the AI SDK is between us and the wire: what it makes of odd streams is its affair. */
  readonly isSdk: boolean;
  readonly model: (settings: ModelSettings) => Promise<Model>;
  readonly start: (settings: DoubleSettings) => AnyDouble;
  /** Frames of the double before the first delta, up to the second word of a text, and inside the first call. */
  readonly frames: { readonly silent: number; readonly words: number; readonly call: number };
  /** A body that refuses a request. */
  readonly refusal: (message: string) => unknown;
  /** Words for a request that is too long, naming the window of 8,192 tokens where the service does. */
  readonly tooLong: string;
  /** False where the stream has no mark of its own behind the end of the message. */
  readonly hasEndMark: boolean;
  readonly wire: Wire;
}

const UNUSED = "http://127.0.0.1:1";

/** What is common to the settings of all adapters. */
function common(
  { clock, maxOutput, maxRetries = 0, stallMs, window }: ModelSettings,
): Record<string, unknown> {
  const given = Object.entries({ clock, maxOutput, stallMs, window }).filter(([, value]) =>
    value !== undefined
  );
  return { maxRetries, tokenFactor: 1, ...Object.fromEntries(given) };
}

function place({ apiKey = "k", baseURL = UNUSED, fetch }: ModelSettings) {
  return { apiKey, baseURL, ...(fetch === undefined ? {} : { fetch }) };
}

const chatWire: Wire = {
  text: (content) => frame({ content }),
  end: ending(),
  cutArguments:
    frame({ tool_calls: [{ index: 0, id: "a", function: { name: "get", arguments: '{"n":' } }] }) +
    ending("length"),
  wholeCall: frame({ tool_calls: [{ index: 0, id: "a", function: { name: "get", arguments: "{}" } }] }),
  unmarked: frame({ content: "x" }) + frame({}, "stop"),
  error: 'data: {"error":{"message":"overloaded","type":"server_error","code":503}}\n\n',
  failure: 'data: {"error":{"message":"oh no","type":"server_error"}}\n\n',
  unknown: 'data: {"object":"chat.completion.note","choices":[],"note":1}\n\n',
  oddIndexes:
    frame({ tool_calls: [{ index: 0, id: "a", function: { name: "get", arguments: '{"n":1}' } }] }) +
    frame({ tool_calls: [{ index: 0, id: "b", function: { name: "get", arguments: '{"n":2}' } }] }) +
    ending("tool_calls"),
};

const chat: Omit<Dialect, "name" | "isSdk" | "model"> = {
  // As strict as the strictest of the servers that speak it.
  start: (settings) => startDouble({ alternates: true, ...settings }),
  frames: { silent: 1, words: 3, call: 3 },
  refusal: (message) => ({ error: { message, type: "invalid_request_error", param: null, code: null } }),
  tooLong: "This model's maximum context length is 8192 tokens.",
  hasEndMark: false,
  wire: chatWire,
};

function block(index: number | undefined, start: Record<string, unknown>, delta: unknown): string {
  const at = index === undefined ? {} : { index };
  return event({ type: "content_block_start", ...at, content_block: start }) +
    event({ type: "content_block_delta", ...at, delta }) + event({ type: "content_block_stop", ...at });
}

function toolUse(id: string, partial_json: string, index: number | undefined): string {
  const start = { type: "tool_use", id, name: "get", input: {} };
  return block(index, start, { type: "input_json_delta", partial_json });
}

function stop(stop_reason: string): string {
  const delta = { stop_reason, stop_sequence: null };
  return event({ type: "message_delta", delta, usage: { output_tokens: 4 } }) +
    event({ type: "message_stop" });
}

const begin = event({
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 9, output_tokens: 1 },
  },
});

const messages: Omit<Dialect, "name" | "isSdk" | "model"> = {
  start: startAnthropicDouble,
  frames: { silent: 2, words: 5, call: 5 },
  refusal: (message) => ({ type: "error", error: { type: "invalid_request_error", message } }),
  tooLong: "prompt is too long: 9000 tokens > 8192 maximum",
  hasEndMark: true,
  wire: {
    text: (text) => begin + block(0, { type: "text", text: "" }, { type: "text_delta", text }),
    end: stop("end_turn"),
    cutArguments: begin + toolUse("a", '{"n":', 0) + stop("max_tokens"),
    wholeCall: begin + toolUse("a", "{}", 0),
    error: event({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
    failure: event({ type: "error", error: { type: "api_error", message: "Internal server error" } }),
    unknown: event({ type: "content_block_note", index: 0, note: 1 }),
    oddIndexes: begin + toolUse("a", '{"n":1}', undefined) + toolUse("b", '{"n":2}', undefined) +
      stop("tool_use"),
  },
};

function candidate(parts: readonly unknown[], more: Record<string, unknown> = {}): string {
  const content = { parts, role: "model" };
  return `data: ${JSON.stringify({ candidates: [{ content, index: 0, ...more }] })}\r\n\r\n`;
}

const called = (n: number): unknown => ({ functionCall: { name: "get", args: { n } } });

const gemini: Omit<Dialect, "name" | "isSdk" | "model"> = {
  start: startGeminiDouble,
  // Calls come whole: the second frame of two is between them.
  frames: { silent: 0, words: 2, call: 1 },
  refusal: (message) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
  tooLong: "The input token count (9000) exceeds the maximum number of tokens allowed (8192).",
  hasEndMark: false,
  wire: {
    text: (text) => candidate([{ text }]),
    end: candidate([], { finishReason: "STOP" }),
    cutArguments: candidate(
      [{
        functionCall: { name: "get", partialArgs: [{ jsonPath: "$.n", numberValue: 1 }], willContinue: true },
      }],
      {},
    ) + candidate([], { finishReason: "MAX_TOKENS" }),
    wholeCall: candidate([called(1)]),
    error: 'data: {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}\r\n\r\n',
    failure: 'data: {"error":{"code":500,"message":"oh no","status":"INTERNAL"}}\r\n\r\n',
    unknown: 'data: {"note":1}\r\n\r\n',
    // Without ids.
    oddIndexes: candidate([called(1)]) + candidate([called(2)], { finishReason: "STOP" }),
  },
};

/** All dialects. */
export const DIALECTS: readonly Dialect[] = [
  {
    ...chat,
    name: "openaiChat()",
    isSdk: false,
    model: (settings) => Promise.resolve(openaiChat({ model: "m", ...place(settings), ...common(settings) })),
  },
  {
    ...messages,
    name: "anthropic()",
    isSdk: false,
    model: (settings) =>
      Promise.resolve(anthropic({
        model: "m",
        ...(settings.thinks === true ? { thinking: { budgetTokens: 1_024 } } : {}),
        ...place(settings),
        ...common(settings),
      })),
  },
  {
    name: "openaiResponses()",
    isSdk: false,
    model: (settings) =>
      Promise.resolve(openaiResponses({ model: "m", ...place(settings), ...common(settings) })),
    start: startResponsesDouble,
    frames: { silent: 2, words: 6, call: 4 },
    refusal: (message) => ({ error: { message, type: "invalid_request_error", param: null, code: null } }),
    tooLong: "This model's maximum context length is 8192 tokens.",
    hasEndMark: true,
    wire: {
      text: (delta) => text(delta),
      end: responseEnding(),
      cutArguments: added(0, call("a")) + input({ item_id: "fc_a", output_index: 0 }, '{"n":') +
        responseEnding({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }),
      wholeCall: added(0, call("a")) + input({ item_id: "fc_a", output_index: 0 }, "{}"),
      error: event({ type: "error", code: "server_is_overloaded", message: "overloaded", param: null }),
      failure: event({ type: "error", code: "server_error", message: "oh no", param: null }),
      unknown: event({ type: "response.note.added", note: 1 }),
      oddIndexes: added(0, call("a")) + input({ item_id: "fc_a", output_index: 0 }, '{"n":1}') +
        added(0, call("b")) + input({ item_id: "fc_b", output_index: 0 }, '{"n":2}') + responseEnding(),
    },
  },
  {
    ...chat,
    name: "aiSdk() over @ai-sdk/openai-compatible",
    isSdk: true,
    async model(settings) {
      const { createOpenAICompatible } = await import("npm:@ai-sdk/openai-compatible@3.0.92");
      const { apiKey, baseURL, fetch } = place(settings);
      const provider = createOpenAICompatible({
        name: "double",
        apiKey,
        baseURL,
        fetch: keepResponses(fetch),
        includeUsage: true,
      });
      return aiSdk(provider("m"), { apiKey, ...common(settings) });
    },
  },
  {
    ...messages,
    name: "aiSdk() over @ai-sdk/anthropic",
    isSdk: true,
    async model(settings) {
      const { createAnthropic } = await import("npm:@ai-sdk/anthropic@4.0.105");
      const { apiKey, baseURL, fetch } = place(settings);
      const provider = createAnthropic({ apiKey, baseURL: `${baseURL}/v1`, fetch: keepResponses(fetch) });
      const thinking = { type: "enabled", budgetTokens: 1_024 };
      return aiSdk(provider("m"), {
        apiKey,
        ...(settings.thinks === true ? { providerOptions: { anthropic: { thinking } } } : {}),
        ...common(settings),
      });
    },
  },
  {
    ...gemini,
    name: "aiSdk() over @ai-sdk/google",
    isSdk: true,
    start: (settings) => startGeminiDouble({ signs: true, ...settings }),
    async model(settings) {
      const { createGoogle } = await import("npm:@ai-sdk/google@4.0.121");
      const { apiKey, baseURL, fetch } = place(settings);
      return aiSdk(createGoogle({ apiKey, baseURL, fetch: keepResponses(fetch) })("gemini-3-pro"), {
        apiKey,
        ...common(settings),
      });
    },
  },
];
