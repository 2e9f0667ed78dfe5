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

/** What the body holds beside the request. */
export interface ChatBodyOptions {
  readonly model: string;
  /** OpenAI itself has renamed the limit; most other servers know the old name only. */
  readonly limitName: "max_tokens" | "max_completion_tokens";
}

/** What a tool message says where the output is empty: several servers refuse empty content. */
export const NO_OUTPUT = "(no output)";

/** What an assistant message says where nothing that can be sent is left of it. */
export const NO_TEXT = "(no answer)";

const encoder = new TextEncoder();

// Messages are values: one that was sent is never edited, so that its bytes stay true for as long as it lives.
const encoded = new WeakMap<Message, Uint8Array>();

/** Makes the bytes of a streaming request. */
export function encodeChatBody(request: ModelRequest, options: ChatBodyOptions): Uint8Array<ArrayBuffer> {
  const head = JSON.stringify({
    model: options.model,
    stream: true,
    stream_options: { include_usage: true },
    [options.limitName]: request.maxOutput,
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(renderTool) }),
  });
  const pieces = request.messages.map(encodeMessage).filter((piece) => piece.length > 0);
  if (request.system !== "") {
    pieces.unshift(encoder.encode(JSON.stringify({ role: "system", content: request.system })));
  }
  return join(encoder.encode(`${head.slice(0, -1)},"messages":[`), pieces, encoder.encode("]}"));
}

function join(head: Uint8Array, pieces: readonly Uint8Array[], foot: Uint8Array): Uint8Array<ArrayBuffer> {
  const commas = Math.max(0, pieces.length - 1);
  const size = pieces.reduce((sum, piece) => sum + piece.length, head.length + foot.length + commas);
  const body = new Uint8Array(size);
  body.set(head);
  let at = head.length;
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) body[at++] = 0x2c;
    body.set(piece, at);
    at += piece.length;
  }
  body.set(foot, at);
  return body;
}

function encodeMessage(message: Message): Uint8Array {
  const known = encoded.get(message);
  if (known !== undefined) return known;
  const bytes = encoder.encode(renderMessage(message).map((wire) => JSON.stringify(wire)).join(","));
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
  const isRemote = /^https?:/i.test(part.data);
  const url = isRemote || part.data.startsWith("data:")
    ? part.data
    : `data:${part.mediaType};base64,${part.data}`;
  if (part.mediaType.startsWith("image/")) return { type: "image_url", image_url: { url } };
  // The protocol takes other files by value only: a link is named instead.
  if (isRemote) return { type: "text", text: describeFile(part) };
  return { type: "file", file: { filename: part.filename ?? "file", file_data: url } };
}

function describeFile(part: FilePart): string {
  const name = part.filename === undefined ? "" : `${part.filename}, `;
  const place = /^https?:/i.test(part.data) ? part.data : `${part.data.length} characters of data, not shown`;
  return `[file: ${name}${part.mediaType}, ${place}]`;
}

function renderAssistant(message: AssistantMessage): readonly unknown[] {
  if (typeof message.content === "string") {
    return [{ role: "assistant", content: message.content === "" ? NO_TEXT : message.content }];
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
  if (calls.length === 0) return [{ role: "assistant", content: text === "" ? NO_TEXT : text }, ...results];
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
