/**
 * Canonical messages as a Chat Completions request body. Private to the adapters.
 *
 * `messages` comes last in the body and every message is encoded once: a step of the loop costs the encoding of
 * what is new plus one copy of the bytes, however long the history has grown; a compaction begins anew.
 */
import { fileUrl, isRemote } from "../core/files.ts";
import type {
  AssistantMessage,
  FilePart,
  Message,
  TextPart,
  ToolOutput,
  ToolResultPart,
} from "../core/message.ts";
import type { ModelRequest } from "../ports.ts";
import { encodeItems, encodeText, GrowingList } from "./_bytes.ts";
import { describeFile, sendable } from "./_files.ts";
import { toJson } from "./_json.ts";
import { hostedResult } from "./_parts.ts";
import { chatSettings } from "./_settings.ts";
import { isBlank, NO_ANSWER, NO_OUTPUT, NO_TEXT } from "./_texts.ts";
import { UserRuns } from "./_user_runs.ts";

/** What the body holds beside the request. */
export interface ChatBodyOptions {
  readonly model: string;
  /** OpenAI itself has renamed the limit; most other servers know the old name only. */
  readonly limitName: "max_tokens" | "max_completion_tokens";
}

/** The end of a body. */
const END = encodeText("]}");

/** What stands before the messages of a body, and what it was made from. */
interface Head extends Pick<ModelRequest, "tools" | "system" | "maxOutput"> {
  readonly settings: ModelRequest["settings"] | undefined;
  /** Where no message follows, or nothing stands in front of it. */
  readonly alone: Uint8Array;
  /** With a comma behind the system message. */
  readonly followed: Uint8Array;
}

/** Makes the bodies of one model's requests. */
export class ChatEncoder {
  readonly #options: ChatBodyOptions;
  // By the first message of a conversation. Messages are values: one that was sent is never edited.
  readonly #lists = new WeakMap<Message, GrowingList<Message>>();
  readonly #runs = new UserRuns();
  #last: Head | undefined;

  /** @param options What is the same in all requests. */
  constructor(options: ChatBodyOptions) {
    this.#options = options;
  }

  /** The bytes of a streaming request. */
  encode(request: ModelRequest): Uint8Array<ArrayBuffer> {
    const { messages, system } = request;
    const list = this.#list(messages[0]);
    list.show(this.#runs.join(messages));
    const head = this.#head(request);
    return list.between(system === "" || list.isEmpty ? head.alone : head.followed, END);
  }

  /** What stands before the messages, in bytes; the same from step to step. */
  #head(request: ModelRequest): Head {
    const known = this.#last;
    const isSame = known?.tools === request.tools && known.system === request.system &&
      known.maxOutput === request.maxOutput && known.settings === request.settings;
    return isSame ? known : this.#last = this.#makeHead(request);
  }

  #makeHead({ maxOutput, settings, system, tools }: ModelRequest): Head {
    const { limitName, model } = this.#options;
    const head = toJson({
      model,
      stream: true,
      stream_options: { include_usage: true },
      [limitName]: maxOutput,
      ...(tools.length === 0 ? {} : { tools: tools.map(renderTool) }),
      ...(settings === undefined ? {} : chatSettings(settings, tools.length > 0)),
    });
    const first = system === "" ? "" : toJson({ role: "system", content: system });
    const text = `${head.slice(0, -1)},"messages":[${first}`;
    return { tools, system, maxOutput, settings, alone: encodeText(text), followed: encodeText(`${text},`) };
  }

  #list(first: Message | undefined): GrowingList<Message> {
    const known = first && this.#lists.get(first);
    if (known !== undefined) return known;
    const list = new GrowingList<Message>((message) => encodeItems(renderMessage(message)));
    if (first !== undefined) this.#lists.set(first, list);
    return list;
  }
}

function renderTool(tool: ModelRequest["tools"][number]): unknown {
  return {
    type: "function",
    function: { name: tool.name, description: tool.description, parameters: tool.inputSchema },
  };
}

function renderMessage(message: Message): readonly unknown[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user":
      return [{ role: "user", content: renderUserContent(message.content) }];
    case "assistant":
      return renderAssistant(message);
    case "tool":
      return message.content.map(renderResult);
  }
}

function renderUserContent(content: string | readonly (TextPart | FilePart)[]): unknown {
  const given = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const parts = given.filter((part) => part.type !== "text" || !isBlank(part.text));
  const [only] = parts;
  // A plain string where it will do: not every server takes a list.
  if (parts.length <= 1 && only?.type !== "file") return only?.text ?? NO_TEXT;
  return parts.map((part) => part.type === "text" ? { type: "text", text: part.text } : renderFile(part));
}

function renderFile(given: FilePart): unknown {
  const part = sendable(given);
  if (part === null) return { type: "text", text: describeFile(given) };
  const url = fileUrl(part);
  if (part.mediaType.startsWith("image/")) return { type: "image_url", image_url: { url } };
  // The protocol takes other files by value only: a link is named instead.
  if (isRemote(part)) return { type: "text", text: describeFile(part) };
  return { type: "file", file: { filename: part.filename ?? "file", file_data: url } };
}

function renderAssistant(message: AssistantMessage): readonly unknown[] {
  if (typeof message.content === "string") {
    return [{ role: "assistant", content: message.content === "" ? NO_ANSWER : message.content }];
  }
  const texts: string[] = [];
  const calls: unknown[] = [];
  // Of tools that a provider has run: they follow the message, as this protocol has it, each call with its own.
  const results: unknown[] = [];
  for (const part of message.content) {
    switch (part.type) {
      case "text":
        texts.push(part.text);
        break;
      case "file":
        texts.push(describeFile(part));
        break;
      case "tool-call":
        calls.push({
          id: part.toolCallId,
          type: "function",
          function: { name: part.toolName, arguments: toJson(part.input) ?? "{}" },
        });
        if (part.providerExecuted === true) results.push(renderResult(hostedResult(message.content, part)));
        break;
      case "tool-result":
        // It stands with its call.
        break;
      case "reasoning":
        // The protocol has no place for it: what a server made of the field would differ from server to server.
        break;
    }
  }
  const text = texts.join("");
  if (calls.length === 0) return [{ role: "assistant", content: text === "" ? NO_ANSWER : text }, ...results];
  return [{ role: "assistant", content: text === "" ? null : text, tool_calls: calls }, ...results];
}

function renderResult(part: ToolResultPart): unknown {
  return { role: "tool", tool_call_id: part.toolCallId, content: renderOutput(part.output) };
}

function renderOutput(output: ToolOutput): string {
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
      const text = output.value.map((part) => part.type === "text" ? part.text : describeFile(part)).join(
        "\n",
      );
      return isBlank(text) ? NO_OUTPUT : text;
    }
  }
}
