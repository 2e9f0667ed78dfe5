/**
 * Errors on the wire: one table from error codes to HTTP statuses, one kind of document.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "hono";
import { SelvageError } from "../core/errors.ts";
import { isFault } from "../loop/store_fault.ts";
import type { AppEnv } from "./env.ts";

/** HTTP status of each error code. A code that is not here is a fault of the service. */
export const STATUS: Readonly<Record<string, number>> = {
  bad_json: 400,
  body_cut_off: 400,
  bad_request: 400,
  unknown_agent: 400,
  input_empty: 400,
  bad_client_tools: 400,
  setting_unsupported: 400,
  illegal_cut: 400,
  bad_transcript: 400,
  bad_message: 400,
  unknown_format: 400,
  unknown_call: 400,
  bad_tokens: 400,
  bad_pin: 400,
  summary_blank: 400,
  turn_aborted: 400,
  unauthorized: 401,
  open_access_refused: 403,
  session_not_found: 404,
  entry_not_found: 404,
  branch_not_found: 404,
  turn_not_found: 404,
  step_not_found: 404,
  call_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  body_stalled: 408,
  turn_running: 409,
  turn_interrupted: 409,
  turn_exists: 409,
  history_mismatch: 409,
  too_many_branches: 409,
  bad_fork: 409,
  turn_paused: 409,
  turn_not_paused: 409,
  turn_over: 409,
  call_not_pending: 409,
  lease_lost: 409,
  body_too_large: 413,
  input_too_large: 413,
  pinned_too_big: 413,
  summary_too_large: 413,
  unsupported_encoding: 415,
  idempotency_key_reused: 422,
  context_exhausted: 422,
  tools_too_large: 422,
  turn_out_of_tokens: 422,
  turn_out_of_time: 422,
  context_length_exceeded: 422,
  too_many_messages: 429,
  queue_full: 429,
  rate_limited: 429,
  too_many_turns: 429,
  turn_lost: 500,
  bad_budget: 500,
  model_auth: 502,
  model_not_found: 502,
  model_refused: 502,
  model_bad_response: 502,
  model_stream_cut: 502,
  model_stream_error: 502,
  model_unreachable: 502,
  auth_unavailable: 503,
  service_full: 503,
  tools_unavailable: 503,
  shutting_down: 503,
  turn_suspended: 503,
  store_busy: 503,
  store_unavailable: 503,
  model_rate_limited: 503,
  model_unavailable: 503,
  model_stalled: 504,
};

/** Headers that go with some codes. */
const HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  unauthorized: { "www-authenticate": "Bearer" },
  auth_unavailable: { "retry-after": "5" },
  model_rate_limited: { "retry-after": "5" },
  model_unavailable: { "retry-after": "5" },
  store_unavailable: { "retry-after": "5" },
  unsupported_encoding: { "accept-encoding": "identity" },
};

/** What a problem document says. */
export interface Problem {
  readonly code: string;
  readonly detail: string;
  /** Facts; those that clients may see are in the document. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Further headers of the response. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Names of error fields that clients may see. */
const PUBLIC_FIELDS = [
  "at",
  "field",
  "tokens",
  "limit",
  "turn",
  "issues",
  "nearest",
  "window",
  "session",
  "ref",
  "pending",
  "calls",
];

/** Characters of a sentence. */
const MAX_DETAIL = 900;

/** The sentence of a problem, at most 900 characters of it: what was sent must not come back at any length. */
export function clipDetail(text: string): string {
  return text.length > MAX_DETAIL ? `${text.slice(0, MAX_DETAIL - 1).toWellFormed()}…` : text;
}

/** The status of a problem. One that names a field of the request is the caller's, whoever else has that code. */
export function statusOf({ code, fields }: Pick<Problem, "code" | "fields">): number {
  const status = STATUS[code] ?? 500;
  return status >= 500 && typeof fields?.["field"] === "string" ? 400 : status;
}

/**
 * Makes an `application/problem+json` response (RFC 9457).
 *
 * @param problem Code, sentence and fields.
 * @param headers Further headers.
 */
function problemResponse(problem: Problem, headers: Readonly<Record<string, string>>): Response {
  const status = statusOf(problem);
  const fields = Object.fromEntries(
    Object.entries(problem.fields ?? {}).filter(([name]) => PUBLIC_FIELDS.includes(name)),
  );
  const { code } = problem;
  const title = code.replaceAll("_", " ");
  const detail = clipDetail(problem.detail);
  const body = { type: "about:blank", title, status, detail, code, ...fields };
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store", ...headers },
  });
}

/** Makes a response that says what went wrong, in the form of some protocol. */
export type Refuse = (problem: Problem, headers: Readonly<Record<string, string>>) => Response;

/**
 * Has every error on the routes below it told in the form of their protocol, the lack of authentication too: it is
 * mounted before that.
 */
export function speak(refuse: Refuse): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    c.set("refuse", refuse);
    await next();
  };
}

/** Codes after which the same request may come through, though its status does not say so: what is in the way passes. */
const PASSING = new Set(["turn_running", "turn_interrupted"]);

/** Whether the same request may come through later: as the error says, and where it says nothing, by its status. */
export function isRetryable(problem: Pick<Problem, "code" | "fields">): boolean {
  const { retryable } = problem.fields ?? {};
  if (typeof retryable === "boolean") return retryable;
  return [429, 503].includes(statusOf(problem)) || PASSING.has(problem.code);
}

/** The headers of a problem. What may pass by itself says after how many seconds it is worth while to try again. */
function headersOf(problem: Problem): Readonly<Record<string, string>> {
  const isPassing = [429, 503].includes(statusOf(problem));
  return { ...(isPassing ? { "retry-after": "1" } : {}), ...HEADERS[problem.code], ...problem.headers };
}

/** The response to a problem, in the form of the route's protocol. */
export function refuseWith(c: Context<AppEnv>, problem: Problem): Response {
  return (c.get("refuse") ?? problemResponse)(problem, headersOf(problem));
}

/** Refuses every method that a route does not take; `allow` lists those that it takes. */
export function refuseMethod(allow: string): (c: Context<AppEnv>) => Response {
  return (c) => {
    const { method, path } = c.req;
    const detail = `Cannot ${method.slice(0, 40)} ${path.slice(0, 200)}: wanted ${allow}`;
    return refuseWith(c, { code: "method_not_allowed", detail, headers: { allow } });
  };
}

/**
 * The problem of an error: our own sentences pass, anything else is `internal` and only reported. What the store has
 * failed with is reported, too.
 */
export function problemOf(error: unknown, report: (fault: unknown) => void = console.error): Problem {
  if (error instanceof SelvageError) {
    if (isFault(error)) report(error);
    const { headers } = error.fields;
    return {
      code: error.code,
      detail: error.message,
      fields: error.fields,
      ...(isHeaders(headers) ? { headers } : {}),
    };
  }
  // A client that went away before there was an answer is no fault of the service.
  if (!(error instanceof DOMException && error.name === "AbortError")) report(error);
  return { code: "internal", detail: "The service failed; the error is in its log" };
}

function isHeaders(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === "object" && value !== null;
}
