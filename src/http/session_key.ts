/**
 * Names of sessions: what they may be, and the session that a URL names.
 *
 * @module
 */
import type { Context } from "hono";
import * as z from "zod";
import { SelvageError } from "../core/errors.ts";
import { SESSION_ID } from "../core/session_id.ts";
import type { SessionKey, SessionState, Store } from "../ports.ts";
import type { AppEnv } from "./env.ts";
import { parseUrl, wholeNumber } from "./url.ts";

/** A session id that is safe in keys and URLs. */
export const sessionId = z.string().regex(
  SESSION_ID,
  "wanted 1 to 128 of A-Z a-z 0-9 . _ : -",
);

/** What is thrown where a session is not there; `noun` is what its client knows it as. */
export function sessionNotFound(session: string, noun = "session"): SelvageError {
  return new SelvageError(
    "session_not_found",
    `Cannot find the ${noun} ${JSON.stringify(session.slice(0, 128))}`,
  );
}

/**
 * The caller's session that is `:id` in the path.
 *
 * @throws SelvageError `session_not_found` where no session can have that name.
 */
export function sessionKeyOf(c: Context<AppEnv>, noun?: string): SessionKey {
  const session = c.req.param("id") ?? "";
  if (!sessionId.safeParse(session).success) throw sessionNotFound(session, noun);
  return { ...c.get("principal"), session };
}

const branchQuery = z.object({ branch: wholeNumber.exactOptional() });

/**
 * Reads the caller's session that is `:id` in the path, as the branch has it that is `branch` in the query, by default
 * the one in force.
 *
 * @throws SelvageError `session_not_found`, `branch_not_found`, or `bad_request` for a branch that is no number.
 */
export async function readSession(
  c: Context<AppEnv>,
  { store, noun }: { readonly store: Pick<Store, "read">; readonly noun?: string },
): Promise<SessionState & { readonly key: SessionKey }> {
  const key = sessionKeyOf(c, noun);
  const asked = parseUrl(c, branchQuery);
  const state = await store.read(key, asked);
  if (state !== null) return { ...state, key };
  if (asked.branch === undefined || await store.read(key) === null) throw sessionNotFound(key.session, noun);
  throw new SelvageError(
    "branch_not_found",
    `Cannot find branch ${asked.branch} of the ${noun ?? "session"} ${JSON.stringify(key.session)}`,
  );
}
