/**
 * The content of files in messages: a link, a data URL, or base64.
 *
 * @module
 */
import type { FilePart } from "./message.ts";

type Content = Pick<FilePart, "data">;

/** Says whether a file is named by a link. */
export function isRemote({ data }: Content): boolean {
  return /^https?:/i.test(data);
}

/** A file as a data URL; as its link where it is named by one. */
export function fileUrl(part: Content & Pick<FilePart, "mediaType">): string {
  const isUrl = isRemote(part) || part.data.startsWith("data:");
  return isUrl ? part.data : `data:${part.mediaType};base64,${part.data}`;
}

/** The content of a file that is no link, as base64. */
export function base64Of({ data }: Content): string {
  return data.startsWith("data:") ? data.slice(data.indexOf(",") + 1) : data;
}

/**
 * A file from what somebody has sent: a data URL is taken apart, and what it says of its type counts.
 *
 * @param data A link, a data URL, or base64.
 * @param otherwise Media type of anything that does not tell it.
 */
export function fileOf(data: string, otherwise: string): FilePart {
  const [, named = ""] = data.match(/^data:([^;,]*)/) ?? [];
  return { type: "file", mediaType: named === "" ? otherwise : named, data: base64Of({ data }) };
}
