/** Where a text stops being JSON. */
import { deepEqual, equal } from "node:assert/strict";
import fc from "fast-check";
import { findFault, placeIn } from "../../src/files/fault.ts";
import { runs } from "../support/runs.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

Deno.test("findFault() finds a fault where JSON.parse() does, and only there", () => {
  const piece = fc.constantFrom(
    ...'[ ] { } , : " \\ \\u00e9 \\u12 \\x - -1 0 01 1. 1e 2e+3 .5 true tru nul x a \t'.split(" "),
    '"a"',
    " ",
    "\n",
    "\u0001",
    "\u007f",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join("");
      equal(findFault(text) === null, isJson(text), JSON.stringify(text));
    }),
    runs(3_000),
  );
});

Deno.test("findFault() says of JSON that is cut off anywhere that it ends there", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1), fc.nat(), (value, indent, cut) => {
      const whole = JSON.stringify(value, null, indent);
      const text = whole.slice(0, cut % whole.length);
      // A number that loses digits is still one.
      if (!isJson(text)) equal(findFault(text)?.at, text.length, text);
    }),
    runs(1_000),
  );
});

Deno.test("placeIn() counts lines and columns from where the text begins", () => {
  const from = { line: 3, column: 5 };
  deepEqual(placeIn("ab\n\ncd\n", 2, from), { line: 3, column: 7 });
  deepEqual(placeIn("ab\n\ncd\n", 3, from), { line: 4, column: 1 });
  deepEqual(placeIn("ab\n\ncd\n", 5, from), { line: 5, column: 2 });
  deepEqual(placeIn("ab\n\ncd\n", 7, from), { line: 6, column: 1 });
});
