/**
 * What compaction of somebody else's loop can be told.
 *
 * @module
 */
import type { CompactionSettings } from "../compaction/budget.ts";
import {
  aClock,
  aFunction,
  anything,
  byName,
  hasMethods,
  listOf,
  number,
  optionsOf,
  requireOptions,
  rule,
  type Rules,
  text,
  whole,
  yesOrNo,
} from "../core/options.ts";
import { COMPACTION } from "../loop/agent_options.ts";
import type { TurnEventBody } from "../loop/events.ts";
import type { AiSdkLanguageModel } from "../models/ai_sdk_types.ts";
import type { Clock, Owner, Store } from "../ports.ts";
import type { LoopMessage } from "./types.ts";

/** What a summarizer of the caller's own is asked. */
export interface SummaryAsked {
  /** What to do, and in which form to answer; an answer in plain text is taken, too. */
  readonly system: string;
  /** The removed messages as data, one entry a line. */
  readonly prompt: string;
  /** The most tokens of the answer. */
  readonly maxOutputTokens: number;
  /** Aborts when the answer is not waited for any longer. */
  readonly abortSignal: AbortSignal;
}

/** Writes prose beside the ledger. */
export type Summarize = (asked: SummaryAsked) => string | PromiseLike<string>;

/** What happened to the context: what a turn of our own tells, too. */
export type CompactStepsEvent = Extract<TurnEventBody, { readonly type: "compaction" | "context" | "error" }>;

/** Settings of `compactSteps()`. */
export interface CompactStepsOptions extends CompactionSettings {
  /** Tokens of request and answer together that the model can hold. */
  readonly window: number;
  /** The most tokens of one answer. Default: a fifth of the window. */
  readonly maxOutput?: number;
  /** Tokens of system text and tool definitions. Default: learned from the first bill. */
  readonly fixed?: number;
  /** Billed tokens for one `o200k_base` token of text, until bills teach better. Default: by the model's name. */
  readonly tokenFactor?: number;
  /** Remembers views for other processes. Default: in memory alone. */
  readonly store?: Pick<Store, "claim">;
  /** Whose the views in the store are. Default tenant `local`. */
  readonly owner?: Owner;
  /** Writes prose beside the ledger, in the background: a model of the AI SDK, or a function. Default none. */
  readonly summarize?: Summarize | AiSdkLanguageModel;
  /** Milliseconds that a step waits for the summary where the model can be called no more. Default 5,000. */
  readonly graceMs?: number;
  /** Messages of the user that stay verbatim. The task of the running turn does anyway. */
  readonly pin?: (message: LoopMessage) => boolean;
  /** Arguments that a ledger line keeps to 400 characters, by name of the tool. Paths and commands are kept anyway. */
  readonly verbatimArgs?: Readonly<Record<string, readonly string[]>>;
  /** Whether the loop has the tool `recall` that comes along, which the ledger says then. Default false. */
  readonly recall?: boolean;
  /** Told of readings, compactions and deferrals, and, as an `error`, of a store that fails. */
  readonly onEvent?: (event: CompactStepsEvent) => void;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

const TOKENS = "a whole number of tokens, over 0";
const RULES: Rules<CompactStepsOptions> = {
  ...COMPACTION,
  window: whole("the tokens that request and answer can have together: a whole number", { least: 1 }),
  maxOutput: whole(TOKENS, { least: 1 }),
  fixed: number("tokens, 0 or more", { least: 0 }),
  tokenFactor: number("a number over 0", { least: Number.MIN_VALUE }),
  store: rule("a store, or anything with its claim()", (value) => hasMethods(value, ["claim"])),
  owner: optionsOf<Owner>({ tenant: text, user: text }, ["tenant"]),
  // What it is told of a summarizer that is none says more than a rule could.
  summarize: anything,
  graceMs: number("milliseconds, 0 or more", { least: 0 }),
  pin: aFunction,
  verbatimArgs: byName("lists of arguments by the tool's name", listOf("a list of arguments", text)),
  recall: yesOrNo,
  onEvent: aFunction,
  clock: aClock,
};
const rules = optionsOf(RULES, ["window"]);

/**
 * Throws where an option is unknown or of another kind, and where the window is missing.
 *
 * @throws {TypeError} Naming the option, what was found and what is wanted.
 */
export function requireCompactSteps(options: CompactStepsOptions): void {
  requireOptions("make compactSteps()", options, rules);
}
