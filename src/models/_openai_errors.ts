/** Errors inside the streams of OpenAI's two protocols, as ours. Private to the adapters. */
import type { SelvageError } from "../core/errors.ts";
import { type ErrorContext, isTooLong, readError, streamFailure, tooLong } from "./_errors.ts";

/**
 * The error for an error frame inside a stream.
 *
 * @param frame The frame's parsed data.
 * @param context As in `refusal()`; `begun` once a part of the answer has been passed on.
 */
export function chatStreamError(
  frame: unknown,
  context: ErrorContext & { readonly begun: boolean },
): SelvageError {
  const error = readError(frame);
  // Some servers find out that a request is too long after their status line. Before the first delta that is the
  // same fact as a 400, and the loop can act on it.
  if (!context.begun && isTooLong(error)) return tooLong(error, context);
  const status = Number(error.code);
  const refused = status >= 400 && status < 500 && status !== 429;
  return streamFailure(error, {
    ...context,
    retryable: !refused && !error.type.includes("invalid_request"),
  });
}

// "Please try again in 1.898s", "in 20ms": the stream has no header to say it in.
const TRY_AGAIN = /try again in (\d+(?:\.\d+)?)(ms|s)\b/i;

/**
 * The error for what a Responses service says in its stream: the `error` event, or the error of a failed response.
 *
 * The service opens its streams before it looks at the request. So it says here, before the first delta, what others
 * say by their status, and it gets the same codes.
 *
 * @param frame The event's parsed data, or `{ error }` of a failed response.
 * @param context As in `refusal()`; `begun` once a part of the answer has been passed on.
 */
export function responsesStreamError(
  frame: unknown,
  context: ErrorContext & { readonly begun: boolean },
): SelvageError {
  const error = readError(frame);
  const { begun } = context;
  if (!begun && isTooLong(error)) return tooLong(error, context);
  const kind = `${error.code} ${error.type}`;
  const status = Number(error.code);
  const isFinal = /invalid|not_found|quota|policy|unsupported/.test(kind) ||
    status >= 400 && status < 500 && status !== 429;
  if (isFinal) {
    return streamFailure(error, {
      ...context,
      ...(begun ? {} : { code: "model_refused" }),
      retryable: false,
    });
  }
  if (begun) return streamFailure(error, { ...context, retryable: true });
  const isLimited = /rate_limit|slow_down/.test(kind) || status === 429;
  const isDown = /server_error|overloaded|unavailable|timeout/.test(kind) || status >= 500;
  const code = isLimited ? "model_rate_limited" : isDown ? "model_unavailable" : "model_stream_error";
  const [, amount, unit] = TRY_AGAIN.exec(error.message) ?? [];
  const retryAfterMs = amount === undefined ? undefined : Number(amount) * (unit === "ms" ? 1 : 1_000);
  return streamFailure(error, { ...context, code, retryable: true, retryAfterMs });
}
