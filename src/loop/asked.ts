/**
 * What a request adds to its agent for one turn. It is stored with the turn's input, so that whoever takes the turn
 * over asks the model in the same way.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { layered } from "../core/options.ts";
import { type CompactionSettings, isForced, type ModelSettings } from "../core/settings.ts";
import type { Entry, ToolSchema } from "../ports.ts";
import type { ReadyAgent } from "./agent.ts";
import { withClientTools } from "./client_tools.ts";
import { budgetOf } from "./measures.ts";

/** Instructions and settings of one turn. */
export interface Asked {
  /** Instructions of the caller, after the agent's own. */
  readonly instructions?: string;
  /** How the model is to answer. */
  readonly settings?: ModelSettings;
  /** In place of what the agent says. */
  readonly compaction?: CompactionSettings;
  /** Tools that the client brought along, and runs itself. */
  readonly clientTools?: readonly ToolSchema[];
}

/** Nothing but these, and each only where there is one. */
export function askedOf({ instructions, settings, compaction, clientTools = [] }: Asked): Asked {
  return {
    ...(instructions === undefined || instructions.trim() === "" ? {} : { instructions }),
    ...(settings === undefined || Object.keys(settings).length === 0 ? {} : { settings }),
    ...(compaction === undefined ? {} : { compaction }),
    ...(clientTools.length === 0 ? {} : { clientTools: structuredClone(clientTools) }),
  };
}

/**
 * What a turn of the log was asked with.
 *
 * @param entries The log.
 * @param turn Id of the turn.
 */
export function askedIn(entries: readonly Entry[], turn: string | undefined): Asked {
  const input = entries.find((entry) => entry.kind === "user" && entry.turn === turn);
  return input?.kind === "user" ? askedOf(input) : {};
}

/**
 * The agent as one turn has it: the agent's own instructions and tools come first, the caller's follow; the caller's
 * settings for compaction come in place of the agent's.
 *
 * @param agent The agent.
 * @param asked As {@link askedOf} gives it.
 * @throws SelvageError `input_too_large` where the caller's instructions leave nothing for messages, `bad_budget`
 *   where the caller's settings do not go together, `bad_client_tools` where its tools clash with others or leave no
 *   room.
 */
export function agentFor(agent: ReadyAgent, asked: Asked): ReadyAgent {
  const { instructions, compaction, clientTools } = asked;
  const own = compaction === undefined ? agent : withCompaction(agent, compaction, { field: "compaction" });
  return withClientTools(withInstructions(own, instructions), clientTools);
}

/**
 * An agent with other settings for compaction.
 *
 * @param agent The agent.
 * @param compaction What comes in place of its own.
 * @param options `field`: the field of the request that holds them.
 * @throws SelvageError `bad_budget` where they do not go together with the agent's own.
 */
export function withCompaction(
  agent: ReadyAgent,
  compaction: CompactionSettings,
  { field }: { readonly field: string },
): ReadyAgent {
  const made = { ...agent, compaction: layered<CompactionSettings>(agent.compaction ?? {}, compaction) };
  try {
    budgetOf(made);
  } catch (error) {
    if (!(error instanceof SelvageError)) throw error;
    throw new SelvageError(error.code, error.message, { cause: error, fields: { field } });
  }
  return made;
}

function withInstructions(agent: ReadyAgent, instructions: string | undefined): ReadyAgent {
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
