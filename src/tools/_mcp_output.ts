/**
 * What a tool of an MCP server gave, as the output of a call.
 *
 * @module
 */
import type { FilePart, TextPart } from "../core/message.ts";

/** A block of content as servers send it; kinds that nobody knows are told about by their name. */
export interface McpContent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The result of a call. */
export interface McpResult {
  readonly content?: readonly McpContent[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/**
 * What a result says: text alone as text, JSON alone as JSON, anything else in parts of text and files. What is said
 * twice, as text and as JSON, is told once.
 */
export function outputOf({ content = [], structuredContent: data }: McpResult): unknown {
  const parts = content.map(partOf);
  const [first] = parts;
  const text = parts.length === 1 && first?.type === "text" ? first.text : null;
  if (data === undefined) return text ?? (parts.length === 0 ? "" : parts);
  if (parts.length === 0 || (text !== null && isSame(text, data))) return data;
  return parts.some((part) => part.type === "text" && isSame(part.text, data))
    ? parts
    : [...parts, { type: "text", text: JSON.stringify(data) } satisfies TextPart];
}

/** What a result says that is an error: its text. */
export function errorOf(result: McpResult): string {
  const output = outputOf(result);
  if (typeof output === "string") return output === "" ? "the server says no more of it" : output;
  if (!Array.isArray(output)) return JSON.stringify(output);
  return output.map((part: TextPart | FilePart) => part.type === "text" ? part.text : `[${part.mediaType}]`)
    .join("\n");
}

function partOf(block: McpContent): TextPart | FilePart {
  switch (block.type) {
    case "text":
      return { type: "text", text: String(block["text"]) };
    case "image":
    case "audio":
      return fileOf(block["mimeType"], block["data"]);
    case "resource":
      return resourceOf((block["resource"] ?? {}) as Readonly<Record<string, unknown>>);
    case "resource_link": {
      const { uri, name, description } = block;
      const more = description === undefined ? "" : `: ${description}`;
      return { type: "text", text: `[resource ${name ?? ""}](${uri})${more}` };
    }
    default:
      return {
        type: "text",
        text: `[${block.type.slice(0, 100)}: ${JSON.stringify(block).slice(0, 2_000)}]`,
      };
  }
}

function resourceOf(
  { uri, mimeType, text, blob }: Readonly<Record<string, unknown>>,
): TextPart | FilePart {
  if (typeof blob === "string") return fileOf(mimeType ?? "application/octet-stream", blob);
  return { type: "text", text: `[resource ${uri}]\n${text ?? ""}` };
}

function fileOf(mediaType: unknown, data: unknown): TextPart | FilePart {
  // A provider would refuse the whole request for it.
  const isWhole = /^[\w.+-]+\/[\w.+-]+$/.test(String(mediaType)) && typeof data === "string" && data !== "";
  if (!isWhole) return { type: "text", text: "[a file without a media type or content]" };
  return { type: "file", mediaType: String(mediaType), data };
}

function isSame(text: string, data: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(data);
  } catch {
    return false;
  }
}
