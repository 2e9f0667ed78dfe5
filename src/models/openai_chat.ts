/**
 * The adapter for Chat Completions: OpenAI itself, and the many servers that speak its protocol.
 *
 * @module
 */
import { modelFacts } from "../tokens/models.ts";
import { createParser } from "eventsource-parser";
import { SelvageError } from "../core/errors.ts";
import type { Clock, Model, ModelEvent, ModelRequest } from "../ports.ts";
import { AnswerAssembler } from "./_assemble_openai.ts";
import { systemClock } from "../loop/clock.ts";
import { connect, type Connection } from "./_http.ts";
import { badResponse, type ErrorContext, refusal } from "./_openai_errors.ts";
import { encodeChatBody } from "./_render_openai.ts";
import { isRetried, parseRetryAfter, retryDelay } from "./_retry.ts";

/** Settings of {@link openaiChat}. */
export interface OpenAIChatOptions {
  /** The model's name at the provider. */
  readonly model: string;
  /** Sent as a bearer token; servers on your own machine often want none. */
  readonly apiKey?: string;
  /** Up to and including the version; its query is kept. Default `https://api.openai.com/v1`. */
  readonly baseURL?: string;
  /** Tokens of request and answer together that the model can hold; default by name, 32,000 for unknown ones. */
  readonly window?: number;
  /** The most tokens of one answer; default by name, 4,000 for unknown ones. */
  readonly maxOutput?: number;
  /** Further request headers; they win over the adapter's own. */
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
}

const DEFAULT_BASE_URL = "https://api.openai.com/v1";

/** The most bytes of an error body that are read. */
const MAX_ERROR_BYTES = 64 * 1_024;

/** The most characters of one unfinished frame that are held. */
const MAX_FRAME_CHARS = 16 * 1_024 * 1_024;

/**
 * Makes a model that speaks Chat Completions.
 *
 * Its `stream` throws `SelvageError`s, each with `fields.retryable` and, where the provider said something,
 * `fields.upstream`: `model_auth`, `model_not_found`, `model_rate_limited`, `context_length_exceeded` (with
 * `fields.window` in tokens where it is named), `model_refused`, `model_unavailable`, `model_unreachable`,
 * `model_bad_response`, `model_stream_error`, `model_stream_cut`, `model_stalled`. It is sent again by itself only
 * after a rate limit, a server error or a failed connection, and only while no part of the answer was seen.
 *
 * @param options The model's name, where it is and what it can hold.
 * @returns The model. Nothing is sent before `stream` is called.
 * @throws {TypeError} When the base URL is no URL or the key or a header cannot be sent.
 * @throws {RangeError} When a number is no positive one.
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
  const { model, apiKey, clock = systemClock, maxRetries = 2 } = options;
  const facts = modelFacts(model);
  const window = positive("window", options.window ?? facts.window);
  const maxOutput = positive("maxOutput", options.maxOutput ?? facts.maxOutput);
  const tokenFactor = positive("tokenFactor", options.tokenFactor ?? facts.factor);
  const stallMs = positive("stallMs", options.stallMs ?? 60_000);
  const url = endpoint(options.baseURL ?? DEFAULT_BASE_URL);
  const limitName = url.host === new URL(DEFAULT_BASE_URL).host ? "max_completion_tokens" : "max_tokens";
  const headers = requestHeaders(options);
  const context: ErrorContext = {
    action: `Cannot get an answer from ${model}`,
    ...(apiKey === undefined ? {} : { secret: apiKey }),
  };

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    signal.throwIfAborted();
    const body = encodeChatBody(request, { model, limitName });
    // Looked up late: an embedder may replace the global one after the model was made.
    const fetch = options.fetch ?? globalThis.fetch;
    for (let attempt = 0;; attempt++) {
      let connection: Connection | undefined;
      let begun = false;
      let failure: SelvageError;
      try {
        connection = await connect(url, {
          fetch,
          headers,
          body,
          clock,
          stallMs,
          signal,
          action: context.action,
        });
        await requireStream(connection, { ...context, now: clock.now() });
        const answer = new AnswerAssembler(context);
        for await (const events of readAnswer(connection, answer, context)) {
          for (const event of events) {
            begun = true;
            yield event;
          }
        }
        signal.throwIfAborted();
        begun = true;
        // Now, not when the consumer comes back: it may never, having got what it wanted.
        connection.close();
        yield answer.finish();
        return;
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

  return { id: model, window, maxOutput, dialect: "openai-chat", tokenFactor, media: facts.media, stream };
}

/** Throws unless the response can be an event stream. */
async function requireStream(
  connection: Connection,
  context: ErrorContext & { readonly now: number },
): Promise<void> {
  const { headers, status } = connection;
  const mediaType = (headers.get("content-type") ?? "").split(";")[0]?.trim().slice(0, 60) ?? "";
  const isRefused = status < 200 || status >= 300;
  // A wrong or missing type is common and harmless; these two are never a stream.
  if (!isRefused && !/json|html/i.test(mediaType)) return;
  let body = "";
  try {
    body = await connection.readText(MAX_ERROR_BYTES);
  } catch (error) {
    // Of a refusal the status says enough; the rest of its body may be lost. An abort is no SelvageError.
    if (!(error instanceof SelvageError)) throw error;
  }
  if (!isRefused) throw badResponse(`a body of type ${mediaType}`, { ...context, body });
  const retryAfterMs = parseRetryAfter(headers.get("retry-after"), context.now);
  throw refusal(status, body, { ...context, retryAfterMs });
}

/** Yields the events of each network read; ends when the answer is complete, throws when it will not be. */
async function* readAnswer(
  connection: Connection,
  answer: AnswerAssembler,
  context: ErrorContext,
): AsyncGenerator<readonly ModelEvent[]> {
  const decoder = new TextDecoder();
  let isStream = false;
  let received = 0;
  let cut = false;
  const parser = createParser({
    maxBufferSize: MAX_FRAME_CHARS,
    onComment: () => {
      isStream = true;
    },
    onEvent: ({ data, event }) => {
      isStream = true;
      answer.accept(data, { event, cut });
    },
    onError: ({ type }) => {
      // Unknown fields are to be ignored, says the standard of event streams.
      if (type === "max-buffer-size-exceeded") answer.failure ??= badResponse("a frame without end", context);
    },
  });
  while (!answer.done && !cut) {
    const bytes = await readOn(connection, answer, context);
    received += bytes?.length ?? 0;
    cut = bytes === null;
    // Not every server ends its last frame: the blank line in its place costs nothing.
    parser.feed(bytes === null ? `${decoder.decode()}\n\n` : decoder.decode(bytes, { stream: true }));
    const events = answer.drain();
    if (events.length > 0) yield events;
    if (answer.failure !== undefined) throw answer.failure;
  }
  if (answer.complete) return;
  if (received > 0 && !isStream) throw badResponse("a body that is no event stream", context);
  throw streamCut(context);
}

/** Reads on; null at the end. */
async function readOn(
  connection: Connection,
  answer: AnswerAssembler,
  context: ErrorContext,
): Promise<Uint8Array | null> {
  try {
    return await connection.read();
  } catch (error) {
    if (!(error instanceof SelvageError)) throw error;
    // The provider has said that the message is complete: only the end mark is missing, or the usage.
    if (answer.complete) return null;
    throw answer.begun && error.code === "model_unreachable" ? streamCut(context, error.cause) : error;
  }
}

function streamCut(context: ErrorContext, cause?: unknown): SelvageError {
  return new SelvageError(
    "model_stream_cut",
    `${context.action}: found the end of the stream inside the answer, wanted a finish_reason before it`,
    { ...(cause === undefined ? {} : { cause }), fields: { retryable: true } },
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
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/chat/completions`;
  return url;
}

function requestHeaders(options: OpenAIChatOptions): Headers {
  const headers = new Headers({ accept: "text/event-stream", "content-type": "application/json" });
  try {
    if (options.apiKey !== undefined) headers.set("authorization", `Bearer ${options.apiKey}`);
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
  } catch {
    // The original error quotes the value, which may be the key.
    throw new TypeError(
      "Cannot make the model: found an API key or a header that HTTP cannot carry, wanted printable ASCII",
    );
  }
  return headers;
}
