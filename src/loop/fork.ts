/**
 * What a new turn begins with: the log as it is, the log up to an entry, where the turn leaves it for a branch of its
 * own, or a log with a history from elsewhere at its end.
 *
 * @module
 */
import { counted } from "../core/counted.ts";
import type { StoredView } from "../compaction/context.ts";
import { pinnedEntries, sharedPins, withPins } from "../compaction/pins.ts";
import { SelvageError } from "../core/errors.ts";
import type { Commit, Entry, SessionHead, SessionKey, SessionState, Store } from "../ports.ts";
import type { TurnRequest } from "./agent.ts";
import { branchOf } from "./branches.ts";
import { openCalls } from "./calls.ts";

/** A session as a turn finds it, and what is to be stored with the turn's input. */
export interface Beginning extends SessionState {
  readonly before: Pick<Commit, "fork" | "view" | "entries">;
}

/**
 * Finds what a turn begins with.
 *
 * @param state The session under the turn's lease.
 * @param options What was asked for, and where older branches and views are read.
 * @throws SelvageError `bad_fork` where the log cannot be left there.
 */
export async function beginningOf(
  state: SessionState,
  { request, store, key }: {
    readonly request: Pick<TurnRequest, "begin" | "fork" | "history">;
    readonly store: Pick<Store, "read">;
    readonly key: SessionKey;
  },
): Promise<Beginning> {
  const { fork, history } = await request.begin?.(state) ?? request;
  const begun = fork === undefined ? { ...state, before: {} } : await left(state, { fork, store, key });
  if (history === undefined || history.entries.length === 0) return begun;
  const from = begun.entries.length;
  const entries = history.entries.map((entry) => shifted(entry, from));
  const whole = [...begun.entries, ...entries];
  // Positions of a view are those of the log that it was made on.
  const view = from === 0 && begun.head.view === 0 ? history.view as StoredView | null ?? null : null;
  if (view === null) return { ...begun, entries: whole, before: { ...begun.before, entries } };
  const before = { ...begun.before, entries, view: { version: view.version, value: view } };
  return { ...begun, entries: whole, view, before };
}

async function left(
  state: SessionState,
  { fork: { at, branch = branchOf(state.head) }, store, key }: {
    readonly fork: NonNullable<TurnRequest["fork"]>;
    readonly store: Pick<Store, "read">;
    readonly key: SessionKey;
  },
): Promise<Beginning> {
  const from = branch === branchOf(state.head) ? state : await store.read(key, { branch });
  const entries = from?.entries.slice(0, at) ?? [];
  const open = openCalls(entries).length;
  if (from === null || !(at >= 0 && at <= from.entries.length) || open > 0) {
    const found = from === null
      ? `no branch ${branch}`
      : `${counted(from.entries.length, "entry", "entries")}, and ${counted(open, "call")} open before it`;
    throw new SelvageError(
      "bad_fork",
      `Cannot leave the log at entry ${at}: found ${found}, wanted an entry that no open call stands before`,
      { fields: { at } },
    );
  }
  const version = viewAt(from, at);
  const made = version === 0
    ? null
    : (await store.read(key, { branch, view: version }))?.view as StoredView | undefined ?? null;
  const fork = { from: branch, at, view: made === null ? 0 : version };
  // What was due in the branch that is left says nothing of this one, nor does its bill.
  const { flag: _flag, meter, pins: all, ...head }: SessionHead = from.head;
  const pins = all && sharedPins(all, at);
  // What has been pinned since that view was made, it does not show.
  const view = made && withPins(made, entries, pinnedEntries(entries, pins));
  return {
    head: {
      ...head,
      length: at,
      view: view?.version ?? 0,
      ...(pins === undefined ? {} : { pins }),
      ...(meter === undefined ? {} : { meter: unbilled(meter) }),
    },
    entries,
    view,
    before: {
      fork,
      ...(view === null || view === made ? {} : { view: { version: view.version, value: view } }),
    },
  };
}

/** The newest view that was made at an entry or before it: entries tell of the compaction before them. */
function viewAt({ entries, view }: SessionState, at: number): number {
  const made = (view as StoredView | null)?.made;
  if (made !== undefined && made.at <= at) return made.note.view;
  return entries.slice(0, at + 1).findLast(({ compacted }) => compacted !== undefined)?.compacted?.view ?? 0;
}

/** A meter as it is stored, without the anchor: that one covers what is no longer shown. */
function unbilled(meter: unknown): unknown {
  const { state, ...rest } = meter as { readonly state?: object };
  return state === undefined ? meter : { ...rest, state: { ...state, anchor: null } };
}

/** An entry at another place in a log, references included. */
function shifted(entry: Entry, by: number): Entry {
  if (by === 0) return entry;
  const seq = entry.seq + by;
  if (entry.kind !== "result") return { ...entry, seq };
  const call = entry.call.replace(/\d+/, (number) => String(Number(number) + by));
  return { ...entry, seq, call };
}
