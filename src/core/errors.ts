/**
 * The one error family of the project: a sentence for people, a code for programs.
 *
 * @module
 */

/** What a {@link SelvageError} may carry beside its message. */
export interface SelvageErrorOptions {
  /** The error that led to this one. */
  readonly cause?: unknown;
  /** Facts a caller can act on, by name. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/**
 * An error with a stable code.
 *
 * @example
 * ```ts
 * import { SelvageError } from "@selvage/selvage/core";
 *
 * const error = new SelvageError("input_too_large", "Cannot take the input: found 9 tokens, wanted at most 5");
 * console.log(error.code);
 * ```
 */
export class SelvageError extends Error {
  /** The name of the class. */
  override readonly name: string = "SelvageError";
  /** A stable, machine-readable code. */
  readonly code: string;
  /** Facts a caller can act on, by name. */
  readonly fields: Readonly<Record<string, unknown>>;

  /**
   * Makes an error.
   *
   * @param code A stable, machine-readable code in snake case.
   * @param message What was done, what was found, what is wanted.
   * @param options The cause and further fields.
   */
  constructor(code: string, message: string, options: SelvageErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.fields = options.fields ?? {};
  }
}

/**
 * Thrown where a caller asks to apply a cut that would sever a pair (conditions C1 and C2).
 *
 * @example
 * ```ts
 * import { IllegalCompactionCut } from "@selvage/selvage/core";
 *
 * const error = new IllegalCompactionCut(4, { before: 3, after: 6 });
 * console.log(error.message);
 * ```
 */
export class IllegalCompactionCut extends SelvageError {
  /** The name of the class. */
  override readonly name = "IllegalCompactionCut";

  /**
   * Makes the error.
   *
   * @param at The message index that was asked for.
   * @param nearest The legal cuts on both sides of it, null where there is none.
   */
  constructor(at: number, nearest: { readonly before: number | null; readonly after: number | null }) {
    const wanted = [nearest.before, nearest.after].filter((cut) => cut !== null).join(" or ");
    super(
      "illegal_cut",
      `Cannot cut the transcript at message ${at}: it would sever a tool call from its result, ` +
        (wanted === "" ? "and no legal cut exists" : `wanted ${wanted}`),
      { fields: { at, nearest } },
    );
  }
}
