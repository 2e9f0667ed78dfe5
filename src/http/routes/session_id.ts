/**
 * Names of sessions.
 *
 * @module
 */
import * as z from "zod";

/** A session id that is safe in keys and URLs. */
export const sessionId = z.string().regex(
  /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,128}$/,
  "wanted 1 to 128 of A-Z a-z 0-9 . _ : -",
);
