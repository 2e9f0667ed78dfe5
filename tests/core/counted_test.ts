import { equal } from "node:assert/strict";
import { counted } from "../../src/core/counted.ts";

Deno.test("counted() has one of a thing, and none or more of things", () => {
  equal([0, 1, 2].map((number) => counted(number, "answer")).join(), "0 answers,1 answer,2 answers");
  equal(`${counted(1, "entry", "entries")}, ${counted(3, "entry", "entries")}`, "1 entry, 3 entries");
});
