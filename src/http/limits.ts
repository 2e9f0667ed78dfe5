/**
 * How much a caller may have.
 *
 * @module
 */
import { number, oneOf, optionsOf, requireOptions, type Rules, whole } from "../core/options.ts";
import type { Agent } from "../loop/agent.ts";
import type { Principal } from "./auth.ts";

/** Limits of one caller. What is left out is not limited. */
export interface Limits {
  /** Turns started in a minute; what was not used is there at once, up to this number. */
  readonly turnsPerMinute?: number;
  /** Turns that run at the same time, at most 500. */
  readonly concurrentTurns?: number;
  /** Model calls in one turn; an agent's own `maxSteps` counts where it is less. */
  readonly steps?: number;
  /** Tokens that one turn is billed, in and out, the summarizer's among them. The step in hand is finished. */
  readonly tokens?: number;
  /** Seconds that one turn may take. */
  readonly seconds?: number;
  /** Who shares the turns: each `user` has them for itself (default), or all of a `tenant` together. */
  readonly per?: "user" | "tenant";
}

/** Limits for all, or by caller. */
export type LimitsOf = Limits | ((principal: Principal) => Limits);

/** Turns at the same time that can be told apart: their names have to fit into one value of a store. */
const MAX_CONCURRENT = 500;

const some = (most: number) => number(`a number over 0, up to ${most}`, { least: Number.MIN_VALUE, most });

/** What limits have to be. */
export const LIMITS: Rules<Limits> = {
  turnsPerMinute: some(Infinity),
  concurrentTurns: some(MAX_CONCURRENT),
  steps: whole("a whole number of steps, 1 or more", { least: 1 }),
  tokens: some(Infinity),
  seconds: some(Infinity),
  per: oneOf("user", "tenant"),
};
const rules = optionsOf(LIMITS);

/** The limits of a caller; those that a function gives are checked as all others are. */
export function limitsOf(limits: LimitsOf | undefined, principal: Principal): Limits {
  if (typeof limits !== "function") return limits ?? {};
  const found = limits(principal);
  requireOptions("use the limits of a caller", found, rules);
  return found;
}

/** An agent that keeps to limits. */
export function withLimits(agent: Agent, { steps, tokens, seconds }: Limits): Agent {
  if (steps === undefined && tokens === undefined && seconds === undefined) return agent;
  const { maxSteps = 50, maxTokens = Infinity, maxMs = Infinity } = agent;
  return {
    ...agent,
    maxSteps: Math.min(maxSteps, steps ?? Infinity),
    maxTokens: Math.min(maxTokens, tokens ?? Infinity),
    maxMs: Math.min(maxMs, seconds === undefined ? Infinity : seconds * 1_000),
  };
}
