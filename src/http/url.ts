/**
 * What a URL asks for: the names in its path and its query, checked as bodies are.
 *
 * @module
 */
import type { Context } from "hono";
import * as z from "zod";
import { checkInput } from "./body.ts";
import type { AppEnv } from "./env.ts";

/** A whole number in a URL, from 0. */
export const wholeNumber = z.string().regex(/^\d{1,9}$/, "wanted a whole number").transform(Number);

/**
 * Checks what the URL of a request asks for; what the schema does not know is passed over.
 *
 * @param c The request.
 * @param schema What is wanted, by the names of the path and of the query.
 * @throws SelvageError `bad_request`, naming the field, what was found and what is wanted.
 */
export function parseUrl<T>(c: Context<AppEnv>, schema: z.ZodType<T>): T {
  return checkInput({ ...c.req.query(), ...c.req.param() }, { schema, of: "URL" });
}
