/**
 * Canonical messages as a Chat Completions request body. Private to the adapters.
 *
 * `messages` comes last in the body and every message is encoded once: a step of the loop costs the encoding of
 * what is new plus one copy of the bytes, however long the history has grown.
 */
import type {
  AssistantMessage,
  FilePart,
  Message,
  TextPart,
  ToolOutput,
  ToolResultPart,
} from "../core/message.ts";
import type { ModelRequest } from "../ports.ts";
import { encodeItems, joinBody } from "./_bytes.ts";
import { describeFile, fileUrl, isRemote } from "./_files.ts";
import { NO_ANSWER, NO_OUTPUT } from "./_texts.ts";

/** What the body holds beside the request. */
export interface ChatBodyOptions {
  readonly model: string;
  /** OpenAI itself has renamed the limit; most other servers know the old name only. */
  readonly limitName: "max_tokens" | "max_completion_tokens";
}

// Messages are values: one that was sent is never edited, so that its bytes stay true for as long as it lives.
const encoded = new WeakMap<Message, Uint8Array>();

/** Makes the bytes of a streaming request. */
export function encodeChatBody(request: ModelRequest, options: ChatBodyOptions): Uint8Array<ArrayBuffer> {
  const head = {
    model: options.model,
    stream: true,
    stream_options: { include_usage: true },
    [options.limitName]: request.maxOutput,
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(renderTool) }),
  };
  const system = request.system === "" ? [] : [encodeItems([{ role: "system", content: request.system }])];
  return joinBody(head, "messages", { items: [...system, ...request.messages.map(encodeMessage)] });
}

function encodeMessage(message: Message): Uint8Array {
  const known = encoded.get(message);
  if (known !== undefined) return known;
  const bytes = encodeItems(renderMessage(message));
  encoded.set(message, bytes);
  return bytes;
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
  if (typeof content === "string") return content;
  const [only] = content;
  // A plain string where it will do: not every server takes a list.
  if (content.length === 1 && only?.type === "text") return only.text;
  return content.map((part) => part.type === "text" ? { type: "text", text: part.text } : renderFile(part));
}

function renderFile(part: FilePart): unknown {
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
  // Results inside the message (the provider ran the tool) follow it, as this protocol has it.
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
          function: { name: part.toolName, arguments: JSON.stringify(part.input) ?? "{}" },
        });
        break;
      case "tool-result":
        results.push(renderResult(part));
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
      return output.value === "" ? NO_OUTPUT : output.value;
    case "json":
      return JSON.stringify(output.value) ?? NO_OUTPUT;
    case "error-text":
      return `Error: ${output.value === "" ? NO_OUTPUT : output.value}`;
    case "error-json":
      return `Error: ${JSON.stringify(output.value) ?? NO_OUTPUT}`;
    case "execution-denied":
      return `Error: the call was denied${output.reason === undefined ? "" : `: ${output.reason}`}`;
    case "content": {
      const text = output.value.map((part) => part.type === "text" ? part.text : describeFile(part)).join(
        "\n",
      );
      return text === "" ? NO_OUTPUT : text;
    }
  }
}
