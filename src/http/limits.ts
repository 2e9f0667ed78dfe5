/**
 * How much a caller may have.
 *
 * @module
 */
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

/** The limits of a caller. */
export function limitsOf(limits: LimitsOf | undefined, principal: Principal): Limits {
  const found = typeof limits === "function" ? limits(principal) : limits ?? {};
  for (const name of ["turnsPerMinute", "concurrentTurns", "steps", "tokens", "seconds"] as const) {
    const limit = found[name];
    const most = name === "concurrentTurns" ? MAX_CONCURRENT : Infinity;
    if (limit !== undefined && !(limit > 0 && limit <= most)) {
      throw new RangeError(
        `Cannot use limits: found ${name} ${limit}, wanted a number over 0, up to ${most}`,
      );
    }
  }
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
