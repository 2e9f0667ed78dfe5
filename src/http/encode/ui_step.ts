/**
 * The step that a UI message stream is in: where it begins and ends, and its texts and reasoning, one open at a time.
 *
 * @module
 */
import type { ProviderOptions } from "../../core/message.ts";
import { dataFrame } from "../sse.ts";
import { metadataOf, partId, type UiPart } from "./ui_parts.ts";

/** Writes the chunks of a stream, step by step. */
export class UiStepWriter {
  #frames = "";
  #number = 0;
  #isOpen = false;
  #parts = 0;
  #text: string | null = null;
  #reasoning: string | null = null;

  /** Whether a step of the turn is told, as far as this stream knows: what came before is in the client's message. */
  get isKnown(): boolean {
    return this.#number > 0;
  }

  /** Whether the step has begun, and not ended. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Writes a chunk. */
  push(type: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.pushPart({ type, ...fields });
  }

  /** Writes a chunk that is a part of the message as well. */
  pushPart(part: UiPart): void {
    this.#frames += dataFrame(part);
  }

  /** What was written since the last time. */
  flush(): string {
    const frames = this.#frames;
    this.#frames = "";
    return frames;
  }

  /** The step of a number comes next; it begins with what is first in it. */
  next(number: number): void {
    this.#number = number;
    this.#parts = 0;
  }

  /** Begins the step, unless it has begun, or its beginning is in the client's message already. */
  open(): void {
    if (this.#isOpen || !this.isKnown) return;
    this.#isOpen = true;
    this.push("start-step");
  }

  /** Ends the step, and what is open in it. */
  close(): void {
    this.closeParts();
    if (this.#isOpen) this.push("finish-step");
    this.#isOpen = false;
  }

  /** Writes a piece of a text. */
  text(delta: string): void {
    this.open();
    this.closeReasoning();
    if (this.#text === null) {
      this.#text = this.#newId();
      this.push("text-start", { id: this.#text });
    }
    this.push("text-delta", { id: this.#text, delta });
  }

  /** Writes a piece of reasoning. */
  reasoning(delta: string): void {
    this.#openReasoning();
    this.push("reasoning-delta", { id: this.#reasoning, delta });
  }

  /** Ends the reasoning; what only its provider can read has no text: its metadata is all there is. */
  endReasoning(metadata: ProviderOptions | undefined): void {
    if (this.#reasoning === null) this.#openReasoning(metadata);
    else if (metadata !== undefined) {
      this.push("reasoning-delta", { id: this.#reasoning, delta: "", ...metadataOf(metadata) });
    }
    this.closeReasoning();
  }

  /** Ends the text that is open, if one is. */
  closeText(metadata?: ProviderOptions): void {
    if (this.#text === null) return;
    this.push("text-end", { id: this.#text, ...metadataOf(metadata) });
    this.#text = null;
  }

  /** Ends the reasoning that is open, if any is. */
  closeReasoning(): void {
    if (this.#reasoning === null) return;
    this.push("reasoning-end", { id: this.#reasoning });
    this.#reasoning = null;
  }

  /** Closes what an answer has left open: some providers say only at its end that a part is whole. */
  closeParts(): void {
    this.closeReasoning();
    this.closeText();
  }

  #openReasoning(metadata?: ProviderOptions): void {
    this.open();
    if (this.#reasoning !== null) return;
    this.closeText();
    this.#reasoning = this.#newId();
    this.push("reasoning-start", { id: this.#reasoning, ...metadataOf(metadata) });
  }

  #newId(): string {
    return partId(this.#number, this.#parts++);
  }
}
