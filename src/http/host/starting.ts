/**
 * Turns that are started; the same request twice, told by its idempotency key, starts one.
 *
 * @module
 */
import { SelvageError } from "../../core/errors.ts";
import type { Agent } from "../../loop/agent.ts";
import { resumeTurn, runTurn } from "../../loop/turn.ts";
import type { Owner } from "../../ports.ts";
import { claimKey } from "../idempotency.ts";
import { limitsOf, withLimits } from "../limits.ts";
import type { FollowedTurn, Following } from "../registry.ts";
import { followHere, followTurn } from "./following.ts";
import { agentNamed, type HostParts, requireUp } from "./parts.ts";
import { placeOf, type StoredTurnPlace } from "./places.ts";
import type { StartedTurn, StartRequest } from "./request.ts";
import { addFor, addTurn, revive, type TurnRun } from "./running.ts";

/** Milliseconds for which a turn is looked for that a twin of its request may have started, and between two looks. */
const TWIN_MS = 500;
const TWIN_LOOK_MS = 50;

/** A request whose turn has its name, and the agent that runs it. */
type NamedRequest = StartRequest & { readonly turn: string; readonly session: string; readonly agent: Agent };

/**
 * Starts a turn, or finds the one that an earlier request with the same idempotency key has started.
 *
 * @throws What keeps a turn from starting; `shutting_down`, `unknown_agent`, `idempotency_key_reused`.
 */
export async function startTurn(parts: HostParts, request: StartRequest): Promise<StartedTurn> {
  const { owner, idempotency } = request;
  requireUp(parts, "start the turn");
  const agent = agentNamed(parts, { name: request.agentName });
  const ours = { session: request.session ?? parts.newId("session"), turn: parts.newId("turn") };
  if (idempotency === undefined) return await begin(parts, { ...request, ...ours, agent });
  const { store, starting } = parts;
  for (let attempt = 0;; attempt++) {
    const { turn, session } = await claimKey(store, { owner, idempotency, attempt, value: ours });
    if (turn !== ours.turn && await isStillborn(parts, { turn, key: { ...owner, session } })) continue;
    const replayed = (found: Following): StartedTurn => ({ ...found, turn, session, isReplay: true });
    const found = await followTurn(parts, { owner, turn });
    if (found !== null) return replayed(found);
    // The same request, sent twice at a time: one of the two starts the turn, and alone is counted.
    const twin = starting.get(turn);
    await twin?.catch(() => {});
    const started = twin === undefined ? null : await followTurn(parts, { owner, turn });
    if (started !== null) return replayed(started);
    const begun = begin(parts, { ...request, turn, session, agent });
    starting.set(turn, begun);
    try {
      return await begun;
    } catch (error) {
      const same = await startedByTwin(parts, { error, owner, turn, isFirst: turn === ours.turn });
      if (same === null) throw error;
      return replayed(same);
    } finally {
      if (starting.get(turn) === begun) starting.delete(turn);
    }
  }
}

/** The turn that a twin of a request has started, where that is what kept this one from starting it. */
async function startedByTwin(
  parts: HostParts,
  { error, owner, turn, isFirst }: {
    readonly error: unknown;
    readonly owner: Owner;
    readonly turn: string;
    readonly isFirst: boolean;
  },
): Promise<Following | null> {
  if (!(error instanceof SelvageError)) return null;
  if (/^turn_(running|exists)$/.test(error.code) && error.fields["turn"] === turn) {
    return await followTurn(parts, { owner, turn });
  }
  if (!/^(rate_limited|too_many_turns)$/.test(error.code)) return null;
  // A twin in another process may have been counted, and be about to begin.
  for (let waited = 0;; waited += TWIN_LOOK_MS) {
    const found = await followTurn(parts, { owner, turn });
    if (found !== null || isFirst || waited >= TWIN_MS) return found;
    await parts.clock.sleep(TWIN_LOOK_MS);
  }
}

/** Whether a turn got its name and nothing else: it was refused, or its process died before the input was stored. */
export async function isStillborn(
  { registry, store, clock }: HostParts,
  { turn, key }: StoredTurnPlace,
): Promise<boolean> {
  if (registry.find(key, turn) !== null || await placeOf(store, { owner: key, turn }) === null) return false;
  const stored = await store.events(key, turn, 0);
  if ((stored?.events.length ?? 0) > 0) return false;
  const lease = stored?.lease;
  if (lease?.turn === turn && lease.expires > clock.now()) return false;
  const state = await store.read(key);
  return !(state?.entries.some((entry) => entry.turn === turn) ?? false);
}

async function begin(
  parts: HostParts,
  { agent, owner, turn, session, onDisconnect, clientSignal, prepare, idempotency, ...asked }: NamedRequest,
): Promise<StartedTurn> {
  const { input } = asked;
  const { drain, notes } = parts;
  const key = { ...owner, session };
  const limits = limitsOf(parts.limits, owner);
  const stop = new AbortController();
  const signals = { signal: stop.signal, suspend: drain.signal };
  const place = { ...key, agent: withLimits(agent, limits), ...signals };
  const events: TurnRun["events"] = (ports) =>
    input === null
      ? resumeTurn({ ...place, turn }, ports)
      : runTurn({ ...asked, ...place, input, onDisconnect }, { ...ports, newId: () => turn });
  const { id } = notes.of(owner);
  const told = { ...(input === null ? {} : { input }), ...(id === undefined ? {} : { request: id }) };
  const run: TurnRun = { turn, key, stop, onDisconnect, events, told };
  const add = async (onEnd: () => Promise<void>): Promise<FollowedTurn> => {
    await prepare?.({ turn, session });
    for (;;) {
      try {
        return await addTurn(parts, { ...run, onEnd });
      } catch (error) {
        if (!(error instanceof SelvageError && error.code === "turn_interrupted")) throw error;
        // What another process has left in the session goes on first.
        await revive(parts, { key, turn: String(error.fields["turn"]) });
      }
    }
  };
  const repeated = idempotency === undefined ? {} : { idempotency };
  parts.beginning.set(turn, stop);
  try {
    const begun = await addFor(parts, { owner, clientSignal, ...repeated, limits, ...run, add });
    return { ...followHere(parts, begun, begun.first), turn, session, isReplay: false };
  } finally {
    if (parts.beginning.get(turn) === stop) parts.beginning.delete(turn);
  }
}
