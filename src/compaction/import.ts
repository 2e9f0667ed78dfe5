/**
 * A history from elsewhere as a log: messages of the AI SDK's shape in, entries out. What is broken is repaired
 * first, so that the log holds what a model can be shown; the same beginning gives the same entries each time.
 *
 * @module
 */
import type { AssistantMessage, Message, ToolOutput, ToolResultPart } from "../core/message.ts";
import { SelvageError } from "../core/errors.ts";
import { type Repair, repairTranscript } from "../formats/repair.ts";
import { readTranscript } from "../formats/read.ts";
import type { CallStatus, Entry } from "../ports.ts";
import { canonicalPart, type Fields, isFields } from "./import_parts.ts";
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

/** A result that tells that its call was cut off begins with this, in the loop as in a repair. */
const ABORTED = "Aborted: the call did not finish";

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
      if (!isFields(message)) return message;
      const canonical = canonicalMessage(message);
      origins.set(canonical, message);
      return canonical;
    })
    : messages;
  const reading = readTranscript(read, { format: "ai-sdk", isSummary: (text) => parseLedger(text) !== null });
  const repaired = repairTranscript(reading);
  const log = new Log(options);
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

/** Parts that a log knows; approvals and what only a provider understands are not among them. */
const PARTS: readonly unknown[] = ["text", "file", "reasoning", "tool-call", "tool-result"];

/** Whether a part is a call that the provider does not answer itself. */
function isOwn(part: Fields): boolean {
  return part["type"] === "tool-call" && part["providerExecuted"] !== true;
}

function partsOf(content: Message["content"]): readonly Fields[] {
  return typeof content === "string" ? [] : content as unknown as readonly Fields[];
}

/** A message without some of its parts; itself where it has none of them. */
function withParts<M extends Message>(message: M, isKept: (part: Fields) => boolean): M {
  const parts = partsOf(message.content);
  return parts.every(isKept) ? message : { ...message, content: parts.filter(isKept) };
}

/** Stands for a message without any text or file: providers refuse an empty one. */
const NO_TEXT = "(no text)";

function saysNothing({ content }: Extract<Message, { role: "user" }>): boolean {
  if (typeof content === "string") return content.trim() === "";
  return content.every((part) => part.type === "text" && part.text.trim() === "");
}

function statusOf({ type, ...output }: ToolOutput): CallStatus {
  if (type === "execution-denied") return "error";
  if (!type.startsWith("error")) return "ok";
  const text = "value" in output ? output.value : "";
  return typeof text === "string" && text.startsWith(ABORTED) ? "aborted" : "error";
}

/** An output from elsewhere: of a type that the log knows. */
function outputOf({ output, ...part }: ToolResultPart): ToolOutput {
  const found: unknown = output ?? (part as unknown as Fields)["result"];
  const types = ["text", "json", "error-text", "error-json", "execution-denied", "content"];
  if (isFields(found) && types.includes(String(found["type"]))) return found as unknown as ToolOutput;
  return typeof found === "string" ? { type: "text", value: found } : { type: "json", value: found ?? null };
}

/** A log that grows message by message. */
class Log {
  readonly system: string[] = [];
  readonly entries: Entry[] = [];
  readonly places: ImportPlace[] = [];
  readonly #options: ImportOptions;
  /** Calls of the last answer that have no result yet: references by id, first in, first out. */
  readonly #open = new Map<string, string[]>();
  /** Approvals of the last answer: id of the call by id of the approval. */
  readonly #asked = new Map<string, string>();
  readonly #approved = new Map<string, { readonly approved: boolean; readonly reason?: string }>();
  /** System text that came later than the first entry. */
  readonly #held: { readonly at: number; readonly text: string }[] = [];
  #message = -1;
  #turn = 0;
  #step = 0;

  constructor(options: ImportOptions) {
    this.#options = options;
  }

  add(message: Message): void {
    this.#message++;
    switch (message.role) {
      case "system":
        if (this.entries.length === 0) this.system.push(message.content);
        else this.#held.push({ at: this.#message, text: message.content });
        return;
      case "user":
        this.#release();
        return this.#user(message, this.#message);
      case "assistant":
        this.#release();
        return this.#assistant(message);
      case "tool":
        return this.#answers(message.content as unknown as readonly Fields[]);
      default:
        return message satisfies never;
    }
  }

  /** Ends the log; what came behind calls that are still open waits for their results. */
  end(): void {
    if ([...this.#open.values()].every((refs) => refs.length === 0)) this.#release();
  }

  /** Answers of people to calls that are still open. */
  openApprovals(): ReadonlyMap<string, { readonly approved: boolean; readonly reason?: string }> {
    return new Map([...this.#approved].flatMap(([id, answer]) => {
      const [ref] = this.#open.get(id) ?? [];
      return ref === undefined ? [] : [[ref, answer] as const];
    }));
  }

  /** System text in the middle stands behind the results of the round that it came in (C3). */
  #release(): void {
    for (const { at, text } of this.#held.splice(0)) this.#user({ role: "user", content: text }, at);
  }

  #user(message: Extract<Message, { role: "user" }>, at: number): void {
    this.#turn++;
    this.#step = 0;
    const kept = withParts(message, ({ type }) => type === "text" || type === "file");
    this.#push({
      kind: "user",
      ...this.#base(),
      message: saysNothing(kept) ? { ...kept, content: NO_TEXT } : kept,
    }, { message: at, part: null });
  }

  #assistant(message: AssistantMessage): void {
    const seq = this.entries.length;
    this.#open.clear();
    this.#asked.clear();
    this.#approved.clear();
    const own = new Set<string>();
    for (const [index, call] of partsOf(message.content).filter(isOwn).entries()) {
      const id = String(call["toolCallId"]);
      own.add(id);
      this.#open.set(id, [...this.#open.get(id) ?? [], `e${seq}.${index}`]);
    }
    // A result that the answer holds itself answers a call of the provider, or else is one like any other.
    const isOwnResult = (part: Fields): boolean =>
      part["type"] === "tool-result" && own.has(String(part["toolCallId"]));
    this.#step++;
    this.#push({
      kind: "assistant",
      ...this.#base(),
      step: this.#step,
      message: withParts(message, (part) => PARTS.includes(part["type"]) && !isOwnResult(part)),
      reason: own.size > 0 ? "tool-calls" : "stop",
      model: this.#options.model ?? "import",
    }, { message: this.#message, part: null });
    this.#answers(partsOf(message.content), isOwnResult);
  }

  #answers(parts: readonly Fields[], isMeant: (part: Fields) => boolean = () => true): void {
    for (const [part, found] of parts.entries()) {
      if (found["type"] === "tool-approval-request") {
        this.#asked.set(String(found["approvalId"]), String(found["toolCallId"]));
      } else if (found["type"] === "tool-approval-response") this.#approval(found);
      else if (found["type"] === "tool-result" && isMeant(found)) {
        this.#result(found as unknown as ToolResultPart, part);
      }
    }
  }

  #approval({ approvalId, approved, reason }: Fields): void {
    const id = this.#asked.get(String(approvalId));
    if (id === undefined) return;
    this.#approved.set(id, {
      approved: approved === true,
      ...(typeof reason === "string" ? { reason } : {}),
    });
  }

  #result(result: ToolResultPart, part: number): void {
    const ref = this.#open.get(result.toolCallId)?.shift();
    if (ref === undefined) {
      // C2: a repair leaves no result without its call. Should one come through, it must not go unseen.
      throw new SelvageError(
        "bad_transcript",
        `Cannot import message ${this.#message}: found a result that answers no call (${result.toolCallId}), ` +
          "wanted one for an open call of the answer before",
        { fields: { at: this.#message } },
      );
    }
    const output = outputOf(result);
    this.#push({
      kind: "result",
      ...this.#base(),
      step: this.#step,
      call: ref,
      toolName: result.toolName,
      status: statusOf(output),
      output,
      ms: 0,
    }, { message: this.#message, part });
  }

  #base(): { readonly seq: number; readonly turn: string; readonly at: number } {
    const { turn = "import", at = 0 } = this.#options;
    return { seq: this.entries.length, turn: `${turn}_${this.#turn}`, at };
  }

  #push(entry: Entry, place: ImportPlace): void {
    this.entries.push(entry);
    this.places.push(place);
  }
}
