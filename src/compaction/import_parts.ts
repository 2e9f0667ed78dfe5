/**
 * Parts of messages from elsewhere in the form that the log has for them: files as text, tool outputs of texts and
 * files. What is in that form already stays the object that came in.
 *
 * @module
 */
import type { FilePart, TextPart } from "../core/message.ts";
import { isObject, type JsonObject } from "../formats/format.ts";

const known = new WeakMap<object, string>();

/** Base64 of bytes; the same bytes are encoded once, as a history comes in again with every step. */
export function base64Of(bytes: Uint8Array): string {
  const found = known.get(bytes);
  if (found !== undefined) return found;
  let binary = "";
  for (let at = 0; at < bytes.length; at += 32_768) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  }
  const text = btoa(binary);
  known.set(bytes, text);
  return text;
}

/** The content of a file as the log has it: base64, or a URL. Empty where only the provider knows it. */
function dataText(data: unknown): string {
  if (typeof data === "string") return data;
  if (data instanceof URL) return data.href;
  if (data instanceof Uint8Array) return base64Of(data);
  if (data instanceof ArrayBuffer) return base64Of(new Uint8Array(data));
  if (!isObject(data)) return "";
  return dataText(data["type"] === "url" ? data["url"] : data["type"] === "data" ? data["data"] : "");
}

/** `image` for `image/*`, as some write it. */
function mediaTypeOf(found: unknown, otherwise: string): string {
  const mediaType = typeof found === "string" && found !== "" ? found : otherwise;
  return mediaType.includes("/") ? mediaType : `${mediaType}/*`;
}

function filePart(
  part: JsonObject,
  { data, otherwise }: { data: unknown; otherwise: string },
): FilePart | TextPart {
  const { providerOptions, filename } = part;
  const rest = isObject(providerOptions)
    ? { providerOptions: providerOptions as TextPart["providerOptions"] }
    : {};
  if (isObject(data) && data["type"] === "text") {
    return { type: "text", text: String(data["text"]), ...rest } as TextPart;
  }
  return {
    type: "file",
    mediaType: mediaTypeOf(part["mediaType"], otherwise),
    data: dataText(data),
    ...(typeof filename === "string" ? { filename } : {}),
    ...rest,
  } as FilePart;
}

/** Items of a tool output: what is no text is a file. */
function outputItem(item: unknown): unknown {
  if (!isObject(item) || item["type"] === "text") return item;
  if (item["type"] === "custom") return { type: "text", text: "" };
  const { type, data, url, image } = item;
  const otherwise = String(type).startsWith("image") ? "image/*" : "application/octet-stream";
  return filePart(item, { data: data ?? url ?? image, otherwise });
}

function isCanonical(item: unknown): boolean {
  return isObject(item) &&
    (item["type"] === "text" || (item["type"] === "file" && typeof item["data"] === "string"));
}

function resultPart(part: JsonObject): JsonObject {
  const { output } = part;
  if (!isObject(output) || output["type"] !== "content" || !Array.isArray(output["value"])) return part;
  if (output["value"].every(isCanonical)) return part;
  return { ...part, output: { ...output, value: output["value"].map(outputItem) } };
}

/**
 * One part in the form of the log.
 *
 * @param part The part as it came in.
 * @returns The part itself where nothing has to change. Approvals and what only a provider understands stay as they are.
 */
export function canonicalPart(part: unknown): unknown {
  if (!isObject(part)) return part;
  switch (part["type"]) {
    case "image":
      return filePart(part, { data: part["image"], otherwise: "image/*" });
    case "file":
    case "reasoning-file": {
      const { type, data, mediaType } = part;
      const isWhole = type === "file" && typeof data === "string" && String(mediaType).includes("/");
      return isWhole ? part : filePart(part, { data, otherwise: "application/octet-stream" });
    }
    case "tool-result":
      return resultPart(part);
    default:
      return part;
  }
}
