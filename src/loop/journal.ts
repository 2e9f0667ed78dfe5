/**
 * The journal of a turn: everything it stores goes through one queue, so that commits keep their order and a
 * step needs few of them. Events go along with them, or soon after by themselves where a step takes long. A failed
 * commit fails the turn at its next barrier, never the process.
 *
 * @module
 */
import type { StoredView } from "../compaction/context.ts";
import { SelvageError } from "../core/errors.ts";
import type { Clock, Commit, Entry, Lease, SessionKey, Store } from "../ports.ts";
import type { TurnEvent } from "./events.ts";
import { callAround, type Later } from "./later.ts";

/** How long a lease lives without a heartbeat, in milliseconds. */
export const LEASE_TTL_MS = 10_000;
/** Milliseconds without a commit after which the lease is renewed by itself. */
const HEARTBEAT_MS = 3_000;
/** Milliseconds between two looks whether the turn was cancelled from elsewhere. */
const LOOK_MS = 1_000;
/** Milliseconds that events wait for a commit to go along with. */
const EVENTS_WAIT_MS = 250;
/** Characters of events that are stored without waiting. */
const EVENTS_SIZE = 16_384;

/** The claim that asks for the end of a turn, whichever process runs it. */
export function cancelName(turn: string): string {
  return `cancel/${turn}`;
}

/** Whose journal it is. */
export interface JournalOptions {
  readonly store: Store;
  readonly key: SessionKey;
  readonly lease: Lease;
  readonly clock: Clock;
  /** What the view in force says of its making: the entry that follows it tells of it, too. */
  readonly made?: StoredView["made"];
  /** Called once when the lease is lost or a commit fails for good. */
  readonly onFailure: (error: unknown) => void;
  /** Called once when the turn was cancelled from elsewhere. */
  readonly onCancel: () => void;
}

/** Collects changes and commits them in order. */
export class Journal {
  readonly #options: JournalOptions;
  readonly #beat: Later;
  readonly #soon: Later;
  /** Each takes back what is to be done next. */
  #stopBeat: () => void;
  #stopSoon = (): void => {};
  #entries: Entry[] = [];
  #events: TurnEvent[] = [];
  #eventsSize = 0;
  #isWaiting = false;
  #isCancelled = false;
  #isClosed = false;
  /** When the lease was renewed, in milliseconds since the epoch. */
  #renewed: number;
  #rest: Omit<Commit, "entries" | "events"> = {};
  #queue: Promise<void> = Promise.resolve();
  #made: StoredView["made"];
  #failure: { readonly error: unknown } | null = null;

  /** Opens the journal and starts its heartbeat. */
  constructor(options: JournalOptions) {
    this.#options = options;
    this.#made = options.made;
    const { clock } = options;
    const fail = (error: unknown): void => this.#fail(error);
    // Also a clock may throw, and nobody waits for a look.
    this.#beat = { clock, call: () => void this.#look().catch(fail), fail };
    this.#soon = { clock, call: () => this.#flushEvents(), fail };
    this.#renewed = clock.now();
    this.#stopBeat = callAround(LOOK_MS, this.#beat);
  }

  /** Notes an entry for the next flush. */
  entry(entry: Entry): void {
    this.#entries.push(withNote(entry, this.#made));
  }

  /** Notes a change of the head or a view for the next flush; a later one of the same kind replaces it. */
  change(change: Omit<Commit, "entries" | "events">): void {
    this.#rest = { ...this.#rest, ...change };
    if (change.view !== undefined) this.#made = (change.view.value as StoredView).made;
  }

  /** Notes an event for the next flush, which comes by itself when there are many, or none for a while. */
  event(event: TurnEvent): void {
    this.#events.push(event);
    this.#eventsSize += sizeOf(event);
    if (this.#eventsSize >= EVENTS_SIZE) void this.flush();
    else if (!this.#isWaiting && !this.#isClosed) {
      this.#isWaiting = true;
      this.#stopSoon = callAround(EVENTS_WAIT_MS, this.#soon);
    }
  }

  /**
   * Commits what was noted, behind everything flushed before.
   *
   * @returns Resolves when it is stored. Rejects when this or an earlier commit failed; it need not be awaited.
   */
  flush(): Promise<void> {
    const entries = this.#entries;
    const events = this.#events;
    const rest = this.#rest;
    this.#entries = [];
    this.#events = [];
    this.#eventsSize = 0;
    this.#rest = {};
    const done = this.#queue.then(async () => {
      if (this.#failure !== null) throw this.#failure.error;
      if (entries.length === 0 && events.length === 0 && Object.keys(rest).length === 0) return;
      const { store, key, lease, clock } = this.#options;
      const now = clock.now();
      // A turn that stores something now and then needs no heartbeat.
      await store.commit(key, lease, {
        ...rest,
        ttlMs: LEASE_TTL_MS,
        ...(entries.length > 0 ? { entries } : {}),
        ...(events.length > 0 ? { events } : {}),
      });
      this.#renewed = now;
    }).catch((error) => {
      this.#fail(error);
      throw error;
    });
    // Kept by the failure above; without this a flush that nobody awaits would end the process.
    done.catch(() => {});
    this.#queue = done.catch(() => {});
    return done;
  }

  /** Ends the heartbeat. The last flush has taken all events along. */
  close(): void {
    this.#isClosed = true;
    this.#stopBeat();
    this.#stopSoon();
  }

  /** Stores events that nothing else has taken along. */
  #flushEvents(): void {
    this.#isWaiting = false;
    if (this.#events.length > 0) void this.flush();
  }

  /** Looks whether the turn was cancelled, and keeps the lease. */
  async #look(): Promise<void> {
    const { store, key, lease, clock, onCancel } = this.#options;
    try {
      if (!this.#isCancelled && await store.claim(key, cancelName(lease.turn)) !== undefined) {
        this.#isCancelled = true;
        onCancel();
      }
      const since = clock.now() - this.#renewed;
      // Of a clock that was set back the lease is good for as much longer: whoever waits for its end need not.
      if (since >= HEARTBEAT_MS || since < 0) {
        await store.renew(key, lease, LEASE_TTL_MS);
        this.#renewed = clock.now();
      }
    } catch (error) {
      // A store that is away for a moment costs nothing while the lease is good for another beat.
      const isLost = error instanceof SelvageError && error.code === "lease_lost";
      if (isLost || clock.now() + HEARTBEAT_MS >= this.#renewed + LEASE_TTL_MS) {
        if (!this.#isClosed) this.#fail(error);
        return;
      }
    }
    if (!this.#isClosed) this.#stopBeat = callAround(LOOK_MS, this.#beat);
  }

  #fail(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = { error };
    this.#options.onFailure(error);
  }
}

/** An entry, and what the view says of its making where it follows that. */
export function withNote(entry: Entry, made: StoredView["made"]): Entry {
  return made?.at === entry.seq ? { ...entry, compacted: made.note } : entry;
}

/** Says whether a lease was lost because its session was deleted. */
export function isDeleted(error: unknown): boolean {
  return error instanceof SelvageError && error.code === "lease_lost" && error.fields["isDeleted"] === true;
}

/** About how many characters an event takes; only deltas come in numbers. */
function sizeOf(event: TurnEvent): number {
  switch (event.type) {
    case "text.delta":
    case "reasoning.delta":
      return 64 + event.text.length;
    case "tool.input.delta":
      return 128 + event.delta.length;
    case "tool.progress":
      return 128 + (JSON.stringify(event.data)?.length ?? 0);
    default:
      return 256;
  }
}
