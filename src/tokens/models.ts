/**
 * What is known of models by name: window, output limit, how their provider counts. One table, the first row
 * that fits; everything in it can be overridden where a model is made.
 *
 * @module
 */

/** How a provider prices images. */
export type MediaFamily = "openai-tiles" | "openai-patches" | "anthropic" | "gemini" | "unknown";

/** What is known of a model. */
export interface ModelFacts {
  /** Tokens of request and answer together. */
  readonly window: number;
  /** The most tokens of one answer. */
  readonly maxOutput: number;
  /** Billed tokens for one `o200k_base` token of text, before a bill teaches better. */
  readonly factor: number;
  /** How images are priced. */
  readonly media: MediaFamily;
  /** `bound`: signed reasoning is refused under any other prefix than the one it was made under. */
  readonly thinking: "bound" | "unbound";
}

type Row = readonly [name: RegExp, facts: ModelFacts];

const openai = (window: number, maxOutput: number, media: MediaFamily = "openai-patches"): ModelFacts => {
  return { window, maxOutput, factor: 1, media, thinking: "unbound" };
};
// 1.11 was measured on bills of Claude 4.5 and 4.6; newer tokenizers give about 30 % more for the same text.
const claude = (window: number, maxOutput: number, factor = 1.11): ModelFacts => {
  return { window, maxOutput, factor, media: "anthropic", thinking: "unbound" };
};
const newClaude: ModelFacts = { ...claude(200_000, 64_000, 1.44), thinking: "bound" };
const gemini = (window: number, maxOutput: number): ModelFacts => {
  return { window, maxOutput, factor: 1.25, media: "gemini", thinking: "unbound" };
};

/** Unknown names get little: too small a window costs a compaction, too large a one a refused request. */
export const UNKNOWN_MODEL: ModelFacts = {
  window: 32_000,
  maxOutput: 4_000,
  factor: 1.25,
  media: "unknown",
  thinking: "unbound",
};

const TABLE: readonly Row[] = [
  [/^gpt-3\.5/, openai(16_385, 4_096, "openai-tiles")],
  [/^gpt-4(-0\d{3})?$/, openai(8_192, 4_096, "openai-tiles")],
  [/^gpt-4-32k/, openai(32_768, 4_096, "openai-tiles")],
  [/^gpt-4-(turbo|1106|0125|vision)/, openai(128_000, 4_096, "openai-tiles")],
  [/^(gpt-4o|chatgpt-4o)/, openai(128_000, 16_384, "openai-tiles")],
  [/^gpt-4\.1/, openai(1_047_576, 32_768)],
  [/^gpt-5/, openai(400_000, 128_000)],
  [/^o[134](-|$)/, openai(200_000, 100_000)],
  [/^claude-(instant|2\.0)/, claude(100_000, 4_096)],
  [/^claude-(2|3-(opus|sonnet|haiku))/, claude(200_000, 4_096)],
  [/^claude-3-5/, claude(200_000, 8_192)],
  [/^claude-opus-4(-\d{8}|-[01](-|$)|$)/, claude(200_000, 32_000)],
  [/^claude-(3-7|(sonnet|haiku|opus)-4(-[0-6])?)(-\d{8}|-latest|$)/, claude(200_000, 64_000)],
  [/^claude-haiku-4/, claude(200_000, 64_000)],
  [/^claude-/, newClaude],
  [/^gemini-1\.5-pro/, gemini(2_097_152, 8_192)],
  [/^gemini-(1\.5|2\.0)/, gemini(1_048_576, 8_192)],
  [/^gemini-/, gemini(1_048_576, 65_536)],
];

/**
 * Looks a model up by name. A provider's prefix (`openai/gpt-4o`, `anthropic.claude-…`) is passed over.
 *
 * @param name The name that requests carry.
 * @param overrides What the caller knows better.
 * @returns The facts; those of {@link UNKNOWN_MODEL} for a name that is not in the table.
 *
 * @example
 * ```ts
 * import { modelFacts } from "@selvage/selvage";
 *
 * console.log(modelFacts("gpt-4o-mini").window, modelFacts("my-model", { window: 8_000 }).window);
 * ```
 */
export function modelFacts(name: string, overrides: Partial<ModelFacts> = {}): ModelFacts {
  const bare = name.toLowerCase().replace(/^.*[/:]/, "").replace(/^(?:\w+\.)*(?=claude-)/, "");
  const facts = TABLE.find(([pattern]) => pattern.test(bare))?.[1] ?? UNKNOWN_MODEL;
  const given = Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined));
  return { ...facts, ...given };
}
