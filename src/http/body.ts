/**
 * Request bodies: JSON of a limited size, checked against a schema before anything else happens.
 *
 * @module
 */
import type { MiddlewareHandler } from "hono";
import type * as z from "zod";
import { SelvageError } from "../core/errors.ts";
import { sayValue } from "../core/options.ts";
import { isObject } from "../formats/format.ts";
import { MAX_LEVELS, shapeOf } from "../formats/source.ts";
import type { AppEnv } from "./env.ts";

/** What is wrong with a body, named this many times at the most. */
const MAX_ISSUES = 20;

/**
 * Commas and opening brackets of a body, those in texts left out: each stands for a value, which takes far more memory
 * and time than its bytes. The densest of the real transcripts that were looked at have 22,000 a MiB, so 360,000 in the
 * largest body; a transcript of 100,000 short messages has 700,000.
 */
const MAX_MARKS = 1_000_000;

/** Fields in which calls have their arguments. As text they are JSON once more, and are parsed with the body. */
const ARGUMENTS: ReadonlySet<string> = new Set(["arguments", "input", "args"]);

/** Bodies that were read, by request: a request of their own would cost as much as asking a model does. */
const held = new WeakMap<Request, Uint8Array<ArrayBuffer>>();

/**
 * Reads the body before the route does, of at most `maxSize` bytes. Refuses larger ones with `body_too_large`, encoded
 * ones with `unsupported_encoding`, those that come too slowly with `body_stalled`, and all where there is no room for
 * them with `service_full`.
 */
export function limitBody(maxSize: number): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const request = c.req.raw;
    const encoding = request.headers.get("content-encoding")?.trim() ?? "";
    if (encoding !== "" && encoding.toLowerCase() !== "identity") {
      const found = JSON.stringify(encoding.slice(0, 40));
      throw new SelvageError(
        "unsupported_encoding",
        `Cannot read the body: found the content-encoding ${found}, wanted JSON as it is`,
        { fields: { field: "content-encoding" } },
      );
    }
    await c.get("bodies").use(request, {
      maxSize,
      work: async (bytes) => {
        held.set(request, bytes);
        try {
          await next();
        } finally {
          // The request lives as long as its stream: what it was asked with is not to.
          held.delete(request);
        }
      },
    });
  };
}

/**
 * Reads a body as text.
 *
 * @param request The request; its size is limited by the route.
 * @throws SelvageError `bad_json` where the bytes are no UTF-8.
 */
export async function readText(request: Request): Promise<string> {
  const bytes = held.get(request) ?? await request.arrayBuffer();
  try {
    // Replacing what is broken would change messages that come back.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new SelvageError(
      "bad_json",
      "Cannot read the body: found bytes that are no UTF-8, wanted JSON in UTF-8",
    );
  }
}

/**
 * Checks the text of a JSON body.
 *
 * @param text The body.
 * @param schema What is wanted.
 * @throws SelvageError `bad_json` or `bad_request`, naming the field, what was found and what is wanted.
 */
export function parseBody<T>(text: string, schema: z.ZodType<T>): T {
  return checkBody(parseJson(text), schema);
}

/**
 * Parses a body. One that is nested without end, or of more values than any transcript has, is not parsed: that would
 * take seconds, and gigabytes.
 *
 * @param text The body.
 * @param explain Refuses what is nested too deeply in words of its own, where it can tell more: it gets the body up to
 *   there.
 * @throws SelvageError `bad_json`; `body_too_large` (field: `limit`) for too many values.
 */
export function parseJson(text: string, explain: (begin: unknown) => void = () => {}): unknown {
  const { deep, marks } = shapeOf(text, MAX_LEVELS);
  requireNarrow(marks);
  let value: unknown;
  try {
    value = JSON.parse(deep?.begin ?? text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new SelvageError("bad_json", `Cannot read the body: ${error.message}, wanted one JSON value`);
  }
  requireNarrow(marks + marksInArguments(value));
  if (deep === null) return value;
  explain(value);
  throw new SelvageError(
    "bad_json",
    `Cannot read the body: found JSON nested more than ${MAX_LEVELS} levels deep, wanted at most that`,
  );
}

function requireNarrow(marks: number): void {
  if (marks <= MAX_MARKS) return;
  throw new SelvageError(
    "body_too_large",
    `Cannot read the body: found ${marks} commas and opening brackets in its JSON, wanted at most ${MAX_MARKS}`,
    { fields: { limit: MAX_MARKS } },
  );
}

/** Counts what would have to be parsed once more. Needs no stack of its own. */
function marksInArguments(body: unknown): number {
  let marks = 0;
  const left: object[] = typeof body === "object" && body !== null ? [body] : [];
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    const isNamed = !Array.isArray(value);
    for (const [key, inner] of Object.entries<unknown>(value as Record<string, unknown>)) {
      if (typeof inner === "object" && inner !== null) left.push(inner);
      else if (isNamed && typeof inner === "string" && ARGUMENTS.has(key)) {
        marks += shapeOf(inner, MAX_LEVELS).marks;
      }
    }
  }
  return marks;
}

/** A body, or what else `of` names, in which something is not as it is wanted. */
export function badBody(
  field: string,
  { found, wanted, of = "body" }: { readonly found: string; readonly wanted: string; readonly of?: string },
): SelvageError {
  return new SelvageError("bad_request", `Cannot use the ${of}: ${field}: found ${found}, wanted ${wanted}`, {
    fields: { field },
  });
}

/** Checks a body that was parsed. */
export function checkBody<T>(value: unknown, schema: z.ZodType<T>): T {
  return checkInput(value, { schema, of: "body" });
}

/**
 * Checks what a client has sent.
 *
 * @param value What came.
 * @param options What is wanted, and which part of the request it is.
 * @throws SelvageError `bad_request`, naming the field, what was found and what is wanted.
 */
export function checkInput<T>(
  value: unknown,
  { schema, of }: { readonly schema: z.ZodType<T>; readonly of: string },
): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const known = "shape" in schema && isObject(schema.shape) ? Object.keys(schema.shape) : [];
  const issues = parsed.error.issues.flatMap(withinUnion).slice(0, MAX_ISSUES).map((issue) => {
    const wanted = issue.code === "unrecognized_keys" && issue.path.length === 0
      ? `only ${known.join(", ")}`
      : wantedBy(issue);
    return {
      field: fieldOf(issue) || of,
      message: `found ${foundBy(issue, value)}, wanted ${wanted}`.slice(0, 500),
    };
  });
  const [first] = issues;
  throw new SelvageError("bad_request", `Cannot use the ${of}: ${first?.field}: ${first?.message}`, {
    fields: { issues, field: first?.field },
  });
}

/**
 * What is wrong within the one choice of a union that the value was meant to be: the others do not fit as a whole. The
 * issue itself where none or several are.
 */
function withinUnion(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== "invalid_union") return [issue];
  const meant = issue.errors.filter((issues) => issues.every(({ path }) => path.length > 0));
  const [only] = meant;
  if (only === undefined || only.length === 0 || meant.length > 1) return [issue];
  return only.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })).flatMap(withinUnion);
}

/** The field that an issue is about; of a field that nobody knows its own name. Empty for the whole. */
function fieldOf(issue: z.core.$ZodIssue): string {
  const unknown = issue.code === "unrecognized_keys" ? [issue.keys[0] ?? ""] : [];
  return [...issue.path, ...unknown].map(String).join(".").slice(0, 200);
}

function foundBy(issue: z.core.$ZodIssue, body: unknown): string {
  if (issue.code === "unrecognized_keys") {
    const more = issue.keys.length - 1;
    return more === 0 ? "a field that nobody knows" : `a field that nobody knows, and ${more} more`;
  }
  let value = body;
  for (const key of issue.path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key];
  // The length of a long text is what matters where it is too long, and what was sent need not come back.
  if (typeof value === "string" && value.length > 40) return `a text of ${value.length} characters`;
  return Array.isArray(value) && issue.code === "too_big" ? `a list of ${value.length}` : sayValue(value);
}

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
};

/** What an issue wants, in a few words. */
function wantedBy(issue: z.core.$ZodIssue): string {
  // Sentences of our own say it best.
  if (issue.message.startsWith("wanted ")) return issue.message.slice("wanted ".length);
  switch (issue.code) {
    case "invalid_type":
      return TYPES[issue.expected] ?? "a value";
    case "invalid_value":
      return issue.values.map((value) => JSON.stringify(value)).join(" or ");
    case "too_small":
      return `${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}${
        unitOf(issue.origin, issue.minimum)
      }`;
    case "too_big":
      return `${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}${
        unitOf(issue.origin, issue.maximum)
      }`;
    case "unrecognized_keys":
      return "no such field";
    case "invalid_union": {
      // A name that tells the choices apart, and is none of theirs.
      const { options } = issue as { readonly options?: readonly unknown[] };
      if (options !== undefined) return options.map((value) => JSON.stringify(value)).join(" or ");
      const wants = issue.errors.flatMap(([first]) => first === undefined ? [] : [wantedBy(first)]);
      return [...new Set(wants)].join(" or ") || issue.message;
    }
    default:
      return issue.message;
  }
}

function unitOf(origin: string, count: number | bigint): string {
  if (origin === "string") return count === 1 ? " character" : " characters";
  return origin === "array" ? " of them" : "";
}
