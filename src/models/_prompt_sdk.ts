/**
 * Canonical messages as a prompt of AI SDK's provider interface. They are nearly the same: what differs is the form of
 * files, and what a provider would refuse. Private to the adapters.
 */
import { isRemote } from "../core/files.ts";
import type { AssistantMessage, FilePart, Message, TextPart, ToolResultPart } from "../core/message.ts";
import { wellFormed } from "../core/well_formed.ts";
import { isObject, type JsonObject } from "../formats/format.ts";
import type { ModelRequest } from "../ports.ts";
import { describeFile, imageType, sendable } from "./_files.ts";
import { toJson } from "./_json.ts";
import { type AssistantPart, hostedResult, isTakenBack } from "./_parts.ts";
import { FILES_ALONE, isBlank, NO_ANSWER, NO_OUTPUT, NO_TEXT } from "./_texts.ts";
import { UserRuns } from "./_user_runs.ts";

/** The key in `providerOptions` under which this adapter leaves a note for itself; providers read their own only. */
export const OWN = "selvage";

/** How the prompts of one model look. */
export interface PromptOptions {
  /** Version of the interface. */
  readonly version: string;
  /** Which model is asked, and whose: only there can go back what the provider itself has run. */
  readonly from: string;
  /** True where results of tools are nothing but text at the provider, without a mark for errors or a file. */
  readonly hasPlainResults: boolean;
}

/** A message of the prompt, and results that belong into the next one. */
interface Rendered {
  readonly message: { readonly role: string; readonly content: string | readonly JsonObject[] };
  readonly owed: readonly JsonObject[];
}

type Result = { readonly type: string; readonly value?: unknown };

/** Makes the prompts of one model. */
export class PromptRenderer {
  readonly #options: PromptOptions;
  // Messages are values: one that was sent is never edited.
  #rendered = new WeakMap<Message, Rendered>();
  readonly #runs = new UserRuns();
  #describesFiles = false;

  /** @param options What is the same in all prompts. */
  constructor(options: PromptOptions) {
    this.#options = options;
  }

  /** The prompt of a request. */
  render({ messages, system }: ModelRequest): readonly object[] {
    // Providers that take system text only at the beginning refuse it elsewhere.
    const prompt: object[] = system === "" ? [] : [{ role: "system", content: wellFormed(system) }];
    for (const message of messages) {
      if (message.role === "system" && !isBlank(message.content)) prompt.push(wellFormed({ ...message }));
    }
    const said = this.#runs.join(messages.filter(({ role }) => role !== "system"));
    if (said[0]?.role !== "user") prompt.push({ role: "user", content: [textPart(NO_TEXT)] });
    let owed: readonly JsonObject[] = [];
    for (const message of said) {
      const rendered = this.#message(message);
      const { content, role } = rendered.message;
      if (role === "tool") prompt.push({ ...rendered.message, content: [...owed, ...content] });
      else {
        if (owed.length > 0) prompt.push({ role: "tool", content: owed });
        prompt.push(rendered.message);
      }
      owed = rendered.owed;
    }
    if (owed.length > 0) prompt.push({ role: "tool", content: owed });
    return prompt;
  }

  /** From now on shows files as texts about them; false where there is none or where that is so already. */
  describeFiles(messages: readonly Message[]): boolean {
    const hasFiles = messages.some(({ content }) =>
      typeof content !== "string" && content.some(({ type }) => type === "file")
    );
    if (!hasFiles || this.#describesFiles) return false;
    this.#describesFiles = true;
    this.#rendered = new WeakMap();
    return true;
  }

  #message(message: Message): Rendered {
    const known = this.#rendered.get(message);
    if (known !== undefined) return known;
    const made = wellFormed(this.#render(message));
    this.#rendered.set(message, made);
    return made;
  }

  #render(message: Message): Rendered {
    switch (message.role) {
      case "user": {
        const parts = this.#userParts(message.content);
        const content = parts.length > 0 ? parts : [textPart(NO_TEXT)];
        return { message: { ...message, content }, owed: [] };
      }
      case "tool": {
        const content = message.content.map((part) => this.#result(part));
        return { message: { ...message, content }, owed: [] };
      }
      case "assistant": {
        const { owed, parts } = this.#assistantParts(message.content);
        // Several providers leave reasoning out, and then refuse the message for being empty.
        const isEmpty = parts.every(({ type }) => type === "reasoning");
        const content = isEmpty ? [...parts, textPart(NO_ANSWER)] : parts;
        return { message: { ...message, content }, owed };
      }
      case "system":
        return { message: { ...message }, owed: [] };
    }
  }

  #userParts(content: string | readonly (TextPart | FilePart)[]): readonly JsonObject[] {
    const parts = typeof content === "string" ? [textPart(content)] : content;
    return parts.flatMap((part): readonly JsonObject[] =>
      part.type === "file" ? [this.#file(part)] : isBlank(part.text) ? [] : [{ ...part }]
    );
  }

  #file(given: FilePart): JsonObject {
    const part = this.#shown(given);
    if (part === null) return textPart(describeFile(given));
    return { ...part, ...this.#fileData(part) };
  }

  /** A file as it can be sent; null where it is to be told of. */
  #shown(part: FilePart): FilePart | null {
    return this.#describesFiles && !part.mediaType.startsWith("image/") ? null : sendable(part);
  }

  #fileData(part: FilePart): JsonObject {
    const isV4 = this.#options.version === "v4";
    if (isRemote(part)) {
      const url = new URL(part.data);
      return { data: isV4 ? { type: "url", url } : url };
    }
    const { data } = part;
    const isImage = part.mediaType.startsWith("image/");
    const mediaType = (isImage ? imageType(part) : null) ?? part.mediaType;
    return { mediaType, data: isV4 ? { type: "data", data } : data };
  }

  #assistantParts(
    content: AssistantMessage["content"],
  ): { readonly parts: readonly JsonObject[]; readonly owed: readonly JsonObject[] } {
    if (typeof content === "string") return { parts: isBlank(content) ? [] : [textPart(content)], owed: [] };
    const parts: JsonObject[] = [];
    const owed: JsonObject[] = [];
    for (const part of content) {
      switch (part.type) {
        case "text":
          // A signature may stand on a text that is empty.
          if (!isBlank(part.text) || part.providerOptions !== undefined) parts.push({ ...part });
          break;
        case "reasoning":
          parts.push(customPart(part) ?? { ...part });
          break;
        case "file":
          parts.push(this.#madeFile(part));
          break;
        case "tool-call":
          if (part.providerExecuted === true && !this.#isOwn(part)) {
            const { providerExecuted: _, providerOptions: __, ...call } = part;
            parts.push(call);
            owed.push(this.#result(hostedResult(content, part)));
          } else if (part.providerExecuted !== true || isTakenBack(content, part)) parts.push({ ...part });
          break;
        case "tool-result":
          if (this.#isOwn(part)) parts.push({ ...part });
          break;
        default:
          part satisfies never;
      }
    }
    return { parts, owed };
  }

  /** What the provider has made goes back as it came; of another one's it could not be sure. */
  #madeFile(given: FilePart): JsonObject {
    const part = given.providerOptions === undefined ? null : sendable(given);
    return part === null ? textPart(describeFile(given)) : { ...part, ...this.#fileData(part) };
  }

  #isOwn({ providerOptions }: AssistantPart): boolean {
    return providerOptions?.[OWN]?.["from"] === this.#options.from;
  }

  #result(part: ToolResultPart): JsonObject {
    return { ...part, output: this.#output(part) };
  }

  #output({ output }: ToolResultPart): Result {
    const { hasPlainResults, version } = this.#options;
    const mark = hasPlainResults ? "Error: " : "";
    switch (output.type) {
      case "text":
        return isBlank(output.value) ? { type: "text", value: NO_OUTPUT } : output;
      case "error-text":
        return { ...output, value: mark + (isBlank(output.value) ? NO_OUTPUT : output.value) };
      case "json":
        return output.value === undefined ? { type: "text", value: NO_OUTPUT } : output;
      case "error-json":
        return hasPlainResults
          ? { type: "error-text", value: mark + (toJson(output.value) ?? NO_OUTPUT) }
          : output.value === undefined
          ? { type: "error-text", value: NO_OUTPUT }
          : output;
      case "execution-denied": {
        if (version !== "v2" && !hasPlainResults) return output;
        const reason = output.reason === undefined ? "" : `: ${output.reason}`;
        return { type: "error-text", value: `${mark}the call was denied${reason}` };
      }
      case "content": {
        const isPlain = hasPlainResults || output.value.every(({ type }) => type === "text");
        if (!isPlain) {
          const parts = output.value.flatMap((part) => this.#inResult(part));
          // Some packages send files beside the result, and no result where there is nothing else.
          const isShown = parts.some(({ type }) => type === "text");
          return { type: "content", value: isShown ? parts : [textPart(FILES_ALONE), ...parts] };
        }
        const texts = output.value.map((part) => part.type === "text" ? part.text : describeFile(part));
        const value = texts.join("\n");
        return { type: "text", value: isBlank(value) ? NO_OUTPUT : value };
      }
      default:
        return output satisfies never;
    }
  }

  /** A part of a result. Each version of the interface has another form for files here. */
  #inResult(given: TextPart | FilePart): readonly JsonObject[] {
    const { version } = this.#options;
    if (given.type === "text") return isBlank(given.text) ? [] : [{ ...given }];
    const part = this.#shown(given);
    if (part === null) return [textPart(describeFile(given))];
    const isImage = part.mediaType.startsWith("image/");
    if (version === "v4") return [{ ...part, ...this.#fileData(part) }];
    if (isRemote(part)) {
      if (version === "v2") return [textPart(describeFile(part))];
      return [{ type: isImage ? "image-url" : "file-url", url: part.data }];
    }
    const { data, mediaType } = this.#fileData(part);
    if (version === "v2") return [{ type: "media", data, mediaType }];
    const filename = part.filename === undefined || isImage ? {} : { filename: part.filename };
    return [{ type: isImage ? "image-data" : "file-data", data, mediaType, ...filename }];
  }
}

function textPart(text: string): TextPart & JsonObject {
  return { type: "text", text };
}

/** A part that only the provider knows, which travels as reasoning without a text. */
function customPart({ providerOptions }: AssistantPart): JsonObject | undefined {
  const { [OWN]: own, ...rest } = providerOptions ?? {};
  if (!isObject(own) || typeof own.custom !== "string") return undefined;
  return { type: "custom", kind: own.custom, providerOptions: rest };
}
