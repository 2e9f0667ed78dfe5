/**
 * What the options of an agent and of a tool have to be, checked where they are given.
 *
 * @module
 */
import {
  byName,
  hasMethods,
  listOf,
  number,
  oneOf,
  optionsOf,
  orFunction,
  requireOptions,
  type Rule,
  rule,
  type Rules,
  text,
  whole,
  yesOrNo,
} from "../core/options.ts";
import type { CompactionLimits, CompactionSettings } from "../core/settings.ts";
import type { Model } from "../ports.ts";
import type { Agent } from "./agent.ts";

const SHARE = "a share of the usable window, over 0 and up to 1";
const share = number(SHARE, { least: Number.MIN_VALUE, most: 1 });
const bounds = rule(
  "the least and the most share: [0.3, 0.9]",
  (value) => Array.isArray(value) && value.length === 2 && value.every((bound) => typeof bound === "number"),
);
const policy = oneOf("full", "backward");

/** Shares and policy of compaction. */
export const COMPACTION: Rules<CompactionSettings> = {
  compactAt: share,
  stopAt: share,
  compactTo: share,
  policy,
};

const LIMITS: Rules<CompactionLimits> = {
  compactAt: bounds,
  stopAt: bounds,
  compactTo: bounds,
  policy: listOf("a list of policies", policy),
};

const MODEL = "one such as openaiChat(), anthropic(), or aiSdk() around a model of the AI SDK";

/** A model: what streams and has a window. */
export const aModel: Rule = (value) => {
  const { stream, window } = (value ?? {}) as Partial<Record<keyof Model, unknown>>;
  if (value !== undefined && typeof stream === "function" && Number.isFinite(window)) return null;
  const lacks = typeof stream === "function" ? "window" : "stream";
  return { field: "", found: value === undefined ? "no model" : `a model without a ${lacks}`, wanted: MODEL };
};

const aTool = rule(
  "a tool, as defineTool() makes it",
  (value) => hasMethods(value, ["parse"]) && typeof (value as { readonly name?: unknown }).name === "string",
);
const anAiSdkTool = rule("a tool of the AI SDK", (value) => typeof value === "object" && value !== null);
const toolList = listOf("a list of tools", aTool);
const toolSet = byName("a list of tools, or a tool set of the AI SDK", anAiSdkTool);

/** Tools, as a list of our own or as a tool set of the AI SDK. */
export const someTools: Rule = (value) => (Array.isArray(value) ? toolList : toolSet)(value);

const MS = "milliseconds, over 0";
const AGENT: Rules<Agent> = {
  model: aModel,
  system: text,
  tools: orFunction(someTools),
  recall: yesOrNo,
  maxSteps: whole("a whole number of steps, 1 or more", { least: 1 }),
  maxTokens: number("tokens, over 0", { least: Number.MIN_VALUE }),
  maxMs: number(MS, { least: Number.MIN_VALUE }),
  toolTimeoutMs: number(MS, { least: Number.MIN_VALUE }),
  toolConcurrency: whole("a whole number of calls, 1 or more", { least: 1 }),
  compaction: optionsOf(COMPACTION),
  compactionLimits: optionsOf(LIMITS),
  summarizer: aModel,
  graceMs: number("milliseconds, 0 or more", { least: 0 }),
};
const anAgent = optionsOf(AGENT, ["model"]);

/** Agents that were found to be as they have to be: one that is asked in every turn is looked at once. */
const known = new WeakSet<object>();

/**
 * Throws where an agent has an option that nobody knows, or one of another kind.
 *
 * @param agent What was given as an agent.
 * @param action What cannot be done otherwise.
 * @throws {TypeError} Naming the option, what was found and what is wanted.
 */
export function requireAgent(agent: Agent, action: string): void {
  if (typeof agent === "object" && known.has(agent)) return;
  requireOptions(action, agent, anAgent);
  known.add(agent);
}
