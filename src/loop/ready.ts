/**
 * The tools of an agent for one caller, where they are not the same for all or come and go.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { requireOptions } from "../core/options.ts";
import type { Clock, SessionKey } from "../ports.ts";
import type { Agent, ReadyAgent } from "./agent.ts";
import { requireAgent, someTools } from "./agent_options.ts";
import { bounded } from "./bounded.ts";
import { systemClock } from "./clock.ts";
import { budgetOf, fixedTokens } from "./measures.ts";
import { ownTools } from "./tool_set.ts";

/** Milliseconds after which nobody waits for tools any more. */
const TOOLS_MS = 30_000;

/**
 * An agent with its tools at hand.
 *
 * @param agent The agent.
 * @param options Whose session it is, and what ends the wait.
 * @throws SelvageError `tools_unavailable` where the agent's function of tools throws, or does not answer,
 *   `tools_too_large` where what it gives leaves no room for messages; a TypeError where it gives two tools of one name, or an option of
 *   the agent is unknown or of the wrong kind;
 *   the signal's reason.
 */
export async function readyAgent(
  agent: Agent,
  { key, signal = new AbortController().signal, clock = systemClock }: {
    readonly key: SessionKey;
    readonly signal?: AbortSignal | undefined;
    readonly clock?: Clock | undefined;
  },
): Promise<ReadyAgent> {
  requireAgent(agent, "run the turn");
  const { tools } = agent;
  if (typeof tools !== "function") return knownAgent(agent);
  signal.throwIfAborted();
  const { tenant, user, session } = key;
  const caller = { tenant, ...(user === undefined ? {} : { user }), session };
  const found = await bounded(() => tools(caller), { signal, clock, timeoutMs: TOOLS_MS }).catch((cause) => {
    throw unavailable("they could not be found out", cause);
  });
  signal.throwIfAborted();
  if (found.kind !== "done") throw unavailable(`they were not there in ${TOOLS_MS} ms`);
  requireOptions("run the turn with the tools that were found out", found.value, someTools);
  requireNames(ownTools(found.value).map(({ name }) => name), "run the turn");
  const ready = { ...agent, tools: found.value };
  requireFit(ready);
  return ready;
}

/** What an agent knows beforehand is held against its window when the app is made; tools that are found out, here. */
function requireFit(agent: ReadyAgent): void {
  try {
    budgetOf(agent);
  } catch (cause) {
    if (!(cause instanceof SelvageError)) throw cause;
    const { model: { window } } = agent;
    throw new SelvageError(
      "tools_too_large",
      `Cannot use the tools of the agent: found ${
        ownTools(agent.tools).length
      } of them that take, with the system ` +
        `text, about ${
          fixedTokens(agent)
        } tokens of a window of ${window} and leave too little for messages, ` +
        "wanted fewer or shorter ones, or a model with a larger window",
      { cause, fields: { tokens: fixedTokens(agent), window, retryable: false } },
    );
  }
}

/** An agent as far as it is known before anybody calls: without tools that are found out for each turn. */
export function knownAgent(agent: Agent): ReadyAgent {
  if (hasTools(agent)) return agent;
  const { tools: _, ...rest } = agent;
  return rest;
}

/** Whether the tools are the same for all: the agent then is the same object from turn to turn. */
function hasTools(agent: Agent): agent is ReadyAgent {
  return typeof agent.tools !== "function";
}

/** The first name that stands a second time in a list. */
export function firstTwice(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}

/** Throws a TypeError where two tools have one name; `action` says what cannot be done then. */
export function requireNames(names: readonly string[], action: string): void {
  const twice = firstTwice(names);
  if (twice === undefined) return;
  throw new TypeError(`Cannot ${action}: found two tools called ${twice}, wanted one of each name`);
}

function unavailable(why: string, cause?: unknown): SelvageError {
  return new SelvageError("tools_unavailable", `Cannot get the tools of the agent: ${why}`, {
    cause,
    fields: { retryable: true },
  });
}
