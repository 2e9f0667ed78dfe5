/**
 * The rules of a session's head: who may hold the lease, and what a commit makes of a head. Pure, and shared by
 * the stores, so that they cannot differ.
 *
 * @module
 */
import { counted } from "../core/counted.ts";
import { SelvageError } from "../core/errors.ts";
import { sharedPins } from "../compaction/pins.ts";
import { branchesOf } from "../loop/branches.ts";
import { isPaused } from "../loop/pause.ts";
import type { Commit, Fork, Lease, LeaseRequest, SessionHead, SessionKey } from "../ports.ts";

/** Number of the stored format that this code reads and writes. */
export const SCHEMA = 1;

/** Milliseconds for which the id of a turn is known. */
export const TURN_KNOWN_MS = 24 * 3_600_000;

/** Branches of a session: all of them are in its head, which is written with every commit. */
const MAX_BRANCHES = 500;

/** When a lease expires that its holder gave up. */
const GIVEN_UP = 0;

/** Throws where a lease cannot be given at `now`, in milliseconds since the epoch. */
export function requireFree(
  key: SessionKey,
  head: SessionHead | null,
  { request: { turn, takeover = false }, now }: { readonly request: LeaseRequest; readonly now: number },
): void {
  const lease = head?.lease;
  const action = takeover === "paused" ? "answer" : takeover ? "take over" : "start";
  const isWaiting = isPaused(lease);
  if (takeover === "paused" && !(isWaiting && lease?.turn === turn)) {
    const found = lease?.turn !== turn
      ? "it over"
      : lease.expires > now
      ? "it running"
      : "it left by its process";
    throw new SelvageError(
      "turn_not_paused",
      `Cannot answer turn "${turn}" in session "${key.session}": found ${found}, wanted it waiting for answers`,
      { fields: { turn } },
    );
  }
  if (lease !== undefined && lease.expires > now) {
    throw new SelvageError(
      "turn_running",
      `Cannot ${action} turn "${turn}" in session "${key.session}": found turn "${lease.turn}" running, ` +
        `its lease good for ${lease.expires - now} ms more, wanted a session at rest`,
      { fields: { turn: lease.turn, expires: lease.expires } },
    );
  }
  if (takeover && lease?.turn !== turn) {
    throw new SelvageError(
      "turn_over",
      `Cannot take over turn "${turn}" in session "${key.session}": it is not the one that was left unfinished`,
      { fields: { turn } },
    );
  }
  if (takeover !== "paused" && isWaiting) {
    throw new SelvageError(
      "turn_paused",
      `Cannot ${action} turn "${turn}" in session "${key.session}": found turn "${lease?.turn}" waiting for ` +
        `${counted(lease?.pause?.pending.length ?? 0, "answer")}, wanted them first, or the turn cancelled`,
      { fields: { turn: lease?.turn, pending: lease?.pause?.pending } },
    );
  }
  if (!takeover && lease !== undefined) {
    throw new SelvageError(
      "turn_interrupted",
      `Cannot start turn "${turn}" in session "${key.session}": found turn "${lease.turn}" left unfinished by its ` +
        "process, wanted it to be taken over first",
      { fields: { turn: lease.turn, onDisconnect: lease.onDisconnect } },
    );
  }
}

/** The error for a new turn with the id of an earlier one. */
export function turnExists(key: SessionKey, turn: string): SelvageError {
  return new SelvageError(
    "turn_exists",
    `Cannot start turn "${turn}" in session "${key.session}": found an earlier turn of that id, wanted a new one`,
    { fields: { turn } },
  );
}

/** Makes the head of a session under a new lease; `head` is null for a session that is yet to be. */
export function withNewLease(
  head: SessionHead | null,
  request: LeaseRequest,
  now: number,
): SessionHead & { readonly lease: Lease } {
  const { agent, owner, turn, ttlMs, onDisconnect = "abort" } = request;
  const epoch = (head?.epoch ?? 0) + 1;
  const base = head ?? { schema: SCHEMA, agent, length: 0, view: 0, createdAt: now, updatedAt: now };
  const expires = now + ttlMs;
  const left = request.takeover ? head?.lease : undefined;
  if (left === undefined) {
    return { ...base, epoch, lease: { owner, turn, agent, onDisconnect, epoch, takeovers: 0, expires } };
  }
  // One that was given up, or that only waits, is no sign of a turn that kills its processes.
  const takeovers = isGivenUp(left) || isPaused(left) ? left.takeovers : left.takeovers + 1;
  return { ...base, epoch, lease: { ...left, owner, epoch, takeovers, expires } };
}

function isSameLease(found: Lease | undefined, lease: Lease): found is Lease {
  return found !== undefined && found.owner === lease.owner && found.turn === lease.turn &&
    found.epoch === lease.epoch;
}

function isGivenUp({ expires }: Lease): boolean {
  return expires === GIVEN_UP;
}

/**
 * Says whether a lease is the one in force. One that has expired, but that nobody took over, still is. One that was
 * given up is not: a heartbeat that was under way would make everybody wait for a holder that has gone.
 */
export function holdsLease(
  head: SessionHead | null,
  lease: Lease,
): head is SessionHead & { readonly lease: Lease } {
  return isSameLease(head?.lease, lease) && !isGivenUp(head.lease);
}

function requireLease(
  key: SessionKey,
  head: SessionHead | null,
  lease: Lease,
): SessionHead & { readonly lease: Lease } {
  if (holdsLease(head, lease)) return head;
  const found = head === null
    ? "no session"
    : head.lease === undefined
    ? `no lease, epoch ${head.epoch}`
    : `the lease of turn "${head.lease.turn}", epoch ${head.lease.epoch}${
      isGivenUp(head.lease) ? ", given up" : ""
    }`;
  throw new SelvageError(
    "lease_lost",
    `Cannot write to session "${key.session}": found ${found}, ` +
      `wanted the lease of turn "${lease.turn}", epoch ${lease.epoch}`,
    { fields: { turn: lease.turn, epoch: lease.epoch, isDeleted: head === null } },
  );
}

/**
 * Makes the head that a lease leaves when it is extended by `ttlMs` milliseconds from `now`. Throws `lease_lost`.
 */
export function withLongerLease(
  key: SessionKey,
  head: SessionHead | null,
  { lease, ttlMs, now }: { lease: Lease; ttlMs: number; now: number },
): SessionHead {
  const held = requireLease(key, head, lease);
  return { ...held, lease: { ...held.lease, expires: now + ttlMs } };
}

/** Makes the head that leaves a branch for a new one. */
function withFork<Head extends SessionHead>(key: SessionKey, head: Head, { from, at, view }: Fork): Head {
  const branches = branchesOf(head);
  const left = branches[from];
  if (left === undefined || !(at >= 0 && at <= left.length) || !(view >= 0 && view <= left.view)) {
    throw new RangeError(
      `Cannot fork session "${key.session}": found branch ${from}, entry ${at} and view ${view}, ` +
        `wanted a place in one of ${counted(branches.length, "branch", "branches")}`,
    );
  }
  if (branches.length >= MAX_BRANCHES) {
    throw new SelvageError(
      "too_many_branches",
      `Cannot fork session "${key.session}": found ${branches.length} branches, wanted less than ${MAX_BRANCHES}; ` +
        "start a new session",
      { fields: { session: key.session, limit: MAX_BRANCHES } },
    );
  }
  const made = { parent: from, at, base: view, length: at, view };
  const { pins } = head;
  return {
    ...head,
    ...(pins === undefined ? {} : { pins: sharedPins(pins, at) }),
    branch: branches.length,
    branches: [...branches, made],
    length: at,
    view,
  };
}

/**
 * Makes the head that a commit leaves. Throws `lease_lost`, `too_many_branches`, and a `RangeError` where an entry or
 * the view does not follow on what is stored.
 */
export function withCommit(
  key: SessionKey,
  head: SessionHead | null,
  { lease, commit, now }: { lease: Lease; commit: Commit; now: number },
): SessionHead {
  const held = requireLease(key, head, lease);
  const { fork } = commit;
  const { lease: inForce, flag: oldFlag, ...rest } = fork === undefined ? held : withFork(key, held, fork);
  const entries = commit.entries ?? [];
  for (const [index, { seq }] of entries.entries()) {
    if (seq !== rest.length + index) {
      throw new RangeError(
        `Cannot append to session "${key.session}": found an entry with seq ${seq}, wanted ${
          rest.length + index
        }`,
      );
    }
  }
  const view = commit.view?.version ?? rest.view;
  // Numbers may be left out: a view that was replaced before it was stored was never shown to a model.
  if (commit.view !== undefined && view <= rest.view) {
    throw new RangeError(
      `Cannot store a view of session "${key.session}": found version ${view}, wanted one over ${rest.view}`,
    );
  }
  // What was due in the branch that was left says nothing of this one.
  const flag = commit.flag === undefined
    ? (fork === undefined ? oldFlag : undefined)
    : commit.flag ?? undefined;
  const left = {
    ...inForce,
    ...(commit.ttlMs === undefined ? {} : { expires: now + commit.ttlMs }),
    ...(commit.pause === undefined ? {} : { pause: commit.pause }),
    ...(commit.suspend ? { expires: GIVEN_UP } : {}),
    ...(commit.suspend && commit.settled ? { settled: inForce.epoch } : {}),
  };
  return {
    ...rest,
    length: rest.length + entries.length,
    view,
    ...(flag === undefined ? {} : { flag }),
    ...(commit.meter === undefined ? {} : { meter: commit.meter }),
    ...(commit.pins === undefined ? {} : { pins: commit.pins }),
    updatedAt: now,
    ...(commit.release ? {} : { lease: left }),
  };
}

function isSame(stored: unknown, wanted: unknown): boolean {
  return JSON.stringify(stored) === JSON.stringify(wanted);
}

/**
 * Says whether a head is already where a commit leads, under the same lease: then the commit landed before and
 * only its acknowledgement was lost. The caller has yet to compare the last entry and the view.
 */
export function isWhereCommitLeads(
  head: SessionHead | null,
  lease: Lease,
  commit: Commit,
): head is SessionHead {
  if (head === null) return false;
  const last = commit.entries?.at(-1);
  const { release, suspend } = commit;
  if (last === undefined && commit.view === undefined && !release && !suspend) return false;
  // Only the holder of an epoch can have ended it without raising it.
  const ours = release
    ? head.lease === undefined && head.epoch === lease.epoch
    : suspend
    ? isSameLease(head.lease, lease) && isGivenUp(head.lease)
    : holdsLease(head, lease);
  const branch = head.branches?.[head.branch ?? 0];
  return ours && (last === undefined || head.length === last.seq + 1) &&
    (commit.fork === undefined || (branch?.parent === commit.fork.from && branch.at === commit.fork.at)) &&
    (commit.view === undefined || head.view === commit.view.version) &&
    (commit.flag === undefined || isSame(head.flag ?? null, commit.flag)) &&
    (commit.meter === undefined || isSame(head.meter, commit.meter)) &&
    (commit.pins === undefined || isSame(head.pins, commit.pins)) &&
    (commit.pause === undefined || release === true || isSame(head.lease?.pause, commit.pause));
}

/** Says whether a session may be deleted: always, or only where nothing changed `since` and no turn runs `now`. */
export function isUnused(
  head: SessionHead,
  { since, now }: { readonly since: number | undefined; readonly now: number },
): boolean {
  return since === undefined || (head.updatedAt < since && (head.lease?.expires ?? 0) <= now);
}
