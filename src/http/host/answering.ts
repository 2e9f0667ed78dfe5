/**
 * Answers to turns that wait for them; the same request twice, told by its idempotency key, is taken once.
 *
 * @module
 */
import { answerTurn } from "../../loop/turn.ts";
import type { Lease } from "../../ports.ts";
import { claimKey } from "../idempotency.ts";
import { limitsOf, withLimits } from "../limits.ts";
import { followHere, followTurn } from "./following.ts";
import { agentNamed, type HostParts, requireUp } from "./parts.ts";
import { standOf, type StoredTurnPlace } from "./places.ts";
import type { HostAnswer, StartedTurn } from "./request.ts";
import { addFor, addTurn, type TurnRun } from "./running.ts";

/**
 * Answers calls of a paused turn, or finds what an earlier request with the same idempotency key has led to.
 *
 * @returns Null where there is no such turn.
 * @throws What is wrong with the answers: `turn_not_paused`, `call_not_found`, `call_not_pending`, `bad_request`, and
 *   with an input behind them: `turn_paused`, `input_empty`, `input_too_large`; `shutting_down`, `unknown_agent`,
 *   `idempotency_key_reused`.
 */
export async function answerPaused(parts: HostParts, request: HostAnswer): Promise<StartedTurn | null> {
  requireUp(parts, "answer the turn");
  const stand = await standOf(parts.store, request);
  if (stand === null) return null;
  const { place, lease } = stand;
  const again = await answeredBefore(parts, { ...request, ...place });
  if (again !== null) return again;
  try {
    return await goOn(parts, { ...request, key: place.key, lease });
  } catch (error) {
    // The same request, sent twice at a time: the other one was first.
    const found = await answeredBefore(parts, { ...request, ...place });
    if (found !== null) return found;
    throw error;
  }
}

/** What the same request has led to before. */
async function answeredBefore(
  parts: HostParts,
  { owner, turn, idempotency, key: { session } }: HostAnswer & StoredTurnPlace,
): Promise<StartedTurn | null> {
  const known = idempotency && await claimKey(parts.store, { owner, idempotency, value: undefined });
  if (known === undefined) return null;
  const found = await followTurn(parts, { owner, turn, from: known.from ?? 0 });
  return found === null ? null : { ...found, turn, session, isReplay: true };
}

/** Goes on with the turn, once the answers have been found to fit. */
async function goOn(
  parts: HostParts,
  { owner, turn, clientSignal, idempotency, key, lease, ...answers }: HostAnswer & StoredTurnPlace & {
    readonly lease: Lease | null;
  },
): Promise<StartedTurn> {
  const { store, drain, notes } = parts;
  const { session } = key;
  // Whether it is this turn that waits, is seen when its lease is taken; the agent is needed before.
  const agentName = lease?.agent ?? "default";
  // A turn that goes on is none that starts, but it runs.
  const { turnsPerMinute: _, ...limits } = limitsOf(parts.limits, owner);
  const agent = withLimits(agentNamed(parts, { name: agentName }), limits);
  const stop = new AbortController();
  const accept = async (from: number): Promise<void> => {
    if (idempotency === undefined) return;
    await claimKey(store, { owner, idempotency, value: { turn, session, from } });
  };
  const events: TurnRun["events"] = (ports) =>
    answerTurn({
      ...key,
      agent,
      turn,
      ...answers,
      accept,
      signal: stop.signal,
      suspend: drain.signal,
    }, ports);
  const { id } = notes.of(owner);
  const run: TurnRun = {
    turn,
    key,
    stop,
    onDisconnect: lease?.onDisconnect ?? "abort",
    events,
    told: id === undefined ? {} : { request: id },
  };
  const add = (onEnd: () => Promise<void>) => addTurn(parts, { ...run, onEnd });
  const begun = await addFor(parts, { owner, clientSignal, limits, ...run, add });
  return {
    ...followHere(parts, begun, begun.first),
    turn,
    session,
    agent: agentName,
    model: agent.model.id,
    isReplay: false,
  };
}
