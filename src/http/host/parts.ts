/**
 * What the host of turns works with, whatever it does with a turn.
 *
 * @module
 */
import { SelvageError } from "../../core/errors.ts";
import type { Agent } from "../../loop/agent.ts";
import { systemClock } from "../../loop/clock.ts";
import { randomId } from "../../loop/ids.ts";
import type { Clock, Store } from "../../ports.ts";
import { Drain } from "../drain.ts";
import type { LimitsOf } from "../limits.ts";
import type { Log } from "../log.ts";
import type { Notes } from "../notes.ts";
import type { AppOptions } from "../options.ts";
import { Quotas } from "../quotas.ts";
import { TurnRegistry } from "../registry.ts";

/** The parts of a host. */
export interface HostParts {
  readonly agents: Readonly<Record<string, Agent>>;
  readonly store: Store;
  readonly clock: Clock;
  readonly drain: Drain;
  readonly newId: (kind: "turn" | "session") => string;
  readonly limits: LimitsOf | undefined;
  readonly quotas: Quotas;
  readonly notes: Notes;
  readonly log: Log | undefined;
  /** Whether the log gets what was said. */
  readonly hasContent: boolean;
  /** The turns that run here. */
  readonly registry: TurnRegistry;
  /** Turns with an idempotency key that are about to begin here, by id. */
  readonly starting: Map<string, Promise<unknown>>;
  /** What ends those that are about to begin here, by id. */
  readonly beginning: Map<string, AbortController>;
}

/** Makes the parts of the host of an app. */
export function makeParts(options: AppOptions, notes: Notes): HostParts {
  const { agents, store, limits, log, logContent = false, clock = systemClock, drain = new Drain() } =
    options;
  return {
    agents,
    store,
    clock,
    drain,
    newId: options.newId ?? ((kind) => randomId(kind === "turn" ? "t" : "s")),
    limits,
    quotas: new Quotas({ store, clock, notes }),
    notes,
    log,
    hasContent: logContent,
    ...noTurns(),
  };
}

/** The same parts over another store: its turns are others, and count for their callers as those here do. */
export function withStore(parts: HostParts, store: Store): HostParts {
  return { ...parts, store, ...noTurns() };
}

function noTurns(): Pick<HostParts, "registry" | "starting" | "beginning"> {
  return { registry: new TurnRegistry(), starting: new Map(), beginning: new Map() };
}

/** Whether there is an agent of a name. */
export function hasAgent({ agents }: HostParts, name: string): boolean {
  return Object.hasOwn(agents, name);
}

/**
 * The agent of a name.
 *
 * @param parts The parts of the host.
 * @param wanted Its name, and what cannot be done to the turn without it. Default `start`.
 * @throws SelvageError `unknown_agent`.
 */
export function agentNamed(
  parts: HostParts,
  { name, action = "start" }: { readonly name: string; readonly action?: string },
): Agent {
  const agent = hasAgent(parts, name) ? parts.agents[name] : undefined;
  if (agent !== undefined) return agent;
  const names = Object.keys(parts.agents).join(", ");
  throw new SelvageError(
    "unknown_agent",
    `Cannot ${action} the turn: found no agent ${JSON.stringify(name)}, wanted one of ${names}`,
  );
}

/** Throws `shutting_down` once the service goes down; `action` says what cannot be done then. */
export function requireUp({ drain }: HostParts, action: string): void {
  if (!drain.signal.aborted) return;
  throw new SelvageError(
    "shutting_down",
    `Cannot ${action}: the service is going down, try again in a moment`,
  );
}
