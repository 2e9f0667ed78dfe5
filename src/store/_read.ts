/**
 * Reading what a head speaks of: the entries, views and events of a session.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { headOn, ownerOfEntry, segmentsOf } from "../loop/branches.ts";
import { eventNumber } from "../loop/events.ts";
import type { Entry, SessionHead, SessionState, StoredEvent, StoredEvents } from "../ports.ts";
import { isReadable } from "./_events.ts";
import { SCHEMA } from "./_head.ts";
import { type Key, partOf } from "./_key.ts";
import { whileLocked } from "./_locked.ts";
import { branchKey, corrupt, type Place, viewKey } from "./_place.ts";
import { isChunked } from "./_records.ts";

/** Keys read in one go. */
const PAGE = 100;

/** Records of events read in one go. */
const EVENT_PAGE = 50;

const decoder = new TextDecoder();

/** A key that was read; more may be in it than in our own. */
export type FoundKey = readonly (string | number | bigint | boolean | symbol | Uint8Array)[];

/** A record that was looked for; the versionstamp is null where there is none. */
export interface Found {
  readonly value: unknown;
  readonly versionstamp: string | null;
}

/** Which keys: those with a prefix, or from `start` on, before `end`. */
type Range =
  | { readonly prefix: Key; readonly start?: never; readonly end?: never }
  | { readonly prefix: Key; readonly start: Key; readonly end?: never }
  | { readonly prefix: Key; readonly start?: never; readonly end: Key }
  | { readonly prefix?: never; readonly start: Key; readonly end: Key };

/** How many keys, and from which end. */
interface RangeOptions {
  readonly limit?: number;
  readonly reverse?: boolean;
}

/** A database that sorts its keys, as far as it is read from. */
export interface Source {
  get(key: Key): Promise<Found>;
  getMany(keys: readonly Key[]): Promise<readonly Found[]>;
  list(
    range: Range,
    options: RangeOptions & { readonly batchSize: number },
  ): AsyncIterable<{ readonly key: FoundKey; readonly value: unknown }>;
}

/** The head as it was read. `life` tells a session from an earlier one of the same name that was deleted. */
export interface FoundHead {
  readonly head: SessionHead;
  readonly life: string;
  readonly versionstamp: string;
}

/** Events of one commit, and when it was made, in milliseconds since the epoch. */
export interface EventBatch {
  readonly at: number;
  readonly events: readonly StoredEvent[];
}

/** `c` for chunks of entries and views, `x` for those of events. */
export type ChunkKind = "c" | "x";

/** Reads sessions. */
export class SessionReader {
  readonly #source: Source;

  /** Makes it; it waits while the database is locked. */
  constructor(source: Source) {
    this.#source = source;
  }

  /** A session as one of its branches has it, with one of its views. */
  state(
    place: Place,
    { branch, view }: { readonly branch?: number; readonly view?: number },
  ): Promise<SessionState | null> {
    return this.snapshot(place, async ({ head }) => {
      const found = branch === undefined ? head : headOn(head, branch);
      return found === null ? null : (await this.load(place, found, view)).state;
    });
  }

  /** One entry of the log in force. */
  entry(place: Place, seq: number): Promise<Entry | null> {
    return this.snapshot(place, async ({ head }) => {
      const owner = Number.isInteger(seq) ? ownerOfEntry(head, seq) : null;
      if (owner === null) return null;
      const { value } = await this.get([...branchKey(place, owner), "e", seq]);
      return await this.#parse<Entry>(place, value, `entry ${seq}`);
    });
  }

  /** Events of a turn from a number on, as far as they can be read at a time. */
  events(
    place: Place,
    turn: string,
    { from, now }: { readonly from: number; readonly now: () => number },
  ): Promise<StoredEvents | null> {
    const prefix = [...place.prefix, "t", partOf(turn)];
    const parse = (value: unknown): Promise<EventBatch> =>
      this.#parse(place, value, `events of turn ${turn}`, "x");
    // The head is read first: where it says that the turn is over, all events are there.
    return this.snapshot(place, async ({ head: { lease } }) => {
      const [newest] = await this.list({ prefix }, ({ value }) => value, { limit: 1, reverse: true });
      const last = newest === undefined ? undefined : (await parse(newest)).at;
      if (!isReadable(turn, { last, lease, now: now() })) return null;
      const values = await this.list({ prefix, start: [...prefix, from] }, ({ value }) => value, {
        limit: EVENT_PAGE,
      });
      const batches = await Promise.all(values.map(parse));
      const events = batches.flatMap((batch) => batch.events).filter((event) => eventNumber(event) >= from);
      return { events, lease: lease ?? null };
    });
  }

  /** One record. */
  get(key: Key): Promise<Found> {
    return whileLocked(() => this.#source.get(key));
  }

  /** Several records. */
  getMany(keys: readonly Key[]): Promise<readonly Found[]> {
    return whileLocked(() => this.#source.getMany(keys));
  }

  /** Lists a range, keeping of each record what `pick` makes of it. */
  list<T>(
    range: Range,
    pick: (entry: { readonly key: FoundKey; readonly value: unknown }) => T,
    options: RangeOptions = {},
  ): Promise<T[]> {
    return whileLocked(async () => {
      const found: T[] = [];
      for await (const entry of this.#source.list(range, { batchSize: PAGE, ...options })) {
        found.push(pick(entry));
      }
      return found;
    });
  }

  /** The head of a session. */
  async head(place: Place): Promise<FoundHead | null> {
    const { value, versionstamp } = await this.get(place.headKey);
    return versionstamp === null ? null : this.parseHead(place, value, versionstamp);
  }

  /** Reads the stored form of a head. */
  parseHead(place: Place, value: unknown, versionstamp: string): FoundHead {
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
  async bytes(place: Place, value: unknown, what: string, kind: ChunkKind = "c"): Promise<Uint8Array> {
    if (value instanceof Uint8Array) return value;
    if (!isChunked(value)) throw corrupt(place, what, value === null ? "nothing" : typeof value);
    const chunks = await this.list(
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
    return this.#decode(place, await this.bytes(place, value, what, kind), what);
  }

  /**
   * Runs reads that depend on the head, which belong together because records never change within the life of a
   * session. One that was deleted meanwhile, and perhaps made anew, is read again from the start.
   */
  async snapshot<T>(place: Place, load: (found: FoundHead) => Promise<T>): Promise<T | null> {
    for (;;) {
      const found = await this.head(place);
      if (found === null) return null;
      const [outcome] = await Promise.allSettled([load(found)]);
      if ((await this.head(place))?.life !== found.life) continue;
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    }
  }

  /** Reads all that a head speaks of, and the ids of the groups of chunks that its entries name. */
  async load(
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
        return this.list(range, ({ key, value }) => ({ seq: key.at(-1), value }));
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
    const { value } = await this.get(viewKey(place, head, version));
    // Only the one in force must be there.
    return value === null && version !== head.view
      ? null
      : await this.#parse(place, value, `view ${version}`);
  }
}
