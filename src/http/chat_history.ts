/**
 * How the history that a client sends stands to the log of its session: it goes on with the log, leaves it where they
 * differ, or brings along what the log does not have.
 *
 * @module
 */
import { type Imported, importMessages } from "../compaction/import.ts";
import type { Message } from "../core/message.ts";
import { isObject } from "../formats/format.ts";
import type { BeginsWith } from "../loop/agent.ts";
import type { Entry } from "../ports.ts";
import { type LoggedMessage, uiMessages } from "./encode/ui_messages.ts";
import type { SentHistory } from "./history.ts";
import { modelMessages, noteOf, type SentMessage } from "./decode/ui_request.ts";

/**
 * Finds where a turn goes on whose client sent its whole history.
 *
 * Messages of the user are the same where id and parts are; those of the assistant are known by their ids alone: what
 * they say is in the log, and a client that left too early has less of it.
 *
 * @param entries The log.
 * @param sent The history, the new message of the user last.
 */
export function beginWhole(entries: readonly Entry[], sent: readonly SentMessage[]): BeginsWith {
  const known = uiMessages(entries);
  const input = sent.at(-1);
  const history = sent.slice(0, -1).filter(({ role }) => role !== "system");
  let [same, read] = [0, 0];
  for (; read < history.length; read++) {
    const message = history[read];
    const before = known[same - 1];
    const next = known[same];
    if (message !== undefined && next !== undefined && isSame(next, { message, entries })) same++;
    else if (message?.role !== "assistant" || turnOf(entries, before) !== message.id) break;
    // Of an answer that was cut off in its first step the log has nothing, and its client some text.
  }
  const left = known[same];
  const fork = left === undefined ? {} : { fork: { at: left.from } };
  const rest = history.slice(read);
  if (rest.length === 0 || input === undefined) return fork;
  return { ...fork, history: { entries: imported([...rest, input]).entries } };
}

/**
 * The history that a client sent as a log of its own, under whose name what was found out about it is found again.
 *
 * @param sent The history, the new message of the user last.
 */
export function historyOf(sent: readonly SentMessage[]): SentHistory {
  return { imported: imported(sent), input: null };
}

/** Says whether a log begins with the entries of another one, in the same places. */
export function startsWith(entries: readonly Entry[], first: readonly Entry[]): boolean {
  return first.every((entry, at) => {
    const own = entries[at];
    return own?.kind === entry.kind &&
      (own.kind !== "result" || entry.kind !== "result" || own.call === entry.call);
  });
}

/**
 * Finds where a turn goes on whose client sent nothing but the message of the user: behind the log, or in place of the
 * message that it had before.
 *
 * @param entries The log.
 * @param id The message.
 */
export function beginAt(entries: readonly Entry[], id: string): BeginsWith {
  const known = uiMessages(entries).find(({ message }) => message.role === "user" && message.id === id);
  return known === undefined ? {} : { fork: { at: known.from } };
}

/**
 * Finds the message of the user that is to be answered anew.
 *
 * @param entries The log.
 * @param id A message of the assistant, or the one of the user itself. Default: the last one.
 * @returns Null where there is none.
 */
export function askedAgain(
  entries: readonly Entry[],
  id: string | undefined,
): Extract<Entry, { kind: "user" }> | null {
  const known = uiMessages(entries);
  const at = id === undefined ? known.length - 1 : known.findIndex(({ message }) => message.id === id);
  const asked = known.slice(0, at + 1).findLast(({ message }) => message.role === "user");
  const entry = asked === undefined ? undefined : entries[asked.from];
  return entry?.kind === "user" ? entry : null;
}

function isSame(
  { message, from }: LoggedMessage,
  { message: { id, role, parts }, entries }: {
    readonly message: SentMessage;
    readonly entries: readonly Entry[];
  },
): boolean {
  if (message.role !== role) return false;
  // Some clients know answers by their turn alone, of which there may be two messages: one behind what was said to it.
  if (role === "assistant") return message.id === id || entries[from]?.turn === id;
  return message.id === id && sorted(message.parts) === sorted(parts);
}

function turnOf(entries: readonly Entry[], message: LoggedMessage | undefined): string | undefined {
  return message?.message.role === "user" ? entries[message.from]?.turn : undefined;
}

/** JSON text that does not depend on the order of keys. */
function sorted(value: unknown): string {
  return JSON.stringify(
    value,
    (_, inner) =>
      isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1)) : inner,
  );
}

/** Messages that the log does not have, as entries; the last of them, the input, is left to the turn. */
function imported(sent: readonly SentMessage[]): Imported<Message> {
  const made = modelMessages(sent);
  const whole = importMessages(made.map(({ message }) => message));
  const { entries, places, messages } = whole;
  // What is repaired may stand elsewhere: a message that came in is found by itself.
  const origin = new Map(made.map(({ message, from }) => [message as unknown, from]));
  let last = 0;
  const named = entries.map((entry, index): Entry => {
    last = origin.get(messages[places[index]?.message ?? 0]) ?? last;
    const from = sent[last];
    return {
      ...entry,
      turn: `import_${last}`,
      ...(from === undefined ? {} : { client: noteFor(entry, from) }),
    };
  });
  const before = named.slice(0, named.findLastIndex(({ kind }) => kind === "user"));
  return { ...whole, entries: before, messages: messages.slice(0, -1) };
}

function noteFor({ kind }: Entry, message: SentMessage): NonNullable<Entry["client"]> {
  if (kind === "user") return noteOf(message);
  const { id, metadata } = message;
  return { id, ...(metadata === undefined ? {} : { metadata }) };
}
