/**
 * The turns that run in this process, so that any number of clients can follow one without the store.
 *
 * @module
 */
import { Broadcast } from "../loop/broadcast.ts";
import type { TurnEvent } from "../loop/events.ts";
import type { OnDisconnect, Owner, SessionKey } from "../ports.ts";

/** What makes a turn followable. */
export interface TurnStart {
  readonly id: string;
  readonly key: SessionKey;
  readonly events: AsyncGenerator<TurnEvent, void>;
  /** Shown each event before readers are: false where neither it nor anything behind it is to be told here. */
  readonly isOurs: (event: TurnEvent) => boolean | Promise<boolean>;
  /** Ends the turn. */
  readonly stop: AbortController;
  readonly onDisconnect: OnDisconnect;
  /** Called once when the turn has ended here. */
  readonly onEnd: () => void;
}

/** Events of a turn from some place on. */
export interface Following {
  readonly events: AsyncGenerator<TurnEvent, void>;
  /** Counts the reader as gone at once, also while it waits for an event. */
  readonly leave: () => Promise<void>;
}

/** One turn that runs here, or ran here. */
export class FollowedTurn {
  readonly #broadcast: Broadcast;
  readonly #start: TurnStart;

  /** Makes a turn out of its events, of which none was taken. */
  constructor(start: TurnStart) {
    this.#start = start;
    this.#broadcast = new Broadcast(start.events, start);
  }

  /** Number of its first event here; what was before a takeover is in the store alone. */
  get first(): number {
    return this.#broadcast.first;
  }

  /** Number of the first event that is held here. The store has those before it, or will have them soon. */
  get held(): number {
    return this.#broadcast.held;
  }

  /** Its session. */
  get key(): SessionKey {
    return this.#start.key;
  }

  /** Its id. */
  get id(): string {
    return this.#start.id;
  }

  /** Whether it no longer runs here. */
  get isDone(): boolean {
    return this.#broadcast.isDone;
  }

  /** Whether it is a turn of the session. */
  isOf(key: SessionKey): boolean {
    return this.belongsTo(key) && this.#start.key.session === key.session;
  }

  /** Whether a tenant and user may see it. */
  belongsTo({ tenant, user }: Owner): boolean {
    return this.#start.key.tenant === tenant && this.#start.key.user === user;
  }

  /** Waits until it has begun; throws what keeps it from beginning. */
  async begin(): Promise<void> {
    await this.#broadcast.advance();
    if (this.#start.onDisconnect === "continue") this.run();
  }

  /** Follows the turn from an event on that is held; `leave` ends it, or lets it run by itself, when nobody else follows. */
  follow(from = 0): Following {
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

  /** Ends the turn and waits until what it did is stored; says whether it ended by that. */
  async cancel(reason: string): Promise<boolean> {
    this.#start.stop.abort(new DOMException(reason, "AbortError"));
    await this.#broadcast.run();
    return this.#broadcast.end === "aborted";
  }
}

/** The turns that run in one app, by id. One that has ended is in the store. */
export class TurnRegistry {
  readonly #turns = new Map<string, FollowedTurn>();

  /**
   * Starts following a turn.
   *
   * @throws What keeps the turn from starting.
   */
  async add(start: TurnStart): Promise<FollowedTurn> {
    const onEnd = (): void => {
      if (this.#turns.get(start.id) === turn) this.#turns.delete(start.id);
      start.onEnd();
    };
    const turn = new FollowedTurn({ ...start, onEnd });
    await turn.begin();
    if (!turn.isDone) this.#turns.set(start.id, turn);
    return turn;
  }

  /** Finds a turn that runs here and that a tenant and user may see. */
  find(owner: Owner, id: string): FollowedTurn | null {
    const turn = this.#turns.get(id);
    return turn?.belongsTo(owner) ? turn : null;
  }

  /** The turn that runs in a session. */
  running(key: SessionKey): FollowedTurn | null {
    for (const turn of this.#turns.values()) if (turn.isOf(key)) return turn;
    return null;
  }

  /** Lets all turns run by themselves: none waits for a slow reader. */
  runAll(): void {
    for (const turn of this.#turns.values()) turn.run();
  }
}
