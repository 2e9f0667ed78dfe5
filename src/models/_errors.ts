/** What went wrong at a provider, as one of our errors, whatever its protocol. Private to the adapters. */
import { SelvageError } from "../core/errors.ts";
import { isObject, parseJson } from "./_json.ts";

/** What every error of one adapter shares. */
export interface ErrorContext {
  /** Starts every message, for example `Cannot get an answer from gpt-5`. */
  readonly action: string;
  /** Never shown, wherever an upstream repeats it. */
  readonly secret?: string;
  /** What messages say was wanted: as the whole body, and before its end. */
  readonly wanted: { readonly stream: string; readonly ending: string };
}

/** The parts of an error body that servers agree on. */
export interface UpstreamError {
  readonly message: string;
  readonly code: string;
  readonly type: string;
  /** The window in tokens, where the body has a field for it. */
  readonly window?: number;
}

/** The most characters of an upstream's own words that an error carries. */
const MAX_UPSTREAM_CHARS = 300;

// OpenAI, Anthropic, vLLM, llama.cpp, xAI, Gemini, Mistral and the proxies in front of them word one fact in these ways.
const TOO_LONG = new RegExp(
  [
    "maximum (?:context|prompt) length",
    "exceeds? (?:the |this model's )?(?:available )?context",
    "context (?:length|window|size)(?: is| was)? exceed",
    "input tokens exceed",
    "input token count.*exceeds the maximum",
    "prompt is too long",
    "input is too long for",
    "reduce the length of the (?:messages|prompt|input)",
  ].join("|"),
  "i",
);

const WINDOW = new RegExp(
  "(?:maximum (?:context|prompt) length(?: is| of|:)?|context (?:length|window|size)(?: is| of)?|" +
    "configured limit of|tokens allowed)\\s*\\(?(\\d[\\d,_]*)|(\\d[\\d,_]*)(?: tokens)? maximum context length|" +
    // "9 tokens > 8 maximum", and where the answer's share is counted in: "context limit: 7 + 2 > 8".
    "> (\\d+) maximum|context limit: \\d+ \\+ \\d+ > (\\d+)",
  "i",
);

function asText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** Reads what servers and the proxies in front of them send in place of an answer. */
export function readError(body: unknown): UpstreamError {
  const outer = Array.isArray(body) ? body[0] : body;
  if (!isObject(outer)) return { message: asText(outer), code: "", type: "" };
  const inner = isObject(outer.error) ? outer.error : outer;
  const message = inner.message ?? outer.detail ?? outer.error ?? outer.message;
  const base = { message: asText(message ?? outer), code: asText(inner.code), type: asText(inner.type) };
  return typeof inner.n_ctx === "number" ? { ...base, window: inner.n_ctx } : base;
}

/** The upstream's own words as a field of an error. */
export function upstreamFields(
  { message }: Pick<UpstreamError, "message">,
  { secret }: Pick<ErrorContext, "secret">,
): { readonly upstream?: string } {
  // The secret goes first: a cut through its middle would leave half of it standing.
  const clean = secret === undefined || secret === "" ? message : message.replaceAll(secret, "[key]");
  return clean === "" ? {} : { upstream: clean.slice(0, MAX_UPSTREAM_CHARS) };
}

/** Says whether an error is about the length of the request, by its code or by its words. */
export function isTooLong(error: UpstreamError): boolean {
  return /context_length_exceeded|exceed_context_size/.test(`${error.code} ${error.type}`) ||
    TOO_LONG.test(error.message);
}

/** The error for a request that is longer than the model can take; the window is read from the words. */
export function tooLong(error: UpstreamError, context: ErrorContext): SelvageError {
  const digits = WINDOW.exec(error.message)?.slice(1).find((group) => group !== undefined) ?? "";
  const named = error.window ?? Number(digits.replace(/[,_]/g, ""));
  const window = Number.isSafeInteger(named) && named > 0 ? named : undefined;
  const wanted = window === undefined ? "one that fits the model's window" : `at most ${window} tokens`;
  return new SelvageError(
    "context_length_exceeded",
    `${context.action}: found a request that is too long, wanted ${wanted}`,
    {
      fields: {
        retryable: false,
        ...(window === undefined ? {} : { window }),
        ...upstreamFields(error, context),
      },
    },
  );
}

/** The error for an answer that the model had no room for at all. */
export function noRoom(context: ErrorContext): SelvageError {
  return tooLong({ message: "", code: "", type: "" }, context);
}

/** What an error is called that a service tells by its HTTP status. */
export function codeOfStatus(status: number): string {
  if (status === 401 || status === 403) return "model_auth";
  if (status === 404) return "model_not_found";
  if (status === 429) return "model_rate_limited";
  if (status >= 500) return "model_unavailable";
  return status >= 400 ? "model_refused" : "model_bad_response";
}

/**
 * The error for an HTTP response that is not a success.
 *
 * @param status The HTTP status.
 * @param body The start of the body, as text.
 * @param context What the message starts with and what it never shows; `retryAfterMs` where the headers named it.
 */
export function refusal(
  status: number,
  body: string,
  context: ErrorContext & { readonly retryAfterMs?: number | undefined },
): SelvageError {
  const error = readError(parseJson(body));
  // Some services count bytes as well as tokens. Both are mended by the same means: a shorter request.
  const isTooLarge = status === 413 && error.type === "request_too_large";
  if (isTooLarge || (status === 400 || status === 413 || status === 422) && isTooLong(error)) {
    return tooLong(error, context);
  }
  const code = codeOfStatus(status);
  // A used-up quota answers 429 as well, and does not come back in seconds.
  const retryable = code === "model_unavailable" ||
    (code === "model_rate_limited" && error.code !== "insufficient_quota");
  return new SelvageError(code, `${context.action}: found HTTP status ${status}, wanted 200`, {
    fields: {
      status,
      retryable,
      ...(context.retryAfterMs === undefined ? {} : { retryAfterMs: context.retryAfterMs }),
      ...upstreamFields(error, context),
    },
  });
}

/** The error for what a provider says went wrong in the middle of its answer. */
export function streamFailure(
  error: UpstreamError,
  context: ErrorContext & {
    readonly code?: string;
    readonly retryable: boolean;
    readonly retryAfterMs?: number | undefined;
    readonly cause?: unknown;
  },
): SelvageError {
  const { action, cause, code = "model_stream_error", retryable, retryAfterMs } = context;
  return new SelvageError(code, `${action}: found an error in the stream, wanted the rest of the answer`, {
    ...(cause === undefined ? {} : { cause }),
    fields: {
      retryable,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...upstreamFields(error, context),
    },
  });
}

/** The error for a stream that ends before the answer does. */
export function streamCut(context: ErrorContext, cause?: unknown): SelvageError {
  return new SelvageError(
    "model_stream_cut",
    `${context.action}: found the end of the stream inside the answer, wanted ${context.wanted.ending} before it`,
    { ...(cause === undefined ? {} : { cause }), fields: { retryable: true } },
  );
}

/** The error for bytes that are no part of the protocol. `found` completes "found …". */
export function badResponse(
  found: string,
  context: ErrorContext & { readonly body?: string },
): SelvageError {
  const upstream = context.body === undefined
    ? {}
    : upstreamFields(readError(parseJson(context.body)), context);
  return new SelvageError(
    "model_bad_response",
    `${context.action}: found ${found}, wanted ${context.wanted.stream}`,
    { fields: { retryable: false, ...upstream } },
  );
}
