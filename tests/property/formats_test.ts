/**
 * Properties of reading, repair and compaction over random transcripts in each wire format, whole and broken, judged
 * by validators that share nothing with what they judge. fast-check prints seed and path of a failure.
 *
 * @module
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { fitLedger } from "../../src/compaction/fit_ledger.ts";
import { type LedgerLine, pairsIn, renderLedger } from "../../src/compaction/ledger.ts";
import { parseLedger } from "../../src/compaction/parse_ledger.ts";
import { checkMessages, estimateTokens, readTranscript, repairTranscript } from "../../src/transcripts.ts";
import { runs } from "../support/runs.ts";
import { holdsCompaction, holdsMerge, holdsPlan, holdsRepair, judge, read, squeeze } from "./_laws.ts";
import { formatOf, FORMATS } from "./_shapes.ts";
import { brokenOf, hostileText, squeezes, wholeOf } from "./_transcripts.ts";

const SHAPES = FORMATS.map((shape) => ({ shape }));

Deno.test.each(SHAPES)("a whole transcript in $shape has no fault, and comes back as it is", ({ shape }) => {
  fc.assert(
    fc.property(wholeOf(shape), (sample) => {
      const reading = read(sample);
      assert.deepEqual(checkMessages(reading), []);
      assert.deepEqual(judge(sample), []);
      const { messages, repairs } = repairTranscript(reading);
      assert.deepEqual(repairs, []);
      assert(messages.every((message, at) => message === sample.messages[at]));
    }),
    runs(150),
  );
});

Deno.test.each(SHAPES)("readTranscript() finds the format of a transcript in $shape", ({ shape }) => {
  fc.assert(
    fc.property(wholeOf(shape), ({ messages }) => {
      const found = readTranscript(messages);
      // Texts alone look alike in several formats: then it is enough that the cuts are the same.
      if (found.format.name === formatOf(shape)) return;
      assert.deepEqual(found.transcript.legalCuts, read({ shape, messages }).transcript.legalCuts);
    }),
    runs(150),
  );
});

Deno.test.each(SHAPES)("repairTranscript() mends any damage in $shape, at once and for good", ({ shape }) => {
  fc.assert(fc.property(brokenOf(shape), holdsRepair), runs(150));
});

Deno.test.each(SHAPES)(
  "compactTranscript() keeps its promises on a whole transcript in $shape",
  ({ shape }) => {
    fc.assert(fc.property(wholeOf(shape, { ids: "unique" }), squeezes, holdsCompaction), runs(150));
  },
);

Deno.test.each(SHAPES)(
  "compactTranscript() keeps its promises on a broken transcript in $shape",
  ({ shape }) => {
    fc.assert(fc.property(brokenOf(shape, { ids: "unique" }), squeezes, holdsCompaction), runs(150));
  },
);

Deno.test.each(SHAPES)(
  "compactTranscript() plans what it does, by any count of tokens, on a broken transcript in $shape",
  ({ shape }) => {
    fc.assert(fc.property(brokenOf(shape, { ids: "unique" }), squeezes, holdsPlan), runs(150));
  },
);

Deno.test.each(SHAPES)(
  "compactTranscript() merges ledgers of a transcript in $shape that has grown",
  ({ shape }) => {
    const samples = wholeOf(shape, { ids: "unique" });
    const share = fc.double({ min: 0.05, max: 0.9, noNaN: true });
    fc.assert(
      fc.property(samples, samples, fc.tuple(share, share), (first, second, shares) => {
        holdsMerge({ first, second }, shares);
      }),
      runs(150),
    );
  },
);

Deno.test("the samples reach every outcome and method there is", () => {
  const seen = new Set<string>();
  for (const shape of FORMATS) {
    const samples = fc.tuple(
      fc.oneof(wholeOf(shape, { ids: "unique" }), brokenOf(shape, { ids: "unique" })),
      squeezes,
    );
    for (const [sample, how] of fc.sample(samples, runs(150))) {
      const { done, reading } = squeeze(sample, how);
      seen.add(done.cut?.method ?? `${done.outcome} ${done.reason ?? ""}`.trim());
      if (done.trims.length > 0) seen.add("trims");
      if (done.repairs.length > 0) seen.add("repairs");
      if (reading.transcript.firstOpen !== null && done.cut !== null) seen.add("a cut before an open call");
    }
  }
  for (
    const wanted of [
      "near",
      "trim",
      "forward",
      "nothing within_budget",
      "nothing too_little_to_gain",
      "deferred open_call",
      "deferred atom_too_wide",
      "refused atom_too_wide",
      "refused pinned_too_big",
      "trims",
      "repairs",
      "a cut before an open call",
    ]
  ) assert(seen.has(wanted), `${wanted} is not among ${[...seen].join(", ")}`);
});

const status = fc.constantFrom("ok" as const, "error" as const, "aborted" as const);
const name = fc.oneof(
  hostileText,
  fc.constantFrom("read_file", "(others)"),
  fc.string({ unit: "binary", minLength: 1, maxLength: 64 }),
);
const text = fc.oneof(hostileText, fc.string({ unit: "binary", maxLength: 200 }));
const line = (seq: number): fc.Arbitrary<LedgerLine> =>
  fc.oneof(
    fc.record({ kind: fc.constantFrom("user" as const, "answer" as const), seq: fc.constant(seq), text }),
    fc.record({
      kind: fc.constant("pair" as const),
      seq: fc.constant(seq),
      ref: fc.constantFrom(`e${seq}`, `e${seq}.0`, `e${seq}.17`),
      tool: name,
      args: fc.oneof(fc.dictionary(text, fc.jsonValue()), text).map((value) => JSON.stringify(value)),
      status,
      digest: text,
    }),
  );
const range: fc.Arbitrary<LedgerLine> = fc.record({
  kind: fc.constant("range" as const),
  seq: fc.constant(0),
  to: fc.constant(9),
  calls: fc.dictionary(name, fc.dictionary(status, fc.integer({ min: 1, max: 999 }), { minKeys: 1 }), {
    maxKeys: 4,
  }),
  users: fc.nat(12),
  answers: fc.nat(12),
});
const ledger = fc.tuple(fc.option(range), fc.array(fc.nat(), { maxLength: 6 })).chain(([first, rest]) =>
  fc.tuple(...rest.map((_, index) => line(10 + index))).map((lines) =>
    first === null ? lines : [first, ...lines]
  )
);

/** JSON text of arguments is guarded in a ledger: it means the same, letter for letter it may differ. */
function meaning(lines: readonly LedgerLine[]): readonly unknown[] {
  return lines.map((line) => {
    if (line.kind === "pair") return { ...line, args: JSON.parse(line.args) };
    if (line.kind !== "range") return { ...line };
    const calls = Object.entries(line.calls).flatMap(([tool, by]) =>
      Object.entries(by).map(([status, times]) => `${tool} ${times} ${status}`)
    );
    return { ...line, calls: calls.sort() };
  });
}

Deno.test("parseLedger() reads back what renderLedger() wrote, whatever tools and texts are called", () => {
  fc.assert(
    fc.property(ledger, text, (lines, prose) => {
      const rendered = renderLedger(lines);
      const parsed = parseLedger(rendered);
      assert(parsed !== null, rendered);
      assert.deepEqual(meaning(parsed.lines), meaning(lines));
      // From here on nothing changes any more, so that a ledger survives any number of passes.
      assert.equal(renderLedger(parsed.lines), rendered);
      assert.equal(parseLedger(`${rendered}\n\n${prose}`)?.prose, prose);
    }),
    runs(150),
  );
});

Deno.test("parseLedger() takes no text for a ledger in which one character was changed", () => {
  fc.assert(
    fc.property(ledger, fc.nat(), fc.constantFrom("x", "", "  ", "\n"), (lines, pick, change) => {
      const rendered = renderLedger(lines);
      const at = pick % rendered.length;
      const changed = rendered.slice(0, at) + change + rendered.slice(at + 1);
      fc.pre(lines.length > 0 && changed !== rendered && at < rendered.length - 1);
      assert.equal(parseLedger(changed), null, changed);
    }),
    runs(150),
  );
});

Deno.test("fitLedger() loses no count, and fits, whatever tools and texts are called", () => {
  fc.assert(
    fc.property(ledger, fc.integer({ min: 120, max: 2_000 }), (lines, tokens) => {
      const fitted = fitLedger(lines, { tokens, measure: estimateTokens });
      assert.equal(pairsIn(fitted), pairsIn(lines));
      assert(estimateTokens(renderLedger(fitted)) <= tokens, renderLedger(fitted));
      const parsed = parseLedger(renderLedger(fitted));
      assert.deepEqual(meaning(parsed?.lines ?? []), meaning(fitted));
    }),
    runs(150),
  );
});
