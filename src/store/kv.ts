/**
 * Sessions in Deno KV: an SQLite file, FoundationDB on Deno Deploy, or a server that speaks KV Connect.
 *
 * Keys of a session start with `["selvage", tenant, user, session]`; then come `"h"` for the head, `"e", seq` for
 * an entry, `"v", version` for a view, and `"c", group, index` for a chunk of an entry or view above 60 KiB;
 * `"t", turn, last` for the events of a turn up to number `last`, and `"x", group, index` for their chunks, which
 * expire by themselves. What a branch other than the first owns has `"b", branch` before `"e"` and `"v"`; `"z"` is
 * there while somebody writes who has no lease. Beside the sessions are `["selvage.sessions", tenant, user, createdAt, session]`, the lists
 * of them, and `["selvage.claims", tenant, user, name]`.
 *
 * All that makes a write safe is one rule: every atomic operation checks the head, and what lies beyond the head's
 * `length` and `view` does not count. A commit that needs several operations moves the head in the last one, so a
 * crash leaves records that nobody reads; a writer that lost its lease, or whose session was deleted, can write
 * nothing at all, not even those. Who has no lease yet, and needs several operations, puts a mark of its own into `"z"`
 * first, and has each of them check it, too: who comes after it takes the mark's place, so that what two of them write
 * under the same keys never mixes.
 *
 * Over 300 lines: that rule is kept by all that writes, which is to be read in one place; what reads is beside it.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { aClock, optionsOf, requireOptions, text } from "../core/options.ts";
import { branchesOf, branchOf } from "../loop/branches.ts";
import { systemClock } from "../loop/clock.ts";
import { eventNumber } from "../loop/events.ts";
import { isStoreFault } from "../loop/store_fault.ts";
import type {
  Claim,
  Clock,
  Commit,
  Entry,
  Lease,
  LeasedSession,
  LeaseRequest,
  Owner,
  SessionHead,
  SessionKey,
  SessionPage,
  SessionState,
  Store,
  StoredEvents,
} from "../ports.ts";
import { claimRecord, readClaim } from "./_claims.ts";
import {
  holdsLease,
  isUnused,
  isWhereCommitLeads,
  requireFree,
  TURN_KNOWN_MS,
  turnExists,
  withCommit,
  withLongerLease,
  withNewLease,
} from "./_head.ts";
import { isFree, toText } from "./_json.ts";
import { bareKey, claimKey, type Key, listKey, partOf } from "./_key.ts";
import { whileLocked } from "./_locked.ts";
import type { ListedSession } from "./_pages.ts";
import { branchKey, type Place, placeOf } from "./_place.ts";
import { KeyedQueue } from "./_queue.ts";
import { type ChunkKind, type EventBatch, type Found, type FoundHead, SessionReader } from "./_read.ts";
import { readPage } from "./_read_page.ts";
import { chunkGroupTime, isChunked, packRecords, recordsOf, type StoredRecord } from "./_records.ts";

/** Settings of {@link kvStore}. */
export interface KvStoreOptions {
  /**
   * A file, whose folder is made where there is none, `:memory:`, or the URL of a KV Connect server. Left out: the
   * database that the platform assigns.
   */
  readonly path?: string;
  /** Default: the clock of the machine. */
  readonly clock?: Clock;
}

const rules = optionsOf<KvStoreOptions>({ path: text, clock: aClock });

/** How long chunks that nobody names are left alone, in milliseconds. */
const ORPHAN_AGE_MS = 3_600_000;

/** Keys deleted in one go. */
const PAGE = 100;

/** Milliseconds after which the database may forget events, longer than they are asked for. */
const EVENTS_EXPIRE_MS = 24 * 3_600_000;

/** What is read where there is nothing. */
const NOTHING: Found = { value: null, versionstamp: null };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What an update writes. */
interface Change {
  readonly head: SessionHead;
  readonly records: readonly StoredRecord[];
  /** Small ones that are written with the head itself. */
  readonly beside?: readonly StoredRecord[];
  /** Records beside the head that must be as they were read. */
  readonly unchanged?: readonly Deno.AtomicCheck[];
  /** The mark of a writer without a lease, which goes with the last operation. */
  readonly mark?: Deno.AtomicCheck;
}

/** What is said of a record beside its key and value. */
interface RecordOptions {
  readonly what: string;
  readonly kind?: ChunkKind;
  readonly expireIn?: number;
}

class KvStore implements Store {
  readonly #kv: Deno.Kv;
  readonly #reader: SessionReader;
  readonly #clock: Clock;
  readonly #queue = new KeyedQueue();
  /** Heads as last written under a lease from here: saves a read per commit, and `check()` finds a stale one out. */
  readonly #held = new Map<string, { readonly value: unknown; readonly versionstamp: string }>();
  #isClosed = false;

  constructor(kv: Deno.Kv, clock: Clock) {
    this.#kv = kv;
    this.#reader = new SessionReader(kv);
    this.#clock = clock;
  }

  read(
    key: SessionKey,
    options: { readonly branch?: number; readonly view?: number } = {},
  ): Promise<SessionState | null> {
    return this.#reader.state(placeOf(key), options);
  }

  entry(key: SessionKey, seq: number): Promise<Entry | null> {
    return this.#reader.entry(placeOf(key), seq);
  }

  acquire(key: SessionKey, request: LeaseRequest): Promise<LeasedSession> {
    const place = placeOf(key);
    const turnKey = claimKey(key, `turn/${request.turn}`);
    return this.#queue.run(place.name, async () => {
      for (let attempt = 0;; attempt++) {
        // Who has been in somebody's way comes again after some time, ever longer: of any number of them one gets by.
        if (attempt > 0) await systemClock.sleep(Math.random() * Math.min(1_000, 2 ** attempt));
        // Everything is read before the lease is taken: a session that cannot be read is not blocked by the attempt.
        // What does not depend on each other is read at the same time: the first word of the turn waits for all of it.
        const [before, known] = await Promise.all([
          this.#reader.snapshot(place, async (found) => {
            requireFree(key, found.head, { request, now: this.#clock.now() });
            return { found, ...await this.#reader.load(place, found.head) };
          }),
          request.takeover ? null : this.#reader.get(turnKey),
        ]);
        if (before === null) {
          requireFree(key, null, { request, now: this.#clock.now() });
          // A crash while a session was deleted leaves what is not the new session's.
          await this.#clear(place);
        } else if (before.found.head.lease !== undefined) {
          await this.#sweep(place, before.found, before.groups);
        }
        if (known !== null && readClaim(known.value, this.#clock.now()) !== undefined) {
          throw turnExists(key, request.turn);
        }
        const { entries, view } = before?.state ?? { entries: [], view: null };
        const leased = (): LeasedSession => {
          const head = withNewLease(before?.state.head ?? null, request, this.#clock.now());
          return { head, entries, view, lease: { ...head.lease } };
        };
        const commit = await request.begin?.(leased()) ?? null;
        // Reading a long session takes its time: the lease counts from here.
        const now = this.#clock.now();
        const taken = leased();
        const { head, lease } = taken;
        const beside: StoredRecord[] = [];
        if (before === null) {
          const listed: ListedSession = { key: bareKey(key), createdAt: head.createdAt };
          const value = encoder.encode(toText(listed, "the name"));
          beside.push({ key: listKey(key, head.createdAt), value });
        }
        let change: Change = { head, records: [], beside };
        if (known !== null) {
          const value = { session: key.session, agent: request.agent };
          beside.push(claimRecord(turnKey, { value, ttlMs: TURN_KNOWN_MS, now }));
          // It may be there and have expired: the database forgets when it likes.
          change = { ...change, unchanged: [{ key: turnKey, versionstamp: known.versionstamp }] };
        }
        if (commit !== null) {
          const after = withCommit(key, head, { lease, commit, now });
          const records = this.#recordsOf(place, { lease, commit, branch: branchOf(after) });
          change = { ...change, head: after, records };
        }
        const found = before?.found ?? null;
        if (packRecords(change.records).length > 1) {
          const mark = await this.#mark(place, found?.versionstamp ?? null);
          if (mark === null) continue;
          change = { ...change, mark };
        }
        if (await this.#write(place, found, change) !== null) return taken;
      }
    });
  }

  commit(key: SessionKey, lease: Lease, commit: Commit): Promise<void> {
    const place = placeOf(key);
    return this.#queue.run(place.name, () => this.#commit(place, { key, lease, commit }));
  }

  renew(key: SessionKey, lease: Lease, ttlMs: number): Promise<void> {
    const place = placeOf(key);
    return this.#queue.run(place.name, () =>
      this.#update(place, lease, (head) => ({
        head: withLongerLease(key, head, { lease, ttlMs, now: this.#clock.now() }),
        records: [],
      })));
  }

  events(key: SessionKey, turn: string, from: number): Promise<StoredEvents | null> {
    return this.#reader.events(placeOf(key), turn, { from, now: () => this.#clock.now() });
  }

  list(
    owner: Owner | null,
    page: { readonly limit?: number; readonly after?: string } = {},
  ): Promise<SessionPage> {
    return readPage(this.#reader, { ...page, owner });
  }

  delete(key: SessionKey, { unusedSince }: { readonly unusedSince?: number } = {}): Promise<boolean> {
    const place = placeOf(key);
    return this.#queue.run(place.name, async () => {
      for (;;) {
        const found = await this.#reader.head(place);
        const now = this.#clock.now();
        if (found !== null && !isUnused(found.head, { since: unusedSince, now })) return false;
        this.#held.delete(place.name);
        if (found !== null) {
          // The head first: from then on there is no session, and nobody can write to it.
          const check = { key: place.headKey, versionstamp: found.versionstamp };
          const { ok } = await whileLocked(() =>
            this.#kv.atomic().check(check).delete(place.headKey)
              .delete(listKey(key, found.head.createdAt)).commit()
          );
          if (!ok) continue;
        }
        await this.#clear(place);
        return found !== null;
      }
    });
  }

  async claim(owner: Owner, name: string, claim?: Claim): Promise<unknown> {
    const key = claimKey(owner, name);
    // What is claimed for the first time mostly is new: the write alone finds that out.
    for (let isNew = claim !== undefined && claim.over === undefined;; isNew = false) {
      const { value: stored, versionstamp } = isNew ? NOTHING : await this.#reader.get(key);
      const found = readClaim(stored, this.#clock.now());
      if (claim === undefined || !isFree(found, claim)) return found;
      const { value, expireIn = 0 } = claimRecord(key, { ...claim, now: this.#clock.now() });
      const { ok } = await whileLocked(() =>
        this.#kv.atomic().check({ key, versionstamp }).set(key, value, { expireIn }).commit()
      );
      if (ok) return readClaim(value, 0);
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#held.clear();
    this.#kv.close();
  }

  async #commit(
    place: Place,
    { key, lease, commit }: { readonly key: SessionKey; readonly lease: Lease; readonly commit: Commit },
  ): Promise<void> {
    // Made once for each branch, if ever it is another: a big commit is not encoded anew at each attempt.
    let made: { readonly branch: number; readonly records: readonly StoredRecord[] } | null = null;
    await this.#update(place, lease, async (head) => {
      if (isWhereCommitLeads(head, lease, commit) && await this.#hasContent(place, head, commit)) {
        return null;
      }
      const after = withCommit(key, head, { lease, commit, now: this.#clock.now() });
      const branch = branchOf(after);
      if (made?.branch !== branch) {
        made = { branch, records: this.#recordsOf(place, { lease, commit, branch }) };
      }
      return { head: after, records: made.records };
    });
  }

  /** Makes the records of a commit; what is not JSON is refused here, before anything is written. */
  #recordsOf(
    place: Place,
    { lease, commit: { entries = [], view, events = [] }, branch }: {
      readonly lease: Lease;
      readonly commit: Commit;
      readonly branch: number;
    },
  ): StoredRecord[] {
    const now = this.#clock.now();
    const make = (key: Key, value: unknown, { what, kind = "c", ...rest }: RecordOptions): StoredRecord[] =>
      recordsOf([...place.prefix, ...key], encoder.encode(toText(value, what)), {
        now,
        chunkKey: [...place.prefix, kind],
        ...rest,
      });
    const own = branch === 0 ? [] : ["b", branch];
    const records = entries.map((entry) =>
      make([...own, "e", entry.seq], entry, { what: `entry ${entry.seq}` })
    );
    if (view !== undefined) {
      records.push(make([...own, "v", view.version], view.value, { what: `view ${view.version}` }));
    }
    const last = events.at(-1);
    if (last !== undefined) {
      const batch: EventBatch = { at: now, events };
      const options = { what: `events to ${last.id}`, kind: "x", expireIn: EVENTS_EXPIRE_MS } as const;
      records.push(make(["t", partOf(lease.turn), eventNumber(last)], batch, options));
    }
    return records.flat();
  }

  /** Says whether the last entry and the view of a commit are what is stored. */
  async #hasContent(place: Place, head: SessionHead, { entries, view }: Commit): Promise<boolean> {
    const last = entries?.at(-1);
    const own = branchKey(place, branchOf(head));
    const wanted: [Key, unknown, string][] = [];
    if (last !== undefined) wanted.push([[...own, "e", last.seq], last, `entry ${last.seq}`]);
    if (view !== undefined) wanted.push([[...own, "v", view.version], view.value, `view ${view.version}`]);
    for (const [key, value, what] of wanted) {
      const found = await this.#reader.get(key);
      const stored = await this.#reader.bytes(place, found.value, what);
      if (decoder.decode(stored) !== toText(value, what)) return false;
    }
    return true;
  }

  /**
   * Changes a session under a lease. `decide` makes the change out of the head, or null where nothing is left to
   * do. A refused write means that somebody else's came first: the head is read again and `decide` asked again,
   * which throws where the lease is gone. That ends, since each refusal is the progress of another writer.
   */
  async #update(
    place: Place,
    lease: Lease,
    decide: (head: SessionHead | null) => Change | null | Promise<Change | null>,
  ): Promise<void> {
    for (let held = this.#heldHead(place, lease);; held = null) {
      const found = held ?? await this.#reader.head(place);
      let change: Change | null;
      try {
        change = await decide(found?.head ?? null);
      } catch (error) {
        this.#held.delete(place.name);
        // A head from memory may be behind: only the database can say that a lease is lost.
        if (held === null) throw error;
        continue;
      }
      if (change === null || await this.#write(place, found, change) !== null) return;
    }
  }

  #heldHead(place: Place, lease: Lease): FoundHead | null {
    const held = this.#held.get(place.name);
    if (held === undefined) return null;
    const found = this.#reader.parseHead(place, held.value, held.versionstamp);
    return holdsLease(found.head, lease) ? found : null;
  }

  /** Writes a change, the head last; null where the head is no longer the one that was found. */
  async #write(
    place: Place,
    found: FoundHead | null,
    { head, records, beside = [], unchanged = [], mark }: Change,
  ): Promise<string | null> {
    const value = encoder.encode(toText({ ...head, life: found?.life ?? crypto.randomUUID() }, "the head"));
    const check = { key: place.headKey, versionstamp: found?.versionstamp ?? null };
    const batches = packRecords(records);
    let versionstamp = "";
    for (const [index, batch] of batches.entries()) {
      const isLast = index === batches.length - 1;
      const result = await whileLocked(() => {
        const atomic = this.#kv.atomic().check(check, ...unchanged);
        if (mark !== undefined) atomic.check(mark);
        for (const { key, value, expireIn } of isLast ? [...batch, ...beside] : batch) {
          atomic.set(key, value, expireIn === undefined ? {} : { expireIn });
        }
        if (isLast) atomic.set(place.headKey, value);
        if (isLast && mark !== undefined) atomic.delete(mark.key);
        return atomic.commit();
      });
      if (!result.ok) return null;
      versionstamp = result.versionstamp;
    }
    if (head.lease !== undefined && holdsLease(head, head.lease)) {
      this.#held.set(place.name, { value, versionstamp });
    } else this.#held.delete(place.name);
    return versionstamp;
  }

  /** Takes the place of whoever writes without a lease; null where the head is not at `versionstamp`. */
  async #mark(place: Place, versionstamp: string | null): Promise<Deno.AtomicCheck | null> {
    const key = [...place.prefix, "z"];
    const result = await whileLocked(() =>
      this.#kv.atomic().check({ key: place.headKey, versionstamp }).set(key, this.#clock.now()).commit()
    );
    return result.ok ? { key, versionstamp: result.versionstamp } : null;
  }

  /** Deletes keys while the head is at `versionstamp`, and a mark as it was made; says whether they stayed so. */
  async #remove(
    place: Place,
    versionstamp: string | null,
    { keys, mark }: { readonly keys: readonly Deno.KvKey[]; readonly mark?: Deno.AtomicCheck },
  ): Promise<boolean> {
    for (let start = 0; start < keys.length; start += PAGE) {
      const { ok } = await whileLocked(() => {
        const atomic = this.#kv.atomic().check({ key: place.headKey, versionstamp });
        if (mark !== undefined) atomic.check(mark);
        for (const key of keys.slice(start, start + PAGE)) atomic.delete(key);
        return atomic.commit();
      });
      if (!ok) return false;
    }
    return true;
  }

  /** Deletes all that is left of a session without a head; leaves off when somebody makes it anew. */
  async #clear(place: Place): Promise<void> {
    const list = () => this.#reader.list({ prefix: place.prefix }, (entry) => entry.key, { limit: PAGE });
    if ((await list()).length === 0) return;
    // What is just being written without a lease goes, too: its writer finds the mark taken, and begins anew.
    const mark = await this.#mark(place, null);
    if (mark === null) return;
    // The mark is the last of the keys.
    for (let keys = await list(); keys.length > 0; keys = await list()) {
      if (!await this.#remove(place, null, { keys, mark })) return;
    }
  }

  /** Deletes old chunks that no entry and no view names: a crash between two batches leaves them. */
  async #sweep(
    place: Place,
    { head, versionstamp }: FoundHead,
    groups: ReadonlySet<string>,
  ): Promise<void> {
    const chunks = [...place.prefix, "c"];
    const end = [...chunks, chunkGroupTime(this.#clock.now() - ORPHAN_AGE_MS)];
    const old = await this.#reader.list({ prefix: chunks, end }, (entry) => entry.key);
    if (old.length === 0) return;
    const named = new Set(groups);
    const keep = (value: unknown): void => {
      if (isChunked(value)) named.add(value.chunks);
    };
    for (const [number, { at, length }] of branchesOf(head).entries()) {
      const own = branchKey(place, number);
      for (const view of await this.#reader.list({ prefix: [...own, "v"] }, ({ value }) => value)) keep(view);
      if (number === branchOf(head) || length <= at) continue;
      const range = { start: [...own, "e", at], end: [...own, "e", length] };
      for (const entry of await this.#reader.list(range, ({ value }) => value)) keep(entry);
    }
    const keys = old.filter((key) => !named.has(String(key.at(-2))));
    await this.#remove(place, versionstamp, { keys });
  }
}

/** Makes the folder of a database that is a file: SQLite makes the file alone. */
async function makeFolder(path = ":memory:"): Promise<void> {
  const folder = path === ":memory:" || /^https?:/.test(path) ? undefined : path.match(/^(.+)\/[^/]*$/)?.[1];
  if (folder !== undefined) await Deno.mkdir(folder, { recursive: true });
}

/**
 * Opens a store in Deno KV. Several instances, in one process or in many, may use the same database.
 *
 * Throws a `SelvageError` with the code `kv_unavailable` where this Deno runs without KV or cannot open the
 * database. Methods throw `store_corrupt` where a record is missing, `store_schema` where a session was written in
 * another format, `store_busy` where an SQLite file stays locked for 5 s, `store_unavailable` where the database fails
 * otherwise, with its error as the cause. An option that is unknown or of another kind is a `TypeError`.
 *
 * @param options Where the database is, and the clock that leases are measured by.
 *
 * @example
 * ```ts
 * import { kvStore } from "@selvage/selvage";
 *
 * const store = await kvStore({ path: ":memory:" });
 * const key = { tenant: "local", session: "s1" };
 * const { lease } = await store.acquire(key, { agent: "default", owner: "me", turn: "t1", ttlMs: 10_000 });
 * await store.commit(key, lease, { release: true });
 * console.log((await store.read(key))?.head.length); // 0
 * store.close();
 * ```
 */
export async function kvStore(options: KvStoreOptions = {}): Promise<Store> {
  requireOptions("open Deno KV", options, rules);
  const at = options.path === undefined ? "" : ` at "${options.path}"`;
  // Its types are always there, the function only with the flag.
  if (typeof Deno === "undefined" || typeof Deno.openKv !== "function") {
    throw new SelvageError(
      "kv_unavailable",
      `Cannot open Deno KV${at}: found no Deno.openKv, wanted Deno with --unstable-kv or "unstable": ["kv"] in deno.json`,
    );
  }
  let kv: Deno.Kv;
  try {
    await makeFolder(options.path);
    kv = await whileLocked(() => Deno.openKv(options.path));
    // A file that can be read only opens, too: it is written to once, rather than fail with the first turn.
    await whileLocked(() => kv.set(["selvage.opened"], Date.now())).catch((error) => {
      kv.close();
      throw error;
    });
  } catch (error) {
    const cause = isStoreFault(error) ? error.cause : error;
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new SelvageError(
      "kv_unavailable",
      `Cannot open Deno KV${at}: found "${found}", wanted a database that can be read and written`,
      { cause },
    );
  }
  return new KvStore(kv, options.clock ?? systemClock);
}
