/**
 * The lease of a session for a new turn: what stands in the way is waited for, or closed.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Clock, LeasedSession, LeaseRequest, SessionKey, Store } from "../ports.ts";
import type { TurnPorts, TurnRequest } from "./agent.ts";
import { LEASE_TTL_MS } from "./journal.ts";
import { closeLeft, type LeftPlace } from "./left.ts";
import { cancelled, isNever, turnName } from "./turn_name.ts";

/** Milliseconds between two looks at a lease that somebody else holds. */
const LEASE_POLL_MS = 250;

/**
 * Takes the lease; waits out one that is still alive, as that of a crashed process is for a while. What another
 * turn left unfinished is closed first, unless that turn is to go on.
 */
export async function takeLease(
  request: TurnRequest,
  { ports, clock, key, turn, begin }: {
    readonly ports: TurnPorts;
    readonly clock: Clock;
    readonly key: SessionKey;
    readonly turn: string;
    /** Gives what is stored with the lease. */
    readonly begin: NonNullable<LeaseRequest["begin"]>;
  },
): Promise<LeasedSession> {
  const { agentName: agent = "default", onDisconnect, onPaused } = request;
  const asked = { agent, owner: turn, turn, begin, ...(onDisconnect === undefined ? {} : { onDisconnect }) };
  const take = async () => {
    try {
      return await acquireFree(ports.store, {
        key,
        clock,
        request: asked,
        onPaused,
        onClosed: ports.onClosed,
      });
    } catch (error) {
      // One that is cancelled while it waits need not wait on.
      if (isNever(await ports.store.claim(key, turnName(turn)))) throw cancelled();
      throw error;
    }
  };
  const isQueued = request.whenBusy === "enqueue";
  // The same turn, asked for twice at a time, is not waited for: whoever asks follows it.
  return await whileRunning(take, {
    clock,
    signals: [request.signal, request.suspend],
    isBusy: (running) => running !== turn,
    isPatient: isQueued,
  });
}

/** Takes a lease that nobody holds; what another turn left unfinished is closed first, unless it is to go on. */
export async function acquireFree(
  store: Store,
  { key, clock, request, onPaused, onClosed }: {
    readonly key: SessionKey;
    readonly clock: Clock;
    readonly request: Omit<LeaseRequest, "ttlMs">;
    readonly onPaused?: TurnRequest["onPaused"] | undefined;
    readonly onClosed?: TurnPorts["onClosed"] | undefined;
  },
): Promise<LeasedSession> {
  for (;;) {
    try {
      return await store.acquire(key, { ...request, ttlMs: LEASE_TTL_MS });
    } catch (error) {
      const left = turnInTheWay(error, onPaused);
      if (left === null) throw error;
      await closeLeft(store, { key, clock, ...left, ...(left.takeover === "paused" ? {} : { onClosed }) });
    }
  }
}

/** Tries again while a lease is alive, as that of a crashed process is for a while. */
export async function whileRunning<T>(
  take: () => Promise<T>,
  { clock, signals, isBusy = () => true, isPatient = false }: {
    readonly clock: Clock;
    /** Each of them ends the wait. */
    readonly signals: readonly (AbortSignal | undefined)[];
    /** Whether it is worth while to wait for the turn that runs. */
    readonly isBusy?: (turn: unknown) => boolean;
    /** Whether to wait for as long as it takes. */
    readonly isPatient?: boolean;
  },
): Promise<T> {
  const until = isPatient ? Infinity : clock.now() + LEASE_TTL_MS + LEASE_POLL_MS;
  for (;;) {
    try {
      return await take();
    } catch (error) {
      const isRunning = error instanceof SelvageError && error.code === "turn_running";
      if (!isRunning || !isBusy(error.fields["turn"]) || clock.now() >= until) throw error;
      await clock.sleep(LEASE_POLL_MS, anyOf(...signals));
    }
  }
}

/**
 * The turn that a new one closes: left by its process, where it does not go on without readers, or waiting for answers
 * that are not to come any more.
 */
function turnInTheWay(
  error: unknown,
  onPaused: TurnRequest["onPaused"],
): Pick<LeftPlace, "turn" | "takeover"> | null {
  if (!(error instanceof SelvageError)) return null;
  const turn = String(error.fields["turn"]);
  if (error.code === "turn_interrupted" && error.fields["onDisconnect"] === "abort") return { turn };
  return error.code === "turn_paused" && onPaused === "abort" ? { turn, takeover: "paused" } : null;
}

/** Aborts with the first of two signals that may be there. */
function anyOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal | undefined {
  const all = signals.filter((signal) => signal !== undefined);
  return all.length > 1 ? AbortSignal.any(all) : all[0];
}
