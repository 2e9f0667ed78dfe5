/**
 * The log that an import makes, message by message.
 *
 * @module
 */
import type { AssistantMessage, Message, ToolOutput, ToolResultPart } from "../core/message.ts";
import { SelvageError } from "../core/errors.ts";
import { isObject, type JsonObject } from "../formats/format.ts";
import { ABORTED_TEXT } from "../formats/mend_pairs.ts";
import type { CallStatus, Entry } from "../ports.ts";
import type { ImportOptions, ImportPlace } from "./import.ts";

/** Parts that a log knows; approvals and what only a provider understands are not among them. */
const PARTS: readonly unknown[] = ["text", "file", "reasoning", "tool-call", "tool-result"];

/** Whether a part is a call that the provider does not answer itself. */
function isOwn(part: JsonObject): boolean {
  return part["type"] === "tool-call" && part["providerExecuted"] !== true;
}

function partsOf(content: Message["content"]): readonly JsonObject[] {
  return typeof content === "string" ? [] : content as unknown as readonly JsonObject[];
}

/** A message without some of its parts; itself where it has none of them. */
function withParts<M extends Message>(message: M, isKept: (part: JsonObject) => boolean): M {
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
  return typeof text === "string" && text.startsWith(ABORTED_TEXT) ? "aborted" : "error";
}

/** An output from elsewhere: of a type that the log knows. */
function outputOf({ output, ...part }: ToolResultPart): ToolOutput {
  const found: unknown = output ?? (part as unknown as JsonObject)["result"];
  const types = ["text", "json", "error-text", "error-json", "execution-denied", "content"];
  if (isObject(found) && types.includes(String(found["type"]))) return found as unknown as ToolOutput;
  return typeof found === "string" ? { type: "text", value: found } : { type: "json", value: found ?? null };
}

/** A log that grows message by message. */
export class ImportLog {
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
        return this.#answers(message.content as unknown as readonly JsonObject[]);
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
    const isOwnResult = (part: JsonObject): boolean =>
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

  #answers(parts: readonly JsonObject[], isMeant: (part: JsonObject) => boolean = () => true): void {
    for (const [part, found] of parts.entries()) {
      if (found["type"] === "tool-approval-request") {
        this.#asked.set(String(found["approvalId"]), String(found["toolCallId"]));
      } else if (found["type"] === "tool-approval-response") this.#approval(found);
      else if (found["type"] === "tool-result" && isMeant(found)) {
        this.#result(found as unknown as ToolResultPart, part);
      }
    }
  }

  #approval({ approvalId, approved, reason }: JsonObject): void {
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
