/**
 * The events of a response put together to one answer. Private to the adapters.
 *
 * What the provider must get back as it came (reasoning, the items of tools that it ran itself, which item follows
 * which reasoning) is kept in `providerOptions.openai`; `_items_responses.ts` is the way back.
 */
import type { AssistantMessage } from "../core/message.ts";
import { isObject, type JsonObject } from "../formats/format.ts";
import type { FinishReason, ModelEvent, Usage } from "../ports.ts";
import { openaiUsage } from "../tokens/usage.ts";
import { Assembler, type FrameSource } from "./_assembler.ts";
import { badResponse, type ErrorContext } from "./_errors.ts";
import { textOf } from "./_json.ts";
import { kindOf, type OutputItem, outputParts, wholeText } from "./_output_responses.ts";
import { closedItem, isElsewhere, isOtherCall, pairItems } from "./_pair_responses.ts";
import { streamError } from "./_stream_errors.ts";

/** Which event is a piece of what, with where it says to which section of the item the piece belongs. */
const PIECES = new Map<string, readonly [kind: OutputItem["kind"], section: string]>([
  ["response.output_text.delta", ["message", "content_index"]],
  ["response.refusal.delta", ["message", "content_index"]],
  ["response.reasoning_summary_text.delta", ["reasoning", "summary_index"]],
  ["response.reasoning_text.delta", ["reasoning", "content_index"]],
  ["response.function_call_arguments.delta", ["call", ""]],
]);

/** What a response comes to that is no answer. */
const FAILED: ReadonlySet<string> = new Set(["response.failed", "response.cancelled"]);

/** Puts a response together from its events. */
export class ResponseAssembler extends Assembler {
  readonly #from: string;
  readonly #items: OutputItem[] = [];
  readonly #byIndex = new Map<number, OutputItem>();
  readonly #byId = new Map<string, OutputItem>();
  #calls = 0;
  #reason: FinishReason | undefined;
  #usage: Usage | undefined;

  /**
   * @param context What error messages start with and never show.
   * @param from Which model answers, and where: only it can read back what is opaque.
   */
  constructor(context: ErrorContext, from: string) {
    super(context);
    this.#from = from;
  }

  /** True once the provider has said that the response is whole, or why it is not. */
  override get complete(): boolean {
    return this.#reason !== undefined;
  }

  /** The terminal event. Only to be called when {@link ResponseAssembler.complete}. */
  finish(): ModelEvent {
    const message: AssistantMessage = {
      role: "assistant",
      content: outputParts(this.#items, this.#from),
    };
    return {
      type: "finish",
      reason: this.#reason ?? "stop",
      message,
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
    };
  }

  /** Takes the data of one frame in. */
  override accept(data: string, source: FrameSource = {}): void {
    // The protocol has no such mark, but some proxies end all their streams with it: then nothing comes any more.
    if (data === "[DONE]") this.done = true;
    else super.accept(data, source);
  }

  protected override take(frame: JsonObject, event: string): void {
    const type = textOf(frame.type) || event;
    const piece = PIECES.get(type);
    if (piece !== undefined) return this.#takePiece(frame, piece);
    switch (type) {
      case "response.output_item.added":
        if (isObject(frame.item)) this.#open(frame.item, frame.output_index);
        break;
      case "response.output_item.done":
        if (isObject(frame.item)) this.#close(frame.item, frame.output_index);
        break;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled":
        this.#takeEnd(isObject(frame.response) ? frame.response : {}, type);
        break;
      case "error":
        this.#fail(frame);
        break;
      default:
        // Proxies also pass errors on in the form of other protocols, without a type. The rest repeats what other
        // events say, tells of the provider's own work, or is yet to come: it is passed over.
        if (type === "" && (frame.error ?? undefined) !== undefined) this.#fail(frame);
        break;
    }
  }

  #fail(frame: unknown): void {
    this.failure = streamError(frame, { ...this.context, begun: this.begun });
  }

  #takePiece(frame: JsonObject, [kind, section]: readonly [OutputItem["kind"], string]): void {
    const delta = textOf(frame.delta);
    if (delta === "") return;
    let item = this.#find(kind, frame);
    if (item === undefined) {
      // A text tells all that there is to know of its item; arguments do not.
      if (kind === "call") {
        this.failure = badResponse("arguments without their tool call", this.context);
        return;
      }
      item = this.#open({ type: kind, id: textOf(frame.item_id) }, frame.output_index);
    }
    const place = `${section} ${frame[section] ?? 0}`;
    // Reasoning comes in summaries or as it is: of a model that gives both, one is enough.
    if (kind === "reasoning" && item.section.split(" ")[0] !== section && item.text !== "") return;
    // Its summaries are paragraphs of their own.
    const isNext = kind === "reasoning" && item.text !== "" && item.section !== place;
    item.section = place;
    this.#append(item, isNext ? `\n\n${delta}` : delta);
  }

  /**
   * The item that a piece belongs to. Its id and its index should say the same; but some servers leave one of them
   * out, give every item index 0, or give every event an id of its own.
   */
  #find(kind: OutputItem["kind"], { item_id, output_index }: JsonObject): OutputItem | undefined {
    const id = textOf(item_id);
    const byIndex = typeof output_index === "number" ? this.#byIndex.get(output_index) : undefined;
    const byId = id === "" ? undefined : this.#byId.get(id);
    if (byIndex?.kind === kind && (id === "" || textOf(byIndex.item.id) === id)) return byIndex;
    if (byId?.kind === kind) return byId;
    if (byIndex?.kind === kind) return byIndex;
    const isPlaced = id !== "" || typeof output_index === "number";
    return isPlaced && kind !== "call" ? undefined : this.#items.findLast((item) => item.kind === kind);
  }

  #open(start: JsonObject, at: unknown): OutputItem {
    const kind = kindOf(start);
    const id = textOf(start.id);
    const known = id === "" ? undefined : this.#byId.get(id);
    const isBegun = known?.kind === kind && !isOtherCall(known, start) && !isElsewhere(known, at);
    if (isBegun && !known.isWhole && known.text === "") {
      known.item = start;
      return known;
    }
    const index = typeof at === "number" ? at : undefined;
    const item: OutputItem = { kind, item: start, index, isWhole: false, text: "", section: "", call: -1 };
    this.#items.push(item);
    if (index !== undefined) this.#byIndex.set(index, item);
    if (id !== "") this.#byId.set(id, item);
    this.#begin(item);
    const text = wholeText(start, kind);
    if (text !== "") this.#append(item, text);
    return item;
  }

  /** Tells that a call has begun, once its name is known. */
  #begin(item: OutputItem): void {
    const name = textOf(item.item.name);
    if (item.kind !== "call" || item.call >= 0 || name === "") return;
    item.call = this.#calls++;
    this.push({ type: "tool.input.delta", call: item.call, name, delta: item.text });
  }

  #append(item: OutputItem, text: string): void {
    item.text += text;
    if (item.kind === "message") this.push({ type: "text.delta", text });
    else if (item.kind === "reasoning") this.push({ type: "reasoning.delta", text });
    else if (item.call >= 0) {
      this.push({ type: "tool.input.delta", call: item.call, name: textOf(item.item.name), delta: text });
    }
  }

  #close(whole: JsonObject, index: unknown): void {
    const found = closedItem(this.#items, whole, index);
    if (found === null) return;
    this.#settle(found ?? this.#open({ ...whole, ...unsaid(kindOf(whole)) }, index), whole);
  }

  /** Takes an item as the provider says that it is, and passes on what of it was not seen yet. */
  #settle(item: OutputItem, whole: JsonObject): void {
    item.item = whole;
    item.isWhole = true;
    this.count(textOf(whole.encrypted_content));
    this.#begin(item);
    const text = wholeText(whole, item.kind);
    if (text.startsWith(item.text)) {
      const rest = text.slice(item.text.length);
      if (rest !== "") this.#append(item, rest);
    } else if (text !== "") item.text = text;
    this.#tellEnd(item);
  }

  /** Tells that an item is whole. What the provider runs itself is told with the message. */
  #tellEnd(item: OutputItem): void {
    if (item.kind === "call") {
      if (item.call >= 0) this.endInput(item.call);
      return;
    }
    const at = this.#items.indexOf(item);
    // The item before says whether an id goes back with this one.
    const part = outputParts(this.#items.slice(Math.max(0, at - 1), at + 1), this.#from).at(-1);
    if (part?.type === "text" && item.kind === "message") this.endPart("text", part.providerOptions);
    if (part?.type === "reasoning" && item.kind === "reasoning") {
      this.endPart("reasoning", part.providerOptions);
    }
  }

  /** Takes the end of the response: of the event's name and the status, what says that there is no answer counts. */
  #takeEnd(response: JsonObject, type: string): void {
    const failed = [type, `response.${response.status}`].find((said) => FAILED.has(said));
    if (failed === undefined) return this.#end(response, type === "response.incomplete");
    const error = isObject(response.error) ? response.error : {};
    this.#fail({ error: { message: failed, ...error } });
  }

  #end(response: JsonObject, isIncomplete: boolean): void {
    const output = Array.isArray(response.output) ? response.output.filter(isObject) : [];
    for (const [at, found] of pairItems(output, this.#items).entries()) {
      const whole = output[at];
      if (whole === undefined || found?.isWhole) continue;
      this.#settle(found ?? this.#open({ ...whole, ...unsaid(kindOf(whole)) }, at), whole);
    }
    if (isObject(response.usage)) this.#usage = openaiUsage(response.usage);
    const calls = this.#items.filter(({ kind }) => kind === "call");
    if (calls.some(({ call }) => call < 0)) {
      this.failure = badResponse("a tool call without a name", this.context);
      return;
    }
    const foreign = this.#items.find(({ item, kind }) =>
      item.type === "mcp_approval_request" || kind === "provider-call" && !this.#isAnswered(item)
    );
    if (foreign !== undefined) {
      this.failure = badResponse(`a ${foreign.item.type} that nobody here can answer`, this.context);
      return;
    }
    const isCut = isIncomplete || output.some(isHalfCall) || calls.some(({ item }) => isHalfCall(item));
    this.#reason = finishReason(response, { isIncomplete: isCut, hasCalls: calls.length > 0 });
    this.done = true;
  }

  /** Whether the provider has answered its own call: most such items hold both, a few come as two. */
  #isAnswered({ call_id, type }: JsonObject): boolean {
    return call_id === undefined || call_id === null ||
      this.#items.some(({ item }) => item.type === `${type}_output` && item.call_id === call_id);
  }
}

/** What of a whole item is taken as not said yet when it is opened: `#settle` says it. */
function unsaid(kind: OutputItem["kind"]): JsonObject {
  return kind === "call" ? { arguments: "" } : { content: [], summary: [] };
}

/** Whether this is a call that the output limit has cut. */
function isHalfCall({ status, type }: JsonObject): boolean {
  return type === "function_call" && status === "incomplete";
}

function finishReason(
  response: JsonObject,
  { hasCalls, isIncomplete }: { readonly hasCalls: boolean; readonly isIncomplete: boolean },
): FinishReason {
  if (isIncomplete || response.status === "incomplete") {
    const details = isObject(response.incomplete_details) ? response.incomplete_details : {};
    return details.reason === "content_filter" ? "content-filter" : "length";
  }
  return hasCalls ? "tool-calls" : "stop";
}
