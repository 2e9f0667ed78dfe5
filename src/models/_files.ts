/** Files as requests carry them. Private to the adapters. */
import { base64Of, isRemote } from "../core/files.ts";
import type { FilePart } from "../core/message.ts";

// The first characters of base64 tell an image's true type; one that is not the named type is refused.
const IMAGE_STARTS: readonly (readonly [start: string, mediaType: string])[] = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["UklGR", "image/webp"],
];

/** Types of images that the large providers take. */
const IMAGE_TYPES = new Set(IMAGE_STARTS.map(([, mediaType]) => mediaType));

/** Tells of a file that cannot be sent. */
export function describeFile(part: FilePart): string {
  const name = part.filename === undefined ? "" : `${part.filename}, `;
  const place = isRemote(part) ? part.data : `${part.data.length} characters of data, not shown`;
  return `[file: ${name}${part.mediaType}, ${place}]`;
}

/**
 * A file as every service takes it: a link, or its content in base64 with nothing around it. What a shell or a browser
 * makes (line breaks, the alphabet of URLs, no padding) becomes that; null where it is no link and no base64.
 */
export function sendable(part: FilePart): FilePart | null {
  if (isRemote(part)) return URL.canParse(part.data) ? part : null;
  const padded = base64Of(part).replace(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/");
  const plain = padded.replace(/={1,2}$/, "");
  if (!/^[A-Za-z0-9+/]+$/.test(plain) || plain.length % 4 === 1) return null;
  const data = plain.padEnd(4 * Math.ceil(plain.length / 4), "=");
  return data === part.data ? part : { ...part, data };
}

/** The true type of an image that is no link; null where no large provider takes it. */
export function imageType(part: FilePart): string | null {
  const base64 = base64Of(part);
  const found = IMAGE_STARTS.find(([start]) => base64.startsWith(start))?.[1] ?? part.mediaType;
  return IMAGE_TYPES.has(found) ? found : null;
}
