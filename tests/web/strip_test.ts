/** The blocks of the strip. */
import { deepEqual, equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { blocksOf, type StripAtom } from "../../src/web/base/strip.ts";
import { runs } from "../support/runs.ts";

function atom(from: number, fields: Partial<StripAtom> = {}): StripAtom {
  return { from, to: from + 1, kind: "assistant", state: "closed", tokens: 10, ...fields };
}

Deno.test("blocksOf() shows what is worth seeing of atoms that share a block", () => {
  const atoms = [
    atom(0, { kind: "user", tokens: 500 }),
    atom(1),
    atom(2, { kind: "stray", tokens: 1 }),
    atom(3),
    atom(4, { state: "open" }),
  ];
  const blocks = blocksOf(atoms, { first: 0, end: 5, room: 3, faults: [4, 2, 2] });
  deepEqual(blocks.map(({ kind, isOpen, faults, from }) => [kind, isOpen, faults, from]), [
    ["user", false, 0, 0],
    ["stray", false, 2, 2],
    ["assistant", true, 1, 4],
  ]);
});

Deno.test("blocksOf() covers every atom once, in no more blocks than there is room for", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 1, max: 120 }),
      fc.array(fc.integer({ min: 0, max: 399 }), { maxLength: 30 }),
      (count, room, places) => {
        const atoms = Array.from({ length: count }, (_, at) => atom(at));
        const faults = places.map((place) => place % count);
        const blocks = blocksOf(atoms, { first: 0, end: count, room, faults });
        ok(blocks.length <= room);
        equal(blocks[0]?.first, 0);
        equal(blocks.at(-1)?.end, count);
        for (const [index, block] of blocks.entries()) equal(block.first, blocks[index - 1]?.end ?? 0);
        equal(blocks.reduce((sum, block) => sum + block.faults, 0), faults.length);
        equal(blocks.reduce((sum, block) => sum + block.tokens, 0), count * 10);
      },
    ),
    runs(),
  );
});
