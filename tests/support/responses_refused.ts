/** How the Responses service words what it refuses. */

/** Tells what is wrong with the first thing that is. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly param: string | null = null,
    readonly more: { readonly code?: string; readonly status?: number } = {},
  ) {
    super(message);
  }
}

const NAME = /^[A-Za-z0-9_-]+$/;
const MAX_NAME_CHARS = 64;

/** A value that the service does not know. */
export function invalid(message: string, param: string): Refused {
  return new Refused(message, param, { code: "invalid_value" });
}

/** A parameter that has to be there. */
export function missing(param: string): Refused {
  return new Refused(`Missing required parameter: '${param}'.`, param, {
    code: "missing_required_parameter",
  });
}

/** A value of another type. */
export function wrongType(param: string, wanted: string, found: unknown): Refused {
  const kind = Array.isArray(found) ? "an array" : found === null ? "null" : `a ${typeof found}`;
  return new Refused(`Invalid type for '${param}': expected ${wanted}, but got ${kind} instead.`, param, {
    code: "invalid_type",
  });
}

/** A list without an entry. */
export function emptyArray(param: string): Refused {
  return new Refused(
    `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
    param,
    { code: "empty_array" },
  );
}

/** Refuses what is no name of a tool. */
export function checkName(name: unknown, at: string): void {
  if (typeof name !== "string") throw wrongType(at, "a string", name);
  checkLength(name, at, { most: MAX_NAME_CHARS });
  if (!NAME.test(name)) {
    throw invalid(
      `Invalid '${at}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      at,
    );
  }
}

/** Refuses a text that is empty, or has more characters. */
export function checkLength(text: string, at: string, { most }: { readonly most: number }): void {
  if (text === "") {
    throw new Refused(
      `Invalid '${at}': empty string. Expected a string with minimum length 1, but got an empty string instead.`,
      at,
      { code: "empty_string" },
    );
  }
  if (text.length > most) {
    throw new Refused(
      `Invalid '${at}': string too long. Expected a string with maximum length ${most}, but got a string with length ` +
        `${text.length} instead.`,
      at,
      { code: "string_above_max_length" },
    );
  }
}
