/**
 * Chat completion chunks put together to one answer. Private to the adapters.
 *
 * Servers differ most in how they number and name the fragments of tool calls; see {@link AnswerAssembler}.
 */
import type { AssistantMessage, ReasoningPart, TextPart, ToolCallPart } from "../core/message.ts";
import { parseInput } from "../formats/call_input.ts";
import { isObject, type JsonObject } from "../formats/format.ts";
import type { FinishReason, ModelEvent, Usage } from "../ports.ts";
import { openaiUsage } from "../tokens/usage.ts";
import { Assembler, type FrameSource } from "./_assembler.ts";
import { badResponse } from "./_errors.ts";
import { Frames } from "./_frames.ts";
import { textOf } from "./_json.ts";
import { streamError } from "./_stream_errors.ts";

/** A call while its fragments come in. */
interface OpenCall {
  id: string;
  name: string;
  text: string;
  /** Index in the message; known once the name is. */
  position: number;
}

/** Reasons by which some servers say, in place of an error, that they gave up. */
const FAILED = new Set(["error", "abort", "insufficient_system_resource"]);

/** Puts an answer together from chunks. */
export class AnswerAssembler extends Assembler {
  readonly #frames = new Frames();
  #text = "";
  #reasoning = "";
  #reason = "";
  /** True once a delta has said something. */
  #hasDeltas = false;
  #usage: Usage | undefined;
  #last: OpenCall | undefined;
  readonly #calls: OpenCall[] = [];
  readonly #named: OpenCall[] = [];
  readonly #byIndex = new Map<number, OpenCall>();

  /** True once the provider has said why the message ended. */
  override get complete(): boolean {
    return this.#reason !== "";
  }

  /** Takes the data of one frame in, the end mark included. */
  override accept(data: string, source: FrameSource = {}): void {
    if (data === "[DONE]") this.done = true;
    else super.accept(data, source);
  }

  /** The terminal event. Only to be called when {@link AnswerAssembler.complete}. */
  finish(): ModelEvent {
    const content: (TextPart | ReasoningPart | ToolCallPart)[] = [];
    if (this.#reasoning !== "") content.push({ type: "reasoning", text: this.#reasoning });
    if (this.#text !== "") content.push({ type: "text", text: this.#text });
    for (const call of this.#named) {
      content.push({
        type: "tool-call",
        toolCallId: call.id === "" ? `call_${call.position}` : call.id,
        toolName: call.name,
        input: parseInput(call.text),
      });
    }
    const message: AssistantMessage = { role: "assistant", content };
    const reason = finishReason(this.#reason, this.#named.length > 0);
    return { type: "finish", reason, message, ...(this.#usage === undefined ? {} : { usage: this.#usage }) };
  }

  /** Of a frame nothing but texts and numbers is kept. */
  protected override parse(data: string): unknown {
    return this.#frames.parse(data);
  }

  protected override take(chunk: JsonObject, event: string): void {
    const error = chunk.error ?? undefined;
    if (error !== undefined || event === "error" || chunk.object === "error") {
      this.failure = streamError(chunk, { ...this.context, begun: this.begun });
      return;
    }
    if (isObject(chunk.usage)) this.#usage = openaiUsage(chunk.usage) ?? this.#usage;
    const choice: unknown = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    if (!isObject(choice)) return;
    if (isObject(choice.delta)) {
      this.#takeDelta(choice.delta);
      this.#hasDeltas ||= this.begun;
    } else if (isObject(choice.message) && !this.#hasDeltas) {
      // Some servers call a delta so; behind deltas it is the whole of what they said.
      this.#takeDelta(choice.message);
    }
    const reason = textOf(choice.finish_reason);
    if (reason === "") return;
    if (FAILED.has(reason)) {
      const failed = { message: `finish_reason ${reason}` };
      this.failure = streamError({ error: failed }, { ...this.context, begun: this.begun });
      return;
    }
    // Once it is said that the answer was cut, nothing that is said later makes it whole.
    if (finishReason(this.#reason, false) === "stop") this.#reason = reason;
    if (this.#calls.some((call) => call.name === "" && (call.id !== "" || call.text !== ""))) {
      this.failure = badResponse("a tool call without a name", this.context);
    }
  }

  #takeDelta(delta: JsonObject): void {
    const reasoning = textOf(delta.reasoning_content ?? delta.reasoning);
    if (reasoning !== "") {
      this.#reasoning += reasoning;
      this.push({ type: "reasoning.delta", text: reasoning });
    }
    this.#takeText(delta.content);
    this.#takeText(delta.refusal);
    if (Array.isArray(delta.tool_calls)) {
      for (const [place, fragment] of delta.tool_calls.entries()) {
        if (isObject(fragment)) this.#takeFragment(fragment, place);
      }
    } else if (isObject(delta.function_call)) {
      // The older form, for one call.
      this.#takeFragment({ index: 0, function: delta.function_call }, 0);
    }
  }

  #takeText(content: unknown): void {
    if (Array.isArray(content)) {
      for (const part of content) if (isObject(part)) this.#takeText(part.text);
    } else if (typeof content === "string" && content !== "") {
      this.#text += content;
      this.push({ type: "text.delta", text: content });
    }
  }

  #takeFragment(fragment: JsonObject, place: number): void {
    const body = isObject(fragment.function) ? fragment.function : {};
    const id = textOf(fragment.id);
    const name = textOf(body.name);
    const index = typeof fragment.index === "number" ? fragment.index : undefined;
    const call = this.#findCall({ index, id, name, place }) ?? this.#openCall(index);
    this.#last = call;
    if (call.id === "") call.id = id;
    // Arguments that come as an object, not as its text, are whole.
    const text = isObject(body.arguments) ? JSON.stringify(body.arguments) : textOf(body.arguments);
    call.text += text;
    if (call.name !== "") {
      if (text !== "") this.#pushInput(call, text);
    } else if (name !== "") {
      call.name = name;
      call.position = this.#named.push(call) - 1;
      // Empty or not: it tells that the call has begun.
      this.#pushInput(call, call.text);
    }
  }

  /**
   * Which call a fragment belongs to, undefined for a new one. The index decides, but some servers give every
   * call index 0 (an id and a name of its own then begins a new one), count fragments in place of calls (neither
   * id nor name: the last one goes on), or send no index at all.
   */
  #findCall(
    at: {
      readonly index: number | undefined;
      readonly id: string;
      readonly name: string;
      readonly place: number;
    },
  ): OpenCall | undefined {
    const { index, id, name, place } = at;
    if (index !== undefined) {
      const call = this.#byIndex.get(index);
      if (call === undefined) return id === "" && name === "" ? this.#last : undefined;
      return isOther(id, call.id) && name !== "" ? undefined : call;
    }
    if (id !== "") {
      const last = this.#last;
      if (last !== undefined && last.id === "" && last.name === "") return last;
      return this.#calls.findLast((call) => call.id === id);
    }
    if (name === "") return this.#last;
    // No id and no index: a repeated name goes on with a call whose arguments are not whole yet.
    const goesOn = place === 0 && this.#last?.name === name && !isWhole(this.#last.text);
    return goesOn ? this.#last : undefined;
  }

  #openCall(index: number | undefined): OpenCall {
    const call: OpenCall = { id: "", name: "", text: "", position: -1 };
    this.#calls.push(call);
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }

  #pushInput(call: OpenCall, delta: string): void {
    this.push({ type: "tool.input.delta", call: call.position, name: call.name, delta });
  }
}

function isOther(id: string, known: string): boolean {
  return id !== "" && known !== "" && id !== known;
}

function isWhole(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function finishReason(reason: string, hasCalls: boolean): FinishReason {
  switch (reason) {
    case "length":
    case "max_tokens":
    case "model_length":
      return "length";
    case "content_filter":
      return "content-filter";
    default:
      // "stop", "tool_calls", "function_call" and what servers add: whether there are calls tells more.
      return hasCalls ? "tool-calls" : "stop";
  }
}
