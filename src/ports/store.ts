/**
 * Where sessions live: heads, leases, commits, and the ten methods of a store.
 *
 * @module
 */
import type { ApprovalNote, ClientNote, Entry, UserEntry } from "./log.ts";

/** Whom something belongs to. */
export interface Owner {
  /** Tenant. */
  readonly tenant: string;
  /** User of the tenant. */
  readonly user?: string;
}

/** Whose session it is and what it is called. */
export interface SessionKey extends Owner {
  /** Session. */
  readonly session: string;
}

/** What becomes of a turn whose last reader has gone. */
export type OnDisconnect = "abort" | "continue";

/** A call that waits outside the process: its client runs the tool, or a person has to allow it. */
export interface PausedCall {
  /** Reference of the call, for example `e41.0`. */
  readonly ref: string;
  /** Name of the tool. */
  readonly name: string;
  /** What the call waits for: the client's result, or a person's word. */
  readonly reason: "tool" | "approval";
}

/** Where a turn stands between its stored step and the answers that it waits for. The calls themselves are in the log. */
export interface Pause {
  /** Calls that wait. None are left once the turn goes on. */
  readonly pending: readonly PausedCall[];
  /** References of calls that a person has allowed, and that have no result yet. */
  readonly approved: readonly string[];
  /** What persons have said to calls of the step, by reference. */
  readonly approvals?: Readonly<Record<string, ApprovalNote>>;
  /** What the user said along with the last answers, while calls that were allowed have still to run: it comes behind them. */
  readonly said?: Said;
}

/** Something that the user has said to a turn, before it is in the log. */
export interface Said {
  /** Text, or text and files. */
  readonly input: UserEntry["message"]["content"];
  /** What its client says of it beside its content. */
  readonly client?: ClientNote;
}

/** Who runs the session's turn. The epoch rises with each takeover; a commit under an older one is refused. */
export interface Lease {
  /** Who holds it. */
  readonly owner: string;
  /** Id of the turn. */
  readonly turn: string;
  /** The agent that answers in this turn. */
  readonly agent: string;
  /** What becomes of the turn without a reader, and so without a process. */
  readonly onDisconnect: OnDisconnect;
  /** Rises with each lease given. */
  readonly epoch: number;
  /** Times that the turn was taken over from a holder that had died. */
  readonly takeovers: number;
  /** Milliseconds since the epoch after which the lease may be taken over. */
  readonly expires: number;
  /** Once the turn has waited for answers. While calls are pending, the lease rests: only an answer takes it over. */
  readonly pause?: Pause;
  /**
   * Epoch of a holder that gave the turn up with a result of every call that it had begun. To the next holder alone it
   * says that calls without a result may be run.
   */
  readonly settled?: number;
}

/** What is asked for with a lease. */
export interface LeaseRequest {
  /** The agent that is to answer. */
  readonly agent: string;
  /** Who will hold it. */
  readonly owner: string;
  /** Id of the turn: a new one, or with `takeover` that of the turn that was left. */
  readonly turn: string;
  /** Milliseconds that it is good for. */
  readonly ttlMs: number;
  /** What becomes of the turn without a reader. Default `abort`. */
  readonly onDisconnect?: OnDisconnect;
  /**
   * Goes on with a turn whose holder has died or gave it up; with `paused`, with one that waits for answers, however
   * long it does, and with no other.
   */
  readonly takeover?: boolean | "paused";
  /**
   * Gives what is stored together with the lease, once the session has been read and found free: what a turn begins
   * with. It is asked anew where somebody else has changed the session meanwhile. It may read the store, and must not
   * write to the session.
   */
  readonly begin?: (state: LeasedSession) => Commit | Promise<Commit>;
}

/** A branch of a session's log. */
export interface Branch {
  /** The branch that it leaves; null for the first. */
  readonly parent: number | null;
  /** Entries that it shares with that branch; its own come after them. */
  readonly at: number;
  /** Number of the view that was in force there. */
  readonly base: number;
  /** Entries in its log when it was left; those of the branch in force are in the head. */
  readonly length: number;
  /** Number of its view when it was left. */
  readonly view: number;
}

/** Where a new branch leaves an old one. */
export interface Fork {
  /** The branch that it leaves. */
  readonly from: number;
  /** Entries that stay shared. */
  readonly at: number;
  /** Number of the view that holds there, 0 for the log itself. */
  readonly view: number;
}

/** The small, mutable part of a session. Everything in it is JSON. */
export interface SessionHead {
  /** Number of the stored format. */
  readonly schema: 1;
  /** The agent that answers. */
  readonly agent: string;
  /** Entries in the log. */
  readonly length: number;
  /** Number of the view in force, 0 for the log itself. */
  readonly view: number;
  /** The branch that the rest of the head speaks of; left out for the first, 0. */
  readonly branch?: number;
  /** All branches by number; left out while there is only the first. */
  readonly branches?: readonly Branch[];
  /** Set while a compaction is due that found no legal cut. */
  readonly flag?: { readonly reason: string; readonly since: number };
  /** What the meter knows from the provider's bill. */
  readonly meter?: unknown;
  /** Entries and calls by ref that were pinned (true), or whose pin was taken away (false). */
  readonly pins?: Readonly<Record<string, boolean>>;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch. */
  readonly updatedAt: number;
  /** Epoch of the last lease given. */
  readonly epoch: number;
  /** The running turn's hold on the session. */
  readonly lease?: Lease;
}

/** A session as read from a store. `view` is the stored view in force, null for the log itself. */
export interface SessionState {
  /** The small, mutable part. */
  readonly head: SessionHead;
  /** The log. */
  readonly entries: readonly Entry[];
  /** The stored view in force, null for the log itself. */
  readonly view: unknown;
}

/** A session under a lease. */
export interface LeasedSession extends SessionState {
  /** The lease; it is in the head, too. */
  readonly lease: Lease;
}

/** What one commit changes; all of it lands, or nothing. */
export interface Commit {
  /** Leaves the branch in force for a new one, first of all; what was left stays as it is, and can be read. */
  readonly fork?: Fork;
  /** Appended to the log. The first has `seq` equal to the length of the log before. */
  readonly entries?: readonly Entry[];
  /** A new view with its number, greater than the last of its branch. */
  readonly view?: { readonly version: number; readonly value: unknown };
  /** The flag from now on; null clears it. */
  readonly flag?: { readonly reason: string; readonly since: number } | null;
  /** What the meter knows from the provider's bill. */
  readonly meter?: unknown;
  /** All pins from now on. */
  readonly pins?: Readonly<Record<string, boolean>>;
  /** Events of the turn, in order, for clients that lost their stream. Kept for an hour after the last. */
  readonly events?: readonly StoredEvent[];
  /** Extends the lease by so many milliseconds from now, as `renew` does; left out, it expires when it would have. */
  readonly ttlMs?: number;
  /** Ends the lease with this commit: the turn is over. */
  readonly release?: boolean;
  /** Gives the lease up in the middle of the turn: it can be taken over at once, and later commits are `lease_lost`. */
  readonly suspend?: boolean;
  /** With `suspend`: calls without a result have not begun. The lease keeps its epoch as `settled`. */
  readonly settled?: boolean;
  /** The calls of the turn that wait from now on, and those that were allowed. Stays with the lease until the turn is over. */
  readonly pause?: Pause;
}

/** One event of a turn, as it was sent; `id` is `<turn>:<n>`. Everything in it is JSON. */
export interface StoredEvent {
  /** Turn and number; numbers rise, and leave out some where a turn was taken over. */
  readonly id: string;
  /** Tells the events apart. */
  readonly type: string;
}

/** What a store knows of the events of a turn. */
export interface StoredEvents {
  /** Events from the one asked for on; not all of them, where they are many. */
  readonly events: readonly StoredEvent[];
  /** The lease in force in the session, of whichever turn. */
  readonly lease: Lease | null;
}

/** One page of sessions, the newest first. */
export interface SessionPage {
  /** The sessions. */
  readonly sessions: readonly { readonly key: SessionKey; readonly head: SessionHead }[];
  /** What to ask for the next page with; null on the last one. */
  readonly next: string | null;
}

/** A value that is to be kept under a name. */
export interface Claim {
  /** Anything that is JSON. */
  readonly value: unknown;
  /** Milliseconds for which it is kept. */
  readonly ttlMs: number;
  /** A value that it may take the place of. */
  readonly over?: unknown;
}

/**
 * Where sessions live. Leases, commits and claims throw `SelvageError`s with the codes named here; whatever is not
 * stored whole is not stored at all. Of what else a store throws, a `TypeError` or `RangeError` is the fault of who
 * called; an app tells the rest as `store_unavailable` (503) and logs it, and a write that fails so makes it unready.
 */
export interface Store {
  /**
   * Reads a session, or null where there is none. With `branch` it is read as that branch has it, which was left: head
   * and entries are those of the branch; null where there is no such branch. With `view` the state has the view of that
   * number, rather than the one in force; null in its place where there is no such view.
   */
  read(
    key: SessionKey,
    options?: { readonly branch?: number; readonly view?: number },
  ): Promise<SessionState | null>;
  /** Reads one entry of the branch in force, or null. */
  entry(key: SessionKey, seq: number): Promise<Entry | null>;
  /**
   * Takes the lease of a session, making the session where there is none, and reads it. Throws `turn_running`
   * (fields: `turn`, `expires`) while another lease is alive; `turn_exists` where a new turn has the id of an
   * earlier one; `turn_interrupted` (fields: `turn`, `onDisconnect`) where another turn was left unfinished and has
   * to be taken over first; `turn_over` where the turn that is to be taken over is not the one that was left;
   * `turn_paused` (fields: `turn`, `pending`) where a turn waits for answers, and `turn_not_paused` (fields: `turn`)
   * where the one that is to be answered does not. What the request's `begin` gives is stored with the lease, all or
   * nothing; where that throws, or gives what `commit` would refuse, no lease is taken and nothing is stored. The
   * session comes back as `begin` was given it.
   */
  acquire(key: SessionKey, request: LeaseRequest): Promise<LeasedSession>;
  /**
   * Appends and changes under a lease; throws `lease_lost` where it is no longer ours, `too_many_branches` for a fork
   * beyond the 500th.
   */
  commit(key: SessionKey, lease: Lease, commit: Commit): Promise<void>;
  /** Extends a lease by `ttlMs` from now; throws `lease_lost` where it is no longer ours. */
  renew(key: SessionKey, lease: Lease, ttlMs: number): Promise<void>;
  /** Reads the events of a turn whose number is `from` or more; null for a turn that is over and has none any more. */
  events(key: SessionKey, turn: string, from: number): Promise<StoredEvents | null>;
  /**
   * Lists the sessions of an owner, the newest first, or with null of all, in no common order; `after` is what the
   * page before gave as `next`. A page may be empty and yet have a next one. Throws `bad_request` for a limit or
   * place that is none.
   */
  list(
    owner: Owner | null,
    options?: { readonly limit?: number; readonly after?: string },
  ): Promise<SessionPage>;
  /**
   * Deletes a session with everything in it; says whether it did. With `unusedSince`, milliseconds since the epoch,
   * only where nothing has changed since then and no turn runs.
   */
  delete(key: SessionKey, options?: { readonly unusedSince?: number }): Promise<boolean>;
  /**
   * Stores a small value under a name for `ttlMs`, unless there is one; gives the value that is there. Without a
   * value it only looks; undefined where there is none. With `over` the value also takes the place of one that equals
   * `over`, as JSON: what was read can be changed, unless somebody else was first. `turn/<id>` of each turn is claimed
   * with its lease: `{ session, agent }`.
   */
  claim(owner: Owner, name: string, claim?: Claim): Promise<unknown>;
  /** Lets go of what the store holds open. */
  close(): void;
}
