/**
 * Request bodies: JSON, checked against a schema before anything else happens.
 *
 * @module
 */
import type * as z from "zod";
import { SelvageError } from "../core/errors.ts";

/**
 * Reads and checks a JSON body.
 *
 * @param request The request; its size is limited by the route.
 * @param schema What is wanted.
 * @throws SelvageError `bad_json` or `bad_request`, naming the field, what was found and what is wanted.
 */
export async function readBody<T>(request: Request, schema: z.ZodType<T>): Promise<T> {
  let value: unknown;
  try {
    value = JSON.parse(await request.text());
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new SelvageError("bad_json", `Cannot read the body: ${error.message}, wanted one JSON object`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({
    field: issue.path.map(String).join(".") || "body",
    message: issue.message,
  }));
  const [first] = issues;
  throw new SelvageError("bad_request", `Cannot use the body: ${first?.field}: ${first?.message}`, {
    fields: { issues },
  });
}
