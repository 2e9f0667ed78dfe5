/**
 * Images: priced by their size in pixels as each provider family does, never by their base64.
 *
 * @module
 */
import type { MediaFamily } from "./models.ts";

/** Width and height in pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Price of a file that is no image, or whose size is not known, in tokens. */
const CEILING: Readonly<Record<MediaFamily, number>> = {
  "openai-tiles": 1_445,
  "openai-patches": 3_000,
  anthropic: 4_800,
  gemini: 1_120,
  unknown: 1_600,
};

/** The first bytes of base64 text; enough for the headers of all formats but a JPEG with a long preamble. */
function headerBytes(base64: string, most = 65_536): Uint8Array {
  const text = base64.slice(0, Math.ceil(most / 3) * 4).replace(/[^A-Za-z0-9+/]/g, "");
  try {
    return Uint8Array.from(atob(text.slice(0, text.length - text.length % 4)), (char) => char.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

/** A JPEG's frame header lies behind any number of other segments. */
function jpegSize(view: DataView): ImageSize | null {
  let at = 2;
  while (at + 9 < view.byteLength) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    at += 2 + view.getUint16(at + 2);
  }
  return null;
}

function webpSize(view: DataView): ImageSize | null {
  if (view.byteLength < 30) return null;
  switch (view.getUint32(12)) {
    case 0x56503858: // VP8X
      return {
        width: 1 + view.getUint16(24, true) + (view.getUint8(26) << 16),
        height: 1 + view.getUint16(27, true) + (view.getUint8(29) << 16),
      };
    case 0x5650384c: { // VP8L
      const bits = view.getUint32(21, true);
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
    }
    case 0x56503820: // VP8
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
    default:
      return null;
  }
}

/**
 * Reads the size of a PNG, JPEG, GIF or WebP image from its header.
 *
 * @param base64 The image; a `data:` URL is taken too.
 * @returns Null for anything else, or where the header is not in the first 64 KiB.
 */
export function imageSize(base64: string): ImageSize | null {
  const bytes = headerBytes(base64.startsWith("data:") ? base64.slice(base64.indexOf(",") + 1) : base64);
  if (bytes.length < 10) return null;
  const view = new DataView(bytes.buffer);
  const magic = view.getUint32(0);
  if (magic === 0x89504e47 && bytes.length >= 24 && view.getUint32(12) === 0x49484452) {
    return { width: view.getUint32(16), height: view.getUint32(20) };
  }
  if (magic >>> 8 === 0x474946) return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
  if (magic >>> 16 === 0xffd8) return jpegSize(view);
  if (magic === 0x52494646 && bytes.length >= 16 && view.getUint32(8) === 0x57454250) return webpSize(view);
  return null;
}

/** Scales down until the longer edge, and then the number of units, is within bounds. */
function fit({ width, height }: ImageSize, longest: number): ImageSize {
  const scale = Math.min(1, longest / Math.max(width, height, 1));
  return { width: Math.ceil(width * scale), height: Math.ceil(height * scale) };
}

function tiles({ width, height }: ImageSize): number {
  const inBox = fit({ width, height }, 2_048);
  const scale = Math.min(1, 768 / Math.max(1, Math.min(inBox.width, inBox.height)));
  return 85 + 170 * Math.ceil(inBox.width * scale / 512) * Math.ceil(inBox.height * scale / 512);
}

/**
 * Tokens of a file.
 *
 * @param file Media type and base64 (or a URL, whose size is not known).
 * @param family How the provider prices images.
 * @returns The family's formula where the size can be read, else its ceiling.
 */
export function fileTokens(
  file: { readonly mediaType: string; readonly data: string },
  family: MediaFamily,
): number {
  const isData = !/^https?:/.test(file.data);
  const size = isData && file.mediaType.startsWith("image/") ? imageSize(file.data) : null;
  // A header may also lie: an image without pixels is none.
  if (size === null || size.width * size.height === 0) return CEILING[family];
  const units = (edge: number): number => Math.ceil(size.width / edge) * Math.ceil(size.height / edge);
  switch (family) {
    case "openai-tiles":
      return tiles(size);
    case "openai-patches":
      return Math.min(14_400, Math.ceil(units(32) * 1.2));
    case "anthropic":
      return Math.min(CEILING.anthropic, units(28));
    case "gemini":
    case "unknown":
      return CEILING[family];
    default:
      return family satisfies never;
  }
}
