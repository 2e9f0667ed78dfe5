/**
 * Sessions in Deno KV: an SQLite file, FoundationDB on Deno Deploy, or a server that speaks KV Connect.
 *
 * Keys of a session start with `["selvage", tenant, user, session]`; then come `"h"` for the head, `"e", seq` for
 * an entry, `"v", version` for a view, and `"c", group, index` for a chunk of an entry or view above 60 KiB;
 * `"t", turn, last` for the events of a turn up to number `last`, and `"x", group, index` for their chunks, which
 * expire by themselves. What a branch other than the first owns has `"b", branch` before `"e"` and `"v"`. Beside the
 * sessions are `["selvage.sessions", tenant, user, createdAt, session]`, the lists
 * of them, and `["selvage.claims", tenant, user, name]`.
 *
 * All that makes a write safe is one rule: every atomic operation checks the head, and what lies beyond the head's
 * `length` and `view` does not count. A commit that needs several operations moves the head in the last one, so a
 * crash leaves records that nobody reads; a writer that lost its lease, or whose session was deleted, can write
 * nothing at all, not even those.
 *
 * This file is longer than most because `Deno.*` is kept in it.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type {
  Claim,
  Clock,
  Commit,
  Entry,
  Lease,
  LeaseRequest,
  Owner,
  SessionHead,
  SessionKey,
  SessionPage,
  SessionState,
  Store,
  StoredEvent,
  StoredEvents,
} from "../ports.ts";
import { branchesOf, branchOf, headOn, ownerOfEntry, ownerOfView, segmentsOf } from "../loop/branches.ts";
import { systemClock } from "../loop/clock.ts";
import { eventNumber } from "../loop/events.ts";
import { isReadable } from "./_events.ts";
import {
  holdsLease,
  isUnused,
  isWhereCommitLeads,
  requireFree,
  SCHEMA,
  TURN_KNOWN_MS,
  turnExists,
  withCommit,
  withLongerLease,
  withNewLease,
} from "./_head.ts";
import { isFree, toText } from "./_json.ts";
import {
  bareKey,
  claimKey,
  type Key,
  keyBytes,
  listKey,
  listPrefix,
  nameOf,
  partOf,
  prefixOf,
} from "./_key.ts";
import { type ListedSession, noPlace, pageName, pageSize, placeOfPage } from "./_pages.ts";
import { whileLocked } from "./_locked.ts";
import { KeyedQueue } from "./_queue.ts";
import {
  chunkGroupId,
  chunkGroupTime,
  isChunked,
  packRecords,
  recordsOf,
  type StoredRecord,
} from "./_records.ts";

/** Settings of {@link kvStore}. */
export interface KvStoreOptions {
  /** A file, `:memory:`, or the URL of a KV Connect server. Left out: the database that the platform assigns. */
  readonly path?: string;
  /** Default: the clock of the machine. */
  readonly clock?: Clock;
}

/** How long chunks that nobody names are left alone, in milliseconds. */
const ORPHAN_AGE_MS = 3_600_000;

/** Keys read, or deleted, in one go. */
const PAGE = 100;

/** Records of events read in one go. */
const EVENT_PAGE = 50;

/** Milliseconds after which the database may forget events, longer than they are asked for. */
const EVENTS_EXPIRE_MS = 24 * 3_600_000;

/** Heads read in one go. Deno KV takes 10. */
const HEADS = 10;

/** Bytes of a key. Deno KV takes 2,048. */
const KEY_BYTES = 2_048;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The head as it was read. `life` tells a session from an earlier one of the same name that was deleted. */
interface FoundHead {
  readonly head: SessionHead;
  readonly life: string;
  readonly versionstamp: string;
}

/** Where a session is. */
interface Place {
  readonly key: SessionKey;
  readonly name: string;
  readonly prefix: Key;
  readonly headKey: Key;
}

/** What an update writes. */
interface Change {
  readonly head: SessionHead;
  readonly records: readonly StoredRecord[];
  /** A record beside the head that must be as it was read. */
  readonly unchanged?: Deno.AtomicCheck;
}

/** Events of one commit, and when it was made, in milliseconds since the epoch. */
interface EventBatch {
  readonly at: number;
  readonly events: readonly StoredEvent[];
}

/** `c` for chunks of entries and views, `x` for those of events. */
type ChunkKind = "c" | "x";

/** What is said of a record beside its key and value. */
interface RecordOptions {
  readonly what: string;
  readonly kind?: ChunkKind;
  readonly expireIn?: number;
}

/** The key where a page of a list ended. A page of somebody else's list ends at the same time in this one. */
function listEnd(after: string, owner: Owner | null): Key {
  const { key, createdAt } = placeOfPage(after);
  const end = listKey(owner === null ? key : { ...owner, session: key.session }, createdAt);
  // No session has such a name: it could not have been stored.
  if (keyBytes(end) > KEY_BYTES) throw noPlace(after);
  return end;
}

function claimRecord(
  key: Key,
  { value, ttlMs, now }: { readonly value: unknown; readonly ttlMs: number; readonly now: number },
): StoredRecord & { readonly value: Uint8Array } {
  const text = `{"value":${toText(value, "the claim")},"expires":${now + ttlMs}}`;
  return { key, value: encoder.encode(text), expireIn: Math.ceil(ttlMs) };
}

/** The value that was claimed; undefined where there is none, or it has expired. */
function readClaim(stored: unknown, now: number): unknown {
  if (!(stored instanceof Uint8Array)) return undefined;
  const { value, expires } = JSON.parse(decoder.decode(stored));
  return expires > now ? value : undefined;
}

function placeOf(key: SessionKey): Place {
  const prefix = prefixOf(key);
  return { key, name: nameOf(key), prefix, headKey: [...prefix, "h"] };
}

/** The start of the keys of what a branch owns. */
function branchKey({ prefix }: Place, branch: number): Key {
  return branch === 0 ? prefix : [...prefix, "b", branch];
}

function viewKey(place: Place, head: SessionHead, version: number): Key {
  return [...branchKey(place, ownerOfView(head, version)), "v", version];
}

function corrupt(place: Place, what: string, found: string): SelvageError {
  const { session } = place.key;
  return new SelvageError(
    "store_corrupt",
    `Cannot read ${what} of session "${session}": found ${found}, wanted it whole`,
    { fields: { session, what } },
  );
}

class KvStore implements Store {
  readonly #kv: Deno.Kv;
  readonly #clock: Clock;
  readonly #queue = new KeyedQueue();
  /** Heads as last written under a lease from here: saves a read per commit, and `check()` finds a stale one out. */
  readonly #held = new Map<string, { readonly value: unknown; readonly versionstamp: string }>();
  #isClosed = false;

  constructor(kv: Deno.Kv, clock: Clock) {
    this.#kv = kv;
    this.#clock = clock;
  }

  read(
    key: SessionKey,
    { branch, view }: { readonly branch?: number; readonly view?: number } = {},
  ): Promise<SessionState | null> {
    const place = placeOf(key);
    return this.#snapshot(place, async ({ head }) => {
      const found = branch === undefined ? head : headOn(head, branch);
      return found === null ? null : (await this.#load(place, found, view)).state;
    });
  }

  entry(key: SessionKey, seq: number): Promise<Entry | null> {
    const place = placeOf(key);
    return this.#snapshot(place, async ({ head }) => {
      const owner = Number.isInteger(seq) ? ownerOfEntry(head, seq) : null;
      if (owner === null) return null;
      const value = await this.#get([...branchKey(place, owner), "e", seq]);
      return await this.#parse<Entry>(place, value, `entry ${seq}`);
    });
  }

  acquire(key: SessionKey, request: LeaseRequest): Promise<SessionState & { readonly lease: Lease }> {
    const place = placeOf(key);
    const turnKey = claimKey(key, `turn/${request.turn}`);
    return this.#queue.run(place.name, async () => {
      for (;;) {
        // Everything is read before the lease is taken: a session that cannot be read is not blocked by the attempt.
        const before = await this.#snapshot(place, async (found) => {
          requireFree(key, found.head, { request, now: this.#clock.now() });
          return { found, ...await this.#load(place, found.head) };
        });
        if (before === null) {
          requireFree(key, null, { request, now: this.#clock.now() });
          // A crash while a session was deleted leaves what is not the new session's.
          await this.#clear(place);
        } else if (before.found.head.lease !== undefined) {
          await this.#sweep(place, before.found, before.groups);
        }
        // Reading a long session takes its time: the lease counts from here.
        const now = this.#clock.now();
        const head = withNewLease(before?.state.head ?? null, request, now);
        const records: StoredRecord[] = [];
        if (before === null) {
          const listed: ListedSession = { key: bareKey(key), createdAt: head.createdAt };
          const value = encoder.encode(toText(listed, "the name"));
          records.push({ key: listKey(key, head.createdAt), value });
        }
        let change: Change = { head, records };
        if (!request.takeover) {
          const known = await whileLocked(() => this.#kv.get(turnKey));
          if (readClaim(known.value, now) !== undefined) throw turnExists(key, request.turn);
          const value = { session: key.session, agent: request.agent };
          records.push(claimRecord(turnKey, { value, ttlMs: TURN_KNOWN_MS, now }));
          // It may be there and have expired: the database forgets when it likes.
          change = { ...change, unchanged: known };
        }
        if (await this.#write(place, before?.found ?? null, change) === null) continue;
        const { entries, view } = before?.state ?? { entries: [], view: null };
        return { head, entries, view, lease: { ...head.lease } };
      }
    });
  }

  commit(key: SessionKey, lease: Lease, commit: Commit): Promise<void> {
    const place = placeOf(key);
    return this.#queue.run(place.name, async () => {
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
    });
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
    const place = placeOf(key);
    const prefix = [...place.prefix, "t", partOf(turn)];
    const parse = (value: unknown): Promise<EventBatch> =>
      this.#parse(place, value, `events of turn ${turn}`, "x");
    // The head is read first: where it says that the turn is over, all events are there.
    return this.#snapshot(place, async ({ head: { lease } }) => {
      const [newest] = await this.#list({ prefix }, ({ value }) => value, { limit: 1, reverse: true });
      const last = newest === undefined ? undefined : (await parse(newest)).at;
      if (!isReadable(turn, { last, lease, now: this.#clock.now() })) return null;
      const values = await this.#list({ prefix, start: [...prefix, from] }, ({ value }) => value, {
        limit: EVENT_PAGE,
      });
      const batches = await Promise.all(values.map(parse));
      const events = batches.flatMap((batch) => batch.events).filter((event) => eventNumber(event) >= from);
      return { events, lease: lease ?? null };
    });
  }

  async list(
    owner: Owner | null,
    { limit, after }: { readonly limit?: number; readonly after?: string } = {},
  ): Promise<SessionPage> {
    const size = pageSize(limit);
    const prefix = listPrefix(owner);
    const listed = await this.#list(
      after === undefined ? { prefix } : { prefix, end: listEnd(after, owner) },
      ({ value }) => this.#listed(value),
      { limit: size + 1, reverse: true },
    );
    const sessions: { key: SessionKey; head: SessionHead }[] = [];
    for (let start = 0; start < Math.min(size, listed.length); start += HEADS) {
      const places = listed.slice(start, Math.min(size, start + HEADS)).map(({ key }) => placeOf(key));
      const heads = await whileLocked(() => this.#kv.getMany(places.map(({ headKey }) => headKey)));
      for (const [index, place] of places.entries()) {
        const head = this.#listedHead(place, heads[index]);
        if (head !== null) sessions.push({ key: place.key, head });
      }
    }
    const last = listed[size - 1];
    return { sessions, next: listed.length > size && last !== undefined ? pageName(last) : null };
  }

  /**
   * The head of a session in a list; null where it was deleted since the list was read. So it is where the head
   * cannot be read: who opens that session is told, and those who list the others are not kept from them.
   */
  #listedHead(place: Place, found: Deno.KvEntryMaybe<unknown> | undefined): SessionHead | null {
    if (found === undefined || found.versionstamp === null) return null;
    try {
      return this.#parseHead(place, found.value, found.versionstamp).head;
    } catch (error) {
      if (error instanceof SelvageError) return null;
      throw error;
    }
  }

  #listed(value: unknown): ListedSession {
    if (value instanceof Uint8Array) return JSON.parse(decoder.decode(value));
    throw new SelvageError("store_corrupt", `Cannot list sessions: found a ${typeof value} in the list`);
  }

  delete(key: SessionKey, { unusedSince }: { readonly unusedSince?: number } = {}): Promise<boolean> {
    const place = placeOf(key);
    return this.#queue.run(place.name, async () => {
      for (;;) {
        const found = await this.#head(place);
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
    for (;;) {
      const entry = await whileLocked(() => this.#kv.get(key));
      const found = readClaim(entry.value, this.#clock.now());
      if (claim === undefined || !isFree(found, claim)) return found;
      const { value, expireIn = 0 } = claimRecord(key, { ...claim, now: this.#clock.now() });
      const { ok } = await whileLocked(() =>
        this.#kv.atomic().check(entry).set(key, value, { expireIn }).commit()
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

  async #get(key: Key): Promise<unknown> {
    return (await whileLocked(() => this.#kv.get(key))).value;
  }

  /** Lists a range, keeping of each record what `pick` makes of it. */
  #list<T>(
    selector: Deno.KvListSelector,
    pick: (entry: Deno.KvEntry<unknown>) => T,
    options: { readonly limit?: number; readonly reverse?: boolean } = {},
  ): Promise<T[]> {
    return whileLocked(async () => {
      const found: T[] = [];
      for await (const entry of this.#kv.list<unknown>(selector, { batchSize: PAGE, ...options })) {
        found.push(pick(entry));
      }
      return found;
    });
  }

  async #head(place: Place): Promise<FoundHead | null> {
    const { value, versionstamp } = await whileLocked(() => this.#kv.get(place.headKey));
    return versionstamp === null ? null : this.#parseHead(place, value, versionstamp);
  }

  #parseHead(place: Place, value: unknown, versionstamp: string): FoundHead {
    if (!(value instanceof Uint8Array)) throw corrupt(place, "the head", typeof value);
    const { life, ...head }: SessionHead & { life: string } = this.#decode(place, value, "the head");
    // The type says 1; the database may have been written by another release.
    const schema: number = head.schema;
    if (schema !== SCHEMA) {
      throw new SelvageError(
        "store_schema",
        `Cannot open session "${place.key.session}": found stored format ${schema}, wanted ${SCHEMA}`,
        { fields: { found: schema, wanted: SCHEMA } },
      );
    }
    return { head, life, versionstamp };
  }

  #decode<T>(place: Place, bytes: Uint8Array, what: string): T {
    try {
      return JSON.parse(decoder.decode(bytes));
    } catch (cause) {
      const { message, code, fields } = corrupt(place, what, `${bytes.length} bytes that are not JSON`);
      throw new SelvageError(code, message, { cause, fields });
    }
  }

  /** Puts a stored value together: itself, or the chunks that it names. */
  async #bytes(place: Place, value: unknown, what: string, kind: ChunkKind = "c"): Promise<Uint8Array> {
    if (value instanceof Uint8Array) return value;
    if (!isChunked(value)) throw corrupt(place, what, value === null ? "nothing" : typeof value);
    const chunks = await this.#list(
      { prefix: [...place.prefix, kind, value.chunks] },
      (entry) => entry.value,
    );
    const whole = new Uint8Array(value.bytes);
    let length = 0;
    for (const chunk of chunks) {
      if (!(chunk instanceof Uint8Array) || length + chunk.length > whole.length) {
        throw corrupt(place, what, "a chunk that is not its own");
      }
      whole.set(chunk, length);
      length += chunk.length;
    }
    if (chunks.length !== value.n || length !== value.bytes) {
      throw corrupt(place, what, `${chunks.length} of ${value.n} chunks, ${length} of ${value.bytes} bytes`);
    }
    return whole;
  }

  async #parse<T>(place: Place, value: unknown, what: string, kind: ChunkKind = "c"): Promise<T> {
    return this.#decode(place, await this.#bytes(place, value, what, kind), what);
  }

  /**
   * Runs reads that depend on the head, which belong together because records never change within the life of a
   * session. One that was deleted meanwhile, and perhaps made anew, is read again from the start.
   */
  async #snapshot<T>(place: Place, load: (found: FoundHead) => Promise<T>): Promise<T | null> {
    for (;;) {
      const found = await this.#head(place);
      if (found === null) return null;
      const [outcome] = await Promise.allSettled([load(found)]);
      if ((await this.#head(place))?.life !== found.life) continue;
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    }
  }

  /** Reads all that a head speaks of, and the ids of the groups of chunks that its entries name. */
  async #load(
    place: Place,
    head: SessionHead,
    version = head.view,
  ): Promise<{ state: SessionState; groups: Set<string> }> {
    const found = (await Promise.all(
      segmentsOf(head).map(({ branch, from, to }) => {
        const prefix = [...branchKey(place, branch), "e"];
        const range = from === 0
          ? { prefix, end: [...prefix, to] }
          : { start: [...prefix, from], end: [...prefix, to] };
        return this.#list(range, ({ key, value }) => ({ seq: key.at(-1), value }));
      }),
    )).flat();
    const groups = new Set<string>();
    const entries: Entry[] = [];
    for (let seq = 0; seq < head.length; seq++) {
      const record = found[seq];
      // A hole moves every later record up by one: the first place where numbers differ is the hole.
      const value = record?.seq === seq ? record.value : null;
      if (isChunked(value)) groups.add(value.chunks);
      entries.push(await this.#parse(place, value, `entry ${seq}`));
    }
    return { state: { head, entries, view: await this.#view(place, head, version) }, groups };
  }

  /** A view of a log; null for the log itself, and for a number that was left out. */
  async #view(place: Place, head: SessionHead, version: number): Promise<unknown> {
    if (!Number.isInteger(version) || version <= 0 || version > head.view) return null;
    const value = await this.#get(viewKey(place, head, version));
    // Only the one in force must be there.
    return value === null && version !== head.view
      ? null
      : await this.#parse(place, value, `view ${version}`);
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
        group: chunkGroupId(now),
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
      const stored = await this.#bytes(place, await this.#get(key), what);
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
      const found = held ?? await this.#head(place);
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
    const found = this.#parseHead(place, held.value, held.versionstamp);
    return holdsLease(found.head, lease) ? found : null;
  }

  /** Writes a change, the head last; null where the head is no longer the one that was found. */
  async #write(
    place: Place,
    found: FoundHead | null,
    { head, records, unchanged }: Change,
  ): Promise<string | null> {
    const value = encoder.encode(toText({ ...head, life: found?.life ?? crypto.randomUUID() }, "the head"));
    const check = { key: place.headKey, versionstamp: found?.versionstamp ?? null };
    const batches = packRecords(records);
    let versionstamp = "";
    for (const [index, batch] of batches.entries()) {
      const result = await whileLocked(() => {
        const atomic = this.#kv.atomic().check(check);
        if (unchanged !== undefined) atomic.check(unchanged);
        for (const { key, value, expireIn } of batch) {
          atomic.set(key, value, expireIn === undefined ? {} : { expireIn });
        }
        if (index === batches.length - 1) atomic.set(place.headKey, value);
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

  /** Deletes keys while the head is at `versionstamp`; says whether it stayed there. */
  async #remove(place: Place, versionstamp: string | null, keys: readonly Deno.KvKey[]): Promise<boolean> {
    for (let start = 0; start < keys.length; start += PAGE) {
      const { ok } = await whileLocked(() => {
        const atomic = this.#kv.atomic().check({ key: place.headKey, versionstamp });
        for (const key of keys.slice(start, start + PAGE)) atomic.delete(key);
        return atomic.commit();
      });
      if (!ok) return false;
    }
    return true;
  }

  /** Deletes all that is left of a session without a head; leaves off when somebody makes it anew. */
  async #clear(place: Place): Promise<void> {
    for (;;) {
      const keys = await this.#list({ prefix: place.prefix }, (entry) => entry.key, { limit: PAGE });
      if (keys.length === 0 || !await this.#remove(place, null, keys)) return;
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
    const old = await this.#list({ prefix: chunks, end }, (entry) => entry.key);
    if (old.length === 0) return;
    const named = new Set(groups);
    const keep = (value: unknown): void => {
      if (isChunked(value)) named.add(value.chunks);
    };
    for (const [number, { at, length }] of branchesOf(head).entries()) {
      const own = branchKey(place, number);
      for (const view of await this.#list({ prefix: [...own, "v"] }, ({ value }) => value)) keep(view);
      if (number === branchOf(head) || length <= at) continue;
      const range = { start: [...own, "e", at], end: [...own, "e", length] };
      for (const entry of await this.#list(range, ({ value }) => value)) keep(entry);
    }
    await this.#remove(place, versionstamp, old.filter((key) => !named.has(String(key.at(-2)))));
  }
}

/**
 * Opens a store in Deno KV. Several instances, in one process or in many, may use the same database.
 *
 * Throws a `SelvageError` with the code `kv_unavailable` where this Deno runs without KV or cannot open the
 * database. Methods throw `store_corrupt` where a record is missing, `store_schema` where a session was written in
 * another format, `store_busy` where an SQLite file stays locked for 5 s.
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
    kv = await whileLocked(() => Deno.openKv(options.path));
    // A file that can be read only opens, too: it is written to once, rather than fail with the first turn.
    await whileLocked(() => kv.set(["selvage.opened"], Date.now())).catch((error) => {
      kv.close();
      throw error;
    });
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new SelvageError(
      "kv_unavailable",
      `Cannot open Deno KV${at}: found "${found}", wanted a database that can be read and written`,
      { cause },
    );
  }
  return new KvStore(kv, options.clock ?? systemClock);
}
