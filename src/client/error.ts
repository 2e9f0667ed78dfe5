/**
 * What goes wrong between a client and the service.
 *
 * @module
 */

/** What a {@link ClientError} says beside its message. */
export interface ClientErrorOptions {
  /** The error that led to this one. */
  readonly cause?: unknown;
  /** Status of the response, where there was one. Default 0. */
  readonly status?: number;
  /** Facts of the problem document, by name. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Times that it was tried. Default 1. */
  readonly tries?: number;
}

/**
 * A request that came to nothing, or a turn that ended with an error.
 *
 * Codes of the service are those of its problem documents. The client's own are `network` (no answer, or one that
 * broke off), `stalled` (nothing came for too long), `bad_answer` (no answer of this service), and `stream_lost` (the
 * service has no more events of a turn whose end was not seen).
 *
 * @example
 * ```ts
 * import { ClientError, createClient } from "@selvage/selvage/client";
 *
 * const fetch = () => Promise.resolve(Response.json({ code: "session_not_found", detail: "No." }, { status: 404 }));
 * const client = createClient({ url: "http://127.0.0.1:8000", fetch });
 * try {
 *   await client.sessions.get("s1");
 * } catch (error) {
 *   if (error instanceof ClientError) console.log(error.code, error.status); // session_not_found 404
 * }
 * ```
 */
export class ClientError extends Error {
  /** The name of the class. */
  override readonly name = "ClientError";
  /** A stable, machine-readable code. */
  readonly code: string;
  /** Status of the response; 0 where there was none. */
  readonly status: number;
  /** Facts that a caller can act on, by name: `turn`, `pending`, `limit`, … */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Times that it was tried. */
  readonly tries: number;

  /**
   * Makes an error.
   *
   * @param code A stable, machine-readable code.
   * @param message A sentence for people.
   * @param options Status, facts and cause.
   */
  constructor(code: string, message: string, options: ClientErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? 0;
    this.fields = options.fields ?? {};
    this.tries = options.tries ?? 1;
  }
}

/** Whether the service, or what stands before it, has refused what was asked: nothing was begun by it. */
export function isRefusal(error: unknown): error is ClientError {
  return error instanceof ClientError && error.status >= 400 && error.status < 500;
}
