/**
 * Turns that wait for their session: they start one after the other, in the order in which they came here.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { TurnEvent } from "../loop/events.ts";
import type { StartedTurn, StartRequest } from "./host.ts";
import type { Following } from "./registry.ts";
import { refusedEvents } from "./streams.ts";

/** Turns that may wait for one session in one process. */
const MAX_WAITING = 16;

/** Those that wait for one session. */
interface Line {
  readonly waiting: number;
  /** Settles when the last of them has begun, or never will. */
  readonly last: Promise<unknown>;
}

/** The turns that wait in one app. */
export class TurnQueue {
  readonly #start: (request: StartRequest) => Promise<StartedTurn>;
  readonly #lines = new Map<string, Line>();

  /** Makes a queue in front of what starts turns. */
  constructor(start: (request: StartRequest) => Promise<StartedTurn>) {
    this.#start = start;
  }

  /**
   * Starts a turn when those before it have begun, and its session is free.
   *
   * @throws SelvageError `queue_full`.
   */
  async start(request: StartRequest): Promise<StartedTurn> {
    const { owner: { tenant, user = "" }, session } = request;
    if (session === undefined) return await this.#start(request);
    const name = JSON.stringify([tenant, user, session]);
    const line = this.#lineOf(name, session);
    const begun = line.last.then(() => {
      request.clientSignal.throwIfAborted();
      return this.#start(request);
    });
    const last = begun.catch(() => {});
    this.#lines.set(name, { waiting: line.waiting + 1, last });
    try {
      return await begun;
    } finally {
      const { waiting = 1, last: end = last } = this.#lines.get(name) ?? {};
      if (waiting > 1) this.#lines.set(name, { waiting: waiting - 1, last: end });
      else this.#lines.delete(name);
    }
  }

  #lineOf(name: string, session: string): Line {
    const line = this.#lines.get(name) ?? { waiting: 0, last: Promise.resolve() };
    if (line.waiting < MAX_WAITING) return line;
    throw new SelvageError(
      "queue_full",
      `Cannot queue the turn: found ${MAX_WAITING} that wait for session "${session}", wanted less than that`,
      { fields: { session, limit: MAX_WAITING } },
    );
  }

  /**
   * The same as events that are there at once: an error, and an end, where the turn cannot start.
   *
   * @throws SelvageError `queue_full`.
   */
  follow(request: Omit<StartRequest, "clientSignal">): Following {
    const { owner: { tenant, user = "" }, session } = request;
    if (session !== undefined) this.#lineOf(JSON.stringify([tenant, user, session]), session);
    const gone = new AbortController();
    const begun = this.start({ ...request, clientSignal: gone.signal });
    // Its failure is told where the events are read.
    begun.catch(() => {});
    async function* events(): AsyncGenerator<TurnEvent, void> {
      let started: StartedTurn;
      try {
        started = await begun;
      } catch (error) {
        // Who has gone is told nothing.
        if (!gone.signal.aborted) yield* refusedEvents(error);
        return;
      }
      yield* started.events;
    }
    return {
      events: events(),
      leave: async () => {
        gone.abort(new DOMException("The client has gone", "AbortError"));
        await begun.then(({ leave }) => leave(), () => {});
      },
    };
  }
}
