/** What a Messages server says went wrong, as one of our errors. Private to the adapters. */
import type { SelvageError } from "../core/errors.ts";
import {
  type ErrorContext,
  readError,
  refusal,
  streamFailure,
  tooLong,
  type UpstreamError,
} from "./_errors.ts";
import { parseJson } from "./_json.ts";

const TOO_LONG = /prompt is too long|exceeds? context limit/i;

// "prompt is too long: 9 tokens > 8 maximum", and where the answer's share is counted in: "… limit: 7 + 2 > 8, …".
const WINDOW = /> (\d+) maximum|context limit: \d+ \+ \d+ > (\d+)/i;

/** Errors that come back however often the same request is sent. */
const FINAL = new Set(
  ("invalid_request_error authentication_error permission_error billing_error not_found_error request_too_large")
    .split(" "),
);

function withWindow(error: UpstreamError): UpstreamError {
  const match = WINDOW.exec(error.message);
  const window = Number(match?.[1] ?? match?.[2] ?? 0);
  return window > 0 ? { ...error, window } : error;
}

/**
 * The error for an HTTP response that is not a success.
 *
 * @param status The HTTP status.
 * @param body The start of the body, as text.
 * @param context What the message starts with and what it never shows; `retryAfterMs` where the headers named it.
 */
export function anthropicRefusal(
  status: number,
  body: string,
  context: ErrorContext & { readonly retryAfterMs?: number | undefined },
): SelvageError {
  const error = readError(parseJson(body));
  // The service counts bytes as well as tokens. Both are mended by the same means: a shorter request.
  const isTooLong = status === 413 && error.type === "request_too_large" ||
    (status === 400 || status === 413) && TOO_LONG.test(error.message);
  return isTooLong ? tooLong(withWindow(error), context) : refusal(status, body, context);
}

/**
 * The error for an error event inside a stream.
 *
 * @param frame The event's parsed data.
 * @param context As in {@link anthropicRefusal}; `begun` once a part of the answer has been passed on.
 */
export function anthropicStreamError(
  frame: unknown,
  context: ErrorContext & { readonly begun: boolean },
): SelvageError {
  const error = readError(frame);
  const { begun } = context;
  if (!begun && TOO_LONG.test(error.message)) return tooLong(withWindow(error), context);
  // What HTTP would have said by 529 and 429 had the stream not been opened before; later it is a broken answer.
  if (error.type === "overloaded_error") {
    return streamFailure(error, { ...context, code: "model_unavailable", retryable: !begun });
  }
  if (error.type === "rate_limit_error") {
    return streamFailure(error, { ...context, code: "model_rate_limited", retryable: !begun });
  }
  return streamFailure(error, { ...context, retryable: !FINAL.has(error.type) });
}
