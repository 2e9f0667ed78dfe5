/**
 * The inputs on which the reference code of the theory goes wrong, each with the right answer. A token target of
 * that code counts from the front; here it is a budget, the tokens that stay.
 *
 * @module
 */
import assert from "node:assert/strict";
import { checkTranscript, type CutPolicy, parseTranscript, selectCut, verify } from "../../src/core/mod.ts";
import { log } from "../support/logs.ts";
import { applyCut } from "../support/reference_selector.ts";

const parse = (notation: string) => parseTranscript(log(notation));

function cutAt(notation: string, policy: CutPolicy): number | string {
  const plan = selectCut(parse(notation), { reserve: 0, ...policy });
  return plan.kind === "cut" ? plan.at : plan.kind;
}

const codes = (notation: string) => checkTranscript(parse(notation)).map(({ code }) => code);

Deno.test("row 1: an id used again severs no pair, the cut is at 4 or 6 and never at 5", () => {
  const notation = "H Ua Ra A Ua Ra A";
  assert.deepEqual(parse(notation).legalCuts, [0, 1, 3, 4, 6, 7]);
  assert.equal(cutAt(notation, { budget: 20 }), 6);
  assert.equal(cutAt(notation, { budget: 20, lookback: 0.5, lookahead: 0.5 }), 4);
});

Deno.test("row 2: an id used again later blocks no earlier cut", () => {
  assert.equal(cutAt("H Ua Ra A H A Ua Ra", { budget: 40 }), 4);
});

Deno.test("row 3: the lookback is charged with what is kept beyond the budget, not with the record at the target", () => {
  // 500 in front, for a log that is itself within the lookback is left alone.
  const plan = selectCut(parse("H:500 A Ua:5 Ra:500 A"), { budget: 505, reserve: 0, lookback: 75 / 505 });
  assert.deepEqual(plan, { kind: "cut", at: 2, keptTokens: 515, distance: 10, method: "near", trims: [] });
});

Deno.test("row 4: the search looks both ways", () => {
  assert.equal(cutAt("H A Ua:5 Ra:500 A", { budget: 335, lookahead: 1 }), 4);
  assert.equal(cutAt("H A Ua:5 Ra:150 A", { budget: 80 }), 4);
  assert.equal(cutAt("H A Ua:5 Ra:500 A", { budget: 335 }), 2, "with its result shortened");
});

Deno.test("row 5: cut 0 is no answer; nothing to cut is one of its own", () => {
  assert.equal(cutAt("Ua:5 Ra:500 A", { budget: 315, lookback: 0.6 }), 2);
  assert.equal(cutAt("Ua:5 Ra:500 A", { budget: 515 }), "nothing");
  assert.equal(cutAt("Ua:5 Ra:500", { budget: 100 }), "defer");
});

Deno.test("row 6: an open round is never dropped, nor is everything", () => {
  assert.equal(cutAt("H Ua", { budget: 1 }), "defer");
  assert.equal(cutAt("H Ua", { budget: 10 }), 1);
  assert.equal(cutAt("H:0 A:0", { budget: 1 }), "nothing");
});

Deno.test("row 7: a log whose result comes after another step is named as broken and not cut there", () => {
  const notation = "H A Ua A Ra A";
  assert.deepEqual(codes(notation).sort(), ["misplaced_result", "missing_result"]);
  assert.deepEqual(parse(notation).legalCuts, [0, 1, 2, 5, 6]);
});

Deno.test("row 8: interleaved rounds are named as broken and not cut apart", () => {
  const notation = "H A U1 A U2 R1 A R2 A";
  assert.deepEqual(codes(notation), [
    "missing_result",
    "missing_result",
    "misplaced_result",
    "misplaced_result",
  ]);
  assert.deepEqual(parse(notation).legalCuts, [0, 1, 2, 8, 9]);
});

Deno.test.each([
  { what: "doubled", notation: "H:500 Ua Ra A Ra H A", code: "duplicate_result", at: 3 },
  { what: "stray", notation: "H:500 A Rz H A", code: "orphan_result", at: 2 },
])(
  "row 9: a $what result in the kept tail is named, and the cut in front of it not accepted",
  ({ notation, code, at }) => {
    const records = log(notation);
    assert.deepEqual(codes(notation), [code]);
    const after = applyCut(records, { at, trims: [], pinned: [], summary: 0 });
    const rejections = verify({
      before: parseTranscript(records),
      after: parseTranscript(after.records),
      at,
      from: after.from,
      policy: { budget: 100, reserve: 0 },
      pinned: [],
      records: () => true,
    });
    assert.deepEqual(rejections.map((rejection) => rejection.code), ["invalid"]);
  },
);

Deno.test("row 10: calls and results without ids are paired too", () => {
  assert.deepEqual(parse("H U?read R?read").legalCuts, [0, 1, 3]);
  assert.equal(cutAt("H U?read R?read", { budget: 20 }), 1);
});

Deno.test("row 11: text and call of one message cannot be parted, for cuts fall between messages", () => {
  assert.deepEqual(parse("H A+Ua Ra A").legalCuts, [0, 1, 3, 4]);
  assert.notEqual(cutAt("H A+Ua Ra A", { budget: 25 }), 2);
});

Deno.test("row 12: an answer may be kept without its question, for the summary stands in front of it", () => {
  assert.equal(cutAt("H A H A", { budget: 15 }), 3);
});

Deno.test("row 13: the answer says how far off the budget it is, and may keep less", () => {
  const plan = selectCut(parse("H:500 A:90"), { budget: 100, reserve: 0 });
  assert.equal(plan.kind === "cut" && plan.distance, -10);
});

Deno.test("row 14: a round of parallel calls is one atom, and the search looks behind it", () => {
  assert.deepEqual(parse("H Ua+Ub Ra Rb A").legalCuts, [0, 1, 4, 5]);
  assert.equal(cutAt("H Ua+Ub Ra Rb A", { budget: 20 }), 4);
  assert.equal(cutAt("H Ua+Ub Ra Rb A", { budget: 48 }), 1);
});

// Row 15, the cost, has tests of its own in operations_test.ts.
