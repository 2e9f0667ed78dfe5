import assert from "node:assert/strict";
import fc from "fast-check";
import { fitLedger } from "../../src/compaction/fit_ledger.ts";
import {
  type LedgerLine,
  ledgerLines,
  pairsIn,
  recordsPair,
  renderLedger,
} from "../../src/compaction/ledger.ts";
import { summaryReserve } from "../../src/core/mod.ts";
import { loadMeasure } from "../../src/loop/measures.ts";
import type { CallStatus } from "../../src/ports.ts";
import { measureText } from "../../src/tokens/measure.ts";
import { runs } from "../support/runs.ts";
import { prose } from "../support/turns.ts";
import { entries, pair } from "./_lines.ts";

const measure = await loadMeasure();

const size = (lines: readonly LedgerLine[]): number => measureText(renderLedger(lines), measure);

Deno.test("fitLedger() leaves alone what fits", () => {
  const lines = ledgerLines(entries, []);
  assert.deepEqual(fitLedger(lines, { tokens: size(lines), measure }), lines);
  assert.deepEqual(fitLedger([], { tokens: 300, measure }), []);
});

Deno.test("summaryReserve() keeps free what no ledger can do without, where half of a budget has room for it", () => {
  const calls = { read: { ok: 99_999, error: 9_999, aborted: 9_999 } };
  const range: LedgerLine = { kind: "range", seq: 10_000, to: 99_999, calls, users: 9_999, answers: 9_999 };
  assert.ok(measureText(renderLedger([range]), measure) <= summaryReserve(220));
  assert.ok(measureText(renderLedger(fitLedger([range], { tokens: 0, measure })), measure) <= 100);
});

Deno.test("fitLedger() collapses the oldest first, and what people said last", () => {
  const lines: LedgerLine[] = [
    { kind: "user", seq: 0, text: "The task." },
    ...[1, 3, 5, 7].map((seq) => pair(seq, seq === 3 ? "write" : "read", seq === 5 ? "error" : "ok")),
    { kind: "answer", seq: 9, text: "Done." },
    pair(11),
  ];
  const kept = fitLedger(lines, { tokens: size(lines) - 60, measure });
  assert.equal(kept[0]?.kind, "range");
  assert.deepEqual(kept.slice(1).map(({ seq }) => seq), [0, 7, 9, 11]);
  assert.match(renderLedger(kept), /\ne1\.\.e5 3 calls: read 1 ok, read 1 error, write 1 ok\n/);
  const least = renderLedger(fitLedger(lines, { tokens: 90, measure })).split("\n");
  assert.deepEqual(least.slice(1, -1), [
    "e1..e11 5 calls: read 3 ok, read 1 error, write 1 ok; 1 answer",
    'e0 user: "The task."',
  ]);
  const all = fitLedger([...lines, ...Array.from({ length: 9 }, (_, n) => pair(20 + n))], {
    tokens: 72,
    measure,
  });
  assert.deepEqual(all.map(({ kind, seq }) => `${kind} ${seq}`), ["range 0"]);
});

Deno.test("fitLedger() folds the names of tools that a range has no room for", () => {
  const lines = Array.from(
    { length: 120 },
    (_, n) => pair(n, n < 60 ? "read" : `tool_with_a_long_name_${n}`),
  );
  const kept = fitLedger(lines, { tokens: 150, measure });
  assert.equal(kept.length, 1);
  assert.ok(size(kept) <= 150);
  assert.equal(pairsIn(kept), 120);
  assert.match(renderLedger(kept), /120 calls: read 60 ok, .*\(others\) \d+ ok/);
});

Deno.test("fitLedger() counts tools whose names an object already knows", () => {
  const lines = ["__proto__", "constructor", "toString"].flatMap((
    name,
  ) => [pair(1, name), pair(2, name, "error")]);
  const kept = JSON.parse(JSON.stringify(fitLedger(lines, { tokens: 0, measure })));
  assert.equal(pairsIn(kept), 6);
  assert.equal(pairsIn(fitLedger([...kept, ...lines], { tokens: 0, measure })), 12);
});

Deno.test("fitLedger() keeps the task longest, then the latest lines, and the task in part before it goes", () => {
  const lines: LedgerLine[] = [
    { kind: "user", seq: 0, text: `The task. ${prose(300)}` },
    ...[1, 2, 3, 4].map((seq): LedgerLine => ({ kind: "user", seq, text: `${seq} ${prose(100)}` })),
    pair(5),
    { kind: "answer", seq: 6, text: "Done." },
  ];
  const seqs = (tokens: number): readonly number[] =>
    fitLedger(lines, { tokens, measure }).filter(({ kind }) => kind !== "range").map(({ seq }) => seq);
  assert.deepEqual([size(lines) - 1, 270, 200, 130, 90].map(seqs), [
    [0, 2, 3, 4, 5, 6],
    [0, 4, 5, 6],
    [0, 6],
    [0],
    [],
  ]);
  const [range, task] = renderLedger(fitLedger(lines, { tokens: 130, measure })).split("\n").slice(1);
  assert.equal(range, "e1..e6 1 call: read 1 ok; 4 user messages; 1 answer");
  assert.match(task ?? "", /^e0 user: "The task\. .* \(\d+ characters, #[0-9a-f]{8}\)"$/);
});

const anyLine: fc.Arbitrary<LedgerLine> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("pair" as const),
      seq: fc.nat(500),
      ref: fc.nat(500).map((n) => `e${n}.0`),
      tool: fc.constantFrom("read", "write", "run", "search", "a tool", "__proto__"),
      args: fc.string({ unit: "grapheme", maxLength: 200 }).map((text) => JSON.stringify({ text })),
      status: fc.constantFrom<CallStatus>("ok", "error", "aborted"),
      digest: fc.string({ unit: "grapheme", maxLength: 160 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom("user" as const, "answer" as const),
      seq: fc.nat(500),
      text: fc.string({ unit: "grapheme", maxLength: 400 }),
    }),
  },
);

Deno.test("fitLedger() stays within its tokens by the real counter, over many passes, and loses no count", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(anyLine, { maxLength: 25 }), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 110, max: 1_500 }),
      (passes, tokens) => {
        let ledger: readonly LedgerLine[] = [];
        const all: LedgerLine[] = [];
        for (const lines of passes) {
          all.push(...lines);
          ledger = JSON.parse(JSON.stringify(fitLedger([...ledger, ...lines], { tokens, measure })));
          if (ledger.length > 0) {
            assert.ok(size(ledger) <= tokens, `${size(ledger)} tokens, wanted ${tokens}`);
          }
          assert.equal(pairsIn(ledger), all.filter(({ kind }) => kind === "pair").length);
          for (const kind of ["user", "answer"] as const) {
            const ranges = ledger.reduce(
              (sum, line) => sum + (line.kind === "range" ? line[`${kind}s`] : 0),
              0,
            );
            const lines = ledger.filter((line) => line.kind === kind).length;
            assert.equal(ranges + lines, all.filter((line) => line.kind === kind).length);
          }
          assert.ok(ledger.filter(({ kind }) => kind === "range").length <= 1);
          const seqs = ledger.flatMap(({ kind, seq }) => kind === "range" ? [] : [seq]);
          assert.deepEqual(seqs, seqs.toSorted((a, b) => a - b));
          for (const line of all) {
            if (line.kind === "pair") {
              assert.ok(recordsPair(ledger, `e${line.seq}.0`) || recordsPair(ledger, line.ref));
            }
          }
        }
      },
    ),
    runs(60),
  );
});
