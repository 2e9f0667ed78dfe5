/** What went wrong at a provider, as one of our errors, whatever its protocol. Private to the adapters. */
import { SelvageError } from "../core/errors.ts";
import { isObject } from "../formats/format.ts";
import { jsonOf, parseJson } from "./_json.ts";
import { isUnknownModel, whyRefused } from "./_refusals.ts";

/** What every error of one adapter shares. */
export interface ErrorContext {
  /** Starts every message, for example `Cannot get an answer from gpt-5`. */
  readonly action: string;
  /** Never shown, wherever an upstream repeats them. */
  readonly secrets?: readonly string[];
  /** Scheme, host and port of where the request goes, for the operator. */
  readonly origin?: string;
  /** The path of where the request goes, for the operator of a server that does not know it. */
  readonly path?: string;
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

/** The most characters of somebody else's words that an error carries. */
const MAX_UPSTREAM_CHARS = 300;

/** An address in a text. */
const ADDRESS = /\b[a-z][a-z0-9+.-]*:\/\/[^\s()<>"']+/gi;

/** Errors that led to errors, one inside the other: no more of them are looked at. */
const MAX_CAUSES = 8;

// OpenAI, Anthropic, vLLM, SGLang, TGI, llama.cpp, LM Studio, Ollama, xAI, Gemini, Mistral, Moonshot, DashScope, Z.ai,
// GitHub and the proxies in front of them word one fact in these ways. Limits of the output, or of a minute, are others.
const TOO_LONG = new RegExp(
  [
    "maximum (?:context|prompt) length",
    "longer than the (?:maximum model length|model's context length)",
    "exceeds? (?:the |this model's )?(?:available )?context",
    "exceeded max(?:imum)? context length",
    "context (?:length|window|size)(?: is| was)? exceed",
    "context the overflows",
    "input tokens exceed",
    "input token count.*exceeds the maximum",
    "prompt token count of \\d+ exceeds the limit",
    "exceeded model token limit: *\\d",
    "prompt is too long",
    "prompt exceeds max length",
    "too long to fit into the model",
    "input is too long for",
    "range of input length should be",
    "inputs`? tokens \\+ `?max_new_tokens`? must be <=",
    "inputs`? must have less than \\d+ tokens",
    "reduce the length of the (?:messages|prompt|input)",
  ].join("|"),
  "i",
);

/** Limits of a time, not of a request: they come without a status where they come in a stream. */
const RATE = /\bper (?:min|hour|day)|\bTPM\b/i;

/** The one way in which a server's fault, by its status, is the length of the request: older llama.cpp has no other. */
const TOO_LONG_FAULT = /the request exceeds the available context size/i;

const WINDOW = new RegExp(
  "(?:maximum (?:context|prompt|model) length(?: is| of|:)?|context (?:length|window|size)(?: is| of)?(?: only)?|" +
    "configured limit of|tokens allowed|token count of \\d+ exceeds the limit of|model token limit:|" +
    "input length should be \\[\\d+,|max_new_tokens`? must be <=|inputs`? must have less than)\\s*\\(?(\\d[\\d,_]*)|" +
    "(\\d[\\d,_]*)(?: tokens)? maximum context length|" +
    // "9 tokens > 8 maximum", and where the answer's share is counted in: "context limit: 7 + 2 > 8".
    "> (\\d+) maximum|context limit: \\d+ \\+ \\d+ > (\\d+)",
  "i",
);

function asText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : jsonOf(value) ?? "";
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
  context: Pick<ErrorContext, "secrets">,
): { readonly upstream?: string } {
  const clean = shown(message, context);
  return clean === "" ? {} : { upstream: clean };
}

/** Somebody else's words without what must not be shown. */
function shown(text: string, { secrets = [] }: Pick<ErrorContext, "secrets">): string {
  // Secrets go first: a cut through the middle of one would leave half of it standing.
  return secrets.reduce((clean, secret) => clean.replaceAll(secret, "[key]"), text)
    .slice(0, MAX_UPSTREAM_CHARS);
}

/**
 * What the network says of a failure, for the operator: the words of the innermost cause with its code, and of
 * addresses no more than their origin, since the rest may hold a key.
 */
function reasonOf(cause: unknown, context: ErrorContext): { readonly reason?: string } {
  let inner = cause;
  for (let depth = 0; depth < MAX_CAUSES && inner instanceof Error && inner.cause instanceof Error; depth++) {
    inner = inner.cause;
  }
  if (!(inner instanceof Error)) return {};
  const { code } = inner as Error & { readonly code?: unknown };
  const { message, name } = inner;
  const told = typeof code === "string" && !message.includes(code) ? `${code} ${message}` : message || name;
  const reason = told.replace(ADDRESS, (address) => URL.parse(address)?.origin ?? "[address]").trim();
  return { reason: shown(reason, context) };
}

/** An error of a model. Where it was asked is said to the operator alone: fields go to no client by themselves. */
function modelError(
  code: string,
  found: string,
  { context, cause, fields }: {
    readonly context: ErrorContext;
    readonly cause?: unknown;
    readonly fields: Readonly<Record<string, unknown>>;
  },
): SelvageError {
  const { action, origin } = context;
  return new SelvageError(code, `${action}: found ${found}`, {
    ...(cause === undefined ? {} : { cause }),
    fields: { ...fields, ...(origin === undefined ? {} : { origin }) },
  });
}

/** The error for a connection that failed. */
export function unreachable(
  cause: unknown,
  // fetch reports the network by TypeErrors; another error (a permission, say) will not go away by itself.
  { context, retryable = cause instanceof TypeError }: {
    readonly context: ErrorContext;
    readonly retryable?: boolean;
  },
): SelvageError {
  const found = "a connection that failed, wanted one that lasts to the end";
  return modelError("model_unreachable", found, {
    context,
    cause,
    fields: { retryable, ...reasonOf(cause, context) },
  });
}

/** The error for a provider of which nothing comes any more. `found` completes "found …". */
export function stalled(found: string, context: ErrorContext): SelvageError {
  return modelError("model_stalled", found, { context, fields: { retryable: true } });
}

/** Says whether an error is about the length of the request, by its code or by its words. */
export function isTooLong(error: UpstreamError): boolean {
  return /context_length_exceeded|exceed_context_size/.test(`${error.code} ${error.type}`) ||
    TOO_LONG.test(error.message) && !RATE.test(error.message);
}

/** The error for a request that is longer than the model can take; the window is read from the words. */
export function tooLong(error: UpstreamError, context: ErrorContext): SelvageError {
  const digits = WINDOW.exec(error.message)?.slice(1).find((group) => group !== undefined) ?? "";
  const named = error.window ?? Number(digits.replace(/[,_]/g, ""));
  const window = Number.isSafeInteger(named) && named > 0 ? named : undefined;
  const wanted = window === undefined ? "one that fits the model's window" : `at most ${window} tokens`;
  return modelError("context_length_exceeded", `a request that is too long, wanted ${wanted}`, {
    context,
    fields: {
      retryable: false,
      ...(window === undefined ? {} : { window }),
      ...upstreamFields(error, context),
    },
  });
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
  // A request that took too long to arrive, met another one, or came too early is refused for this moment only.
  if (status >= 500 || status === 408 || status === 409 || status === 425) return "model_unavailable";
  return status >= 400 ? "model_refused" : "model_bad_response";
}

/** What may be why a path is not known, unless it is the model: a base URL that was given without its version. */
function versionHint(error: UpstreamError, { path }: ErrorContext): string {
  const isOfModel = isUnknownModel(404, error) || /model/i.test(error.message);
  const isDoubtful = path !== undefined && !/\/v\d/.test(path) && !isOfModel;
  return isDoubtful ? "; most servers want a base URL with its /v1" : "";
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
  const isFault = status === 500 && TOO_LONG_FAULT.test(error.message);
  if (isTooLarge || isFault || (status === 400 || status === 413 || status === 422) && isTooLong(error)) {
    return tooLong(error, context);
  }
  const code = codeOfStatus(status);
  // A used-up quota answers 429 as well, and does not come back in seconds.
  const retryable = code === "model_unavailable" ||
    (code === "model_rate_limited" && error.code !== "insufficient_quota");
  const atPath = status === 404 && context.path !== undefined
    ? `nothing found at ${shown(context.path, context)}`
    : undefined;
  const reason = whyRefused(status, error) ?? atPath;
  return modelError(
    code,
    `HTTP status ${status}, wanted 200${status === 404 ? versionHint(error, context) : ""}`,
    {
      context,
      fields: {
        status,
        retryable,
        ...(reason === undefined ? {} : { reason }),
        ...(context.retryAfterMs === undefined ? {} : { retryAfterMs: context.retryAfterMs }),
        ...upstreamFields(error, context),
      },
    },
  );
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
  const { cause, code = "model_stream_error", retryable, retryAfterMs } = context;
  return modelError(code, "an error in the stream, wanted the rest of the answer", {
    context,
    cause,
    fields: {
      retryable,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...upstreamFields(error, context),
    },
  });
}

/** The error for a stream that ends before the answer does. */
export function streamCut(context: ErrorContext, cause?: unknown): SelvageError {
  const found = `the end of the stream inside the answer, wanted ${context.wanted.ending} before it`;
  return modelError("model_stream_cut", found, {
    context,
    cause,
    fields: { retryable: true, ...reasonOf(cause, context) },
  });
}

/** The error for bytes that are no part of the protocol. `found` completes "found …". */
export function badResponse(
  found: string,
  context: ErrorContext & { readonly body?: string },
): SelvageError {
  const upstream = context.body === undefined
    ? {}
    : upstreamFields(readError(parseJson(context.body)), context);
  return modelError("model_bad_response", `${found}, wanted ${context.wanted.stream}`, {
    context,
    fields: { retryable: false, ...upstream },
  });
}
