/**
 * What a provider bills for one model call.
 *
 * @module
 */

/** Tokens that a provider billed for one model call, in one normalised form. */
export interface Usage {
  /** Every token of the request, cached ones included. */
  readonly inputTokens: number;
  /** Every token of the answer, reasoning included. */
  readonly outputTokens: number;
  /** The part of `inputTokens` that was read from a cache. */
  readonly cachedTokens?: number;
}
