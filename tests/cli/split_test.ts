/** JSON taken apart as it comes. */
import { deepEqual, equal } from "node:assert/strict";
import fc from "fast-check";
import { JsonSplitter, type SplitJson } from "../../src/files/split.ts";
import { runs } from "../support/runs.ts";

/** Splits a text that comes in parts of `size` characters. */
function splitText(text: string, size: number): SplitJson {
  const splitter = new JsonSplitter();
  for (let at = 0; at < text.length; at += size) splitter.push(text.slice(at, at + size));
  return splitter.end();
}

Deno.test("JsonSplitter finds the messages of any document, however it is cut, and loses no character", () => {
  const names = fc.constantFrom(null, "messages", "input", "contents");
  const indents = fc.constantFrom(undefined, 1, "\t");
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue()),
      names,
      fc.jsonValue(),
      indents,
      fc.integer({ min: 1, max: 9 }),
      (...args) => {
        const [list, name, other, indent, size] = args;
        const document = name === null ? list : { other, [name]: list, more: [name, [1]], last: name };
        const text = JSON.stringify(document, null, indent);
        const { around, texts, values, lists } = splitText(text, size);
        equal(around.map((piece, index) => piece + (texts[index] ?? "")).join(""), text);
        const found = lists.findLast((one) => one.name === name);
        deepEqual(values.slice(found?.from, found?.to), JSON.parse(JSON.stringify(list)));
      },
    ),
    runs(500),
  );
});

Deno.test("JsonSplitter takes what JSON.parse() takes, and nothing else", () => {
  const piece = fc.constantFrom(
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    '"messages"',
    '"a"',
    "1",
    "true",
    " ",
    '"',
    "\\",
    "x",
  );
  const takes = (read: () => unknown): boolean => {
    try {
      read();
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), fc.boolean(), (pieces, isList) => {
      const inner = pieces.join("");
      const text = isList ? `[${inner}]` : `{"messages":[${inner}]}`;
      equal(takes(() => splitText(text, 1)), takes(() => JSON.parse(text)), text);
    }),
    runs(5_000),
  );
});
