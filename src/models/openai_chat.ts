/**
 * The adapter for Chat Completions: OpenAI itself, and the many servers that speak its protocol.
 *
 * @module
 */
import { optionsOf } from "../core/options.ts";
import type { Model, ModelEvent, ModelRequest } from "../ports.ts";
import { AnswerAssembler } from "./_assemble_chat.ts";
import { exchange } from "./_exchange.ts";
import { HOSTED, requireModelOptions } from "./_options.ts";
import { ChatEncoder } from "./_render_chat.ts";
import { type HostedModelOptions, type Protocol, readHosted } from "./hosted.ts";

/** Settings of {@link openaiChat}. */
export interface OpenAIChatOptions extends HostedModelOptions {
  /** Sent as a bearer token; servers on your own machine often want none. */
  readonly apiKey?: string | undefined;
  /** Up to and including the version; its query is kept. Default `https://api.openai.com/v1`. */
  readonly baseURL?: string | undefined;
}

const rules = optionsOf<OpenAIChatOptions>(HOSTED, ["model"]);

const PROTOCOL: Omit<Protocol, "headers"> = {
  baseURL: "https://api.openai.com/v1",
  path: (base) => `${base}/chat/completions`,
  wanted: { stream: "a stream of chat completion chunks", ending: "a finish_reason" },
};

/**
 * Makes a model that speaks Chat Completions.
 *
 * Its `stream` throws `SelvageError`s, each with `fields.retryable` and, where the provider said something,
 * `fields.upstream`: `model_auth`, `model_not_found`, `model_rate_limited`, `context_length_exceeded` (with
 * `fields.window` in tokens where it is named), `model_refused`, `model_unavailable`, `model_unreachable`,
 * `model_bad_response`, `model_stream_error`, `model_stream_cut`, `model_stalled`. It is sent again by itself only
 * after a rate limit, a server error or a failed connection, and only while no part of the answer was seen.
 * Redirects are not followed: they would carry what was said, and keys in headers, to another place.
 *
 * @param options The model's name, where it is and what it can hold.
 * @returns The model. Nothing is sent before `stream` is called.
 * @throws {TypeError} When an option is unknown or of another kind, the base URL is no URL, or the key or a header
 *   cannot be sent.
 * @throws {RangeError} When a number is out of its range.
 *
 * @example
 * ```ts
 * import { openaiChat } from "@selvage/selvage/models";
 *
 * const model = openaiChat({ model: "qwen3", baseURL: "http://127.0.0.1:11434/v1", window: 32_768 });
 * console.log(model.id);
 * ```
 */
export function openaiChat(options: OpenAIChatOptions): Model {
  requireModelOptions(options, rules);
  const { apiKey, model } = options;
  const headers: Protocol["headers"] = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const hosted = readHosted(options, { ...PROTOCOL, headers });
  const { context, facts, maxOutput, tokenFactor, url, window } = hosted;
  const isOpenAI = url.host === new URL(PROTOCOL.baseURL).host;
  const limitName = isOpenAI ? "max_completion_tokens" : "max_tokens";

  const encoder = new ChatEncoder({ model, limitName });

  function stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    return exchange(hosted, {
      request: () => ({ body: encoder.encode(request) }),
      signal,
      assemble: () => new AnswerAssembler(context),
      take: (answer) => answer.finish(),
    });
  }

  return { id: model, window, maxOutput, dialect: "openai-chat", tokenFactor, media: facts.media, stream };
}
