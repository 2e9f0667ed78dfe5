/**
 * Request bodies: JSON of a limited size, checked against a schema before anything else happens.
 *
 * @module
 */
import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type * as z from "zod";
import { SelvageError } from "../core/errors.ts";
import { problemResponse } from "./problem.ts";

/** What is wrong with a body, named this many times at the most. */
const MAX_ISSUES = 20;

/** Refuses bodies of more than `maxSize` bytes with `body_too_large`. */
export function limitBody(maxSize: number): MiddlewareHandler {
  return bodyLimit({
    maxSize,
    onError: () =>
      problemResponse({
        code: "body_too_large",
        detail: `Cannot read the body: found more than ${maxSize} bytes, wanted at most that`,
        fields: { limit: maxSize },
      }),
  });
}

/**
 * Reads and checks a JSON body.
 *
 * @param request The request; its size is limited by the route.
 * @param schema What is wanted.
 * @throws SelvageError `bad_json` or `bad_request`, naming the field, what was found and what is wanted.
 */
export async function readBody<T>(request: Request, schema: z.ZodType<T>): Promise<T> {
  return parseBody(await request.text(), schema);
}

/**
 * Checks the text of a JSON body.
 *
 * @param text The body.
 * @param schema What is wanted.
 * @throws SelvageError `bad_json` or `bad_request`, naming the field, what was found and what is wanted.
 */
export function parseBody<T>(text: string, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new SelvageError("bad_json", `Cannot read the body: ${error.message}, wanted one JSON object`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, MAX_ISSUES).map((issue) => ({
    field: fieldOf(issue),
    message: issue.message.slice(0, 500),
  }));
  const [first] = issues;
  throw new SelvageError("bad_request", `Cannot use the body: ${first?.field}: ${first?.message}`, {
    fields: { issues, field: first?.field },
  });
}

/** The field that an issue is about; of a field that nobody knows its own name. */
function fieldOf(issue: z.core.$ZodIssue): string {
  const unknown = issue.code === "unrecognized_keys" ? [issue.keys[0] ?? ""] : [];
  return [...issue.path, ...unknown].map(String).join(".").slice(0, 200) || "body";
}
