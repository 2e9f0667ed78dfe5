/**
 * A log as messages of the AI SDK's UI: what a client has put together from the stream of each turn. A message of the
 * user is an entry, one of the assistant is a turn with its steps.
 *
 * @module
 */
import { callsOf, type StoredView, wireId } from "../../compaction/context.ts";
import { isOwnCall } from "../../compaction/render.ts";
import { fileUrl } from "../../core/files.ts";
import { addUsage } from "../../loop/report.ts";
import type {
  ApprovalNote,
  AssistantEntry,
  ClientNote,
  Entry,
  Pause,
  ResultEntry,
  Usage,
  UserEntry,
} from "../../ports.ts";
import { outputText } from "../../tokens/measure.ts";
import {
  compactionPart,
  insertedPart,
  messageBehind,
  metadataOf,
  outputValue,
  partId,
  type UiPart,
  usageMetadata,
} from "./ui_parts.ts";

/** One message, in the shape that the AI SDK gives it. */
export interface UiMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly metadata?: unknown;
  readonly parts: readonly UiPart[];
}

/** A message and the entries that it is made of: from `from` on, before `to`. */
export interface LoggedMessage {
  readonly message: UiMessage;
  readonly from: number;
  readonly to: number;
}

/** What {@link uiMessages} needs beside the log. */
export interface UiMessagesOptions {
  /** An output as clients were shown it. Default: whole. */
  readonly shown?: (entry: ResultEntry) => ResultEntry["output"];
  /** What the turn at the end of the log waits for. */
  readonly pause?: Pause;
  /** What the view in force says of its making, for the last one that no entry tells of yet. */
  readonly made?: StoredView["made"];
}

/** The id of a message of the user: that of its client, else its place in the log. */
function userId({ client, seq }: UserEntry): string {
  return client?.id ?? `e${seq}`;
}

function userMessage(entry: UserEntry): UiMessage {
  const { client, message: { content } } = entry;
  const made = typeof content === "string"
    ? [{ type: "text", text: content }]
    : content.map((part): UiPart =>
      part.type === "text" ? { type: "text", text: part.text } : {
        type: "file",
        mediaType: part.mediaType,
        url: fileUrl(part),
        ...(part.filename === undefined ? {} : { filename: part.filename }),
      }
    );
  return {
    id: userId(entry),
    role: "user",
    ...(client?.metadata === undefined ? {} : { metadata: client.metadata }),
    parts: client?.parts as readonly UiPart[] | undefined ?? made,
  };
}

/** A turn while its entries are read. */
class TurnMessage {
  readonly #id: string;
  readonly #parts: UiPart[] = [];
  /** Where the parts of calls are, by reference. */
  readonly #calls = new Map<string, number>();
  #usage: Usage = { inputTokens: 0, outputTokens: 0 };
  #model = "";
  readonly #client: ClientNote | undefined;

  constructor({ turn, client }: Entry, said: UserEntry | null) {
    this.#id = client?.id ?? (said === null ? turn : messageBehind(turn, said.seq));
    this.#client = client;
  }

  get message(): UiMessage {
    // What came from elsewhere has what its client says of it, and nothing else.
    const { metadata } = this.#client ??
      { metadata: { model: this.#model, usage: usageMetadata(this.#usage) } };
    const parts = this.#parts;
    return { id: this.#id, role: "assistant", ...(metadata === undefined ? {} : { metadata }), parts };
  }

  addData(part: UiPart): void {
    this.#parts.push(part);
  }

  addStep(entry: AssistantEntry): void {
    const { content } = entry.message;
    const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    const refs = callsOf(entry).map(({ ref }) => ref);
    this.#usage = addUsage(this.#usage, entry.usage);
    this.#model = entry.model;
    this.#parts.push({ type: "step-start" });
    let index = 0;
    const isStreamed = (part: typeof parts[number]): boolean =>
      part.type === "text" || part.type === "reasoning" || isOwnCall(part);
    // As clients were told: what is not streamed comes once the answer is whole.
    for (const part of [...parts.filter(isStreamed), ...parts.filter((part) => !isStreamed(part))]) {
      switch (part.type) {
        case "text":
          if (part.text === "") break;
          index++;
          this.#parts.push({
            type: "text",
            text: part.text,
            state: "done",
            ...metadataOf(part.providerOptions),
          });
          break;
        case "reasoning":
          this.#parts.push({
            type: "reasoning",
            id: partId(entry.step, index++),
            text: part.text,
            ...metadataOf(part.providerOptions),
            state: "done",
          });
          break;
        case "file":
          this.#parts.push({ type: "file", mediaType: part.mediaType, url: fileUrl(part) });
          break;
        case "tool-call":
          this.#addCall(part.providerExecuted === true ? part.toolCallId : refs.shift() ?? "", part);
          break;
        case "tool-result":
          this.#answer(part.toolCallId, part.output);
          break;
        default:
          part satisfies never;
      }
    }
  }

  addResult({ call, approval }: ResultEntry, output: ResultEntry["output"]): void {
    this.#answer(call, output, approval === undefined ? {} : { approval: { id: wireId(call), ...approval } });
  }

  /** Marks calls that a person has to allow first, and those that were allowed and wait for the others. */
  askFor({ pending, approved, approvals = {} }: Pause): void {
    for (const { ref, reason } of pending) {
      if (reason === "approval") this.#mark(ref, "approval-requested");
    }
    for (const ref of approved) this.#mark(ref, "approval-responded", approvals[ref] ?? { approved: true });
  }

  #mark(ref: string, state: string, said?: ApprovalNote): void {
    const at = this.#calls.get(ref);
    const part = at === undefined ? undefined : this.#parts[at];
    if (at === undefined || part === undefined) return;
    this.#parts[at] = { ...part, state, approval: { id: wireId(ref), ...said } };
  }

  #addCall(
    ref: string,
    { toolName, input, providerExecuted }: {
      readonly toolName: string;
      readonly input: unknown;
      readonly providerExecuted?: boolean;
    },
  ): void {
    this.#calls.set(ref, this.#parts.length);
    this.#parts.push({
      type: `tool-${toolName}`,
      toolCallId: wireId(ref),
      state: "input-available",
      input,
      ...(providerExecuted === true ? { providerExecuted } : {}),
    });
  }

  #answer(ref: string, output: ResultEntry["output"], more: Readonly<Record<string, unknown>> = {}): void {
    const at = this.#calls.get(ref);
    const found = at === undefined ? undefined : this.#parts[at];
    if (at === undefined || found === undefined) return;
    const part = { ...found, ...more };
    const isError = output.type.startsWith("error");
    this.#parts[at] = isError
      ? { ...part, state: "output-error", errorText: outputText(output) }
      : output.type === "execution-denied"
      ? { ...part, state: "output-denied" }
      : { ...part, state: "output-available", output: outputValue(output) };
  }
}

/**
 * Makes messages of a log.
 *
 * @param entries The log.
 * @param options How outputs are shown, and what is known of the view in force.
 * @returns The messages, each with the entries that it is made of.
 */
export function uiMessages(
  entries: readonly Entry[],
  { shown = ({ output }) => output, pause, made }: UiMessagesOptions = {},
): readonly LoggedMessage[] {
  const messages: LoggedMessage[] = [];
  /** The turn that the last message of the user began; what is said to it later belongs to its answer. */
  let asked: string | null = null;
  /** A message of the user to a turn that was under way. */
  let said: UserEntry | null = null;
  let turn: { readonly id: string; readonly from: number; readonly made: TurnMessage } | undefined;
  for (const entry of [...entries, null]) {
    const seq = entry?.seq ?? entries.length;
    let compacted = entry?.compacted ?? (made?.at === seq ? made.note : undefined);
    if (entry === null && pause !== undefined) turn?.made.askFor(pause);
    // What was sent as a message stays one.
    const isMessage = entry?.kind === "user" && (entry.turn !== asked || entry.client !== undefined);
    if (turn !== undefined && (entry?.turn !== turn.id || isMessage)) {
      // At the end of a turn it belongs to that one: the next one has not begun.
      if (compacted !== undefined) turn.made.addData(compactionPart(compacted));
      compacted = undefined;
      messages.push({ message: turn.made.message, from: turn.from, to: seq });
      turn = undefined;
    }
    if (entry === null) break;
    if (entry.kind === "user" && isMessage) {
      said = entry.turn === asked ? entry : null;
      asked = entry.turn;
      messages.push({ message: userMessage(entry), from: seq, to: seq + 1 });
      continue;
    }
    turn ??= { id: entry.turn, from: seq, made: new TurnMessage(entry, said) };
    if (compacted !== undefined) turn.made.addData(compactionPart(compacted));
    if (entry.kind === "assistant") turn.made.addStep(entry);
    else if (entry.kind === "user") {
      turn.made.addData(insertedPart({ ref: `e${seq}`, input: entry.message.content }));
    } else turn.made.addResult(entry, shown(entry));
  }
  return messages;
}
