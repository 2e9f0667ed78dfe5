/**
 * The events of a Messages stream put together to one answer. Private to the adapters.
 *
 * What the provider must get back as it came (signatures, the blocks of tools that it ran itself) is kept in
 * `providerOptions.anthropic`; `_blocks_anthropic.ts` is the way back.
 */
import type { ToolResultPart } from "../core/message.ts";
import { parseInput } from "../formats/call_input.ts";
import { isObject, type JsonObject } from "../formats/format.ts";
import { mergeUsage } from "../tokens/usage.ts";
import { Assembler } from "./_assembler.ts";
import { badResponse, type ErrorContext } from "./_errors.ts";
import { finishReason } from "./_finish_anthropic.ts";
import { textOf } from "./_json.ts";
import type { AssistantPart } from "./_parts.ts";
import { streamError } from "./_stream_errors.ts";

/** A content block while its deltas come in. */
interface OpenBlock {
  readonly kind: "text" | "thinking" | "call" | "provider-call" | "whole";
  /** The block as it was started. */
  readonly start: JsonObject;
  /** Text, thinking, or the text of the arguments. */
  text: string;
  signature: string;
  readonly citations: unknown[];
  /** Index among the calls that we have to answer; -1 for any other block. */
  readonly call: number;
}

/** Puts a message together from its events. */
export class MessageAssembler extends Assembler {
  /** Why the provider ended the message, empty before it said so. */
  stopReason = "";
  /** What the provider billed, in its own form. */
  usage: JsonObject = {};

  readonly #firstCall: number;
  #calls = 0;
  readonly #blocks: OpenBlock[] = [];
  readonly #byIndex = new Map<number, OpenBlock>();

  /**
   * @param context What error messages start with and never show.
   * @param options Calls that earlier parts of the same answer have made.
   */
  constructor(context: ErrorContext, options: { readonly calls?: number } = {}) {
    super(context);
    this.#firstCall = options.calls ?? 0;
  }

  /** True once the message has ended and the provider has said why. */
  override get complete(): boolean {
    return this.done && this.stopReason !== "";
  }

  /** Calls of this message that we have to answer. */
  get calls(): number {
    return this.#calls;
  }

  /** The message so far. */
  parts(): readonly AssistantPart[] {
    return this.#blocks.flatMap((block) => this.#part(block) ?? []);
  }

  protected override take(frame: JsonObject, event: string): void {
    // Proxies also pass errors on in the form of other protocols, without a type.
    if (frame.type === "error" || event === "error" || isObject(frame.error)) {
      this.failure = streamError(frame, { ...this.context, begun: this.begun });
      return;
    }
    const { delta } = frame;
    switch (frame.type) {
      case "message_start":
        if (isObject(frame.message)) this.usage = mergeUsage(this.usage, frame.message.usage);
        break;
      case "content_block_start":
        if (isObject(frame.content_block)) this.#open(frame.content_block, frame.index);
        break;
      case "content_block_delta":
        if (isObject(delta)) this.#takeDelta(delta, frame.index);
        break;
      case "content_block_stop":
        this.#close(this.#at(frame.index));
        break;
      case "message_delta":
        this.usage = mergeUsage(this.usage, frame.usage);
        if (isObject(delta)) this.#takeReason(textOf(delta.stop_reason));
        break;
      case "message_stop":
        this.done = true;
        break;
      default:
        // `ping` and what is yet to come: the protocol asks clients to pass over it.
        break;
    }
  }

  /** Once it is said that the message was cut, nothing that is said later makes it whole; a pause is no cut. */
  #takeReason(reason: string): void {
    if (reason !== "" && finishReason(this.stopReason, true) === "tool-calls") this.stopReason = reason;
  }

  #open(start: JsonObject, index: unknown): OpenBlock {
    const kind = kindOf(start);
    const call = kind === "call" ? this.#firstCall + this.#calls++ : -1;
    const block: OpenBlock = { kind, start, text: "", signature: "", citations: [], call };
    this.#blocks.push(block);
    if (typeof index === "number") this.#byIndex.set(index, block);
    if (kind === "text") {
      if (Array.isArray(start.citations)) block.citations.push(...start.citations);
      this.#append(block, start.text);
    } else if (kind === "thinking") {
      block.signature = textOf(start.signature);
      this.#append(block, start.thinking);
    } else if (kind === "call") {
      if (textOf(start.name) === "") {
        this.failure = badResponse("a tool call without a name", this.context);
      } else {
        // Empty or not: it tells that the call has begun. Some servers send the arguments whole, with the start.
        const whole = wholeInput(start);
        this.#pushInput(block, whole === undefined ? "" : JSON.stringify(whole));
      }
    }
    return block;
  }

  /** Tells that a block is whole. What the provider runs itself is told with the message. */
  #close(block: OpenBlock | undefined): void {
    if (block === undefined) return;
    if (block.kind === "call") return this.endInput(block.call);
    const part = this.#part(block);
    if (part?.type === "text" || part?.type === "reasoning") this.endPart(part.type, part.providerOptions);
  }

  #takeDelta(delta: JsonObject, index: unknown): void {
    switch (delta.type) {
      case "text_delta":
        this.#append(this.#find("text", index), delta.text);
        break;
      case "thinking_delta":
        this.#append(this.#find("thinking", index), delta.thinking);
        break;
      case "signature_delta":
        this.#sign(this.#find("thinking", index), textOf(delta.signature));
        break;
      case "citations_delta":
        if (isObject(delta.citation)) this.#cite(this.#find("text", index), delta.citation);
        break;
      case "input_json_delta":
        this.#takeInput(textOf(delta.partial_json), index);
        break;
      default:
        // Of a block that we do not know either: it was kept as it was started.
        break;
    }
  }

  #takeInput(text: string, index: unknown): void {
    const block = this.#at(index);
    if (block?.kind !== "call" && block?.kind !== "provider-call") {
      this.failure = badResponse("arguments without their tool call", this.context);
    } else if (text !== "") {
      block.text += text;
      if (block.kind === "call") this.#pushInput(block, text);
      else this.count(text);
    }
  }

  #sign(block: OpenBlock, signature: string): void {
    block.signature += signature;
    this.count(signature);
  }

  #cite(block: OpenBlock, citation: JsonObject): void {
    block.citations.push(citation);
    this.count(JSON.stringify(citation));
  }

  /** The block of an index; the last one where a server sends none. */
  #at(index: unknown): OpenBlock | undefined {
    return typeof index === "number" ? this.#byIndex.get(index) : this.#blocks.at(-1);
  }

  /** The block of an index, opened where a server sent no start for it. */
  #find(kind: "text" | "thinking", index: unknown): OpenBlock {
    const block = this.#at(index);
    return block?.kind === kind ? block : this.#open({ type: kind }, index);
  }

  #append(block: OpenBlock, text: unknown): void {
    if (typeof text !== "string" || text === "") return;
    block.text += text;
    this.push({ type: block.kind === "text" ? "text.delta" : "reasoning.delta", text });
  }

  #pushInput({ call, start }: OpenBlock, delta: string): void {
    this.push({ type: "tool.input.delta", call, name: textOf(start.name), delta });
  }

  #part(block: OpenBlock): AssistantPart | null {
    const { citations, kind, signature, start, text } = block;
    switch (kind) {
      case "text":
        if (text === "") return null;
        return { type: "text", text, ...(citations.length === 0 ? {} : options({ citations })) };
      case "thinking":
        if (text === "" && signature === "") return null;
        return { type: "reasoning", text, ...(signature === "" ? {} : options({ signature })) };
      case "call":
        return {
          type: "tool-call",
          toolCallId: textOf(start.id) || `call_${block.call}`,
          toolName: textOf(start.name),
          input: inputOf(block),
          // Calls made by a program of the provider go back with the name of that program's own call.
          ...(isObject(start.caller) && start.caller.type !== "direct"
            ? options({ caller: start.caller })
            : {}),
        };
      case "provider-call": {
        const input = inputOf(block);
        return {
          type: "tool-call",
          toolCallId: textOf(start.id),
          toolName: textOf(start.name),
          input,
          providerExecuted: true,
          ...options({ block: text === "" ? start : { ...start, input } }),
        };
      }
      case "whole":
        return this.#wholePart(start);
      default:
        return kind satisfies never;
    }
  }

  #wholePart(start: JsonObject): AssistantPart {
    if (start.type === "redacted_thinking") {
      return { type: "reasoning", text: "", ...options({ redactedData: textOf(start.data) }) };
    }
    const isResult = typeof start.type === "string" && start.type.endsWith("_tool_result");
    // No part of ours: it travels as reasoning without a text, which other dialects leave out.
    if (!isResult) return { type: "reasoning", text: "", ...options({ block: start }) };
    const toolCallId = textOf(start.tool_use_id);
    const called = this.#blocks.find((other) =>
      other.kind === "provider-call" && other.start.id === toolCallId
    );
    return {
      type: "tool-result",
      toolCallId,
      toolName: textOf(called?.start.name) || String(start.type).slice(0, -"_tool_result".length),
      output: outputOf(start),
      ...options({ block: start }),
    };
  }
}

function options(anthropic: JsonObject): { readonly providerOptions: { readonly anthropic: JsonObject } } {
  return { providerOptions: { anthropic } };
}

function kindOf({ type }: JsonObject): OpenBlock["kind"] {
  if (type === "text" || type === "thinking") return type;
  if (type === "tool_use") return "call";
  return typeof type === "string" && type.endsWith("_tool_use") ? "provider-call" : "whole";
}

/** Arguments that came with the start of a call, undefined where they are yet to come. */
function wholeInput({ input }: JsonObject): JsonObject | undefined {
  return isObject(input) && Object.keys(input).length > 0 ? input : undefined;
}

function inputOf({ start, text }: OpenBlock): unknown {
  return text.trim() === "" ? wholeInput(start) ?? {} : parseInput(text);
}

/** What a provider's tool answered, for people and for other models: without what only the provider can read. */
function outputOf({ content, is_error }: JsonObject): ToolResultPart["output"] {
  const value = withoutEncrypted(content) ?? null;
  const isError = is_error === true || (isObject(content) && String(content.type).endsWith("_error"));
  return { type: isError ? "error-json" : "json", value };
}

function withoutEncrypted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEncrypted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([key]) => !key.startsWith("encrypted_"));
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutEncrypted(inner)]));
}
