/**
 * Work on a session between its turns: under its lease, so that no turn runs meanwhile, and with one commit, so that
 * all of it is stored or nothing.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Clock, Commit, SessionKey, Store } from "../ports.ts";
import { acquireFree } from "./acquire.ts";
import type { ReadyAgent } from "./agent.ts";
import { randomId } from "./ids.ts";
import { Journal } from "./journal.ts";
import { measured, type MeasuredSession } from "./measured.ts";
import { storeMeter } from "./measures.ts";

/** A session, its agent, and where it is. */
export interface RestPlace {
  readonly key: SessionKey;
  readonly agent: ReadyAgent;
  readonly store: Store;
  readonly clock: Clock;
}

function notFound({ session }: SessionKey): SelvageError {
  return new SelvageError("session_not_found", `Cannot find the session ${JSON.stringify(session)}`);
}

/**
 * Reads a session without taking its lease.
 *
 * @throws SelvageError `session_not_found`.
 */
export async function readAtRest({ key, agent, store }: RestPlace): Promise<MeasuredSession> {
  const state = await store.read(key);
  if (state === null) throw notFound(key);
  return await measured(agent, state);
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
    session: MeasuredSession,
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
    const session = await measured(agent, state);
    const { change, answer } = await work(session, stop.signal);
    stop.signal.throwIfAborted();
    const { meter, budget, head: { meter: before } } = session;
    journal.change({ ...change, meter: storeMeter(agent, { meter, budget, before }), release: true });
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

/** What a turn in the way is found doing. */
const FOUND: Partial<Record<string, string>> = {
  turn_running: "running",
  turn_paused: "waiting for answers",
  turn_interrupted: "left unfinished by its process",
};

/** Takes the lease, and waits for nobody; what a dead process has left unfinished is closed first. */
async function takeRest({ key, store, clock }: RestPlace): ReturnType<Store["acquire"]> {
  const head = (await store.read(key))?.head;
  if (head === undefined) throw notFound(key);
  const turn = randomId("t");
  try {
    return await acquireFree(store, { key, clock, request: { agent: head.agent, owner: turn, turn } });
  } catch (error) {
    if (!(error instanceof SelvageError) || !Object.hasOwn(FOUND, error.code)) throw error;
    // Whoever asks has started no turn: the one in the way is all that they know.
    const { code, fields } = error;
    const found = `turn ${JSON.stringify(fields["turn"])} ${FOUND[code]}`;
    throw new SelvageError(
      code,
      `Cannot work on session ${JSON.stringify(key.session)}: found ${found}, wanted it between two turns`,
      { fields, cause: error },
    );
  }
}
