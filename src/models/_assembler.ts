/** What the assemblers of all protocols do alike: take frames in, give events out. Private to the adapters. */
import type { ProviderOptions } from "../core/message.ts";
import type { SelvageError } from "../core/errors.ts";
import { isObject, type JsonObject } from "../formats/format.ts";
import type { ModelEvent } from "../ports.ts";
import { badResponse, type ErrorContext } from "./_errors.ts";

/**
 * The most characters of one answer: many times what the longest outputs have. A provider that goes on without end would
 * fill the memory of the service.
 */
export const MAX_ANSWER_CHARS = 16 * 1_024 * 1_024;

/** A piece of an answer that is passed on as it comes. */
export type Delta =
  | { type: "text.delta"; text: string }
  | { type: "reasoning.delta"; text: string }
  | { type: "tool.input.delta"; call: number; name: string; delta: string };

/** Where a part of an answer ends. */
type End = Extract<ModelEvent, { type: "part.end" | "tool.input.end" }>;

/** Where a frame comes from. */
export interface FrameSource {
  /** The frame's event name. */
  readonly event?: string | undefined;
  /** Whether the stream ended inside the frame: half a frame is then dropped, not garbage. */
  readonly cut?: boolean;
}

/** Puts one answer together. Never throws while frames come in: see {@link Assembler.failure}. */
export abstract class Assembler {
  /** What went wrong, once it did. What came before it is still in {@link Assembler.drain}. */
  failure: SelvageError | undefined;
  /** True once the stream's own end mark was seen. */
  done = false;

  /** What error messages start with and never show. */
  protected readonly context: ErrorContext;
  #events: (Delta | End)[] = [];
  #begun = false;
  #chars = 0;

  /** @param context What error messages start with and never show. */
  constructor(context: ErrorContext) {
    this.context = context;
  }

  /** True once the answer has given an event. */
  get begun(): boolean {
    return this.#begun;
  }

  /** True once the provider has said that the answer is whole. */
  abstract get complete(): boolean;

  /** Takes the data of one frame in. */
  accept(data: string, { cut = false, event = "" }: FrameSource = {}): void {
    if (this.failure !== undefined || this.done || data.trim() === "") return;
    let frame: unknown;
    try {
      frame = this.parse(data);
    } catch {
      // The parser's own error quotes the data, secrets included: `badResponse` quotes it without.
      if (!cut) this.failure = badResponse("a frame that is no JSON", { ...this.context, body: data });
      return;
    }
    if (isObject(frame)) this.take(frame, event);
    else this.failure = badResponse("a frame that is no JSON object", { ...this.context, body: data });
  }

  /** The events since the last call. Neighbours of one kind are one event. */
  drain(): readonly ModelEvent[] {
    const events = this.#events;
    if (events.length > 0) this.#events = [];
    return events;
  }

  /** Parses a frame. Throws a SyntaxError where it is no JSON. */
  protected parse(data: string): unknown {
    return JSON.parse(data);
  }

  /** Takes one frame in, `event` being its name or empty. */
  protected abstract take(frame: JsonObject, event: string): void;

  /** Puts a piece behind those that wait to be drained. */
  protected push(delta: Delta): void {
    this.#begun = true;
    this.count("text" in delta ? delta.text : delta.delta);
    const last = this.#events.at(-1);
    if (last === undefined || last.type !== delta.type) {
      this.#events.push(delta);
    } else if (last.type === "tool.input.delta" && delta.type === "tool.input.delta") {
      if (last.call === delta.call) last.delta += delta.delta;
      else this.#events.push(delta);
    } else if ("text" in last && "text" in delta) {
      last.text += delta.text;
    }
  }

  /** Counts what is kept of the answer, so that it does not grow without end; what is pushed is counted by itself. */
  protected count(kept: string): void {
    this.#chars += kept.length;
    if (this.#chars <= MAX_ANSWER_CHARS) return;
    this.failure ??= badResponse(`an answer of more than ${MAX_ANSWER_CHARS} characters`, this.context);
  }

  /** Tells that the text or reasoning before is whole, with what the provider says of it. */
  protected endPart(kind: "text" | "reasoning", providerOptions: ProviderOptions | undefined): void {
    this.#begun = true;
    this.#events.push({
      type: "part.end",
      kind,
      ...(providerOptions === undefined ? {} : { providerOptions }),
    });
  }

  /** Tells that the arguments of a call are whole. */
  protected endInput(call: number): void {
    this.#begun = true;
    this.#events.push({ type: "tool.input.end", call });
  }
}
