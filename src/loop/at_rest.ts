/**
 * Work on a session between its turns: under its lease, so that no turn runs meanwhile, and with one commit, so that
 * all of it is stored or nothing.
 *
 * @module
 */
import type { Budget } from "../compaction/budget.ts";
import { Context, type StoredView } from "../compaction/context.ts";
import { SelvageError } from "../core/errors.ts";
import type { Clock, Commit, SessionHead, SessionKey, SessionState, Store } from "../ports.ts";
import type { ContextMeter } from "../tokens/meter.ts";
import { turnInTheWay } from "./acquire.ts";
import type { ReadyAgent } from "./agent.ts";
import { randomId } from "./ids.ts";
import { Journal, LEASE_TTL_MS } from "./journal.ts";
import { closeLeft } from "./left.ts";
import { budgetOf, measuresOf, restoreMeter, storeMeter } from "./measures.ts";

/** A session, its agent, and where it is. */
export interface RestPlace {
  readonly key: SessionKey;
  readonly agent: ReadyAgent;
  readonly store: Store;
  readonly clock: Clock;
}

/** A session that was read, as its next turn would find it. */
export interface RestedSession {
  readonly head: SessionHead;
  readonly context: Context;
  readonly meter: ContextMeter;
  readonly budget: Budget;
}

function notFound({ session }: SessionKey): SelvageError {
  return new SelvageError("session_not_found", `Cannot find the session ${JSON.stringify(session)}`);
}

async function opened(agent: ReadyAgent, { head, entries, view }: SessionState): Promise<RestedSession> {
  const budget = budgetOf(agent, head.meter);
  const context = await Context.create(entries, { view: view as StoredView | null, ...measuresOf(agent) });
  return { head, context, meter: restoreMeter({ agent, budget }, head.meter), budget };
}

/**
 * Reads a session without taking its lease.
 *
 * @throws SelvageError `session_not_found`.
 */
export async function readAtRest({ key, agent, store }: RestPlace): Promise<RestedSession> {
  const state = await store.read(key);
  if (state === null) throw notFound(key);
  return await opened(agent, state);
}

/**
 * Works on a session under its lease, and commits what comes of it.
 *
 * @param place The session, and where it is.
 * @param work Gives what is to be stored, and an answer; its signal aborts where the lease is lost.
 * @returns The answer.
 * @throws SelvageError `session_not_found`; `turn_running`, `turn_paused` or `turn_interrupted` where it is not at rest.
 */
export async function atRest<Answer>(
  place: RestPlace,
  work: (
    session: RestedSession,
    signal: AbortSignal,
  ) => Promise<{ readonly change: Omit<Commit, "entries" | "events">; readonly answer: Answer }>,
): Promise<Answer> {
  const { key, agent, store, clock } = place;
  const state = await takeRest(place);
  const { lease } = state;
  const stop = new AbortController();
  const onFailure = (error: unknown): void => stop.abort(error);
  const onCancel = (): void => stop.abort(new DOMException("The work was cancelled", "AbortError"));
  const journal = new Journal({ store, key, lease, clock, onFailure, onCancel });
  try {
    const session = await opened(agent, state);
    const { change, answer } = await work(session, stop.signal);
    stop.signal.throwIfAborted();
    const { meter, budget } = session;
    journal.change({ ...change, meter: storeMeter(agent, { meter, budget }), release: true });
    await journal.flush();
    return answer;
  } catch (error) {
    // Where not even this works, the lease runs out by itself: the first error is the one to tell.
    await store.commit(key, lease, { release: true }).catch(() => {});
    throw error;
  } finally {
    journal.close();
  }
}

/** Takes the lease, and waits for nobody; what a dead process has left unfinished is closed first. */
async function takeRest({ key, store, clock }: RestPlace): ReturnType<Store["acquire"]> {
  const head = (await store.read(key))?.head;
  if (head === undefined) throw notFound(key);
  const turn = randomId("t");
  for (;;) {
    try {
      return await store.acquire(key, { agent: head.agent, owner: turn, turn, ttlMs: LEASE_TTL_MS });
    } catch (error) {
      const left = turnInTheWay(error, undefined);
      if (left === null) throw error;
      await closeLeft(store, { key, clock, ...left });
    }
  }
}
