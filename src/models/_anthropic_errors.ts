/** What a Messages server says went wrong, as one of our errors. Private to the adapters. */
import { SelvageError } from "../core/errors.ts";
import { type ErrorContext, isObject, refusal } from "./_openai_errors.ts";

/** What an error body says. */
interface UpstreamError {
  readonly type: string;
  readonly message: string;
}

/** The most characters of an upstream's own words that an error carries. */
const MAX_UPSTREAM_CHARS = 300;

const TOO_LONG = /prompt is too long|exceeds? context limit/i;

// "prompt is too long: 9 tokens > 8 maximum", and where the answer's share is counted in: "… limit: 7 + 2 > 8, …".
const WINDOW = /> (\d+) maximum|context limit: \d+ \+ \d+ > (\d+)/i;

/** Errors that come back however often the same request is sent. */
const FINAL = new Set(
  ("invalid_request_error authentication_error permission_error billing_error not_found_error request_too_large")
    .split(" "),
);

function readError(body: unknown): UpstreamError {
  const outer = isObject(body) ? body : {};
  const inner = isObject(outer.error) ? outer.error : outer;
  const message = inner.message ?? outer.error;
  return {
    type: typeof inner.type === "string" ? inner.type : "",
    message: typeof message === "string" ? message : JSON.stringify(body) ?? "",
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Proxies answer with pages as well: the text itself is then the message.
    return { message: text };
  }
}

function upstreamFields(message: string, secret: string | undefined): { upstream?: string } {
  // The secret goes first: a cut through its middle would leave half of it standing.
  const clean = secret === undefined || secret === "" ? message : message.replaceAll(secret, "[key]");
  return clean === "" ? {} : { upstream: clean.slice(0, MAX_UPSTREAM_CHARS) };
}

function tooLong({ message }: UpstreamError, context: ErrorContext): SelvageError {
  const match = WINDOW.exec(message);
  const named = Number(match?.[1] ?? match?.[2] ?? 0);
  const window = named > 0 ? named : undefined;
  const wanted = window === undefined ? "one that the model can take" : `at most ${window} tokens`;
  return new SelvageError(
    "context_length_exceeded",
    `${context.action}: found a request that is too long, wanted ${wanted}`,
    {
      fields: {
        retryable: false,
        ...(window === undefined ? {} : { window }),
        ...upstreamFields(message, context.secret),
      },
    },
  );
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
  return isTooLong ? tooLong(error, context) : refusal(status, body, context);
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
  const { action, begun, secret } = context;
  if (!begun && TOO_LONG.test(error.message)) return tooLong(error, context);
  const make = (code: string, retryable: boolean): SelvageError => {
    const message = `${action}: found an error in the stream, wanted the rest of the answer`;
    return new SelvageError(code, message, {
      fields: { retryable, ...upstreamFields(error.message, secret) },
    });
  };
  // What HTTP would have said by 529 and 429 had the stream not been opened before; later it is a broken answer.
  if (error.type === "overloaded_error") return make("model_unavailable", !begun);
  if (error.type === "rate_limit_error") return make("model_rate_limited", !begun);
  return make("model_stream_error", !FINAL.has(error.type));
}

/** The error for an answer that the model had no room for at all. */
export function noRoom(context: ErrorContext): SelvageError {
  return tooLong({ type: "", message: "" }, context);
}

/** The error for a stream that ends before the message does. */
export function streamCut(context: ErrorContext, cause?: unknown): SelvageError {
  return new SelvageError(
    "model_stream_cut",
    `${context.action}: found the end of the stream inside the answer, wanted a stop_reason and message_stop ` +
      "before it",
    { ...(cause === undefined ? {} : { cause }), fields: { retryable: true } },
  );
}

/** The error for bytes that are no part of the protocol. `found` completes "found …". */
export function badMessages(
  found: string,
  context: ErrorContext & { readonly body?: string },
): SelvageError {
  const upstream = context.body === undefined
    ? {}
    : upstreamFields(readError(parseJson(context.body)).message, context.secret);
  return new SelvageError(
    "model_bad_response",
    `${context.action}: found ${found}, wanted a stream of message events`,
    { fields: { retryable: false, ...upstream } },
  );
}
