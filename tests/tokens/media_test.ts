import { deepEqual, equal, ok } from "node:assert/strict";
import { fileTokens, imageSize } from "../../src/tokens/media.ts";

function base64(bytes: readonly number[]): string {
  return btoa(String.fromCharCode(...bytes));
}

const u16 = (n: number): number[] => [n >> 8, n & 255];
const u32 = (n: number): number[] => [...u16(n >>> 16), ...u16(n & 0xffff)];
const le16 = (n: number): number[] => [n & 255, n >> 8];
const text = (word: string): number[] => [...word].map((char) => char.charCodeAt(0));

const png = (w: number, h: number): string =>
  base64([
    0x89,
    ...text("PNG"),
    13,
    10,
    26,
    10,
    ...u32(13),
    ...text("IHDR"),
    ...u32(w),
    ...u32(h),
    8,
    6,
    0,
    0,
    0,
  ]);
const gif = (w: number, h: number): string => base64([...text("GIF89a"), ...le16(w), ...le16(h), 0, 0, 0]);
/** With a comment in front of the frame header, as cameras write it. */
const jpeg = (w: number, h: number): string =>
  base64([
    0xff,
    0xd8,
    0xff,
    0xfe,
    ...u16(6),
    1,
    2,
    3,
    4,
    0xff,
    0xc2,
    ...u16(11),
    8,
    ...u16(h),
    ...u16(w),
    1,
    1,
    0x11,
    0,
  ]);
const webp = (w: number, h: number): string =>
  base64([
    ...text("RIFF"),
    0,
    0,
    0,
    0,
    ...text("WEBPVP8X"),
    10,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    ...le16(w - 1),
    0,
    ...le16(h - 1),
    0,
  ]);

for (const [name, make] of Object.entries({ png, gif, jpeg, webp })) {
  Deno.test(`imageSize() reads a ${name}, as base64 or as a data URL`, () => {
    deepEqual(imageSize(make(1_024, 768)), { width: 1_024, height: 768 });
    deepEqual(imageSize(`data:image/${name};base64,${make(3, 5)}`), { width: 3, height: 5 });
  });
}

Deno.test("imageSize() says null to anything else, and never throws", () => {
  for (
    const data of [
      "",
      "AAAA",
      "not base64 at all!",
      base64([0xff, 0xd8, 0xff, 0xda, 0, 0]),
      "https://x.example/a.png",
      "é".repeat(100),
    ]
  ) {
    equal(imageSize(data), null, data);
  }
});

Deno.test("fileTokens() uses each family's formula", () => {
  const square = { mediaType: "image/png", data: png(1_024, 1_024) };
  equal(fileTokens(square, "anthropic"), 1_369);
  equal(fileTokens(square, "openai-patches"), 1_229);
  equal(fileTokens(square, "openai-tiles"), 765);
  equal(fileTokens({ mediaType: "image/png", data: png(4_000, 3_000) }, "anthropic"), 4_800);
});

Deno.test("fileTokens() does not take a file for free because its header says that it has no pixels", () => {
  for (const family of ["openai-tiles", "openai-patches", "anthropic"] as const) {
    const unknown = fileTokens({ mediaType: "image/png", data: "AAAA" }, family);
    for (const data of [png(0, 0), png(0, 900), gif(900, 0), jpeg(0, 0)]) {
      equal(fileTokens({ mediaType: "image/png", data }, family), unknown, family);
    }
    ok(fileTokens({ mediaType: "image/png", data: png(0xffffffff, 0xffffffff) }, family) < 20_000);
    ok(fileTokens({ mediaType: "image/png", data: png(0xffffffff, 1) }, family) < 20_000);
  }
});

Deno.test("fileTokens() has a flat price for a size that cannot be read, however long the base64 is", () => {
  for (const family of ["openai-tiles", "openai-patches", "anthropic", "gemini", "unknown"] as const) {
    const tokens = fileTokens({ mediaType: "image/png", data: "iVBORw0KGgo".repeat(200_000) }, family);
    ok(tokens > 0 && tokens < 10_000, `${family}: ${tokens}`);
    equal(
      fileTokens({ mediaType: "application/pdf", data: "JVBERi0" }, family),
      fileTokens({ mediaType: "image/png", data: "https://x.example/a.png" }, family),
    );
  }
});
