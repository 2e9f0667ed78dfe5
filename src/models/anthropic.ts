/**
 * The adapter for Messages: Anthropic's models, and the servers that speak their protocol.
 *
 * @module
 */
import type { SelvageError } from "../core/errors.ts";
import { systemClock } from "../loop/clock.ts";
import type { Clock, FinishReason, Model, ModelEvent, ModelRequest, Usage } from "../ports.ts";
import { modelFacts } from "../tokens/models.ts";
import { anthropicUsage } from "../tokens/usage.ts";
import { noRoom } from "./_anthropic_errors.ts";
import { type AssistantPart, MessageAssembler } from "./_assemble_anthropic.ts";
import { connect, type Connection } from "./_http.ts";
import type { ErrorContext } from "./_openai_errors.ts";
import { readMessage, requireMessages } from "./_read_anthropic.ts";
import { BINDING_BETA, encodeMessagesBody, MIN_THINKING_TOKENS } from "./_render_anthropic.ts";
import { isRetried, retryDelay } from "./_retry.ts";

/** Settings of {@link anthropic}. */
export interface AnthropicOptions {
  /** The model's name at the provider. */
  readonly model: string;
  /** Sent as `x-api-key`. */
  readonly apiKey?: string;
  /** With or without `/v1` at its end; its query is kept. Default `https://api.anthropic.com`. */
  readonly baseURL?: string;
  /** Tokens of request and answer together that the model can hold; default by name, 32,000 for unknown ones. */
  readonly window?: number;
  /** The most tokens of one answer, thinking included; default by name, 4,000 for unknown ones. */
  readonly maxOutput?: number;
  /** Further request headers, `anthropic-beta` for example; they win over the adapter's own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Used in place of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds of silence after which an answer counts as stalled; default 60,000. */
  readonly stallMs?: number;
  /** Time for stalls and retries; default the real one. */
  readonly clock?: Clock;
  /** How often a request is sent again before anything of its answer was seen; default 2. */
  readonly maxRetries?: number;
  /** Billed tokens for one `o200k_base` token of text, until bills teach better; default by name. */
  readonly tokenFactor?: number;
  /**
   * Lets the model think before it answers: in at most `budgetTokens` (from 1,024 on), or as much as it finds
   * right where none are named. Models that take no budget any more never get one. Default: as the model does it.
   */
  readonly thinking?: { readonly budgetTokens?: number };
  /** Version of the protocol. Default `2023-06-01`. */
  readonly version?: string;
  /** Whether to mark tools, system text and messages for the provider's prompt cache. Default true. */
  readonly cache?: boolean;
  /**
   * Tools that the provider runs by itself, in its own form, for example
   * `{ type: "web_search_20250305", name: "web_search" }`. They go before the agent's own.
   */
  readonly providerTools?: readonly Readonly<Record<string, unknown>>[];
}

const DEFAULT_BASE_URL = "https://api.anthropic.com";

/** How often an answer that the provider has paused is asked to go on. */
const MAX_PAUSES = 5;

/** The answer, as far as the provider has come with it. */
interface Answer {
  readonly parts: readonly AssistantPart[];
  /** Calls that we have to answer. */
  readonly calls: number;
  readonly stopReason: string;
  readonly usage: Usage | undefined;
}

/**
 * Makes a model that speaks Messages.
 *
 * Thinking with its signatures and the blocks of tools that the provider runs itself are kept byte for byte in
 * `providerOptions.anthropic` of their parts, and sent back so; reasoning without a signature is left out. An
 * answer that the provider pauses is continued within the same call, five times at most; then it ends as
 * `length`. Its usage is that of the last request, with the output of all: the last input holds what came before.
 *
 * Its `stream` throws `SelvageError`s, each with `fields.retryable` and, where the provider said something,
 * `fields.upstream`: `model_auth`, `model_not_found`, `model_rate_limited`, `context_length_exceeded` (with
 * `fields.window` in tokens where it is named), `model_refused`, `model_unavailable`, `model_unreachable`,
 * `model_bad_response`, `model_stream_error`, `model_stream_cut`, `model_stalled`. A request is sent again by itself
 * only after a rate limit, a server error or a failed connection, and only while no part of its answer was seen.
 * Redirects are not followed: they would carry the key to another place.
 *
 * @param options The model's name, the key and what the model can hold.
 * @returns The model. Nothing is sent before `stream` is called.
 * @throws {TypeError} When the base URL is no URL or the key or a header cannot be sent.
 * @throws {RangeError} When a number is no positive one, or the budget for thinking is too small.
 *
 * @example
 * ```ts
 * import { anthropic } from "@selvage/selvage/models";
 *
 * const model = anthropic({ model: "claude-sonnet-4-5", apiKey: "sk-ant-1", thinking: { budgetTokens: 4_096 } });
 * console.log(model.window);
 * ```
 */
export function anthropic(options: AnthropicOptions): Model {
  const { model, apiKey, clock = systemClock, maxRetries = 2, cache = true, providerTools = [] } = options;
  const facts = modelFacts(model);
  const window = positive("window", options.window ?? facts.window);
  const maxOutput = positive("maxOutput", options.maxOutput ?? facts.maxOutput);
  const tokenFactor = positive("tokenFactor", options.tokenFactor ?? facts.factor);
  const stallMs = positive("stallMs", options.stallMs ?? 60_000);
  const thinking = thinkingOf(options);
  const url = endpoint(options.baseURL ?? DEFAULT_BASE_URL);
  const headers = requestHeaders(options);
  const bindingHeaders = new Headers(headers);
  bindingHeaders.append("anthropic-beta", BINDING_BETA);
  const isBound = facts.thinking === "bound";
  const context: ErrorContext = {
    action: `Cannot get an answer from ${model}`,
    ...(apiKey === undefined ? {} : { secret: apiKey }),
  };

  /** Sends one request until its answer is complete. */
  async function* ask(
    request: ModelRequest,
    before: Answer,
    signal: AbortSignal,
  ): AsyncGenerator<ModelEvent, Answer> {
    const body = encodeMessagesBody(request, {
      model,
      isBound,
      providerTools,
      cache,
      paused: before.parts,
      ...(thinking === undefined ? {} : { thinking }),
    });
    // Looked up late: an embedder may replace the global one after the model was made.
    const fetch = options.fetch ?? globalThis.fetch;
    for (let attempt = 0;; attempt++) {
      let connection: Connection | undefined;
      let begun = false;
      let failure: SelvageError;
      try {
        connection = await connect(url, {
          fetch,
          headers: body.isBinding ? bindingHeaders : headers,
          body: body.bytes,
          clock,
          stallMs,
          signal,
          redirect: "manual",
          action: context.action,
        });
        await requireMessages(connection, { ...context, now: clock.now() });
        const answer = new MessageAssembler(context, { calls: before.calls });
        for await (const events of readMessage(connection, answer, context)) {
          for (const event of events) {
            begun = true;
            yield event;
          }
        }
        signal.throwIfAborted();
        return join(before, answer);
      } catch (error) {
        if (begun || attempt >= maxRetries || !isRetried(error)) throw error;
        failure = error;
      } finally {
        // Also where the consumer leaves early: the provider then stops writing, and billing.
        connection?.close();
      }
      await clock.sleep(retryDelay(failure, attempt), signal);
    }
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    signal.throwIfAborted();
    let answer: Answer = { parts: [], calls: 0, stopReason: "", usage: undefined };
    for (let pauses = 0;; pauses++) {
      answer = yield* ask(request, answer, signal);
      // Calls wait for our answer, not the provider's; and nothing at all cannot be continued.
      const goesOn = answer.stopReason === "pause_turn" && answer.calls === 0 && answer.parts.length > 0;
      if (!goesOn || pauses === MAX_PAUSES) break;
    }
    if (answer.stopReason === "model_context_window_exceeded" && answer.parts.length === 0) {
      throw noRoom(context);
    }
    yield finishOf(answer);
  }

  return { id: model, window, maxOutput, dialect: "anthropic", tokenFactor, media: facts.media, stream };
}

/** An answer with what the provider has added to it. */
function join(before: Answer, answer: MessageAssembler): Answer {
  const usage = anthropicUsage(answer.usage);
  const outputTokens = (before.usage?.outputTokens ?? 0) + (usage?.outputTokens ?? 0);
  return {
    parts: [...before.parts, ...answer.parts()],
    calls: before.calls + answer.calls,
    stopReason: answer.stopReason,
    usage: usage === undefined ? before.usage : { ...usage, outputTokens },
  };
}

function finishOf({ calls, parts, stopReason, usage }: Answer): ModelEvent {
  return {
    type: "finish",
    reason: finishReason(stopReason, calls > 0),
    message: { role: "assistant", content: parts },
    ...(usage === undefined ? {} : { usage }),
  };
}

function finishReason(stopReason: string, hasCalls: boolean): FinishReason {
  switch (stopReason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    case "refusal":
      return "content-filter";
    case "pause_turn":
      return hasCalls ? "tool-calls" : "length";
    default:
      // "end_turn", "stop_sequence", "tool_use" and what is yet to come: whether there are calls tells more.
      return hasCalls ? "tool-calls" : "stop";
  }
}

function thinkingOf({ thinking }: AnthropicOptions): number | "adaptive" | undefined {
  if (thinking === undefined) return undefined;
  const { budgetTokens } = thinking;
  if (budgetTokens === undefined) return "adaptive";
  if (budgetTokens >= MIN_THINKING_TOKENS) return budgetTokens;
  throw new RangeError(
    `Cannot make the model: found thinking.budgetTokens ${budgetTokens}, wanted at least ${MIN_THINKING_TOKENS}`,
  );
}

function positive(name: string, value: number): number {
  if (value > 0) return value;
  throw new RangeError(`Cannot make the model: found ${name} ${value}, wanted a positive number`);
}

function endpoint(baseURL: string): URL {
  if (!URL.canParse(baseURL)) {
    throw new TypeError(
      "Cannot make the model: found a baseURL that is no URL, wanted one like " + DEFAULT_BASE_URL,
    );
  }
  const url = new URL(baseURL);
  url.pathname = `${url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "")}/v1/messages`;
  return url;
}

function requestHeaders(options: AnthropicOptions): Headers {
  const headers = new Headers({ accept: "text/event-stream", "content-type": "application/json" });
  try {
    headers.set("anthropic-version", options.version ?? "2023-06-01");
    if (options.apiKey !== undefined) headers.set("x-api-key", options.apiKey);
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
  } catch {
    // The original error quotes the value, which may be the key.
    throw new TypeError(
      "Cannot make the model: found an API key or a header that HTTP cannot carry, wanted printable ASCII",
    );
  }
  return headers;
}
