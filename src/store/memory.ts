// deno-lint-ignore-file require-await -- methods are `async` so that errors come as rejections, and await nothing that
// is not looked at again afterwards, so that each is atomic
/**
 * Sessions in memory: for tests, for trials, and for apps that keep their state elsewhere.
 *
 * Over 300 lines: the ten methods of a store, each short, on the same maps.
 *
 * @module
 */
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
  StoredEvent,
  StoredEvents,
} from "../ports.ts";
import { aClock, optionsOf, requireOptions } from "../core/options.ts";
import { branchesOf, branchOf, headOn, ownerOfEntry, ownerOfView, segmentsOf } from "../loop/branches.ts";
import { systemClock } from "../loop/clock.ts";
import { eventNumber } from "../loop/events.ts";
import { isPast, isReadable } from "./_events.ts";
import {
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
import { bareKey, nameOf } from "./_key.ts";
import { compareListed, isListed, pageName, pageSize, placeOfPage } from "./_pages.ts";

/** Settings of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /** Default: the clock of the machine. */
  readonly clock?: Clock;
}

const rules = optionsOf<MemoryStoreOptions>({ clock: aClock });

/** Everything that callers own as JSON text: a caller who changes what it got or gave cannot change what is stored. */
interface Session {
  readonly key: SessionKey;
  head: string;
  /** By branch the entries of its own. */
  readonly entries: Map<number, string[]>;
  /** By branch and number. */
  readonly views: Map<string, string>;
  /** By turn. */
  readonly events: Map<string, TurnEvents>;
}

/** Events of one turn by commit: side by side, since a stream has one for each of its deltas. */
interface TurnEvents {
  /** When the last commit was made, in milliseconds since the epoch. */
  at: number;
  /** Number of the last event of each. */
  readonly lasts: number[];
  readonly texts: string[];
}

/** Events of one commit. */
interface EventBatch {
  readonly at: number;
  readonly last: number;
  readonly text: string;
}

/** What a commit adds, as text. */
interface CommitTexts {
  readonly added: readonly string[];
  readonly view: string | undefined;
  readonly batch: EventBatch | null;
}

/** A value that was claimed. */
interface Claimed {
  readonly text: string;
  readonly expires: number;
}

/** The fewest claims and batches of events that are stored before old ones are looked for. */
const WRITES_BETWEEN_SWEEPS = 1_000;

class MemoryStore implements Store {
  readonly #sessions = new Map<string, Session>();
  readonly #claims = new Map<string, Claimed>();
  readonly #clock: Clock;
  #writesUntilSweep = WRITES_BETWEEN_SWEEPS;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async read(
    key: SessionKey,
    options: { readonly branch?: number; readonly view?: number } = {},
  ): Promise<SessionState | null> {
    const session = this.#sessions.get(nameOf(key));
    return session === undefined ? null : stateOf(session, options);
  }

  async entry(key: SessionKey, seq: number): Promise<Entry | null> {
    const session = this.#sessions.get(nameOf(key));
    const head = headOf(session);
    const owner = head === null ? null : ownerOfEntry(head, seq);
    if (session === undefined || head === null || owner === null) return null;
    const text = session.entries.get(owner)?.[seq - (branchesOf(head)[owner]?.at ?? 0)];
    return text === undefined ? null : JSON.parse(text);
  }

  async acquire(key: SessionKey, request: LeaseRequest): Promise<LeasedSession> {
    for (;;) {
      const found = this.#sessions.get(nameOf(key));
      const text = found?.head;
      const before = headOf(found);
      requireFree(key, before, { request, now: this.#clock.now() });
      const leased = (): LeasedSession => {
        const head = withNewLease(before, request, this.#clock.now());
        return { head, entries, view, lease: { ...head.lease } };
      };
      const { entries, view } = (found && stateOf(found, {})) ?? { entries: [], view: null };
      const commit = request.begin === undefined ? {} : await request.begin(leased());
      // The one wait there is: somebody else may have come by.
      if (this.#sessions.get(nameOf(key))?.head !== text) continue;
      const now = this.#clock.now();
      const turn = `turn/${request.turn}`;
      if (!request.takeover && this.#claimed(key, turn) !== undefined) throw turnExists(key, request.turn);
      const taken = leased();
      const { head, lease } = taken;
      const after = request.begin === undefined ? head : withCommit(key, head, { lease, commit, now });
      const texts = textsOf(commit, now);
      const session = found ??
        { key: bareKey(key), head: "", entries: new Map(), views: new Map(), events: new Map() };
      this.#put(session, after, { ...texts, turn: lease.turn });
      this.#sessions.set(nameOf(key), session);
      if (!request.takeover) {
        const value = { session: key.session, agent: request.agent };
        this.#setClaim(key, turn, { text: toText(value, "the claim"), expires: now + TURN_KNOWN_MS });
      }
      return taken;
    }
  }

  async commit(key: SessionKey, lease: Lease, commit: Commit): Promise<void> {
    const session = this.#sessions.get(nameOf(key));
    const before = headOf(session);
    const now = this.#clock.now();
    // Text first: what is not JSON is refused before anything has changed.
    const texts = textsOf(commit, now);
    const { added, view } = texts;
    if (isWhereCommitLeads(before, lease, commit)) {
      const last = session?.entries.get(branchOf(before))?.at(-1);
      const hasLast = added.length === 0 || last === added.at(-1);
      if (hasLast && (view === undefined || session?.views.get(viewName(before, before.view)) === view)) {
        return;
      }
    }
    const after = withCommit(key, before, { lease, commit, now });
    if (session !== undefined) this.#put(session, after, { ...texts, turn: lease.turn });
  }

  async renew(key: SessionKey, lease: Lease, ttlMs: number): Promise<void> {
    const session = this.#sessions.get(nameOf(key));
    const head = withLongerLease(key, headOf(session), { lease, ttlMs, now: this.#clock.now() });
    if (session !== undefined) session.head = toText(head, "the head");
  }

  async events(key: SessionKey, turn: string, from: number): Promise<StoredEvents | null> {
    const session = this.#sessions.get(nameOf(key));
    const lease = headOf(session)?.lease;
    const stored = session?.events.get(turn);
    if (!isReadable(turn, { last: stored?.at, lease, now: this.#clock.now() })) return null;
    const { lasts = [], texts = [] } = stored ?? {};
    const events = texts.filter((_, place) => (lasts[place] ?? 0) >= from)
      .flatMap((text): readonly StoredEvent[] => JSON.parse(text))
      .filter((event) => eventNumber(event) >= from);
    return { events, lease: lease ?? null };
  }

  async list(
    owner: Owner | null,
    { limit, after }: { readonly limit?: number; readonly after?: string } = {},
  ): Promise<SessionPage> {
    const size = pageSize(limit);
    const end = after === undefined ? null : placeOfPage(after);
    const rest = [...this.#sessions.values()]
      .map(({ key, head }) => ({ key: { ...key }, head: JSON.parse(head) as SessionHead }))
      .filter(({ key, head }) =>
        isListed(owner, key) && (end === null || compareListed({ key, ...head }, end) < 0)
      )
      .sort((a, b) => compareListed({ key: b.key, ...b.head }, { key: a.key, ...a.head }));
    const sessions = rest.slice(0, size);
    const last = sessions.at(-1);
    return {
      sessions,
      next: rest.length > size && last !== undefined
        ? pageName({ key: last.key, createdAt: last.head.createdAt })
        : null,
    };
  }

  async delete(key: SessionKey, { unusedSince }: { readonly unusedSince?: number } = {}): Promise<boolean> {
    const head = headOf(this.#sessions.get(nameOf(key)));
    if (head === null || !isUnused(head, { since: unusedSince, now: this.#clock.now() })) return false;
    return this.#sessions.delete(nameOf(key));
  }

  async claim(owner: Owner, name: string, claim?: Claim): Promise<unknown> {
    const stored = this.#claimed(owner, name);
    const found = stored === undefined ? undefined : JSON.parse(stored);
    if (claim === undefined || !isFree(found, claim)) return found;
    const text = toText(claim.value, "the claim");
    this.#setClaim(owner, name, { text, expires: this.#clock.now() + claim.ttlMs });
    return JSON.parse(text);
  }

  close(): void {
    this.#sessions.clear();
    this.#claims.clear();
  }

  /** Stores a new head, and what came with it. */
  #put(
    session: Session,
    after: SessionHead,
    { added, view, batch, turn }: CommitTexts & { readonly turn: string },
  ): void {
    session.head = toText(after, "the head");
    const branch = branchOf(after);
    const entries = session.entries.get(branch) ?? [];
    for (const text of added) entries.push(text);
    session.entries.set(branch, entries);
    if (view !== undefined) session.views.set(viewName(after, after.view), view);
    if (batch !== null) this.#addBatch(session, turn, batch);
  }

  #claimed(owner: Owner, name: string): string | undefined {
    const found = this.#claims.get(nameOf({ ...owner, session: name }));
    return found !== undefined && found.expires > this.#clock.now() ? found.text : undefined;
  }

  #setClaim(owner: Owner, name: string, claimed: Claimed): void {
    this.#claims.set(nameOf({ ...owner, session: name }), claimed);
    this.#sweepNowAndThen();
  }

  #addBatch({ events }: Session, turn: string, { at, last, text }: EventBatch): void {
    const stored = events.get(turn) ?? { at, lasts: [], texts: [] };
    stored.at = at;
    // The same once more: its acknowledgement was lost.
    const isAgain = stored.lasts.at(-1) === last;
    const place = isAgain ? stored.lasts.length - 1 : stored.lasts.length;
    stored.lasts[place] = last;
    stored.texts[place] = text;
    events.set(turn, stored);
    this.#sweepNowAndThen();
  }

  /**
   * Forgets claims that have expired, and events that cannot be read any more: once in as many writes as there are
   * places to look at, so that a write costs no more the more is held.
   */
  #sweepNowAndThen(): void {
    if (--this.#writesUntilSweep > 0) return;
    this.#writesUntilSweep = Math.max(WRITES_BETWEEN_SWEEPS, this.#claims.size + this.#sessions.size);
    const now = this.#clock.now();
    for (const [name, { expires }] of this.#claims) if (expires <= now) this.#claims.delete(name);
    for (const session of this.#sessions.values()) {
      for (const [turn, { at }] of session.events) {
        // The head is text: most events are too young for it to be read.
        if (!isPast(at, now)) continue;
        if (headOf(session)?.lease?.turn !== turn) session.events.delete(turn);
      }
    }
  }
}

function headOf(session: Session | undefined): SessionHead | null {
  return session === undefined ? null : JSON.parse(session.head);
}

/** The name of a view among those of all branches. */
function viewName(head: SessionHead, version: number): string {
  return `${ownerOfView(head, version)}/${version}`;
}

function stateOf(
  session: Session,
  { branch, view }: { readonly branch?: number; readonly view?: number },
): SessionState | null {
  const inForce: SessionHead = JSON.parse(session.head);
  const head = branch === undefined ? inForce : headOn(inForce, branch);
  if (head === null) return null;
  const branches = branchesOf(head);
  const texts = segmentsOf(head).flatMap(({ branch, from, to }) => {
    const { at = 0 } = branches[branch] ?? {};
    return session.entries.get(branch)?.slice(from - at, to - at) ?? [];
  });
  const version = view ?? head.view;
  return {
    head,
    entries: texts.map((text): Entry => JSON.parse(text)),
    view: version > head.view ? null : JSON.parse(session.views.get(viewName(head, version)) ?? "null"),
  };
}

/** Throws a `TypeError` where something is not JSON. */
function textsOf({ entries = [], view, events = [] }: Commit, now: number): CommitTexts {
  return {
    added: entries.map((entry) => toText(entry, `entry ${entry.seq}`)),
    view: view && toText(view.value, `view ${view.version}`),
    batch: batchOf(events, now),
  };
}

function batchOf(events: readonly StoredEvent[], at: number): EventBatch | null {
  const last = events.at(-1);
  if (last === undefined) return null;
  return { at, last: eventNumber(last), text: toText(events, `events to ${last.id}`) };
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
  requireOptions("make the store", options, rules);
  return new MemoryStore(options.clock ?? systemClock);
}
