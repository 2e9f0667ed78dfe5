/** The ratios of `deno task bench core`, held by counted steps instead of time. */
import { ok } from "node:assert/strict";
import { selectCut } from "../../src/core/cut.ts";
import { parseTranscript } from "../../src/core/transcript.ts";
import { selectByTheory, type TheoryRecord } from "./_theory.ts";
import { worstCase } from "./core.ts";

/** Records that count how often one of them is looked at. */
function counted(records: readonly TheoryRecord[]): {
  readonly records: readonly TheoryRecord[];
  readonly looks: () => number;
} {
  let looks = 0;
  return {
    looks: () => looks,
    records: records.map(({ kind, callId, tokens }) => ({
      get kind() {
        looks++;
        return kind;
      },
      callId,
      tokens,
    })),
  };
}

/** Steps to parse a log from scratch and to select. */
function steps(size: number): number {
  const { ours } = worstCase(size);
  const transcript = parseTranscript(ours);
  selectCut(transcript, { budget: size * 5, kind: "backward" });
  // The search over n atoms looks at log n of them.
  return transcript.operations + Math.ceil(Math.log2(size)) * 3;
}

Deno.test("selectCut() and the parse take a hundredth of the steps of the theory's reference in its worst case", () => {
  const size = 20_000;
  const { records, looks } = counted(worstCase(size).theirs);
  const target = size * 5;
  selectByTheory(records, { target, lookback: target * 0.15 });
  ok(looks() >= 100 * steps(size), `${looks()} looks against ${steps(size)} steps`);
});

Deno.test("selectCut() and the parse take ten times the steps, not more, for ten times the records", () => {
  const growth = steps(200_000) / steps(20_000);
  ok(growth <= 10.5, `${growth}`);
});
