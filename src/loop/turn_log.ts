/**
 * The log of a session as the turn at work sees it: what it appends goes into the context and into the journal.
 *
 * @module
 */
import type { Context } from "../compaction/context.ts";
import { pinnedEntries } from "../compaction/pins.ts";
import type { AssistantEntry, Clock, Entry, ResultEntry, Said, SessionHead, UserEntry } from "../ports.ts";
import { abortedResult, type Call, openCalls } from "./calls.ts";
import type { Journal } from "./journal.ts";

/** What a {@link TurnLog} is made of. */
export interface TurnLogOptions {
  /** Id of the turn. */
  readonly turn: string;
  readonly context: Context;
  /** Pins by ref, as the session's head has them. */
  readonly pins: SessionHead["pins"];
  readonly journal: Journal;
  readonly clock: Clock;
}

/** Where an entry stands. */
export interface EntryPlace {
  readonly seq: number;
  readonly turn: string;
  readonly at: number;
}

/** What the user has said while a turn ran, as an entry. `mail`: the number of the message. */
export function saidEntry(
  { input, ...rest }: Said & { readonly mail?: number },
  place: EntryPlace,
): UserEntry {
  return { kind: "user", ...place, message: { role: "user", content: input }, ...rest };
}

/** The log, and the turn's own part of it. */
export class TurnLog {
  readonly #options: TurnLogOptions;

  constructor(options: TurnLogOptions) {
    this.#options = options;
  }

  /** The log of the session. */
  get all(): readonly Entry[] {
    return this.#options.context.entries;
  }

  /** Entries of the turn. */
  get ours(): readonly Entry[] {
    return this.all.filter((entry) => entry.turn === this.#options.turn);
  }

  /** The last answer of the turn. */
  get answer(): AssistantEntry | undefined {
    return this.ours.findLast((entry) => entry.kind === "assistant");
  }

  /** Entries that stay verbatim while the turn runs: what the caller pins, and what the turn is asked to do. */
  get pinned(): readonly number[] {
    const pinned = pinnedEntries(this.all, this.#options.pins);
    const task = this.ours.find((entry) => entry.kind === "user")?.seq;
    return task === undefined || pinned.includes(task) ? pinned : [...pinned, task];
  }

  /** Where the next entry of the turn stands. */
  place(): EntryPlace {
    const { turn, clock } = this.#options;
    return { seq: this.all.length, turn, at: clock.now() };
  }

  /** Appends an entry; it is stored with the next flush. */
  async append(entry: Entry): Promise<void> {
    await this.#options.context.append(entry);
    this.#options.journal.entry(entry);
  }

  /** Closes open calls, those of earlier turns too, as aborted. */
  async abortOpenCalls(isMeant: (call: Call) => boolean = () => true): Promise<readonly ResultEntry[]> {
    const closed: ResultEntry[] = [];
    for (const open of openCalls(this.all)) {
      if (!isMeant(open.call)) continue;
      const result = abortedResult(open, this.place());
      await this.append(result);
      closed.push(result);
    }
    return closed;
  }
}
