/**
 * Each request has an id, and is told of when it was answered.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "hono";
import { SelvageError } from "../core/errors.ts";
import { randomId } from "../loop/ids.ts";
import type { Clock } from "../ports.ts";
import type { AppEnv } from "./env.ts";
import { type Log, stackOf } from "./log.ts";
import type { Notes } from "./notes.ts";

/** Ids that callers may give. */
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** Characters of a cause. */
const MAX_CAUSE = 500;

/** What supervisors ask for all the time. */
const PROBE = /\/(?:healthz|readyz)$/;

/**
 * Gives a request its id, the one that it came with or a new one, and the response the same. A stream is told of when
 * it begins: its turn has an entry of its own for the end.
 */
export function tellRequest(
  { notes, clock, log = () => {} }: { readonly notes: Notes; readonly clock: Clock; readonly log?: Log },
): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const begun = clock.now();
    const given = c.req.header("x-request-id") ?? "";
    const id = REQUEST_ID.test(given) ? given : randomId("r");
    c.set("requestId", id);
    await next();
    c.res.headers.set("x-request-id", id);
    const { status } = c.res;
    const principal = c.get("principal");
    const { turn, session } = principal === undefined ? {} : notes.of(principal);
    // Of several ways in, one that does not know the caller says so before another one does.
    const refused = principal === undefined ? c.get("refused") ?? [] : [];
    const cause = refused.length === 0 ? c.get("cause") : refused.join("; ").slice(0, MAX_CAUSE);
    log({
      level: status >= 500 ? "error" : PROBE.test(c.req.path) ? "debug" : "info",
      event: "request",
      request: id,
      method: c.req.method.slice(0, 40),
      path: c.req.path.slice(0, 500),
      status,
      ms: clock.now() - begun,
      tenant: principal?.tenant,
      user: principal?.user,
      session,
      turn,
      ...(cause === undefined ? {} : { cause }),
    });
  };
}

/** Codes of what fails with somebody else's service: clients are told that it did, and the log why. */
const CAUSED: ReadonlySet<string> = new Set(["auth_unavailable", "tools_unavailable"]);

/** Why something could not be had that a request needed, for the log alone; undefined for any other error. */
export function causeOf(error: unknown): string | undefined {
  if (!(error instanceof SelvageError && CAUSED.has(error.code))) return undefined;
  const said: string[] = [];
  // A cause of a cause may lead back to where it came from.
  for (let cause = error.cause; cause !== undefined && said.length < 4;) {
    said.push(String(cause));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return (said.length === 0 ? error.message : said.join("; ")).slice(0, MAX_CAUSE).toWellFormed();
}

/** Tells of a fault of the service, of which the client hears nothing but that there was one. */
export function reportFault(
  c: Context<AppEnv>,
  { fault, log }: { readonly fault: unknown; readonly log: Log | undefined },
): void {
  if (log === undefined) return console.error(fault);
  log({ level: "error", event: "fault", request: c.get("requestId"), stack: stackOf(fault) });
}
