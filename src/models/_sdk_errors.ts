/** What models of the AI SDK throw, or put into their streams, as one of our errors. Private to the adapters. */
import { SelvageError } from "../core/errors.ts";
import { isObject, type JsonObject } from "../formats/format.ts";
import {
  badResponse,
  type ErrorContext,
  refusal,
  streamCut,
  streamFailure,
  unreachable,
  upstreamFields,
} from "./_errors.ts";
import { textOf } from "./_json.ts";
import { parseRetryAfter } from "./_retry.ts";
import { streamError } from "./_stream_errors.ts";

/** What {@link sdkFailure} goes by. */
export interface SdkErrorContext extends ErrorContext {
  /** True once a part of the answer has been passed on. */
  readonly begun: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Errors that name what the embedder has to change, with the code that says so. */
const CODES: Readonly<Record<string, string>> = {
  AI_LoadAPIKeyError: "model_auth",
  AI_LoadSettingError: "model_auth",
  AI_NoSuchModelError: "model_not_found",
  AI_NoSuchProviderReferenceError: "model_refused",
  AI_UnsupportedFunctionalityError: "model_refused",
  AI_InvalidPromptError: "model_refused",
  AI_InvalidArgumentError: "model_refused",
};

/** What such an error says to the operator, where our words are clearer than none. */
const REASONS: Readonly<Record<string, string>> = {
  AI_LoadAPIKeyError: "the model's package found no key",
  AI_NoSuchModelError: "the model's package knows no such model",
};

const UNREADABLE = new Set([
  "AI_JSONParseError",
  "AI_TypeValidationError",
  "AI_EmptyResponseBodyError",
  "AI_NoContentGeneratedError",
]);

/** Says whether a model of the AI SDK cannot put a prompt into the form of its protocol. */
export function isUnsupported(error: unknown): boolean {
  return error instanceof SelvageError && error.cause instanceof Error &&
    error.cause.name === "AI_UnsupportedFunctionalityError";
}

/** The error for whatever a model of the AI SDK threw, or sent as an `error` part. */
export function sdkFailure(error: unknown, context: SdkErrorContext): SelvageError {
  if (error instanceof SelvageError) return error;
  // Classes cannot be compared: there may be several copies of the package. Their names are made for that.
  return error instanceof Error ? ofThrown(error, context) : ofPayload(error, context);
}

function ofThrown(error: Error, given: SdkErrorContext): SelvageError {
  const { isRetryable, responseBody, statusCode, url } = error as Error & JsonObject;
  // Where the package has sent the request is known from its own error only.
  const origin = URL.parse(textOf(url))?.origin;
  const context = origin === undefined ? given : { ...given, origin };
  const { action, begun } = context;
  if (typeof statusCode === "number" && (statusCode < 200 || statusCode >= 300)) {
    const body = typeof responseBody === "string" && responseBody !== "" ? responseBody : error.message;
    return refusal(statusCode, body, { ...context, retryAfterMs: retryAfter(error, context) });
  }
  const code = CODES[error.name];
  if (code !== undefined) {
    const message = `${action}: found a request that the model's package cannot send, wanted one that it can`;
    const reason = REASONS[error.name];
    const fields = {
      retryable: false,
      ...(reason === undefined ? {} : { reason }),
      ...upstreamFields(error, context),
    };
    return new SelvageError(code, message, { cause: error, fields });
  }
  // What happens on the way is wrapped once or not at all.
  const cause = error.name === "AI_APICallError" ? error.cause ?? error : error;
  if (cause instanceof Error && UNREADABLE.has(cause.name)) {
    return badResponse("an event that cannot be read", context);
  }
  if (error.name === "AI_InvalidResponseDataError") {
    const isCut = /without a finish reason/.test(error.message);
    return isCut ? streamCut(context) : badResponse("an event out of place", context);
  }
  // What is left is the network.
  if (cause instanceof TypeError || isRetryable === true) {
    return begun ? streamCut(context, cause) : unreachable(cause, { context, retryable: true });
  }
  if (!begun) return unreachable(cause, { context });
  const said = { message: error.message, code: "", type: "" };
  return streamFailure(said, { ...context, retryable: false, cause });
}

/** Errors in the stream: what the provider has sent, with what its package has made of the status. */
function ofPayload(payload: unknown, context: SdkErrorContext): SelvageError {
  const said = isObject(payload)
    ? { ...payload, code: payload.statusCode ?? payload.code }
    : { message: String(payload) };
  return streamError({ error: said }, context);
}

function retryAfter(error: Error, { now }: SdkErrorContext): number | undefined {
  const { responseHeaders } = error as Error & JsonObject;
  const value = isObject(responseHeaders) ? responseHeaders["retry-after"] : undefined;
  return parseRetryAfter(typeof value === "string" ? value : null, now);
}
