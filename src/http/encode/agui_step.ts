/**
 * The step that a run of AG-UI is in: where it begins and ends, and its texts and reasoning, one open at a time.
 *
 * @module
 */
import { dataFrame } from "../sse.ts";

/** Writes the events of a run, step by step. */
export class AguiStepWriter {
  #frames = "";
  #step: string | null = null;
  #message = "";
  #hasText = false;
  #text: string | null = null;
  #reasoning: string | null = null;
  readonly #used = new Set<string>();

  /** Id of the assistant's message of the step, to which its calls belong. */
  get message(): string {
    return this.#message;
  }

  /** Writes an event. */
  push(type: string, fields: Readonly<Record<string, unknown>>): void {
    this.#frames += dataFrame({ type, ...fields });
  }

  /** What was written since the last time. */
  flush(): string {
    const frames = this.#frames;
    this.#frames = "";
    return frames;
  }

  /** An id that no message of the run has: a step that begins anew, and a text behind another, are messages of their own. */
  fresh(id: string): string {
    let fresh = id;
    for (let n = 2; this.#used.has(fresh); n++) fresh = `${id}.${n}`;
    this.#used.add(fresh);
    return fresh;
  }

  /** Begins a step; `message` is to be the id of its message. */
  open(step: number, message: string): void {
    this.#step = `step-${step}`;
    this.#message = this.fresh(message);
    this.#hasText = false;
    this.push("STEP_STARTED", { stepName: this.#step });
  }

  /** Ends the step, and what is open in it. */
  close(): void {
    this.closeParts();
    if (this.#step === null) return;
    this.push("STEP_FINISHED", { stepName: this.#step });
    this.#step = null;
  }

  /** Writes a piece of a text. The first one of a step is in the message of its calls, unless one of them comes before. */
  text(delta: string, hasCalls: boolean): void {
    this.closeReasoning();
    if (this.#text === null) {
      const isFirst = !this.#hasText && !hasCalls;
      this.#hasText = true;
      this.#text = isFirst ? this.#message : this.fresh(this.#message);
      this.push("TEXT_MESSAGE_START", { messageId: this.#text, role: "assistant" });
    }
    this.push("TEXT_MESSAGE_CONTENT", { messageId: this.#text, delta });
  }

  /** Writes a piece of reasoning. */
  reasoning(delta: string): void {
    this.closeText();
    if (this.#reasoning === null) {
      const messageId = this.#reasoning = this.fresh(`${this.#message}.r`);
      this.push("REASONING_START", { messageId });
      this.push("REASONING_MESSAGE_START", { messageId, role: "reasoning" });
    }
    this.push("REASONING_MESSAGE_CONTENT", { messageId: this.#reasoning, delta });
  }

  /** Ends the text that is open, if one is. */
  closeText(): void {
    if (this.#text === null) return;
    this.push("TEXT_MESSAGE_END", { messageId: this.#text });
    this.#text = null;
  }

  /** Ends the reasoning that is open, if any is. */
  closeReasoning(): void {
    if (this.#reasoning === null) return;
    this.push("REASONING_MESSAGE_END", { messageId: this.#reasoning });
    this.push("REASONING_END", { messageId: this.#reasoning });
    this.#reasoning = null;
  }

  /** Ends whatever is open. */
  closeParts(): void {
    this.closeText();
    this.closeReasoning();
  }
}
