/**
 * Turns that wait for their session: they start one after the other, in the order in which they came here.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { TurnEvent } from "../loop/events.ts";
import type { StartedTurn, StartRequest } from "./host/request.ts";
import type { Following } from "./registry.ts";
import { refusedEvents } from "./streams.ts";

/** Turns that may wait for one session in one process. */
const MAX_WAITING = 16;

/** Those that wait for one session. */
interface Line {
  waiting: number;
  /** Resolves when all of them have begun, or never will. */
  last: Promise<unknown>;
}

/** Waits for those before; rejects with the signal's reason once it aborts, however long they take. */
function turnCome(before: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    void before.then(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
  });
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
    return await this.#enter(request);
  }

  /** Takes the next place; throws at once where there is none. */
  #enter(request: StartRequest): Promise<StartedTurn> {
    const { owner: { tenant, user = "" }, session } = request;
    if (session === undefined) return this.#start(request);
    const name = JSON.stringify([tenant, user, session]);
    const line: Line = this.#lines.get(name) ?? { waiting: 0, last: Promise.resolve() };
    if (line.waiting >= MAX_WAITING) {
      throw new SelvageError(
        "queue_full",
        `Cannot queue the turn: found ${MAX_WAITING} that wait for session "${session}", wanted less than that`,
        { fields: { session, limit: MAX_WAITING } },
      );
    }
    this.#lines.set(name, line);
    line.waiting++;
    const begun = turnCome(line.last, request.clientSignal).then(() => this.#start(request)).finally(() => {
      if (--line.waiting === 0) this.#lines.delete(name);
    });
    // Who leaves goes out of turn: whoever comes next still waits for those before.
    line.last = Promise.allSettled([line.last, begun]).then(() => {});
    return begun;
  }

  /**
   * The same as events that are there at once: an error, and an end, where the turn cannot start.
   *
   * @param request What is asked for.
   * @param onRefused Told why it cannot, unless the client has gone.
   * @throws SelvageError `queue_full`.
   */
  follow(request: Omit<StartRequest, "clientSignal">, onRefused: (error: unknown) => void): Following {
    const gone = new AbortController();
    const begun = this.#enter({ ...request, clientSignal: gone.signal });
    let hasBegun = false;
    // Its failure is told where the events are read.
    begun.then(() => hasBegun = true, () => {});
    async function* events(): AsyncGenerator<TurnEvent, void> {
      let started: StartedTurn;
      try {
        started = await begun;
      } catch (error) {
        // Who has gone is told nothing.
        if (gone.signal.aborted) return;
        onRefused(error);
        yield* refusedEvents(error);
        return;
      }
      yield* started.events;
    }
    return {
      events: events(),
      leave: async () => {
        gone.abort(new DOMException("The client has gone", "AbortError"));
        const left = begun.then(({ leave }) => leave(), () => {});
        // What has not begun has done nothing that would have to be stored.
        if (hasBegun) await left;
      },
    };
  }
}
