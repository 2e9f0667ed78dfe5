/**
 * A history that a client sends as the beginning of a turn: a log to put into a session, what the turn adds to it,
 * and an earlier compaction of the same beginning, so that it is not made again.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { StoredView } from "../compaction/context.ts";
import { type Imported, importMessages } from "../compaction/import.ts";
import { prefixChain } from "../compaction/prefix_chain.ts";
import { RememberedViews, withRemembered } from "../compaction/remembered_views.ts";
import type { TurnRequest } from "../loop/agent.ts";
import { LEASE_TTL_MS } from "../loop/journal.ts";
import type { Entry, Owner, SessionKey, SessionState, Store, UserEntry } from "../ports.ts";
import { badBody } from "./body.ts";

/** A history that a client has sent. */
export interface SentHistory {
  /** The log before the turn; with `input` null it holds the whole turn so far. */
  readonly imported: Imported<Message>;
  /** What the user says now; null where results of tools come last, and the turn of the log goes on. */
  readonly input: TurnRequest["input"] | null;
}

/**
 * Reads a history that ends with what somebody asks for. What is broken in it is mended.
 *
 * @param messages The history, oldest first.
 * @throws SelvageError `bad_request` where nobody asks for anything.
 */
export function readHistory(messages: readonly Message[]): SentHistory {
  const last = messages.at(-1);
  if (last?.role === "user") return { imported: importMessages(messages.slice(0, -1)), input: last.content };
  if (!messages.some(({ role }) => role === "user")) {
    throw badBody("messages", { found: "none from the user", wanted: "at least one with the role user" });
  }
  if (last?.role !== "tool") {
    throw badBody("messages", {
      found: `one of the ${last?.role} at the end`,
      wanted: "one with the role user or tool",
    });
  }
  return { imported: importMessages(messages), input: null };
}

/** Where a turn is left to be resumed. */
export interface LeaveOptions {
  readonly key: SessionKey;
  readonly agent: string;
  /** Id of the turn. */
  readonly turn: string;
  /** What the turn is asked with beside its input. */
  readonly asked: Partial<UserEntry>;
  /** What the log is shown by; null for the log itself. */
  readonly view: StoredView | null;
}

/**
 * Puts a log that ends with results into a session of its own, its last turn as one that was left, to be resumed.
 *
 * @throws SelvageError `history_mismatch` where there is a log already.
 */
export async function leaveTurn(
  store: Store,
  entries: readonly Entry[],
  { key, agent, turn, asked, view }: LeaveOptions,
): Promise<void> {
  const first = entries.findLastIndex(({ kind }) => kind === "user");
  const named = entries.map((entry, at): Entry => {
    if (at < first) return entry;
    // Steps that the client counts are none of ours.
    return entry.kind === "user" ? { ...entry, turn, ...asked } : { ...entry, turn, step: 0 };
  });
  await store.acquire(key, {
    agent,
    owner: turn,
    turn,
    ttlMs: LEASE_TTL_MS,
    begin({ entries: { length } }) {
      if (length === 0) {
        return {
          entries: named,
          ...(view === null ? {} : { view: { version: view.version, value: view } }),
          suspend: true,
        };
      }
      throw new SelvageError(
        "history_mismatch",
        "Cannot import the history: somebody else has begun the session",
      );
    },
  });
}

/** Owners whose views are in memory at the same time. */
const MAX_OWNERS = 200;
/** Views of one owner in memory. */
const MAX_VIEWS = 100;

/** Compactions of histories, found again by what they were made of. */
export class HistoryViews {
  readonly #store: Pick<Store, "claim">;
  readonly #owners = new Map<string, RememberedViews>();

  /** @param store Remembers them for other processes. */
  constructor(store: Pick<Store, "claim">) {
    this.#store = store;
  }

  /** The log of a history, shown as the longest beginning of it that was compacted before. */
  async find(
    owner: Owner,
    agent: string,
    { imported: { entries, messages } }: SentHistory,
  ): Promise<ReturnType<typeof withRemembered>> {
    return withRemembered(entries, await this.#of(owner).find(await prefixChain(messages, agent)));
  }

  /**
   * Remembers the view of a session as that of the history that it was made of, where it is one: a compaction of what
   * came after it has no place in the next history, which lacks that.
   */
  async remember(
    owner: Owner,
    { agent, history: { imported }, state }: {
      readonly agent: string;
      readonly history: SentHistory;
      readonly state: SessionState;
    },
  ): Promise<void> {
    const { entries, messages } = imported;
    const view = state.view as StoredView | null;
    // Most turns compact nothing: the chain of a long history is not made for them.
    if (view === null || view.version === 0 || view.cut > entries.length) return;
    const name = (await prefixChain(messages, agent)).at(-1);
    if (name === undefined) return;
    const isOld = (seq: number): boolean => seq < entries.length;
    const caps = state.entries.flatMap((entry) =>
      entry.kind === "result" && entry.cap !== undefined && isOld(entry.seq)
        ? [[entry.seq, entry.cap] as const]
        : []
    );
    const shown = {
      ...view,
      pinned: view.pinned.filter(isOld),
      trims: view.trims.filter(([seq]) => isOld(seq)),
    };
    await this.#of(owner).remember(name, { view: shown, caps });
  }

  #of(owner: Owner): RememberedViews {
    const name = JSON.stringify([owner.tenant, owner.user]);
    const views = this.#owners.get(name) ?? new RememberedViews({
      store: this.#store,
      owner,
      max: MAX_VIEWS,
      // Too large for the store, or the store is busy: the same compaction is then made again elsewhere.
      onError: () => {},
    });
    this.#owners.delete(name);
    this.#owners.set(name, views);
    const [oldest] = this.#owners.keys();
    if (this.#owners.size > MAX_OWNERS && oldest !== undefined) this.#owners.delete(oldest);
    return views;
  }
}
