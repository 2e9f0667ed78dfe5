/**
 * Messages to a turn that runs, from whichever process: each lies under a name of its own, the first of which nobody
 * has read. The end of the turn takes the next name, so that a message is either taken or refused, and never lost.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Entry, Owner, Store } from "../ports.ts";
import type { TurnRequest } from "./agent.ts";

/** Messages that one turn takes. */
const MAX_MESSAGES = 100;

/** Milliseconds for which a message is kept: a turn may wait for an answer before it reads it. */
const MAIL_KNOWN_MS = 10 * 365 * 24 * 3_600_000;

/** Milliseconds for which it is known that a turn takes no more: by then its lease tells. */
const CLOSED_KNOWN_MS = 24 * 3_600_000;

/** What lies under one name. */
type Mail = { readonly kind: "message"; readonly id: string; readonly input: TurnRequest["input"] } | {
  readonly kind: "closed";
};

/** A message that was taken, and its number. */
export interface Received {
  readonly mail: number;
  readonly input: TurnRequest["input"];
}

/** Where the messages to a turn lie. */
export interface MailboxPlace {
  readonly store: Store;
  readonly owner: Owner;
  /** Id of the turn. */
  readonly turn: string;
}

function mailName(turn: string, n: number): string {
  return `mail/${turn}/${n}`;
}

/** The messages to a turn, as the turn reads them. */
export class Mailbox {
  readonly #place: MailboxPlace;
  /** Number of the next message. */
  #next: number;
  #isClosed = false;

  /**
   * Opens the mailbox of a turn.
   *
   * @param place Where it is.
   * @param entries The log: what was read before is in it.
   */
  constructor(place: MailboxPlace, entries: readonly Entry[]) {
    this.#place = place;
    const read = entries.flatMap((entry) =>
      entry.kind === "user" && entry.turn === place.turn && entry.mail !== undefined ? [entry.mail] : []
    );
    this.#next = Math.max(-1, ...read) + 1;
  }

  /** Takes what has come in. */
  async take(): Promise<readonly Received[]> {
    const { store, owner, turn } = this.#place;
    const found: Received[] = [];
    while (!this.#isClosed) {
      const mail = await store.claim(owner, mailName(turn, this.#next)) as Mail | undefined;
      if (mail === undefined) break;
      this.#read(mail, found);
    }
    return found;
  }

  /** Takes what has come in; where there is nothing, nothing is taken any more from now on. */
  async close(): Promise<readonly Received[]> {
    if (this.#isClosed) return [];
    const { store, owner, turn } = this.#place;
    const found: Received[] = [];
    const value: Mail = { kind: "closed" };
    const claim = { value, ttlMs: CLOSED_KNOWN_MS };
    // The place of the next message: either it is taken by this, or a message lies there.
    this.#read(await store.claim(owner, mailName(turn, this.#next), claim) as Mail, found);
    return [...found, ...await this.take()];
  }

  /** Closes the mailbox, whatever comes in meanwhile; gives all of it. */
  async drain(): Promise<readonly Received[]> {
    const found: Received[] = [];
    while (!this.#isClosed) found.push(...await this.close());
    return found;
  }

  #read(mail: Mail, found: Received[]): void {
    if (mail.kind === "closed") this.#isClosed = true;
    else found.push({ mail: this.#next++, input: mail.input });
  }
}

/**
 * Leaves a message for a turn; the same id twice is the same message.
 *
 * @param place Whose it is.
 * @param message Its id, and what the user says.
 * @returns The number of the message, from 0; null where the turn takes none any more.
 * @throws SelvageError `too_many_messages`.
 */
export async function sendMessage(
  { store, owner, turn }: MailboxPlace,
  message: { readonly id: string; readonly input: TurnRequest["input"] },
): Promise<number | null> {
  const value: Mail = { kind: "message", ...message };
  for (let n = 0; n < MAX_MESSAGES; n++) {
    const mail = await store.claim(owner, mailName(turn, n), { value, ttlMs: MAIL_KNOWN_MS }) as Mail;
    if (mail.kind === "closed") return null;
    if (mail.id === message.id) return n;
  }
  throw new SelvageError(
    "too_many_messages",
    `Cannot send the message: found ${MAX_MESSAGES} messages to turn "${turn}", wanted less than that`,
    { fields: { turn, limit: MAX_MESSAGES } },
  );
}
