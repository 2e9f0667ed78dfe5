/**
 * Sessions in memory: for tests, for trials, and for apps that keep their state elsewhere.
 *
 * @module
 */
import type { Clock, Commit, Entry, Lease, SessionHead, SessionKey, SessionState, Store } from "../ports.ts";
import { systemClock } from "../loop/clock.ts";
import {
  isWhereCommitLeads,
  type LeaseRequest,
  refuseWhileRunning,
  withCommit,
  withLongerLease,
  withNewLease,
} from "./_head.ts";
import { toText } from "./_json.ts";
import { nameOf } from "./_key.ts";

/** Settings of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /** Default: the clock of the machine. */
  readonly clock?: Clock;
}

/** Everything as JSON text: a caller who changes what it got or gave cannot change what is stored. */
interface Session {
  readonly head: string;
  readonly entries: readonly string[];
  readonly view: string;
}

const EMPTY: Omit<Session, "head"> = { entries: [], view: "null" };

/** No method awaits anything, so each one is atomic; they are `async` so that errors come as rejections. */
class MemoryStore implements Store {
  readonly #sessions = new Map<string, Session>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  #headOf(key: SessionKey): SessionHead | null {
    const session = this.#sessions.get(nameOf(key));
    return session === undefined ? null : JSON.parse(session.head);
  }

  #setHead(key: SessionKey, head: SessionHead): void {
    const { entries, view } = this.#sessions.get(nameOf(key)) ?? EMPTY;
    this.#sessions.set(nameOf(key), { head: toText(head, "the head"), entries, view });
  }

  // deno-lint-ignore require-await -- see the class
  async read(key: SessionKey): Promise<SessionState | null> {
    const session = this.#sessions.get(nameOf(key));
    if (session === undefined) return null;
    return {
      head: JSON.parse(session.head),
      entries: session.entries.map((text): Entry => JSON.parse(text)),
      view: JSON.parse(session.view),
    };
  }

  // deno-lint-ignore require-await -- see the class
  async entry(key: SessionKey, seq: number): Promise<Entry | null> {
    const text = this.#sessions.get(nameOf(key))?.entries[seq];
    return text === undefined ? null : JSON.parse(text);
  }

  async acquire(key: SessionKey, options: LeaseRequest): Promise<SessionState & { readonly lease: Lease }> {
    const now = this.#clock.now();
    const before = this.#headOf(key);
    if (before !== null) refuseWhileRunning(key, before, { turn: options.turn, now });
    const head = withNewLease(before, options, now);
    this.#setHead(key, head);
    const { entries, view } = await this.read(key) ?? { entries: [], view: null };
    return { head, entries, view, lease: { ...head.lease } };
  }

  // deno-lint-ignore require-await -- see the class
  async commit(key: SessionKey, lease: Lease, commit: Commit): Promise<void> {
    const stored = this.#sessions.get(nameOf(key)) ?? EMPTY;
    const before = this.#headOf(key);
    // Text first: what is not JSON is refused before anything has changed.
    const added = (commit.entries ?? []).map((entry) => toText(entry, `entry ${entry.seq}`));
    const view = commit.view && toText(commit.view.value, `view ${commit.view.version}`);
    if (isWhereCommitLeads(before, lease, commit)) {
      const hasLast = added.length === 0 || stored.entries.at(-1) === added.at(-1);
      if (hasLast && (view === undefined || stored.view === view)) return;
    }
    const head = withCommit(key, before, { lease, commit, now: this.#clock.now() });
    this.#sessions.set(nameOf(key), {
      head: toText(head, "the head"),
      entries: stored.entries.concat(added),
      view: view ?? stored.view,
    });
  }

  // deno-lint-ignore require-await -- see the class
  async renew(key: SessionKey, lease: Lease, ttlMs: number): Promise<void> {
    this.#setHead(key, withLongerLease(key, this.#headOf(key), { lease, ttlMs, now: this.#clock.now() }));
  }

  // deno-lint-ignore require-await -- see the class
  async delete(key: SessionKey): Promise<boolean> {
    return this.#sessions.delete(nameOf(key));
  }

  async ping(): Promise<void> {}

  close(): void {
    this.#sessions.clear();
  }
}

/**
 * Makes a store that keeps sessions in memory, and loses them with the process.
 *
 * @param options The clock that leases are measured by.
 *
 * @example
 * ```ts
 * import { memoryStore } from "@selvage/selvage";
 *
 * const store = memoryStore();
 * const key = { tenant: "local", session: "s1" };
 * const { lease } = await store.acquire(key, { agent: "default", owner: "me", turn: "t1", ttlMs: 10_000 });
 * await store.commit(key, lease, { release: true });
 * console.log((await store.read(key))?.head.length); // 0
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options.clock ?? systemClock);
}
