/**
 * What the parts of a message cost, in tokens.
 *
 * @module
 */
import { counted } from "../core/counted.ts";
import { SelvageError } from "../core/errors.ts";
import type { Piece } from "./format.ts";

/** Tokens of an image or another file. */
const FILE_TOKENS = 1_600;
/** Tokens of a piece beside its text. */
export const OVERHEAD = 4;

/**
 * Roughly the tokens of a text: four UTF-16 units each.
 *
 * @example
 * ```ts
 * import { estimateTokens } from "@selvage/selvage/core";
 *
 * console.log(estimateTokens("twelve chars")); // 3
 * ```
 */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

/** Tokens of the pieces of one message: counted, or the caller's total spread over them by length. */
export function priceOf(
  pieces: readonly Piece[],
  { measure, total }: {
    readonly measure: (text: string) => number;
    /** Tokens that the message costs, as the caller says. */
    readonly total: number | undefined;
  },
): readonly number[] {
  if (total === undefined) {
    return pieces.map((piece) =>
      measure(piece.text) + measure(piece.name ?? "") + (piece.files ?? 0) * FILE_TOKENS + OVERHEAD
    );
  }
  const weights = pieces.map((piece) => piece.text.length + (piece.files ?? 0) * FILE_TOKENS * 4 + 1);
  const sum = weights.reduce((a, b) => a + b, 0);
  const shares = weights.map((weight) => Math.floor(total * weight / sum));
  // What rounding left over goes to the first, so that the message costs what the caller says.
  return shares.map((tokens, index) =>
    index === 0 ? tokens + total - shares.reduce((a, b) => a + b, 0) : tokens
  );
}

/**
 * Refuses counts that are none, or too few or too many.
 *
 * @throws SelvageError `bad_tokens`.
 */
export function refuseTokens(tokens: readonly (number | undefined)[], messages: number): void {
  const bad = tokens.findIndex((count) =>
    count !== undefined && !(count >= 0 && count <= Number.MAX_SAFE_INTEGER)
  );
  if (tokens.length === messages && bad < 0) return;
  const found = bad < 0
    ? `${tokens.length} for ${counted(messages, "message")}`
    : `${tokens[bad]} for message ${bad}`;
  throw new SelvageError(
    "bad_tokens",
    `Cannot use the token counts: found ${found}, wanted one number a message, 0 or more`,
    { fields: { field: "tokens", ...(bad < 0 ? {} : { at: bad }) } },
  );
}
