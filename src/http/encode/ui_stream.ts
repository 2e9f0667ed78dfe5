/**
 * The UI message stream of the AI SDK (version 1): turn events as the chunks that its own server sends for the same
 * answers of a model, with `data-context` and `data-compaction` as additions. One assistant message is one turn.
 *
 * @module
 */
import { wireId } from "../../compaction/context.ts";
import type { ProviderOptions } from "../../core/message.ts";
import { isObject } from "../../formats/format.ts";
import { type CompactionEvent, isApplied, noteOf, type TurnEvent } from "../../loop/events.ts";
import {
  compactionPart,
  fileUrl,
  finishMetadata,
  insertedPart,
  messageBehind,
  outputText,
  partId,
  type UiPart,
} from "./ui_parts.ts";

/** Header by which clients know the stream. */
export const UI_STREAM_HEADERS: Readonly<Record<string, string>> = {
  "x-vercel-ai-ui-message-stream": "v1",
};

/** Said where a stream ends before its turn does. */
const GOES_ON = "The turn goes on elsewhere: resume the stream";

/** Said where a call was announced in an answer that never came to its end. */
const NOT_EXECUTED = "Not executed: the answer was cut off";

/** Where a call stands in the stream. */
interface ShownCall {
  readonly id: string;
  readonly name: string;
  /** Text of its arguments so far. */
  text: string;
  state: "streaming" | "available" | "running" | "answered";
}

/**
 * What the client has of the turn already, where the events do not begin with its start: the message that goes on, or
 * the message of the user behind which the turn goes on in another one.
 */
export type GoesOn = { readonly message: string } | { readonly behind: string };

type Finished = Extract<TurnEvent, { type: "turn.finished" }>;

/** Makes the frames of one turn. Events go in from the first one on, in order. */
export class UiStreamEncoder {
  #chunks: UiPart[] = [];
  /** Step of the turn that is told, 0 before the first. */
  #step = 0;
  #isStepOpen = false;
  #hadStep = false;
  #goesOn: GoesOn | null;
  /** Of a turn that waits what its end says, if it is one: another stream may tell how it went on. */
  #state: "running" | "over" | Readonly<Record<string, unknown>> = "running";
  #parts = 0;
  #text: string | null = null;
  #reasoning: string | null = null;
  #calls = new Map<string, ShownCall>();

  /** @param goesOn What the client has already, where the events do not begin with the start of the turn. */
  constructor(goesOn?: GoesOn) {
    this.#goesOn = goesOn ?? null;
  }

  /** One event as frames; none where it has nothing to say to a client. */
  encode(event: TurnEvent): string {
    if (this.#goesOn !== null && "behind" in this.#goesOn) {
      return this.#encodeBehind(event, this.#goesOn.behind);
    }
    // The client goes on with the message that it has.
    if (this.#goesOn !== null && event.type !== "turn.started") {
      this.#push("start", { messageId: this.#goesOn.message });
    }
    this.#goesOn = null;
    this.#state = "running";
    this.#take(event);
    return this.#frames();
  }

  /** What comes before the message of the user belongs to one that the client has closed: it cannot take it in there. */
  #encodeBehind(event: TurnEvent, turn: string): string {
    if (event.type === "error") this.#take(event);
    if (event.type !== "user.message") return this.#frames();
    this.#goesOn = null;
    this.#push("start", { messageId: messageBehind(turn, Number(event.ref.slice(1))) });
    return this.#frames();
  }

  /** The frames behind the last event: of a turn that has ended, that waits, or that goes on elsewhere. */
  end(): string {
    if (this.#state === "running") this.#push("error", { errorText: GOES_ON });
    else if (this.#state !== "over") this.#push("finish", this.#state);
    return `${this.#frames()}data: [DONE]\n\n`;
  }

  #frames(): string {
    let frames = "";
    for (const chunk of this.#chunks) frames += `data: ${JSON.stringify(chunk)}\n\n`;
    this.#chunks = [];
    return frames;
  }

  #push(type: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#chunks.push({ type, ...fields });
  }

  #take(event: TurnEvent): void {
    switch (event.type) {
      case "turn.started":
        return this.#push("start", { messageId: event.turn, messageMetadata: { model: event.model } });
      case "step.started":
        this.#closeStep();
        this.#calls.clear();
        this.#step = event.step;
        this.#parts = 0;
        return;
      case "text.delta":
        return this.#takeText(event.text);
      case "reasoning.delta":
        this.#openReasoning();
        return this.#push("reasoning-delta", { id: this.#reasoning, delta: event.text });
      case "part.end":
        return event.kind === "text" ? this.#closeText(event.metadata) : this.#endReasoning(event.metadata);
      case "part":
        return this.#takePart(event.part);
      case "tool.input.delta":
        return this.#takeInput(event);
      case "tool.input.end":
        return this.#endInput(event.ref);
      case "tool.call":
        this.#closeParts();
        return this.#takeCall(event);
      case "tool.progress": {
        const { id: toolCallId } = this.#startCall(event);
        return this.#push("tool-output-available", {
          toolCallId,
          output: event.data ?? null,
          preliminary: true,
        });
      }
      case "tool.result":
        return this.#takeResult(event);
      case "context": {
        const { tokens, window, compactAt, stopAt } = event;
        this.#closeParts();
        return this.#push("data-context", { data: { tokens, window, compactAt, stopAt }, transient: true });
      }
      case "compaction":
        this.#closeParts();
        return this.#takeCompaction(event);
      case "error":
        this.#push("error", { errorText: event.message });
        return this.#closeParts();
      case "user.message":
        // A chunk of a kind of its own would break older clients: it stays in the message as data.
        this.#closeParts();
        this.#chunks.push(insertedPart(event));
        return;
      case "turn.paused":
        return this.#pause(event);
      case "turn.finished":
        this.#state = "over";
        return this.#finish(event);
      default:
        event satisfies never;
    }
  }

  #openStep(): void {
    // What is told of a step before this stream is in the client's message already.
    if (this.#isStepOpen || this.#step === 0) return;
    this.#isStepOpen = true;
    this.#hadStep = true;
    this.#push("start-step");
  }

  #closeStep(): void {
    this.#closeParts();
    // Begun anew, as after a crash: what was announced before is not in the log.
    this.#closeCalls();
    if (this.#isStepOpen) this.#push("finish-step");
    this.#isStepOpen = false;
  }

  #newId(): string {
    return partId(this.#step, this.#parts++);
  }

  #takeText(delta: string): void {
    this.#openStep();
    this.#closeReasoning();
    if (this.#text === null) {
      this.#text = this.#newId();
      this.#push("text-start", { id: this.#text });
    }
    this.#push("text-delta", { id: this.#text, delta });
  }

  #closeText(metadata?: ProviderOptions): void {
    if (this.#text === null) return;
    this.#push("text-end", { id: this.#text, ...providerMetadata(metadata) });
    this.#text = null;
  }

  #openReasoning(metadata?: ProviderOptions): void {
    this.#openStep();
    if (this.#reasoning !== null) return;
    this.#closeText();
    this.#reasoning = this.#newId();
    this.#push("reasoning-start", { id: this.#reasoning, ...providerMetadata(metadata) });
  }

  #endReasoning(metadata: ProviderOptions | undefined): void {
    // Reasoning that only its provider can read has no text: its metadata is all there is.
    if (this.#reasoning === null) this.#openReasoning(metadata);
    else if (metadata !== undefined) {
      this.#push("reasoning-delta", { id: this.#reasoning, delta: "", ...providerMetadata(metadata) });
    }
    this.#closeReasoning();
  }

  #closeReasoning(): void {
    if (this.#reasoning === null) return;
    this.#push("reasoning-end", { id: this.#reasoning });
    this.#reasoning = null;
  }

  /** Closes what an answer has left open: some providers say only at its end that a part is whole. */
  #closeParts(): void {
    this.#closeReasoning();
    this.#closeText();
  }

  #takePart(part: Extract<TurnEvent, { type: "part" }>["part"]): void {
    this.#openStep();
    this.#closeParts();
    switch (part.type) {
      case "file":
        return this.#push("file", { url: fileUrl(part), mediaType: part.mediaType });
      case "tool-call": {
        const { toolCallId, toolName, input } = part;
        return this.#push("tool-input-available", { toolCallId, toolName, input, providerExecuted: true });
      }
      case "tool-result": {
        const { toolCallId, output } = part;
        const isError = output.type.startsWith("error");
        const outcome = isError ? { errorText: outputText(output) } : {
          output: "value" in output ? output.value : null,
        };
        const type = isError ? "tool-output-error" : "tool-output-available";
        return this.#push(type, { toolCallId, ...outcome, providerExecuted: true });
      }
      default:
        part satisfies never;
    }
  }

  #startCall({ ref, name }: { readonly ref: string; readonly name: string }): ShownCall {
    const known = this.#calls.get(ref);
    if (known !== undefined) return known;
    const call: ShownCall = { id: wireId(ref), name, text: "", state: "streaming" };
    this.#calls.set(ref, call);
    return call;
  }

  #takeInput(event: Extract<TurnEvent, { type: "tool.input.delta" }>): void {
    this.#openStep();
    this.#closeReasoning();
    const isNew = !this.#calls.has(event.ref);
    const call = this.#startCall(event);
    if (isNew) this.#push("tool-input-start", { toolCallId: call.id, toolName: call.name });
    if (event.delta === "") return;
    call.text += event.delta;
    this.#push("tool-input-delta", { toolCallId: call.id, inputTextDelta: event.delta });
  }

  /** The arguments are whole before the answer is: they can be shown, though nothing runs yet. */
  #endInput(ref: string): void {
    const call = this.#calls.get(ref);
    const input = call?.state === "streaming" ? parseInput(call.text) : undefined;
    if (call === undefined || input === undefined) return;
    call.state = "available";
    this.#push("tool-input-available", { toolCallId: call.id, toolName: call.name, input });
  }

  #takeCall(event: { readonly ref: string; readonly name: string; readonly input: unknown }): void {
    if (!this.#calls.has(event.ref)) this.#openStep();
    const call = this.#startCall(event);
    // What is told of a step before this stream is in the client's message already.
    if (call.state === "streaming" && this.#step > 0) {
      this.#push("tool-input-available", { toolCallId: call.id, toolName: call.name, input: event.input });
    }
    call.state = "running";
  }

  #takeResult(event: Extract<TurnEvent, { type: "tool.result" }>): void {
    const { status, output } = event;
    const call = this.#startCall(event);
    call.state = "answered";
    if (event.denied === true) return this.#push("tool-output-denied", { toolCallId: call.id });
    if (status === "ok") {
      return this.#push("tool-output-available", { toolCallId: call.id, output: output ?? null });
    }
    const errorText = typeof output === "string" ? output : JSON.stringify(output);
    this.#push("tool-output-error", { toolCallId: call.id, errorText });
  }

  #takeCompaction({ id: _, ...event }: CompactionEvent & { readonly id: string }): void {
    // Only one that was applied is part of the conversation; the others pass by.
    const { type, ...data } = event;
    if (isApplied(event)) this.#chunks.push(compactionPart(noteOf(event)));
    else this.#push(`data-${type}`, { data, transient: true });
  }

  #pause({ pending, usage }: Extract<TurnEvent, { type: "turn.paused" }>): void {
    this.#closeParts();
    for (const call of pending) {
      this.#takeCall(call);
      const toolCallId = wireId(call.ref);
      if (call.reason !== "approval") continue;
      this.#push("tool-approval-request", { approvalId: toolCallId, toolCallId });
    }
    this.#closeStep();
    this.#state = { finishReason: "tool-calls", messageMetadata: finishMetadata(usage) };
  }

  #finish({ reason, usage }: Finished): void {
    if (reason === "aborted" || reason === "error") this.#closeCalls();
    if (reason === "aborted") return this.#push("abort", { reason: "The turn was cancelled" });
    // An answer that failed before it began has no step: nothing is to be finished then.
    if (reason === "error" && !this.#isStepOpen) return;
    this.#closeStep();
    if (!this.#hadStep && reason === "error") return;
    this.#push("finish", { finishReason: finishReason(reason), messageMetadata: finishMetadata(usage) });
  }

  /** Calls of an answer that was cut off are not in the log, and nobody will answer them. */
  #closeCalls(): void {
    for (const call of this.#calls.values()) {
      if (call.state !== "streaming" && call.state !== "available") continue;
      this.#push("tool-output-error", { toolCallId: call.id, errorText: NOT_EXECUTED });
    }
  }
}

function providerMetadata(metadata: ProviderOptions | undefined): Readonly<Record<string, unknown>> {
  return metadata === undefined ? {} : { providerMetadata: metadata };
}

/** Arguments that are an object; anything else shows what it is once the call is taken in. */
function parseInput(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    const input: unknown = JSON.parse(text);
    return isObject(input) ? input : undefined;
  } catch {
    return undefined;
  }
}

function finishReason(reason: Exclude<Finished["reason"], "aborted">): string {
  return reason === "max-steps" ? "tool-calls" : reason;
}
