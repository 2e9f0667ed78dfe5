/**
 * What only a provider can read of a message: signatures, encrypted reasoning, encrypted results of tools that it ran
 * itself. It goes back byte for byte in `providerOptions`, and is billed, though nobody else sees a word of it.
 *
 * @module
 */
import type { ProviderOptions } from "../core/message.ts";

/**
 * Characters of a token, about: four of the text that is encrypted there, which base64 makes five and more; what comes
 * along with it is counted nowhere else.
 */
export const OPAQUE_CHARS = 3;

/** A long run of what base64 and the like are written in. Names and ids are shorter, and sentences have blanks. */
const OPAQUE = /^[\w+/=.:-]{64,}$/;

/**
 * Characters of what only a provider can read.
 *
 * @param options Settings of a part of a message.
 */
export function opaqueChars(options: ProviderOptions | undefined): number {
  if (options === undefined) return 0;
  let chars = 0;
  const open: unknown[] = [options];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === "string") chars += OPAQUE.test(value) ? value.length : 0;
    else if (typeof value === "object" && value !== null) {
      for (const inner of Object.values(value)) if (inner !== undefined) open.push(inner);
    }
  }
  return chars;
}
