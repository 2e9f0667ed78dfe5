/**
 * A history from elsewhere as a log: messages of the AI SDK's shape in, entries out. What is broken is repaired
 * first, so that the log holds what a model can be shown; the same beginning gives the same entries each time.
 *
 * @module
 */
import type { Message } from "../core/message.ts";
import { isObject } from "../formats/format.ts";
import { type Repair, repairTranscript } from "../formats/repair.ts";
import { readTranscript } from "../formats/read.ts";
import type { Entry } from "../ports.ts";
import { ImportLog } from "./import_log.ts";
import { canonicalPart } from "./import_parts.ts";
import { parseLedger } from "./parse_ledger.ts";

/** A message from elsewhere: a canonical one, or one of the AI SDK with files in any of its forms. */
export interface ForeignMessage {
  /** `system`, `user`, `assistant` or `tool`. */
  readonly role: string;
  /** Text, or parts. */
  readonly content: unknown;
}

/** What the entries of an import say of where they come from. */
export interface ImportOptions {
  /** Beginning of the ids of turns; a number follows. Default `import`. */
  readonly turn?: string;
  /** Milliseconds since the epoch. Default 0. */
  readonly at?: number;
  /** The model that is said to have answered. Default `import`. */
  readonly model?: string;
}

/** Where an entry stands among the messages: a message, or one of its parts. */
export interface ImportPlace {
  /** Index in {@link Imported.messages}. */
  readonly message: number;
  /** Index of the part; null where the entry is the whole message. */
  readonly part: number | null;
}

/** A history as a log. */
export interface Imported<M extends ForeignMessage = ForeignMessage> {
  /** The system messages in front of everything else, joined by a blank line; empty where there are none. */
  readonly system: string;
  /** The log. Calls at the very end that nobody has answered yet are open; any others have a result. */
  readonly entries: readonly Entry[];
  /** The messages as they are repaired; one that is whole is the object that came in. */
  readonly messages: readonly M[];
  /** Where each entry stands. Messages without an entry are system text, or hold approvals alone. */
  readonly places: readonly ImportPlace[];
  /** What a person has said to calls that are still open, by reference of the call. */
  readonly approvals: ReadonlyMap<string, { readonly approved: boolean; readonly reason?: string }>;
  /** What had to be mended. */
  readonly repairs: readonly Repair[];
}

/** What came in with files in other forms, and what became of it: a history comes in again and again. */
const made = new WeakMap<object, { readonly from: unknown; readonly message: ForeignMessage }>();

function canonicalMessage(message: ForeignMessage): ForeignMessage {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const known = made.get(message);
  if (known?.from === content) return known.message;
  const parts = content.map(canonicalPart);
  if (parts.every((part, at) => part === content[at])) return message;
  const canonical = { ...message, content: parts };
  made.set(message, { from: content, message: canonical });
  return canonical;
}

/**
 * Makes a log of a history from elsewhere. Pairs are found by occurrence, never by a set of ids; a call that nobody
 * answered has an error result, one at the very end stays open. System messages in front become `system`, later
 * ones entries of the user, since a log has no other place for them.
 *
 * @param messages The history, oldest first.
 * @param options What the entries say of where they come from.
 * @returns The log, and how it hangs together with the messages.
 * @throws SelvageError `bad_transcript` or `bad_message` (fields `at`, `field`) where a message is none.
 *
 * @example
 * ```ts
 * import { importMessages } from "./import.ts";
 *
 * const { entries } = importMessages([
 *   { role: "user", content: "Read it." },
 *   { role: "assistant", content: [{ type: "tool-call", toolCallId: "a", toolName: "read", input: {} }] },
 *   { role: "tool", content: [{ type: "tool-result", toolCallId: "a", toolName: "read", output: { type: "text", value: "text" } }] },
 * ]);
 * console.log(entries.map(({ kind }) => kind)); // [ "user", "assistant", "result" ]
 * ```
 */
export function importMessages<M extends ForeignMessage>(
  messages: readonly M[],
  options: ImportOptions = {},
): Imported<M> {
  const origins = new Map<unknown, M>();
  const read = Array.isArray(messages)
    ? messages.map((message: M) => {
      if (!isObject(message)) return message;
      const canonical = canonicalMessage(message);
      origins.set(canonical, message);
      return canonical;
    })
    : messages;
  const reading = readTranscript(read, { format: "ai-sdk", isSummary: (text) => parseLedger(text) !== null });
  const repaired = repairTranscript(reading);
  const log = new ImportLog(options);
  for (const message of repaired.messages as unknown as readonly Message[]) log.add(message);
  log.end();
  return {
    system: log.system.join("\n\n"),
    entries: log.entries,
    messages: repaired.messages.map((message) => origins.get(message) ?? message as unknown as M),
    places: log.places,
    approvals: log.openApprovals(),
    repairs: repaired.repairs,
  };
}
