/**
 * Contents of AG-UI's messages: text, or parts of text and files, both ways.
 *
 * @module
 */
import * as z from "zod";
import { fileOf, isRemote } from "../core/files.ts";
import type { FilePart, TextPart } from "../core/message.ts";
import { isContent } from "../loop/tools.ts";
import { FILE_CONTENT, fileLink } from "./decode/files.ts";

const text = z.looseObject({ type: z.literal("text"), text: z.string() });
const source = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("data"),
    value: z.string().regex(FILE_CONTENT, "wanted base64"),
    // A comma would end the head of a data URL.
    mimeType: z.string().regex(/^[^,]*$/, "wanted a media type such as image/png"),
  }),
  z.looseObject({ type: z.literal("url"), value: fileLink, mimeType: z.string().optional() }),
], { error: 'wanted { type: "data", value, mimeType } or { type: "url", value }' });
const file = z.looseObject({ type: z.enum(["image", "audio", "video", "document"]), source });

/** What a message says, as it is sent. */
export const aguiContent = z.union(
  [z.string(), z.array(z.discriminatedUnion("type", [text, file])).max(100)],
  {
    error: "wanted text, or a list of parts: text, image, audio, video, document",
  },
);

/** A content as parts of a message. */
export function partsOf(content: z.infer<typeof aguiContent>): readonly (TextPart | FilePart)[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part) => {
    if (part.type === "text") return { type: "text", text: part.text };
    const { type, source: { value, mimeType } } = part;
    return fileOf(value, mimeType ?? (type === "document" ? "application/octet-stream" : `${type}/*`));
  });
}

/** A content as text alone; files become a note. */
export function textOf(content: z.infer<typeof aguiContent>): string {
  return partsOf(content).map((part) => part.type === "text" ? part.text : `[${part.mediaType}]`).join("\n");
}

/** The output of a tool as a content: text, parts where it has files, or JSON as text. */
export function contentOf(output: unknown): unknown {
  if (typeof output === "string") return output;
  const hasFiles = isContent(output) && output.some(({ type }) => type === "file");
  return hasFiles ? output.map(contentPart) : JSON.stringify(output ?? null);
}

function contentPart(part: TextPart | FilePart): Readonly<Record<string, unknown>> {
  if (part.type === "text") return { type: "text", text: part.text };
  const { data: value, mediaType: mimeType } = fileOf(part.data, part.mediaType);
  const family = mimeType.slice(0, mimeType.indexOf("/"));
  const type = /^(?:image|audio|video)$/.test(family) ? family : "document";
  return { type, source: { type: isRemote({ data: value }) ? "url" : "data", value, mimeType } };
}
