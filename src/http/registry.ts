/**
 * The turns of this process: running ones, and ended ones for a while, so that a client that lost its stream
 * finds it again.
 *
 * @module
 */
import { Broadcast } from "../loop/broadcast.ts";
import type { TurnEvent } from "../loop/events.ts";
import type { Clock } from "../ports.ts";
import type { Principal } from "./auth.ts";

/** What becomes of a turn whose last reader has gone. */
export type OnDisconnect = "abort" | "continue";

/** Milliseconds for which an ended turn can be read again. */
const KEEP_MS = 3_600_000;
/** Events of ended turns that are kept; beyond that the oldest turns go first. */
const KEEP_EVENTS = 100_000;

/** What makes a turn followable. */
export interface TurnStart {
  readonly principal: Principal;
  readonly events: AsyncGenerator<TurnEvent, void>;
  /** Ends the turn. */
  readonly stop: AbortController;
  readonly onDisconnect: OnDisconnect;
}

/** One turn that can be followed and cancelled. */
export class FollowedTurn {
  readonly #broadcast: Broadcast;
  readonly #start: TurnStart;
  /** Milliseconds since the epoch, null while the turn runs. */
  endedAt: number | null = null;

  /** Makes a turn out of its events. */
  constructor(start: TurnStart, onEnd: () => void) {
    this.#start = start;
    this.#broadcast = new Broadcast(finallyDo(start.events, onEnd));
  }

  /** Events so far. */
  get length(): number {
    return this.#broadcast.length;
  }

  /** Whether the turn has ended. */
  get isDone(): boolean {
    return this.#broadcast.isDone;
  }

  /** Whether a principal may see it. */
  belongsTo({ tenant, user }: Principal): boolean {
    return this.#start.principal.tenant === tenant && this.#start.principal.user === user;
  }

  /** Follows the turn from an event on; `leave` ends it, or lets it run by itself, when nobody else follows. */
  follow(
    from = 0,
  ): { readonly events: AsyncGenerator<TurnEvent, void>; readonly leave: () => Promise<void> } {
    const { events, leave } = this.#broadcast.follow(from);
    return {
      events,
      leave: async () => {
        leave();
        if (this.#broadcast.readers > 0 || this.isDone) return;
        if (this.#start.onDisconnect === "abort") await this.cancel("The client has gone");
      },
    };
  }

  /** Lets it run by itself, whoever follows. */
  run(): void {
    void this.#broadcast.run();
  }

  /** Ends the turn and waits until what it did is stored. */
  async cancel(reason: string): Promise<void> {
    this.#start.stop.abort(new DOMException(reason, "AbortError"));
    await this.#broadcast.run();
  }
}

/** The turns of one app, by id. */
export class TurnRegistry {
  readonly #clock: Clock;
  readonly #turns = new Map<string, FollowedTurn>();

  /** Makes an empty registry. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Starts following a turn.
   *
   * @param start Its events, of which none was taken.
   * @param onEnd Called once when it has ended.
   * @returns The turn, once its first event says how it is called.
   * @throws What keeps the turn from starting.
   */
  async add(start: TurnStart, onEnd: () => void): Promise<FollowedTurn> {
    const turn = new FollowedTurn(start, () => {
      turn.endedAt = this.#clock.now();
      onEnd();
    });
    const { events } = turn.follow();
    try {
      const { value } = await events.next();
      if (value?.type !== "turn.started") throw new Error("A turn did not begin with turn.started");
      this.#sweep();
      this.#turns.set(value.turn, turn);
      if (start.onDisconnect === "continue") turn.run();
    } finally {
      await events.return();
    }
    return turn;
  }

  /** Finds a turn that a principal may see. */
  find(principal: Principal, id: string): FollowedTurn | null {
    const turn = this.#turns.get(id);
    return turn?.belongsTo(principal) ? turn : null;
  }

  /** Forgets ended turns that are too old or too many; the map is in order of their starts. */
  #sweep(): void {
    const oldest = this.#clock.now() - KEEP_MS;
    const ended = [...this.#turns].filter(([, turn]) => turn.endedAt !== null);
    let events = ended.reduce((sum, [, turn]) => sum + turn.length, 0);
    for (const [id, turn] of ended) {
      if (events <= KEEP_EVENTS && (turn.endedAt ?? 0) >= oldest) continue;
      events -= turn.length;
      this.#turns.delete(id);
    }
  }
}

async function* finallyDo(
  events: AsyncGenerator<TurnEvent, void>,
  done: () => void,
): AsyncGenerator<TurnEvent, void> {
  try {
    yield* events;
  } finally {
    done();
  }
}
