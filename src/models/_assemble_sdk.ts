/** The parts of an AI SDK stream put together to one answer. Private to the adapters. */
import type { AssistantMessage, FilePart, ProviderOptions, ToolResultPart } from "../core/message.ts";
import { isObject, type JsonObject } from "../formats/format.ts";
import type { Clock, ModelEvent, Usage } from "../ports.ts";
import { Assembler } from "./_assembler.ts";
import { badResponse, type ErrorContext, noRoom, streamCut } from "./_errors.ts";
import { type Ending, finishReason, readEnding, usageOf } from "./_finish_sdk.ts";
import { textOf } from "./_json.ts";
import { madePart, metadataOf, oddFieldOf, type OpenPart } from "./_output_sdk.ts";
import { OWN } from "./_prompt_sdk.ts";
import { sdkFailure } from "./_sdk_errors.ts";
import { streamError } from "./_stream_errors.ts";

/** Puts an answer together from stream parts. */
export class PartAssembler extends Assembler {
  readonly #clock: Pick<Clock, "now">;
  readonly #from: string;
  readonly #parts: OpenPart[] = [];
  /** By kind and id: text and reasoning may have the same ids, and an id may come again for a new part. */
  readonly #open = new Map<string, OpenPart>();
  #calls = 0;
  #end: Ending | undefined;
  #usage: Usage | undefined;

  /**
   * @param context What error messages start with and never show.
   * @param options Which model answers, and whose; the time for dates in what the provider says.
   */
  constructor(
    context: ErrorContext,
    { clock, from }: { readonly clock: Pick<Clock, "now">; readonly from: string },
  ) {
    super(context);
    this.#clock = clock;
    this.#from = from;
  }

  /** True once the provider has said that the answer is whole. */
  override get complete(): boolean {
    return this.#end !== undefined;
  }

  /** Takes one part of the stream in. */
  part(part: unknown): void {
    if (this.failure !== undefined || this.done) return;
    if (!isObject(part)) {
      this.failure = badResponse("a stream part that is no object", this.context);
      return;
    }
    const odd = oddFieldOf(part);
    if (odd === undefined) {
      this.take(part);
      return;
    }
    const found = `a ${textOf(part.type)} part whose ${odd} JSON cannot hold`;
    this.failure = badResponse(found, this.context);
  }

  /** The terminal event. Only to be called when {@link PartAssembler.complete}. */
  finish(): ModelEvent {
    const message: AssistantMessage = {
      role: "assistant",
      content: this.#parts.flatMap((part) => madePart(part, this.#from) ?? []),
    };
    const hasCalls = this.#parts.some(({ call }) => call >= 0);
    const reason = finishReason(this.#end ?? { unified: "", raw: "" }, hasCalls);
    return { type: "finish", reason, message, ...(this.#usage === undefined ? {} : { usage: this.#usage }) };
  }

  protected override take(part: JsonObject): void {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#start(kindOf(part), part);
        break;
      case "text-delta":
      case "reasoning-delta":
        this.#takeText(kindOf(part), part);
        break;
      case "text-end":
      case "reasoning-end":
        this.#endPart(kindOf(part), part);
        break;
      case "tool-input-start":
        this.#startCall(part, part.id);
        break;
      case "tool-input-delta":
        this.#takeInput(part);
        break;
      case "tool-call":
        this.#takeCall(part);
        break;
      case "tool-result":
        this.#takeResult(part);
        break;
      case "file":
        this.#takeFile(part);
        break;
      case "custom":
        this.#takeCustom(part);
        break;
      case "tool-approval-request":
        this.failure = badResponse("a wish for an approval that nobody here can give", this.context);
        break;
      case "error":
        this.failure = sdkFailure(part.error, {
          ...this.context,
          begun: this.begun,
          now: this.#clock.now(),
        });
        break;
      case "finish":
        this.#finish(part);
        break;
      default:
        // `stream-start`, `response-metadata`, `tool-input-end`, `source`, `raw`, `ping`, and what is yet to come.
        break;
    }
  }

  #add(part: Partial<OpenPart> & Pick<OpenPart, "kind">): OpenPart {
    const made = {
      text: "",
      id: "",
      name: "",
      call: -1,
      isProviderRun: false,
      isWhole: false,
      metadata: {},
      ...part,
    };
    this.#parts.push(made);
    return made;
  }

  #start(kind: "text" | "reasoning", part: JsonObject): OpenPart {
    const made = this.#add({ kind });
    this.#open.set(`${kind} ${part.id}`, made);
    this.#note(made, part);
    return made;
  }

  #takeText(kind: "text" | "reasoning", part: JsonObject): void {
    const open = this.#open.get(`${kind} ${part.id}`) ?? this.#start(kind, part);
    this.#note(open, part);
    const text = textOf(part.delta);
    if (text === "") return;
    open.text += text;
    this.push({ type: kind === "text" ? "text.delta" : "reasoning.delta", text });
  }

  #endPart(kind: "text" | "reasoning", part: JsonObject): void {
    const open = this.#open.get(`${kind} ${part.id}`);
    if (open === undefined) return;
    this.#note(open, part);
    const made = madePart(open, this.#from);
    if (made !== null) this.endPart(kind, made.providerOptions);
  }

  #startCall(part: JsonObject, id: unknown): OpenPart {
    const name = textOf(part.toolName);
    const isProviderRun = part.providerExecuted === true;
    const call = isProviderRun ? -1 : this.#calls++;
    const made = this.#add({ kind: "call", id: textOf(id), name, call, isProviderRun });
    this.#open.set(`call ${id}`, made);
    this.#note(made, part);
    if (name === "") this.failure = badResponse("a tool call without a name", this.context);
    // Empty or not: it tells that the call has begun.
    else if (call >= 0) this.push({ type: "tool.input.delta", call, name, delta: "" });
    return made;
  }

  #takeInput(part: JsonObject): void {
    const open = this.#open.get(`call ${part.id}`);
    if (open === undefined || open.isWhole) {
      this.failure = badResponse("arguments without their tool call", this.context);
      return;
    }
    const delta = textOf(part.delta);
    this.#note(open, part);
    open.text += delta;
    if (open.call < 0) this.count(delta);
    else if (delta !== "") {
      this.push({ type: "tool.input.delta", call: open.call, name: open.name, delta });
    }
  }

  /** Takes a call as the provider says that it is, and passes on what of it was not seen yet. */
  #takeCall(part: JsonObject): void {
    const open = this.#begunCall(part) ?? this.#startCall(part, part.toolCallId);
    this.#note(open, part);
    open.isWhole = true;
    if (part.providerExecuted === true) this.#disown(open);
    const input = typeof part.input === "string" ? part.input : JSON.stringify(part.input ?? {});
    if (open.text === "" && open.call >= 0 && input !== "{}") {
      this.push({ type: "tool.input.delta", call: open.call, name: open.name, delta: input });
    }
    open.text = input;
    if (open.call >= 0) this.endInput(open.call);
  }

  /** Takes a call for the provider's own after all: those behind it move up, as they will stand in the message. */
  #disown(open: OpenPart): void {
    open.isProviderRun = true;
    if (open.call < 0) return;
    for (const other of this.#parts) if (other.call > open.call) other.call--;
    open.call = -1;
    this.#calls--;
  }

  /** The call that was begun and is now told whole: ids may clash, so that one of the same name comes first. */
  #begunCall({ toolCallId, toolName }: JsonObject): OpenPart | undefined {
    const begun = this.#parts.filter(({ id, isWhole, kind }) =>
      kind === "call" && !isWhole && id === textOf(toolCallId)
    );
    return begun.find(({ name }) => name === toolName) ?? begun[0];
  }

  #takeResult(part: JsonObject): void {
    const toolCallId = textOf(part.toolCallId);
    const value = part.result ?? null;
    const output: ToolResultPart["output"] = { type: part.isError === true ? "error-json" : "json", value };
    const whole: ToolResultPart = {
      type: "tool-result",
      toolCallId,
      toolName: textOf(part.toolName),
      output,
      providerOptions: this.#ownOptions(part),
    };
    const earlier = this.#parts.findIndex((other) =>
      other.whole?.type === "tool-result" && other.whole.toolCallId === toolCallId
    );
    // A preliminary result is replaced by the next one.
    if (earlier >= 0) this.#parts.splice(earlier, 1);
    this.#add({ kind: "whole", whole });
  }

  #takeFile(part: JsonObject): void {
    const { data, url } = isObject(part.data) ? part.data : { data: part.data, url: undefined };
    const file: FilePart = {
      type: "file",
      mediaType: textOf(part.mediaType) || "application/octet-stream",
      data: data instanceof Uint8Array ? data.toBase64() : url === undefined ? textOf(data) : String(url),
      // Always, so that it can be told from a file of another model's.
      providerOptions: this.#ownOptions(part),
    };
    this.#add({ kind: "whole", whole: file });
  }

  #takeCustom(part: JsonObject): void {
    const custom = textOf(part.kind);
    // What the message said of itself; it is not to be sent back.
    if (custom === "" || custom.endsWith(".message_start")) return;
    const providerOptions = { ...metadataOf(part), [OWN]: { from: this.#from, custom } };
    this.#add({ kind: "whole", whole: { type: "reasoning", text: "", providerOptions } });
  }

  #finish(part: JsonObject): void {
    const end = readEnding(part);
    if (end === null) {
      this.failure = streamCut(this.context);
      return;
    }
    const { raw, unified } = end;
    if (unified === "error") {
      const said = { message: raw === "" ? "" : `finish reason ${raw}`, code: "", type: "" };
      this.failure = streamError({ error: said }, { ...this.context, begun: this.begun });
    } else if (raw === "model_context_window_exceeded" && this.#parts.length === 0) {
      this.failure = noRoom(this.context);
    } else if (finishReason(end, true) === "tool-calls" && this.#parts.some(isHalfCall)) {
      // Its arguments may look whole, and it would run with half of them.
      this.failure = badResponse("the start of a tool call without the call", this.context);
    } else {
      this.#usage = usageOf(part.usage);
      this.#end = end;
      this.done = true;
    }
  }

  /** Keeps what the provider says about a part: field by field, the last word counts. */
  #note(open: OpenPart, part: JsonObject): void {
    for (const [provider, fields] of Object.entries(metadataOf(part))) {
      open.metadata = { ...open.metadata, [provider]: { ...open.metadata[provider], ...fields } };
    }
  }

  #ownOptions(part: JsonObject): ProviderOptions {
    return { ...metadataOf(part), [OWN]: { from: this.#from } };
  }
}

/** Whether this is a call of ours that the provider has begun, but never told whole. */
function isHalfCall({ call, isWhole }: OpenPart): boolean {
  return call >= 0 && !isWhole;
}

function kindOf({ type }: JsonObject): "text" | "reasoning" {
  return textOf(type).startsWith("text") ? "text" : "reasoning";
}
