/**
 * Views that are found again: under the name of the prefix that they were made on, in memory and, where there is one,
 * in a store. So a history that comes in whole each time is never summarised twice, and its cut stays where it is.
 *
 * @module
 */
import type { Entry, Owner, Store } from "../ports.ts";
import { callsOf, type StoredView } from "./context.ts";

/** How the first messages of a history are shown: JSON. Positions are entry numbers of its import. */
export interface RememberedView {
  /** The view in force. */
  readonly view: StoredView;
  /** Results that are shown shortened from the start: entry number, and the most tokens. */
  readonly caps: readonly (readonly [seq: number, tokens: number])[];
}

/** Where views are remembered, and for how long. */
export interface RememberOptions {
  /** Also remembers them here, for other processes. Default: in memory alone. */
  readonly store?: Pick<Store, "claim">;
  /** Whose they are. Default tenant `local`. */
  readonly owner?: Owner;
  /** Milliseconds for which the store knows one. Default 30 days. */
  readonly ttlMs?: number;
  /** Views in memory; the one that was looked at longest ago goes first. Default 500. */
  readonly max?: number;
  /** Told what the store threw: the view is then remembered in memory alone. Default: it is thrown on. */
  readonly onError?: (error: unknown) => void;
}

/** A view that was found, and the number of messages that it was made on. */
export interface FoundView extends RememberedView {
  readonly messages: number;
}

/** Look-ups of a store that are under way at the same time. */
const AT_ONCE = 16;
/** Prefixes that are looked up in a store, from the longest on. */
const MAX_LOOKUPS = 512;

const TTL_MS = 30 * 24 * 3_600_000;

/** Views by the names of prefixes. */
export class RememberedViews {
  readonly #options: RememberOptions;
  readonly #known = new Map<string, RememberedView>();

  /** @param options Where they are remembered. */
  constructor(options: RememberOptions = {}) {
    this.#options = options;
  }

  /**
   * Finds the view of the longest prefix that has one.
   *
   * @param names The names of all prefixes, as `prefixChain` gives them.
   * @returns Null where none is remembered.
   * @throws What the store throws, unless there is an `onError`.
   */
  async find(names: readonly string[]): Promise<FoundView | null> {
    const at = names.findLastIndex((name) => this.#known.has(name));
    const here = names[at] === undefined ? undefined : this.#known.get(names[at]);
    const there = await this.#findStored(names, at + 1);
    if (there !== null) return there;
    if (here === undefined) return null;
    this.#keep(names[at] ?? "", here);
    return { ...here, messages: at + 1 };
  }

  /**
   * Remembers a view. Where two make one of the same prefix at the same time, the first one counts.
   *
   * @param name Name of the prefix that it was made on.
   * @param view The view.
   * @returns The view that counts: this one, or the one that was there.
   * @throws What the store throws, unless there is an `onError`.
   */
  async remember(name: string, view: RememberedView): Promise<RememberedView> {
    const { store, owner = { tenant: "local" }, ttlMs = TTL_MS } = this.#options;
    let counts = this.#known.get(name) ?? view;
    if (store !== undefined) {
      try {
        counts = viewIn(await store.claim(owner, nameOf(name), { value: view, ttlMs })) ?? counts;
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#keep(name, counts);
    return counts;
  }

  /** What is in the store for more than the first `from` messages. */
  async #findStored(names: readonly string[], from: number): Promise<FoundView | null> {
    const { store, owner = { tenant: "local" } } = this.#options;
    if (store === undefined) return null;
    const last = Math.max(from, names.length - MAX_LOOKUPS);
    try {
      for (let to = names.length; to > last; to -= AT_ONCE) {
        const first = Math.max(last, to - AT_ONCE);
        const found = await Promise.all(
          names.slice(first, to).map(async (name) => viewIn(await store.claim(owner, nameOf(name)))),
        );
        const at = found.findLastIndex((view) => view !== null);
        const view = found[at];
        if (view === undefined || view === null) continue;
        this.#keep(names[first + at] ?? "", view);
        return { ...view, messages: first + at + 1 };
      }
    } catch (error) {
      this.#failed(error);
    }
    return null;
  }

  #failed(error: unknown): void {
    if (this.#options.onError === undefined) throw error;
    this.#options.onError(error);
  }

  #keep(name: string, view: RememberedView): void {
    const { max = 500 } = this.#options;
    this.#known.delete(name);
    this.#known.set(name, view);
    const [oldest] = this.#known.keys();
    if (this.#known.size > max && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** The name of a claim. */
function nameOf(name: string): string {
  return `view/${name}`;
}

/** What a store gives back; a record of another version is none. */
function viewIn(value: unknown): RememberedView | null {
  const { view, caps } = (value ?? {}) as Partial<RememberedView>;
  const isView = Array.isArray(caps) && Array.isArray(view?.ledger) && Array.isArray(view.trims) &&
    Array.isArray(view.pinned) && Number.isInteger(view.cut) && Number.isInteger(view.version);
  return isView ? { view, caps } : null;
}

/**
 * Puts a remembered view on the log of a history.
 *
 * @param entries The log, as it was imported.
 * @param found The view, null for none.
 * @returns The log with its caps, and the view. Null stands for a view that does not fit this log: a history may be
 *   read otherwise once more of it is there, and no pair is severed for that (C1, C2).
 */
export function withRemembered(
  entries: readonly Entry[],
  found: RememberedView | null,
): { readonly entries: readonly Entry[]; readonly view: StoredView | null } {
  if (found === null) return { entries, view: null };
  const caps = new Map(found.caps);
  const capped = entries.map((entry) => {
    const cap = caps.get(entry.seq);
    return entry.kind === "result" && cap !== undefined ? { ...entry, cap } : entry;
  });
  return { entries: capped, view: fits(entries, found.view) ? found.view : null };
}

/** Whether no pair lies across the cut, nor half in what is pinned. */
function fits(entries: readonly Entry[], { cut, pinned }: StoredView): boolean {
  if (cut > entries.length) return false;
  const kept = new Set(pinned.filter((seq) => seq < cut));
  const isShown = (seq: number): boolean => seq >= cut || kept.has(seq);
  const answered = new Map<string, number>();
  for (const entry of entries) if (entry.kind === "result") answered.set(entry.call, entry.seq);
  return [...kept].every((seq) => seq < entries.length) &&
    entries.every((entry) =>
      callsOf(entry).every(({ ref }) => {
        const result = answered.get(ref);
        return result === undefined ? entry.seq >= cut : isShown(entry.seq) === isShown(result);
      })
    );
}
