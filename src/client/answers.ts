/**
 * What the service says of sessions.
 *
 * @module
 */
import type { CompactedSession } from "../loop/compact_now.ts";
import type { Entry, PausedCall } from "../ports.ts";

/** A session as lists show it. Times are milliseconds since the epoch. */
export interface SessionSummary {
  /** Its name. */
  readonly session: string;
  /** Name of the agent that answered last. */
  readonly agent: string;
  /** Entries of the log. */
  readonly entries: number;
  /** Number of the view in force, 0 for the log itself. */
  readonly view: number;
  /** A compaction that was due and found no legal cut. */
  readonly flag: { readonly reason: string; readonly since: number } | null;
  /** The turn that runs, and until when it is known to. */
  readonly running: { readonly turn: string; readonly until: number } | null;
  /** The turn that waits for answers; `client.sessions.get()` has the arguments of its calls. */
  readonly paused: { readonly turn: string; readonly pending: readonly PausedCall[] } | null;
  /** When it was made. */
  readonly createdAt: number;
  /** When it last changed. */
  readonly updatedAt: number;
}

/** A session by itself. */
export interface SessionDetails extends SessionSummary {
  /** The branch in force. */
  readonly branch: number;
  /** All of them: where each left another one. */
  readonly branches: readonly {
    readonly branch: number;
    readonly parent: number | null;
    readonly at: number;
    readonly entries: number;
  }[];
}

/** A page of sessions, the newest first. */
export interface SessionList {
  /** The sessions. */
  readonly sessions: readonly SessionSummary[];
  /** What the next page is asked for with; null behind the last one. */
  readonly next: string | null;
}

/** An entry of a log, with its reference and those of its calls. */
export type ShownEntry = Entry & {
  readonly ref: string;
  readonly calls?: readonly { readonly ref: string; readonly name: string; readonly input: unknown }[];
};

/** A page of a log. */
export interface EntryPage {
  /** Its session. */
  readonly session: string;
  /** Entries of the log. */
  readonly total: number;
  /** Number of the first entry of the next page; null behind the last one. */
  readonly next: number | null;
  /** The entries. */
  readonly entries: readonly ShownEntry[];
}

/** What stays verbatim in a session through compactions. */
export interface SessionPins {
  /** Its session. */
  readonly session: string;
  /** The pins. */
  readonly pins: readonly {
    /** `e3`, or the call of a result: `e41.0`. */
    readonly ref: string;
    readonly kind: "user" | "result";
    /** All that it keeps. */
    readonly entries: readonly string[];
  }[];
  /** Tokens that they take together. */
  readonly tokens: number;
  /** The most that they may take. */
  readonly limit: number;
}

/** What a compaction between two turns came to, or would. */
export interface SessionCompaction extends CompactedSession {
  /** Its session. */
  readonly session: string;
}
