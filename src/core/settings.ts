/**
 * What a turn may set: how its model is to answer, in words that every provider has its own for, and when its context
 * is compacted.
 *
 * @module
 */

/** Which tools a model may call: as it likes, none, at least one, or this one. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/** Whether a call is asked for, whatever the model thinks of it. */
export function isForced(choice: ToolChoice | undefined): boolean {
  return choice === "required" || typeof choice === "object";
}

/** The form that the text of an answer has to have. */
export type AnswerFormat =
  | { readonly kind: "text" }
  /** Any JSON object. */
  | { readonly kind: "json" }
  | {
    readonly kind: "json-schema";
    readonly name: string;
    readonly description?: string;
    /** JSON Schema of the answer. */
    readonly schema: Readonly<Record<string, unknown>>;
    /** Whether the provider is to hold the answer to the schema. */
    readonly strict?: boolean;
  };

/**
 * Settings of the model calls of one turn. What is a matter of degree is left out where a provider has no place for
 * it; a form of the answer that it cannot give is refused with `setting_unsupported`.
 */
export interface ModelSettings {
  /** From 0 on; the largest that a provider takes counts in place of a larger one. */
  readonly temperature?: number;
  /** Share of the probability that is drawn from, 0 to 1. */
  readonly topP?: number;
  /** Penalty on tokens that were there before, -2 to 2. */
  readonly presencePenalty?: number;
  /** Penalty on tokens by how often they were there before, -2 to 2. */
  readonly frequencyPenalty?: number;
  /** Texts that end the answer. */
  readonly stop?: readonly string[];
  /** For answers that can be repeated, as far as the provider can. */
  readonly seed?: number;
  /** The most tokens of one answer, where that is less than the agent's own limit. */
  readonly maxOutput?: number;
  /** How much a reasoning model is to think, in its provider's own words. */
  readonly effort?: string;
  /** Which tools may be called. One that is forced is forced on the first model call alone, or the turn would never end. */
  readonly toolChoice?: ToolChoice;
  /** Whether one answer may hold several calls. */
  readonly parallelToolCalls?: boolean;
  /** The form of the answer. */
  readonly format?: AnswerFormat;
}

/** Shares of the usable window; `compactTo < compactAt < stopAt`. */
export interface CompactionSettings {
  /** Over this share a compaction is due. Default 0.65. */
  readonly compactAt?: number;
  /** Over this share the model is not called any more. Default 0.92. */
  readonly stopAt?: number;
  /** What a compaction aims at. Default 0.35. */
  readonly compactTo?: number;
  /** `full` (default), or `backward`: keep more or wait for the turn boundary. */
  readonly policy?: "full" | "backward";
}

/** What a request may set: the least and the most of each share, and the policies. */
export interface CompactionLimits {
  /** Default 0.3 to 0.9. */
  readonly compactAt?: readonly [least: number, most: number];
  /** Default 0.4 to 0.95. */
  readonly stopAt?: readonly [least: number, most: number];
  /** Default 0.1 to 0.6. */
  readonly compactTo?: readonly [least: number, most: number];
  /** Default both. */
  readonly policy?: readonly ("full" | "backward")[];
}
