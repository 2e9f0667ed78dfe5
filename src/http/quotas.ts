/**
 * Counts turns, right over any number of processes: what is counted lives in the store, and is changed by claims over
 * the value that was read.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { turnName } from "../loop/turn_name.ts";
import type { Clock, Owner, SessionKey, Store } from "../ports.ts";
import { type Bucket, filled, giveBack, limitHeaders, take } from "./bucket.ts";
import { leaseAt } from "./host/places.ts";
import type { Limits } from "./limits.ts";
import { Notes } from "./notes.ts";

const MINUTE_MS = 60_000;

/** Milliseconds for which a turn counts that was let in and of which the store has no lease, yet or at all. */
const STARTING_MS = 15_000;

/** Milliseconds after which a turn without a lease in the store says again that it runs. */
const AGAIN_MS = 5_000;

/** One for all: an abort without a reason makes an exception with its stack, for each turn. */
const ENDED = new DOMException("The turn has ended", "AbortError");

/** Milliseconds for which it is known who runs: longer than a turn is known itself. */
const RUNNING_KNOWN_MS = 25 * 3_600_000;

/** The claim that says who runs. */
const RUNNING = { name: "limit/running", ttlMs: RUNNING_KNOWN_MS };

/** Lets a turn out again, which has ended, or has not started: then it is not charged. */
export type Leave = (end?: { readonly hasStarted: boolean }) => Promise<void>;

/** A turn that runs. `mark` tells it from a second try of the same name. */
interface Place {
  readonly session: string;
  readonly user?: string;
  readonly at: number;
  readonly mark: string;
}

/** Turns that run, by id. `by` tells equal values of two writers apart. */
interface Running {
  readonly turns: Readonly<Record<string, Place>>;
  readonly by: string;
}

/** A turn among those of a minute: it counts for the group, and the owner is told. */
interface Minute {
  readonly owner: Owner;
  readonly group: Owner;
  readonly limit: number;
  /** Its id, where another request may ask for the same one; else null. */
  readonly turn: string | null;
}

/** What {@link Quotas} needs. */
export interface QuotasOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly notes?: Notes;
}

/** The turns that callers may have. */
export class Quotas {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #notes: Notes;
  /** Turns that run here: of some no store knows. */
  readonly #here = new Set<string>();
  /** The last change of each value that is under way here. */
  readonly #changing = new Map<string, Promise<void>>();

  /** Counts in a store. What responses are to tell of it goes into the notes. */
  constructor({ store, clock, notes = new Notes() }: QuotasOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#notes = notes;
  }

  /**
   * Lets a turn in; call what it returns when the turn has ended here, or could not start.
   *
   * @param owner Whose turn it is.
   * @param entry The turn, and what its caller may have; `isShared` where another request may ask for the same turn;
   *   `store` is where its session lives, by default where it is counted.
   * @throws SelvageError `rate_limited` or `too_many_turns`.
   */
  async enter(
    owner: Owner,
    { turn, session, limits, isShared = false, store = this.#store }: {
      readonly turn: string;
      readonly session: string;
      readonly limits: Limits;
      readonly isShared?: boolean;
      readonly store?: Store;
    },
  ): Promise<Leave> {
    const { turnsPerMinute, concurrentTurns, per } = limits;
    const group = per === "tenant" ? { tenant: owner.tenant } : owner;
    // The slot first: a turn that finds none is not charged.
    const leave = concurrentTurns === undefined ? () => Promise.resolve() : await this.#enter(group, {
      turn,
      key: { ...owner, session },
      limit: concurrentTurns,
      hasLease: store === this.#store,
    });
    if (turnsPerMinute === undefined) return leave;
    const minute = { owner, group, limit: turnsPerMinute, turn: isShared ? turn : null };
    let isCharged: boolean;
    try {
      isCharged = await this.#take(minute);
    } catch (error) {
      await leave();
      throw error;
    }
    return async ({ hasStarted } = { hasStarted: true }) => {
      await leave();
      if (!hasStarted) await this.#giveBack(minute, isCharged);
    };
  }

  /** Takes one of the turns of a minute; says whether it did, for what is shared may have been taken before. */
  async #take({ owner, group, limit, turn }: Minute): Promise<boolean> {
    const { left, isCharged } = await this.#changeBucket(group, limit, (found) => {
      const taken = take(found, turn);
      return { bucket: taken?.bucket ?? null, result: { ...(taken?.bucket ?? found), ...taken } };
    });
    const headers = this.#tell(owner, limit, left);
    if (isCharged !== undefined) return isCharged;
    const seconds = Math.max(1, Math.ceil((1 - left) * 60 / limit));
    throw new SelvageError(
      "rate_limited",
      `Cannot start the turn: found as many started within a minute as may be, wanted at most ${limit}; ` +
        `the next can start in ${seconds} s`,
      { fields: { limit, headers: { ...headers, "retry-after": String(seconds) } } },
    );
  }

  /** Gives one back: what did not start is no turn. */
  async #giveBack({ owner, group, limit, turn }: Minute, isCharged: boolean): Promise<void> {
    const { left } = await this.#changeBucket(group, limit, (found) => {
      const bucket = giveBack(found, { turn, isCharged, limit });
      return { bucket, result: bucket };
    });
    this.#tell(owner, limit, left);
  }

  /** Changes what is left of the turns of a minute, once it has filled up until now; null leaves it as it was. */
  #changeBucket<Result>(
    group: Owner,
    limit: number,
    change: (found: Required<Bucket>) => { readonly bucket: Bucket | null; readonly result: Result },
  ): Promise<Result> {
    return this.#change<Bucket & { readonly by: string }, Result>(
      group,
      { name: "limit/minute", ttlMs: 2 * MINUTE_MS },
      (before, by) => {
        const { bucket, result } = change(filled(before, { limit, now: this.#clock.now() }));
        return { value: bucket && { ...bucket, by }, result };
      },
    );
  }

  /** Notes for the response how many turns are left; returns the headers that say so. */
  #tell(owner: Owner, limit: number, left: number): Readonly<Record<string, string>> {
    const headers = limitHeaders(limit, left);
    this.#notes.of(owner).headers = headers;
    return headers;
  }

  /** Takes a place among the turns that run. */
  async #enter(
    group: Owner,
    { turn, key, limit, hasLease }: {
      readonly turn: string;
      readonly key: SessionKey;
      readonly limit: number;
      readonly hasLease: boolean;
    },
  ): Promise<() => Promise<void>> {
    const { session, user } = key;
    const place: Place = {
      session,
      ...(user === undefined ? {} : { user }),
      at: this.#clock.now(),
      mark: crypto.randomUUID(),
    };
    const join = (gone: ReadonlySet<string>): Promise<Running["turns"] | null> =>
      this.#change<Running, Running["turns"] | null>(group, RUNNING, (before, by) => {
        const all = Object.entries(before?.turns ?? {});
        const turns = Object.fromEntries(all.filter(([id]) => !gone.has(id)));
        if (Object.hasOwn(turns, turn)) return { value: null, result: null };
        if (Object.keys(turns).length >= limit) return { value: null, result: turns };
        return { value: { turns: { ...turns, [turn]: place }, by }, result: null };
      });
    const found = await join(new Set());
    // Before somebody is turned away it is looked who is really there: a process that died says no goodbye.
    if (found !== null && await join(await this.#gone(key.tenant, found)) !== null) {
      throw new SelvageError(
        "too_many_turns",
        `Cannot start the turn: found ${limit} ${
          limit === 1 ? "turn" : "turns"
        } running, wanted less than that; try again when one has ended`,
        { fields: { limit } },
      );
    }
    this.#here.add(turn);
    const ended = new AbortController();
    if (!hasLease) void this.#sayAgain(group, { turn, mark: place.mark, signal: ended.signal });
    return async () => {
      ended.abort(ENDED);
      this.#here.delete(turn);
      await this.#change<Running, void>(group, RUNNING, (before, by) => {
        const { [turn]: own, ...turns } = before?.turns ?? {};
        return { value: own?.mark === place.mark ? { turns, by } : null, result: undefined };
      });
    };
  }

  /** Says that a turn runs for as long as it does: other processes find no lease of one whose session is in memory. */
  async #sayAgain(
    group: Owner,
    { turn, mark, signal }: { readonly turn: string; readonly mark: string; readonly signal: AbortSignal },
  ): Promise<void> {
    for (;;) {
      try {
        await this.#clock.sleep(AGAIN_MS, signal);
      } catch {
        // It has ended.
        return;
      }
      await this.#change<Running, void>(group, RUNNING, (before, by) => {
        const own = before?.turns[turn];
        if (own?.mark !== mark) return { value: null, result: undefined };
        const turns = { ...before?.turns, [turn]: { ...own, at: this.#clock.now() } };
        return { value: { turns, by }, result: undefined };
      }).catch((error) => console.error("Cannot say that a turn runs:", error));
    }
  }

  /** Turns that no process runs any more. */
  async #gone(tenant: string, turns: Running["turns"]): Promise<ReadonlySet<string>> {
    const gone = new Set<string>();
    for (const [turn, { session, user, at }] of Object.entries(turns)) {
      if (this.#here.has(turn)) continue;
      const key = { tenant, session, ...(user === undefined ? {} : { user }) };
      const now = this.#clock.now();
      // The id is claimed with the lease: before that it is about to begin.
      const hasBegun = await this.#store.claim(key, turnName(turn)) !== undefined;
      if (!hasBegun && at + STARTING_MS > now) continue;
      const lease = (await leaseAt(this.#store, { key, turn }))?.lease;
      if (lease?.turn !== turn || lease.expires <= now) gone.add(turn);
    }
    return gone;
  }

  /** Changes a value behind the changes that are under way here: hundreds at once would all be too late but for one. */
  #change<Value extends { readonly by: string }, Result>(
    owner: Owner,
    claim: { readonly name: string; readonly ttlMs: number },
    decide: (
      before: Value | undefined,
      by: string,
    ) => { readonly value: Value | null; readonly result: Result },
  ): Promise<Result> {
    const { tenant, user = null } = owner;
    const at = JSON.stringify([tenant, user, claim.name]);
    const changed = (this.#changing.get(at) ?? Promise.resolve()).then(() =>
      this.#changeNow(owner, claim, decide)
    );
    const done = changed.then(() => {}, () => {}).then(() => {
      if (this.#changing.get(at) === done) this.#changing.delete(at);
    });
    this.#changing.set(at, done);
    return changed;
  }

  /** Changes a value that other processes may change at the same time; `decide` is asked until it was not too late. */
  async #changeNow<Value extends { readonly by: string }, Result>(
    owner: Owner,
    { name, ttlMs }: { readonly name: string; readonly ttlMs: number },
    decide: (
      before: Value | undefined,
      by: string,
    ) => { readonly value: Value | null; readonly result: Result },
  ): Promise<Result> {
    let found = await this.#store.claim(owner, name) as Value | undefined;
    for (;;) {
      const by = crypto.randomUUID();
      const { value, result } = decide(found, by);
      if (value === null) return result;
      const over = found === undefined ? {} : { over: found };
      const kept = await this.#store.claim(owner, name, { value, ttlMs, ...over }) as Value;
      if (kept.by === by) return result;
      found = kept;
    }
  }
}
