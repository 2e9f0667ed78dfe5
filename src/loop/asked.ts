/**
 * What a request adds to its agent for one turn. It is stored with the turn's input, so that whoever takes the turn
 * over asks the model in the same way.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { isForced, type ModelSettings } from "../core/settings.ts";
import type { Agent } from "./agent.ts";
import { budgetOf } from "./measures.ts";

/** Instructions and settings of one turn. */
export interface Asked {
  /** Instructions of the caller, after the agent's own. */
  readonly instructions?: string;
  /** How the model is to answer. */
  readonly settings?: ModelSettings;
}

/** Nothing but these two, and each only where there is one. */
export function askedOf({ instructions, settings }: Asked): Asked {
  return {
    ...(instructions === undefined || instructions.trim() === "" ? {} : { instructions }),
    ...(settings === undefined ? {} : { settings }),
  };
}

/**
 * The agent as one turn has it: the agent's own instructions come first, the caller's follow.
 *
 * @throws SelvageError `input_too_large` where the caller's instructions leave nothing for messages.
 */
export function agentFor(agent: Agent, asked: Asked): Agent {
  const { instructions } = askedOf(asked);
  if (instructions === undefined) return agent;
  const system = agent.system === undefined || agent.system === ""
    ? instructions
    : `${agent.system}\n\n${instructions}`;
  const made = { ...agent, system };
  try {
    budgetOf(made);
  } catch (error) {
    // The agent by itself fits: that was seen to when the app was made.
    throw new SelvageError(
      "input_too_large",
      `Cannot start the turn: found instructions of ${instructions.length} characters that leave nothing of the ` +
        "window for messages, wanted shorter ones",
      { cause: error, fields: { field: "instructions" } },
    );
  }
  return made;
}

/** The settings of a model call: a tool that is forced is forced once, or no turn would ever end. */
export function settingsFor({ settings }: Asked, isFirst: boolean): { readonly settings?: ModelSettings } {
  if (settings === undefined) return {};
  if (isFirst || !isForced(settings.toolChoice)) return { settings };
  return { settings: { ...settings, toolChoice: "auto" } };
}
