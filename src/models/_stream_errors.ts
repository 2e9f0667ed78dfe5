/** Errors that services send inside their streams, as ours: one rule for all protocols. Private to the adapters. */
import type { SelvageError } from "../core/errors.ts";
import { codeOfStatus, type ErrorContext, isTooLong, readError, streamFailure, tooLong } from "./_errors.ts";

/** What services call errors that come back however often the same request is sent. */
const FINAL = /invalid|authentication|permission|billing|not_found|too_large|quota|policy|unsupported/;

const LIMITED = /rate_limit|slow_down/;

// "Please try again in 1.898s", "in 20ms": the stream has no header to say it in.
const TRY_AGAIN = /try again in (\d+(?:\.\d+)?)(ms|s)\b/i;

/**
 * The error for what a service says in its stream in place of the rest of an answer.
 *
 * Many services open the stream before they look at the request, and say there what others say by their status. So
 * before the first delta an error gets the code that the status would have given it, and what may go away by itself is
 * tried again; later it is a broken answer.
 *
 * @param frame The frame's parsed data.
 * @param context What the message starts with and what it never shows; `begun` once a part of the answer has been
 *   passed on.
 */
export function streamError(
  frame: unknown,
  context: ErrorContext & { readonly begun: boolean },
): SelvageError {
  const error = readError(frame);
  const { begun } = context;
  if (!begun && isTooLong(error)) return tooLong(error, context);
  const kind = `${error.code} ${error.type}`;
  const status = Number(error.code);
  const byStatus = status >= 400 ? codeOfStatus(status) : "model_unavailable";
  const isRefused = byStatus !== "model_unavailable" && byStatus !== "model_rate_limited";
  const retryable = !FINAL.test(kind) && !isRefused;
  if (begun) return streamFailure(error, { ...context, retryable });
  if (!retryable) {
    return streamFailure(error, {
      ...context,
      code: isRefused ? byStatus : "model_refused",
      retryable,
    });
  }
  const code = LIMITED.test(kind) || status === 429 ? "model_rate_limited" : "model_unavailable";
  const [, amount, unit] = TRY_AGAIN.exec(error.message) ?? [];
  const retryAfterMs = amount === undefined ? undefined : Number(amount) * (unit === "ms" ? 1 : 1_000);
  return streamFailure(error, { ...context, code, retryable, retryAfterMs });
}
