/**
 * The journal of a turn: everything it stores goes through one queue, so that commits keep their order and a
 * step needs few of them. A failed commit fails the turn at its next barrier, never the process.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Clock, Commit, Entry, Lease, SessionKey, Store } from "../ports.ts";

/** How long a lease lives without a heartbeat, in milliseconds. */
export const LEASE_TTL_MS = 10_000;
/** Milliseconds between heartbeats. */
const HEARTBEAT_MS = 3_000;

/** Whose journal it is. */
export interface JournalOptions {
  readonly store: Store;
  readonly key: SessionKey;
  readonly lease: Lease;
  readonly clock: Clock;
  /** Called once when the lease is lost or a commit fails for good. */
  readonly onFailure: (error: unknown) => void;
}

/** Collects changes and commits them in order. */
export class Journal {
  readonly #options: JournalOptions;
  readonly #stop = new AbortController();
  #entries: Entry[] = [];
  #rest: Omit<Commit, "entries"> = {};
  #queue: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | null = null;
  #commits = 0;

  /** Opens the journal and starts its heartbeat. */
  constructor(options: JournalOptions) {
    this.#options = options;
    void this.#beat();
  }

  /** Commits made so far. */
  get commits(): number {
    return this.#commits;
  }

  /** Notes an entry for the next flush. */
  entry(entry: Entry): void {
    this.#entries.push(entry);
  }

  /** Notes a change of the head or a view for the next flush; a later one of the same kind replaces it. */
  change(change: Omit<Commit, "entries">): void {
    this.#rest = { ...this.#rest, ...change };
  }

  /**
   * Commits what was noted, behind everything flushed before.
   *
   * @returns Resolves when it is stored. Rejects when this or an earlier commit failed; it need not be awaited.
   */
  flush(): Promise<void> {
    const entries = this.#entries;
    const rest = this.#rest;
    this.#entries = [];
    this.#rest = {};
    const done = this.#queue.then(async () => {
      if (this.#failure !== null) throw this.#failure.error;
      if (entries.length === 0 && Object.keys(rest).length === 0) return;
      const { store, key, lease } = this.#options;
      await store.commit(key, lease, { ...rest, ...(entries.length > 0 ? { entries } : {}) });
      this.#commits++;
    }).catch((error) => {
      this.#fail(error);
      throw error;
    });
    // Kept by the failure above; without this a flush that nobody awaits would end the process.
    done.catch(() => {});
    this.#queue = done.catch(() => {});
    return done;
  }

  /** Ends the heartbeat. */
  close(): void {
    this.#stop.abort(new DOMException("The journal is closed", "AbortError"));
  }

  async #beat(): Promise<void> {
    const { store, key, lease, clock } = this.#options;
    let renewed = clock.now();
    try {
      for (;;) {
        await clock.sleep(HEARTBEAT_MS, this.#stop.signal);
        try {
          await store.renew(key, lease, LEASE_TTL_MS);
          renewed = clock.now();
        } catch (error) {
          // A store that is away for a moment costs nothing while the lease is good for another beat.
          const isLost = error instanceof SelvageError && error.code === "lease_lost";
          if (isLost || clock.now() + HEARTBEAT_MS >= renewed + LEASE_TTL_MS) throw error;
        }
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = { error };
    this.#options.onFailure(error);
  }
}
