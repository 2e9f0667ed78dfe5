/**
 * The adapter for Responses: OpenAI's newer protocol, and the servers that speak it.
 *
 * @module
 */
import { optionsOf, text } from "../core/options.ts";
import type { Model, ModelEvent, ModelRequest } from "../ports.ts";
import { ResponseAssembler } from "./_assemble_responses.ts";
import { exchange } from "./_exchange.ts";
import { HOSTED, providerTools, requireModelOptions } from "./_options.ts";
import { ResponsesEncoder } from "./_render_responses.ts";
import { type HostedModelOptions, type Protocol, readHosted } from "./hosted.ts";

/** Settings of {@link openaiResponses}. */
export interface OpenAIResponsesOptions extends HostedModelOptions {
  /** Sent as a bearer token; servers on your own machine often want none. */
  readonly apiKey?: string | undefined;
  /** Up to and including the version; its query is kept. Default `https://api.openai.com/v1`. */
  readonly baseURL?: string | undefined;
  /**
   * How a reasoning model is to think, and whether it tells of it, for example
   * `{ effort: "low", summary: "auto" }`. Default: as the model does it, without a word.
   */
  readonly reasoning?: { readonly effort?: string; readonly summary?: string };
  /**
   * Tools that the provider runs by itself, in its own form, for example `{ type: "web_search" }`. They go before the
   * agent's own.
   */
  readonly providerTools?: readonly Readonly<Record<string, unknown>>[];
}

const rules = optionsOf<OpenAIResponsesOptions>({
  ...HOSTED,
  reasoning: optionsOf({ effort: text, summary: text }),
  providerTools,
}, ["model"]);

const PROTOCOL: Omit<Protocol, "headers"> = {
  baseURL: "https://api.openai.com/v1",
  path: (base) => `${base}/responses`,
  wanted: { stream: "a stream of response events", ending: "a response.completed" },
};

/**
 * Makes a model that speaks Responses.
 *
 * Nothing is stored at the provider: each request holds the whole transcript. Reasoning comes encrypted, is kept byte
 * for byte in `providerOptions.openai` of its part, and goes back to the model that it came from, together with the
 * item that followed it. So do the items of tools that the provider runs itself. Reasoning that the provider cannot
 * read any more is left out of a second attempt, and from then on.
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
 * import { openaiResponses } from "@selvage/selvage/models";
 *
 * const model = openaiResponses({ model: "gpt-5", apiKey: "sk-1", reasoning: { summary: "auto" } });
 * console.log(model.window);
 * ```
 */
export function openaiResponses(options: OpenAIResponsesOptions): Model {
  requireModelOptions(options, rules);
  const { apiKey, model, reasoning } = options;
  const headers: Protocol["headers"] = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const hosted = readHosted(options, { ...PROTOCOL, headers });
  const { context, facts, maxOutput, tokenFactor, url, window } = hosted;
  const from = `${url.host}/${model}`;
  const encoder = new ResponsesEncoder({
    model,
    from,
    providerTools: options.providerTools ?? [],
    ...(reasoning === undefined ? {} : { reasoning }),
  });

  function stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    return exchange(hosted, {
      request: () => ({ body: encoder.encode(request) }),
      signal,
      assemble: () => new ResponseAssembler(context, from),
      take: (answer) => answer.finish(),
      isOtherwise: ({ code, fields }) =>
        code === "model_refused" && encoder.withdraw(request.messages, String(fields.upstream)),
    });
  }

  return {
    id: model,
    window,
    maxOutput,
    dialect: "openai-responses",
    tokenFactor,
    media: facts.media,
    stream,
  };
}
