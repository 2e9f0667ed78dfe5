import { deepEqual } from "node:assert/strict";
import { Utf8Stream } from "../../src/models/_utf8.ts";

Deno.test("Utf8Stream decodes what is cut anywhere, without the byte order mark at its start, and with any other", () => {
  const text = "\ufeff\ufeffa\ufeffb\u00e9\u{1f600}";
  const bytes = new TextEncoder().encode(`\ufeff${text}`);
  for (let one = 0; one <= bytes.length; one++) {
    for (let two = one; two <= bytes.length; two++) {
      const stream = new Utf8Stream();
      const pieces = [bytes.subarray(0, one), bytes.subarray(one, two), bytes.subarray(two), undefined];
      deepEqual([one, two, pieces.map((piece) => stream.decode(piece)).join("")], [one, two, text]);
    }
  }
});

Deno.test("Utf8Stream shows what breaks off in the middle of a character, and text without a mark as it is", () => {
  const stream = new Utf8Stream();
  deepEqual([stream.decode(Uint8Array.of(0x61, 0xc3)), stream.decode()], ["a", "\ufffd"]);
});
