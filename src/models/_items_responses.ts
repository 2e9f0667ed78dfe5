/** Canonical messages as input items of the Responses protocol. Private to the adapters. */
import { fileUrl, isRemote } from "../core/files.ts";
import type {
  AssistantMessage,
  FilePart,
  Message,
  TextPart,
  ToolOutput,
  ToolResultPart,
} from "../core/message.ts";
import { isObject, type JsonObject } from "../formats/format.ts";
import { describeFile, imageType, sendable } from "./_files.ts";
import { textOf, toJson } from "./_json.ts";
import { type AssistantPart, hostedResult } from "./_parts.ts";
import { isBlank, NO_ANSWER, NO_OUTPUT, NO_TEXT } from "./_texts.ts";

/** How to render one message. */
export interface ItemOptions {
  /** Which model is asked, and where. */
  readonly from: string;
  /** Ids on the wire, one for each call and each result of the message in their order. */
  readonly ids: readonly string[];
  /** Whether what is opaque may go back. */
  readonly keepsOpaque: boolean;
}

/** What a message is on the wire. */
export interface MessageItems {
  readonly items: readonly JsonObject[];
  /** Ids of items: none may come twice. */
  readonly itemIds: readonly string[];
}

/** The ids of calls and results of a message, in their order. */
export function idsOf({ content }: Message): readonly { readonly id: string; readonly isCall: boolean }[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) =>
    part.type === "tool-call" || part.type === "tool-result"
      ? [{ id: part.toolCallId, isCall: part.type === "tool-call" }]
      : []
  );
}

/** Renders one message. */
export function messageItems(message: Message, options: ItemOptions): MessageItems {
  switch (message.role) {
    case "system":
      return {
        items: isBlank(message.content) ? [] : [{ role: "system", content: message.content }],
        itemIds: [],
      };
    case "user":
      return { items: [{ role: "user", content: userContent(message.content) }], itemIds: [] };
    case "assistant":
      return new AssistantItems(options).render(message.content);
    case "tool":
      return {
        items: message.content.map((part, index) => resultItem(part, options.ids[index] ?? "")),
        itemIds: [],
      };
  }
}

function userContent(content: string | readonly (TextPart | FilePart)[]): unknown {
  if (typeof content === "string") return isBlank(content) ? NO_TEXT : content;
  const parts = content.flatMap(contentPart);
  const [only] = parts;
  // A plain string where it will do: not every server takes a list.
  if (parts.length <= 1 && only?.type !== "input_image" && only?.type !== "input_file") {
    return only?.text ?? NO_TEXT;
  }
  return parts;
}

function contentPart(part: TextPart | FilePart): readonly JsonObject[] {
  if (part.type === "file") return [filePart(part)];
  return isBlank(part.text) ? [] : [inputText(part.text)];
}

function inputText(text: string): JsonObject {
  return { type: "input_text", text };
}

function filePart(given: FilePart): JsonObject {
  const part = sendable(given);
  if (part === null) return inputText(describeFile(given));
  const { filename, mediaType } = part;
  if (mediaType.startsWith("image/")) {
    if (isRemote(part)) return { type: "input_image", image_url: part.data };
    const found = imageType(part);
    if (found === null) return inputText(describeFile(part));
    return { type: "input_image", image_url: `data:${found};base64,${part.data}` };
  }
  if (/^(audio|video)\//.test(mediaType)) return inputText(describeFile(part));
  if (!isRemote(part)) {
    return { type: "input_file", filename: filename ?? nameOf(mediaType), file_data: fileUrl(part) };
  }
  return mediaType === "application/pdf"
    ? { type: "input_file", file_url: part.data }
    : inputText(describeFile(part));
}

/** A name for a file that has none: the service reads its type from the ending. */
function nameOf(mediaType: string): string {
  const subtype = mediaType.split("/")[1] ?? "";
  return `file.${subtype === "plain" ? "txt" : subtype.replace(/[^a-z0-9].*$/i, "") || "bin"}`;
}

function resultItem({ output }: ToolResultPart, call_id: string): JsonObject {
  return { type: "function_call_output", call_id, output: outputOf(output) };
}

function outputOf(output: ToolOutput): string | readonly JsonObject[] {
  switch (output.type) {
    case "text":
      return isBlank(output.value) ? NO_OUTPUT : output.value;
    case "json":
      return toJson(output.value) ?? NO_OUTPUT;
    case "error-text":
      return `Error: ${isBlank(output.value) ? NO_OUTPUT : output.value}`;
    case "error-json":
      return `Error: ${toJson(output.value) ?? NO_OUTPUT}`;
    case "execution-denied":
      return `Error: the call was denied${output.reason === undefined ? "" : `: ${output.reason}`}`;
    case "content": {
      const parts = output.value.flatMap(contentPart);
      if (parts.some(({ type }) => type !== "input_text")) return parts;
      return parts.map(({ text }) => text).join("\n") || NO_OUTPUT;
    }
    default:
      return output satisfies never;
  }
}

/**
 * Items of what a model said. The service refuses reasoning without the item that followed it, and, by its id, an
 * item without the reasoning that went before it: both go back together, or the item alone and without its id.
 */
class AssistantItems {
  readonly #options: ItemOptions;
  readonly #items: JsonObject[] = [];
  readonly #itemIds: string[] = [];
  /** Reasoning that waits for the item behind it. */
  #held: readonly JsonObject[] = [];

  constructor(options: ItemOptions) {
    this.#options = options;
  }

  render(content: AssistantMessage["content"]): MessageItems {
    if (typeof content === "string") this.#pushText(content, {});
    else {
      let at = 0;
      for (const part of content) {
        const isPaired = part.type === "tool-call" || part.type === "tool-result";
        this.#push(part, { content, wireId: isPaired ? this.#options.ids[at++] ?? "" : "" });
      }
    }
    if (this.#items.length === 0) this.#items.push({ role: "assistant", content: NO_ANSWER });
    return { items: this.#items, itemIds: this.#itemIds };
  }

  #push(
    part: AssistantPart,
    { content, wireId }: { readonly content: readonly AssistantPart[]; readonly wireId: string },
  ): void {
    const own = this.#own(part);
    switch (part.type) {
      case "text":
        this.#pushText(part.text, own);
        break;
      case "file":
        this.#pushText(describeFile(part), {});
        break;
      case "reasoning":
        // Without its encrypted content the service looks for it in a store, where it is not.
        if (isReasoning(own.item)) this.#held = [...(this.#isNext(own) ? this.#held : []), own.item];
        else if (isObject(own.item) && own.item.type !== "reasoning") this.#pushRaw(own.item, own);
        break;
      case "tool-call":
        if (isObject(own.item) && this.#pushRaw(own.item, own)) break;
        this.#items.push({
          type: "function_call",
          ...this.#idBehindReasoning(own),
          ...(isObject(own.more) ? own.more : {}),
          call_id: wireId,
          name: part.toolName,
          arguments: toJson(part.input) ?? "{}",
        });
        if (part.providerExecuted === true) this.#items.push(resultItem(hostedResult(content, part), wireId));
        break;
      case "tool-result":
        // It stands with its call.
        break;
      default:
        part satisfies never;
    }
  }

  #pushText(text: string, own: JsonObject): void {
    if (isBlank(text)) return;
    const id = this.#idBehindReasoning(own);
    const more = isObject(own.more) ? own.more : {};
    const isWhole = own.annotations !== undefined || own.isRefusal === true || "id" in id;
    if (!isWhole) {
      this.#items.push({ role: "assistant", content: text, ...more });
      return;
    }
    const said = own.isRefusal === true
      ? { type: "refusal", refusal: text }
      : { type: "output_text", text, annotations: own.annotations ?? [] };
    // An output item, as which it has its id, has a status too; without one it is input like any other.
    const whole = "id" in id ? { type: "message", ...id, status: "completed" } : {};
    this.#items.push({ ...whole, role: "assistant", content: [said], ...more });
  }

  /** Sends an item as it came; false where it cannot go back. */
  #pushRaw(item: JsonObject, own: JsonObject): boolean {
    const isBehind = typeof own.after === "string";
    if (this.#takeHeld(own) !== isBehind) return false;
    this.#items.push(item);
    this.#note(item);
    return true;
  }

  #idBehindReasoning(own: JsonObject): JsonObject {
    if (!this.#takeHeld(own) || textOf(own.id) === "") return {};
    this.#note(own);
    return { id: own.id };
  }

  /** Sends the reasoning that waits where the next item is the one that followed it; else it is let go. */
  #takeHeld(own: JsonObject): boolean {
    const held = this.#isNext(own) ? this.#held : [];
    this.#held = [];
    for (const item of held) {
      this.#items.push(item);
      this.#note(item);
    }
    return held.length > 0;
  }

  /** Whether a part has directly followed the reasoning that waits. */
  #isNext({ after }: JsonObject): boolean {
    const last = this.#held.at(-1);
    return last !== undefined && textOf(last.id) === after;
  }

  #note({ id }: JsonObject): void {
    if (textOf(id) !== "") this.#itemIds.push(textOf(id));
  }

  /** What the model itself has left with a part. Another one's opaque content would be refused. */
  #own({ providerOptions }: AssistantPart): JsonObject {
    const own = providerOptions?.["openai"];
    return own !== undefined && own.from === this.#options.from && this.#options.keepsOpaque ? own : {};
  }
}

function isReasoning(item: unknown): item is JsonObject {
  return isObject(item) && item.type === "reasoning" && textOf(item.encrypted_content) !== "";
}
