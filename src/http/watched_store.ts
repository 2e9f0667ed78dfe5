/**
 * The store of an app, watched: what it fails with is told by one code, and a store that takes no writes is noticed.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { isStoreFault, storeFault } from "../loop/store_fault.ts";
import type { Clock, LeasedSession, LeaseRequest, SessionKey, Store } from "../ports.ts";

/** Milliseconds between two writes that only try whether a store takes them again. */
const TRY_MS = 5_000;

/** Where such a write goes, and how long it is kept. */
const TRIED = { owner: { tenant: "" }, name: "health/write", ttlMs: 60_000 };

/** Characters of it: about as many as a step writes. A full disk still takes what is smaller. */
const TRIED_SIZE = 32 * 1024;

/** A store that is watched. */
export interface WatchedStore extends Store {
  /**
   * Resolves where the store answers and takes writes. It writes nothing itself, but for one write in five seconds
   * at the most once one has failed, and until one has not.
   *
   * @throws SelvageError `store_unavailable`, `store_busy`.
   */
  ready(): Promise<void>;
}

/**
 * Watches a store.
 *
 * @param store The store. What it throws that is neither an error of ours nor a fault of whoever calls becomes
 *   `store_unavailable`, with the error as its cause.
 * @param clock What time is measured by.
 */
export function watchStore(store: Store, clock: Clock): WatchedStore {
  /** What a write has failed with; null where none has, or one of the usual size was taken since. */
  let failure: SelvageError | null = null;
  /** When it did, or was tried again, in milliseconds since the epoch. */
  let failedAt = -Infinity;

  async function asked<T>(run: () => Promise<T>, isCallers = (_: unknown) => false): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw isOurs(error) || isCallers(error) ? error : storeFault(error);
    }
  }

  async function written<T>(run: () => Promise<T>, isCallers?: (error: unknown) => boolean): Promise<T> {
    try {
      return await asked(run, isCallers);
    } catch (error) {
      if (isStoreFault(error) && isCallers?.(error) !== true) {
        failure = error;
        failedAt = clock.now();
      }
      throw error;
    }
  }

  /** Writes something over what was written before. */
  async function tryWrite(): Promise<void> {
    const { owner, name, ttlMs } = TRIED;
    const over = await store.claim(owner, name);
    const value = { by: crypto.randomUUID(), filling: "x".repeat(TRIED_SIZE) };
    await store.claim(owner, name, { value, ttlMs, ...(over === undefined ? {} : { over }) });
  }

  function acquire(key: SessionKey, request: LeaseRequest): Promise<LeasedSession> {
    const { begin } = request;
    if (begin === undefined) return written(() => store.acquire(key, request));
    // What that throws is none of the store's.
    const thrown = new Set<unknown>();
    const begun: LeaseRequest["begin"] = async (state) => {
      try {
        return await begin(state);
      } catch (error) {
        thrown.add(error);
        throw error;
      }
    };
    return written(() => store.acquire(key, { ...request, begin: begun }), (error) => thrown.has(error));
  }

  return {
    read: (key, options) => asked(() => store.read(key, options)),
    entry: (key, seq) => asked(() => store.entry(key, seq)),
    acquire,
    commit: (key, lease, commit) => written(() => store.commit(key, lease, commit)),
    renew: (key, lease, ttlMs) => written(() => store.renew(key, lease, ttlMs)),
    events: (key, turn, from) => asked(() => store.events(key, turn, from)),
    list: (owner, options) => asked(() => store.list(owner, options)),
    delete: (key, options) => written(() => store.delete(key, options)),
    claim: (owner, name, claim) =>
      (claim === undefined ? asked : written)(() => store.claim(owner, name, claim)),
    close: () => store.close(),
    async ready() {
      await asked(() => store.claim(TRIED.owner, "health"));
      if (failure === null) return;
      // Either way: a clock that was set back makes nobody wait for it.
      if (Math.abs(clock.now() - failedAt) < TRY_MS) throw failure;
      failedAt = clock.now();
      await written(tryWrite);
      failure = null;
    },
  };
}

/** Whether an error says what it is: our own, a fault in what was asked, or an end that was asked for. */
function isOurs(error: unknown): boolean {
  return error instanceof SelvageError || error instanceof TypeError || error instanceof RangeError ||
    error instanceof DOMException && error.name === "AbortError";
}
