/**
 * The selector against the theory's reference in its worst case, one open call in front of everything, and
 * against itself at ten times the size.
 */
import { selectCut } from "../../src/core/cut.ts";
import type { TranscriptRecord } from "../../src/core/record.ts";
import { parseTranscript } from "../../src/core/transcript.ts";
import { selectByTheory, type TheoryRecord } from "./_theory.ts";

const TOKENS = 10;

/** An open call, then answered ones: every candidate is illegal, and the reference scans the log for each. */
export function worstCase(
  size: number,
): { readonly ours: readonly TranscriptRecord[]; readonly theirs: readonly TheoryRecord[] } {
  const ours: TranscriptRecord[] = [{
    kind: "tool_use",
    message: 0,
    tokens: TOKENS,
    callId: "open",
    inFlight: true,
  }];
  for (let message = 1; message < size; message++) {
    const kind = message % 2 === 1 ? "tool_use" : "tool_result";
    ours.push({ kind, message, tokens: TOKENS, callId: `c${(message + 1) >> 1}` });
  }
  const theirs = ours.map(({ kind, callId = null, tokens }): TheoryRecord => ({
    kind: kind === "tool_use" ? "tool_use" : "tool_result",
    callId,
    tokens,
  }));
  return { ours, theirs };
}

/** Parses from scratch and selects. */
export function selectOurs(records: readonly TranscriptRecord[]): void {
  const plan = selectCut(parseTranscript(records), { budget: records.length * TOKENS / 2, kind: "backward" });
  if (plan.kind !== "defer") throw new Error(`Found ${plan.kind}, wanted a deferral`);
}

/** The reference on the same log. */
export function selectTheirs(records: readonly TheoryRecord[]): void {
  const target = records.length * TOKENS / 2;
  if (selectByTheory(records, { target, lookback: target * 0.15 }) !== null) {
    throw new Error("Wanted a deferral");
  }
}

/** The least of some runs, in milliseconds: what the work takes once it is compiled. */
function least(times: number, work: () => void): number {
  let best = Infinity;
  for (let n = 0; n < times; n++) {
    const start = performance.now();
    work();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

function times(runs: number, work: () => void): void {
  for (let n = 0; n < runs; n++) work();
}

/** Rounds of both in turn, collections included; the round in the middle tells, whatever the machine does beside. */
function medianRatio(one: () => void, other: () => void): number {
  // Once unmeasured, so that neither pays for compiling, or for a heap that has yet to grow.
  one();
  other();
  const ratios = Array.from({ length: 15 }, () => least(1, one) / least(1, other)).sort((a, b) => a - b);
  return ratios[7] ?? NaN;
}

/** Prints both ratios. */
export function run(): Promise<void> {
  const { ours, theirs } = worstCase(20_000);
  selectOurs(ours);
  const ratio = least(1, () => selectTheirs(theirs)) / least(60, () => selectOurs(ours));
  const small = worstCase(100_000).ours;
  const large = worstCase(1_000_000).ours;
  const growth = 10 * medianRatio(() => selectOurs(large), () => times(10, () => selectOurs(small)));
  console.table({
    "faster than the theory's reference, 20,000 records": {
      wanted: ">= 100x",
      measured: `${ratio.toFixed(0)}x`,
      met: ratio >= 100 ? "yes" : "NO",
    },
    "time at 1,000,000 records over 100,000": {
      wanted: "<= 13x",
      measured: `${growth.toFixed(1)}x`,
      met: growth <= 13 ? "yes" : "NO",
    },
  });
  return Promise.resolve();
}
