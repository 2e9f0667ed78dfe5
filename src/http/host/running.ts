/**
 * Turns that run here: new ones, answered ones, and those that another process has left.
 *
 * @module
 */
import type { TurnPorts } from "../../loop/agent.ts";
import type { TurnEvent } from "../../loop/events.ts";
import { closeLeft, wasTaken } from "../../loop/left.ts";
import { resumeTurn } from "../../loop/turn.ts";
import type { Lease, OnDisconnect } from "../../ports.ts";
import { type Limits, limitsOf, withLimits } from "../limits.ts";
import { closedTeller, turnTeller } from "../log.ts";
import type { FollowedTurn } from "../registry.ts";
import { untilLost } from "../streams.ts";
import { agentNamed, hasAgent, type HostParts, requireUp } from "./parts.ts";
import { leaseAt, type StoredTurnPlace } from "./places.ts";
import type { HostRequest } from "./request.ts";

/** A turn that is to run here. */
export interface TurnRun extends StoredTurnPlace {
  /** Ends it. */
  readonly stop: AbortController;
  readonly onDisconnect: OnDisconnect;
  /** Begins it. */
  readonly events: (ports: TurnPorts) => AsyncGenerator<TurnEvent, void>;
  /** What the log is told beside its events: the id of the request, and what was said. */
  readonly told?: { readonly request?: string; readonly input?: unknown; readonly isTakenOver?: boolean };
}

/**
 * Adds a turn to those that run here.
 *
 * @param parts The parts of the host.
 * @param run The turn. `onEnd` is called once when it runs here no more, or could not begin.
 * @throws What keeps it from beginning.
 */
export async function addTurn(
  { store, clock, drain, log, hasContent, registry }: HostParts,
  { turn, key, stop, onDisconnect, events, told = {}, onEnd = () => Promise.resolve() }: TurnRun & {
    readonly onEnd?: () => Promise<void>;
  },
): Promise<FollowedTurn> {
  const exit = drain.enter();
  const { tell, ...hooks } = log === undefined
    ? {}
    : turnTeller({ log, clock, key, turn, hasContent, ...told });
  const ports: TurnPorts = { store, clock, onClosed: closedTeller(log, key), ...hooks };
  return await registry.add({
    id: turn,
    key,
    events: events(ports),
    isOurs: untilLost({ isElsewhere: async () => await leaseAt(store, { key, turn }) !== null, tell }),
    stop,
    onDisconnect,
    onEnd() {
      // What cannot be counted now is found out when somebody is turned away by it.
      void onEnd().catch((error) => console.error("Cannot count a turn out:", error)).finally(exit);
    },
  });
}

/**
 * Adds a turn for a caller: it counts among its caller's for as long as it runs here, and ends where the client goes
 * before it has begun. A request's signal also aborts after a success, so it is heard only until then; from then on the
 * stream's own cancel is. A turn that is to go on without its client does so from the first moment on.
 *
 * @param parts The parts of the host.
 * @param request The turn, whose it is and what its caller may have; `add` is to add it with the `onEnd` that it is
 *   given, as often as it takes.
 * @throws `rate_limited`, `too_many_turns`, `shutting_down`; what `add` throws.
 */
export async function addFor(
  parts: HostParts,
  { owner, clientSignal, idempotency, limits, turn, key: { session }, stop, onDisconnect, add }:
    & HostRequest
    & Pick<TurnRun, "turn" | "key" | "stop" | "onDisconnect">
    & { readonly limits: Limits; readonly add: (onEnd: () => Promise<void>) => Promise<FollowedTurn> },
): Promise<FollowedTurn> {
  const onGone = (): void => stop.abort(new DOMException("The client has gone", "AbortError"));
  if (onDisconnect === "abort") clientSignal.addEventListener("abort", onGone, { once: true });
  try {
    const leave = await parts.quotas.enter(owner, {
      turn,
      session,
      limits,
      isShared: idempotency !== undefined,
      store: parts.store,
    });
    let hasBegun = false;
    try {
      const added = await add(async () => {
        if (hasBegun) await leave();
      });
      hasBegun = true;
      if (added.isDone) await leave();
      return added;
    } catch (error) {
      await leave({ hasStarted: false });
      // What was waited for is of no interest any more then.
      requireUp(parts, "start the turn");
      throw error;
    }
  } finally {
    clientSignal.removeEventListener("abort", onGone);
  }
}

/** Goes on with a turn that its process has left. Throws what {@link wasTaken} knows where somebody else was first. */
export async function resume(
  parts: HostParts,
  { turn, key, lease: { agent, onDisconnect } }: StoredTurnPlace & { readonly lease: Lease },
): Promise<FollowedTurn> {
  requireUp(parts, "take over the turn");
  const { drain, limits } = parts;
  const stop = new AbortController();
  const signals = { signal: stop.signal, suspend: drain.signal };
  const place = {
    ...key,
    turn,
    agent: withLimits(agentNamed(parts, { name: agent }), limitsOf(limits, key)),
  };
  const events: TurnRun["events"] = (ports) => resumeTurn({ ...place, ...signals }, ports);
  return await addTurn(parts, { turn, key, stop, onDisconnect, events, told: { isTakenOver: true } });
}

/** Goes on with a turn that has no reader any more, left by its process: it is to end all the same. */
export async function revive(parts: HostParts, place: StoredTurnPlace): Promise<void> {
  const { store, clock, log } = parts;
  const lease = (await leaseAt(store, place))?.lease;
  if (lease?.turn !== place.turn || lease.expires > clock.now()) return;
  // No process may have its agent any more: the session is not to wait for one.
  if (!hasAgent(parts, lease.agent)) {
    return await closeLeft(store, { ...place, clock, onClosed: closedTeller(log, place.key) });
  }
  try {
    (await resume(parts, { ...place, lease })).run();
  } catch (error) {
    if (!wasTaken(error)) throw error;
  }
}
