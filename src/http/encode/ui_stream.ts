/**
 * The UI message stream of the AI SDK (version 1): turn events as the chunks that its own server sends for the same
 * answers of a model, with `data-context` and `data-compaction` as additions. One assistant message is one turn.
 *
 * @module
 */
import { wireId } from "../../compaction/context.ts";
import { fileUrl } from "../../core/files.ts";
import { isUnparsed, parseInput } from "../../formats/call_input.ts";
import { type CompactionEvent, isApplied, noteOf, type TurnEvent } from "../../loop/events.ts";
import { outputText } from "../../tokens/measure.ts";
import { DONE_FRAME } from "../sse.ts";
import { compactionPart, insertedPart, messageBehind, outputValue, usageMetadata } from "./ui_parts.ts";
import { UiStepWriter } from "./ui_step.ts";

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
  readonly #step = new UiStepWriter();
  #goesOn: GoesOn | null;
  /** Of a turn that waits what its end says, if it is one: another stream may tell how it went on. */
  #state: "running" | "over" | Readonly<Record<string, unknown>> = "running";
  readonly #calls = new Map<string, ShownCall>();

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
      this.#step.push("start", { messageId: this.#goesOn.message });
    }
    this.#goesOn = null;
    this.#state = "running";
    this.#take(event);
    return this.#step.flush();
  }

  /** What comes before the message of the user belongs to one that the client has closed: it cannot take it in there. */
  #encodeBehind(event: TurnEvent, turn: string): string {
    if (event.type === "error") this.#take(event);
    if (event.type !== "user.message") return this.#step.flush();
    this.#goesOn = null;
    this.#step.push("start", { messageId: messageBehind(turn, Number(event.ref.slice(1))) });
    return this.#step.flush();
  }

  /** The frames behind the last event: of a turn that has ended, that waits, or that goes on elsewhere. */
  end(): string {
    if (this.#state === "running") this.#step.push("error", { errorText: GOES_ON });
    else if (this.#state !== "over") this.#step.push("finish", this.#state);
    return this.#step.flush() + DONE_FRAME;
  }

  #take(event: TurnEvent): void {
    switch (event.type) {
      case "turn.started":
        return this.#step.push("start", { messageId: event.turn, messageMetadata: { model: event.model } });
      case "step.started":
        this.#closeStep();
        this.#calls.clear();
        return this.#step.next(event.step);
      case "text.delta":
        return this.#step.text(event.text);
      case "reasoning.delta":
        return this.#step.reasoning(event.text);
      case "part.end":
        return event.kind === "text"
          ? this.#step.closeText(event.metadata)
          : this.#step.endReasoning(event.metadata);
      case "part":
        return this.#takePart(event.part);
      case "tool.input.delta":
        return this.#takeInput(event);
      case "tool.input.end":
        return this.#endInput(event.ref);
      case "tool.call":
        this.#step.closeParts();
        return this.#takeCall(event);
      case "tool.progress": {
        const { id: toolCallId } = this.#startCall(event);
        return this.#step.push("tool-output-available", {
          toolCallId,
          output: event.data ?? null,
          preliminary: true,
        });
      }
      case "tool.result":
        return this.#takeResult(event);
      case "context": {
        const { tokens, window, compactAt, stopAt } = event;
        this.#step.closeParts();
        return this.#step.push("data-context", {
          data: { tokens, window, compactAt, stopAt },
          transient: true,
        });
      }
      case "compaction":
        this.#step.closeParts();
        return this.#takeCompaction(event);
      case "error":
        this.#step.push("error", { errorText: event.message });
        return this.#step.closeParts();
      case "user.message":
        // A chunk of a kind of its own would break older clients: it stays in the message as data.
        this.#step.closeParts();
        return this.#step.pushPart(insertedPart(event));
      case "turn.paused":
        return this.#pause(event);
      case "turn.finished":
        this.#state = "over";
        return this.#finish(event);
      default:
        event satisfies never;
    }
  }

  #closeStep(): void {
    this.#step.closeParts();
    // Begun anew, as after a crash: what was announced before is not in the log.
    this.#closeCalls();
    this.#step.close();
  }

  #takePart(part: Extract<TurnEvent, { type: "part" }>["part"]): void {
    this.#step.open();
    this.#step.closeParts();
    switch (part.type) {
      case "file":
        return this.#step.push("file", { url: fileUrl(part), mediaType: part.mediaType });
      case "tool-call": {
        const { toolCallId, toolName, input } = part;
        return this.#step.push("tool-input-available", {
          toolCallId,
          toolName,
          input,
          providerExecuted: true,
        });
      }
      case "tool-result": {
        const { toolCallId, output } = part;
        const result = { toolCallId, providerExecuted: true };
        return output.type.startsWith("error")
          ? this.#step.push("tool-output-error", { ...result, errorText: outputText(output) })
          : this.#step.push("tool-output-available", { ...result, output: outputValue(output) });
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
    this.#step.open();
    this.#step.closeReasoning();
    const isNew = !this.#calls.has(event.ref);
    const call = this.#startCall(event);
    if (isNew) this.#step.push("tool-input-start", { toolCallId: call.id, toolName: call.name });
    if (event.delta === "") return;
    call.text += event.delta;
    this.#step.push("tool-input-delta", { toolCallId: call.id, inputTextDelta: event.delta });
  }

  /** The arguments are whole before the answer is: they can be shown, though nothing runs yet. */
  #endInput(ref: string): void {
    const call = this.#calls.get(ref);
    if (call?.state !== "streaming") return;
    const input = parseInput(call.text);
    // Anything else shows what it is once the call is taken in.
    if (isUnparsed(input)) return;
    call.state = "available";
    this.#step.push("tool-input-available", { toolCallId: call.id, toolName: call.name, input });
  }

  #takeCall(event: { readonly ref: string; readonly name: string; readonly input: unknown }): void {
    if (!this.#calls.has(event.ref)) this.#step.open();
    const call = this.#startCall(event);
    // What is told of a step before this stream is in the client's message already.
    if (call.state === "streaming" && this.#step.isKnown) {
      this.#step.push("tool-input-available", {
        toolCallId: call.id,
        toolName: call.name,
        input: event.input,
      });
    }
    call.state = "running";
  }

  #takeResult(event: Extract<TurnEvent, { type: "tool.result" }>): void {
    const { status, output } = event;
    const call = this.#startCall(event);
    call.state = "answered";
    if (event.denied === true) return this.#step.push("tool-output-denied", { toolCallId: call.id });
    if (status === "ok") {
      return this.#step.push("tool-output-available", { toolCallId: call.id, output: output ?? null });
    }
    const errorText = typeof output === "string" ? output : JSON.stringify(output);
    this.#step.push("tool-output-error", { toolCallId: call.id, errorText });
  }

  #takeCompaction({ id: _, ...event }: CompactionEvent & { readonly id: string }): void {
    // Only one that was applied is part of the conversation; the others pass by.
    const { type, ...data } = event;
    if (isApplied(event)) this.#step.pushPart(compactionPart(noteOf(event)));
    else this.#step.push(`data-${type}`, { data, transient: true });
  }

  #pause({ pending, ...end }: Extract<TurnEvent, { type: "turn.paused" }>): void {
    this.#step.closeParts();
    for (const call of pending) {
      this.#takeCall(call);
      const toolCallId = wireId(call.ref);
      if (call.reason !== "approval") continue;
      this.#step.push("tool-approval-request", { approvalId: toolCallId, toolCallId });
    }
    this.#closeStep();
    this.#state = { finishReason: "tool-calls", messageMetadata: metadataOf(end) };
  }

  #finish({ reason, ...end }: Finished): void {
    if (reason === "aborted" || reason === "error") this.#closeCalls();
    if (reason === "aborted") return this.#step.push("abort", { reason: "The turn was cancelled" });
    // An answer that failed before it began has no step: nothing is to be finished then.
    if (reason === "error" && !this.#step.isOpen) return;
    this.#closeStep();
    this.#step.push("finish", {
      finishReason: finishReason(reason),
      messageMetadata: metadataOf(end),
    });
  }

  /** Calls of an answer that was cut off are not in the log, and nobody will answer them. */
  #closeCalls(): void {
    for (const call of this.#calls.values()) {
      if (call.state !== "streaming" && call.state !== "available") continue;
      call.state = "answered";
      this.#step.push("tool-output-error", { toolCallId: call.id, errorText: NOT_EXECUTED });
    }
  }
}

/** What clients merge into what the start has said: another model may have answered than was to. */
function metadataOf({ model, usage }: Pick<Finished, "model" | "usage">): Readonly<Record<string, unknown>> {
  return { ...(model === undefined ? {} : { model }), usage: usageMetadata(usage) };
}

function finishReason(reason: Exclude<Finished["reason"], "aborted">): string {
  return reason === "max-steps" ? "tool-calls" : reason;
}
