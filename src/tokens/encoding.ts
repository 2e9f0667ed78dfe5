import type { Encoding } from "./counter.ts";

/**
 * Chooses the vocabulary that a model's tokens are counted with.
 *
 * @param model Name of a model, with or without a provider in front, as in `openai/gpt-4`.
 * @returns `cl100k_base` for GPT-3.5 and GPT-4 (not 4o, 4.1 and later), else `o200k_base`: other providers keep
 *   their vocabularies to themselves, and the newest public one is the nearest to them.
 */
export function encodingOf(model: string | undefined): Encoding {
  return model !== undefined && /(?:^|[/:])gpt-(?:3\.5|35|4(?![.\do]))/i.test(model)
    ? "cl100k_base"
    : "o200k_base";
}
