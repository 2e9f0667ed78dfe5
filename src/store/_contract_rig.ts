/**
 * What the parts of the contract suite share: a clock that stands still, entries and events to store, and leases.
 *
 * @module
 */
import { eventNumber } from "../loop/events.ts";
import type { Clock, Entry, ResultEntry, SessionKey, Store, StoredEvent } from "../ports.ts";

/** Time that moves only when a test says so. */
export class ContractClock implements Clock {
  #now = 1_700_000_000_000;
  #sleepers: { readonly at: number; readonly wake: () => void }[] = [];

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#now;
  }

  /** Resolves once the clock was advanced by `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const wake = (): void => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const sleeper = { at: this.#now + ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Moves the time on by `ms` milliseconds and wakes whoever is due. */
  async advance(ms: number): Promise<void> {
    this.#now += ms;
    const due = this.#sleepers.filter(({ at }) => at <= this.#now);
    this.#sleepers = this.#sleepers.filter(({ at }) => at > this.#now);
    for (const { wake } of due) wake();
    await breathe();
  }
}

/** One test of the suite. */
export interface ContractCase {
  readonly name: string;
  readonly run: (store: Store, clock: ContractClock) => Promise<void>;
}

/** Collects the tests of one part of the suite. */
export function cases(
  define: (test: (name: string, run: ContractCase["run"]) => void) => void,
): readonly ContractCase[] {
  const made: ContractCase[] = [];
  define((name, run) => made.push({ name, run }));
  return made;
}

/** Lets the event loop turn once: a store that answers at once must not starve its writer. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** A session for tests that need only one. */
export const KEY: SessionKey = { tenant: "acme", user: "ada", session: "s1" };

/** Makes a user's entry. */
export function userEntry(seq: number, text: string): Entry {
  return {
    kind: "user",
    seq,
    turn: "t1",
    at: 1_700_000_000_000 + seq,
    message: { role: "user", content: text },
  };
}

/** Makes entries from `from` on, `count` of them, each with a text of `length` characters. */
export function userEntries(from: number, count: number, length = 20): Entry[] {
  return Array.from({ length: count }, (_, i) => userEntry(from + i, `${from + i} `.padEnd(length, "x")));
}

/** Makes a tool's result. */
export function resultEntry(seq: number, value: unknown): ResultEntry {
  return {
    kind: "result",
    seq,
    turn: "t1",
    at: 1_700_000_000_000 + seq,
    step: 1,
    call: `e${seq - 1}.0`,
    toolName: "read_file",
    status: "ok",
    output: { type: "json", value },
    ms: 3,
  };
}

/** An event with a text. */
export interface TextEvent extends StoredEvent {
  readonly text: string;
}

/** Makes an event of turn `t1`. */
export function textEvent(n: number, text = `text ${n}`): TextEvent {
  return { id: `t1:${n}`, type: "text.delta", text };
}

/** Makes events of turn `t1` from number `from` on, `count` of them. */
export function textEvents(from: number, count: number): TextEvent[] {
  return Array.from({ length: count }, (_, i) => textEvent(from + i));
}

/** Texts that are easily damaged on their way. */
export const ODD_TEXTS: readonly string[] = [
  "",
  "\u0000\u001f\u007f\u2028\ufeff",
  "漢字かな交じり文 한국어",
  "👩‍👩‍👧 🏳️‍🌈 e\u0301",
  "high \ud83d alone, low \ude00 alone",
  '"\\\n\r\t</script>',
  // As a picture or a program read as text.
  String.fromCharCode(...Array.from({ length: 512 }, (_, i) => (i * 37) % 256)),
];

/** Names that are easily mixed up with one another. */
export const ODD_NAMES: readonly string[] = [
  "a/b",
  "a\u0000b",
  "a",
  "a\u0000",
  "..",
  '","',
  "漢字",
  "👩‍👧",
  "\ud800",
  "\ufffd",
  "\udc00",
  "e\u0301",
  "é",
  " ",
  "h",
  "constructor",
  "__proto__",
];

/** Texts that are long beside odd: three and four bytes a character. */
export function longTexts(): string[] {
  return ["漢字".repeat(40_000), "👩‍👧".repeat(30_000), `${"é".repeat(61_000)}\ud800`];
}

/** What {@link take} is asked for, most of it filled in. */
export interface TakeOptions {
  readonly key?: SessionKey;
  readonly turn?: string;
  readonly owner?: string;
  readonly ttlMs?: number;
}

/** Asks for the lease of a session for a new turn. */
export function take(
  store: Store,
  { key = KEY, turn = "t1", owner = "process-1", ttlMs = 10_000 }: TakeOptions = {},
): ReturnType<Store["acquire"]> {
  return store.acquire(key, { agent: "default", owner, turn, ttlMs });
}

/** Asks for the lease of a turn that was left. */
export function takeOver(
  store: Store,
  { key = KEY, turn = "t1", owner = "process-2", ttlMs = 10_000 }: TakeOptions = {},
): ReturnType<Store["acquire"]> {
  return store.acquire(key, { agent: "", owner, turn, ttlMs, takeover: true });
}

/** Makes a session in which one turn has come and gone. */
export async function makeSession(
  store: Store,
  key: SessionKey,
  { turn = `t ${key.session}`, entries = [] }: {
    readonly turn?: string;
    readonly entries?: readonly Entry[];
  } = {},
): Promise<void> {
  const { lease } = await take(store, { key, turn });
  await store.commit(key, lease, { entries, release: true });
}

/** The entries of a session; none where there is no session. */
export async function readEntries(store: Store, key: SessionKey = KEY): Promise<readonly Entry[]> {
  return (await store.read(key))?.entries ?? [];
}

/** All events of a turn from a number on, page after page; null where there are none any more. */
export async function readEvents(
  store: Store,
  { key = KEY, turn = "t1", from = 0 }: {
    readonly key?: SessionKey;
    readonly turn?: string;
    readonly from?: number;
  } = {},
): Promise<StoredEvent[] | null> {
  const all: StoredEvent[] = [];
  for (let next = from;;) {
    const page = await store.events(key, turn, next);
    if (page === null) return null;
    const last = page.events.at(-1);
    if (last === undefined) return all;
    all.push(...page.events);
    next = eventNumber(last) + 1;
  }
}

/** Matches an error by its code, and by fields where they are given. */
export function codeIs(code: string, fields?: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { code, ...(fields === undefined ? {} : { fields }) };
}

/** Sorts out what became of calls that were made at once. */
export async function settle<T>(calls: readonly Promise<T>[]): Promise<{ won: T[]; codes: unknown[] }> {
  const won: T[] = [];
  const codes: unknown[] = [];
  for (const outcome of await Promise.allSettled(calls)) {
    if (outcome.status === "fulfilled") won.push(outcome.value);
    else codes.push(outcome.reason?.code ?? outcome.reason);
  }
  return { won, codes };
}
