import { deepEqual, equal } from "node:assert/strict";
import { isWellFormed, wellFormed } from "../../src/core/well_formed.ts";

const HALF = "all good \ud83d";
const MENDED = "all good \ufffd";

Deno.test("wellFormed() mends names and what is nested, and leaves alone what is whole and what is no JSON", () => {
  const whole = { a: ["😀", { b: 1 }], url: new URL("http://127.0.0.1/") };
  equal(wellFormed(whole), whole);
  const url = new URL("http://127.0.0.1/");
  const mended = wellFormed({ [HALF]: [[HALF]], url, n: null });
  deepEqual(mended, { [MENDED]: [[MENDED]], url, n: null });
  equal(mended["url"], url);
});

Deno.test("isWellFormed() finds half a character in a text, a name and a list", () => {
  for (const value of [HALF, [HALF], { a: HALF }, { [HALF]: 1 }]) equal(isWellFormed(value), false);
  for (const value of ["😀", ["a"], { a: null }, 1, undefined]) equal(isWellFormed(value), true);
});
