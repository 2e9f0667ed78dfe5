/**
 * The long run: 100,000 random logs, each held against the oracle and all conditions, and as many transcripts in the
 * wire formats, repaired and compacted. `SELVAGE_FUZZ=0.01` runs a hundredth of them; seeds are as in `runs.ts`.
 *
 * @module
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  checkTranscript,
  type CutPlan,
  type CutPolicy,
  parseTranscript,
  selectCut,
  Transcript,
  type TranscriptRecord,
} from "../../src/core/mod.ts";
import { foreignLog, messagesOf, ownLog, place } from "../support/logs.ts";
import {
  applyCut,
  NaiveCosts,
  naiveCuts,
  naivePairs,
  naivePlan,
  naiveViolations,
  severs,
  wholeAtoms,
} from "../support/reference_selector.ts";
import { runs } from "../support/runs.ts";
import { holdsCompaction, holdsMerge, holdsRepair, type Squeeze } from "./_laws.ts";
import { FORMATS, type Sample } from "./_shapes.ts";
import { brokenOf, squeezes, wholeOf } from "./_transcripts.ts";

type Log = readonly TranscriptRecord[];

const LOGS = 100_000;
/** Steps of the parse for one record, and for a log. */
const STEPS = { each: 4, log: 16 } as const;

const answers = new Map<string, number>();

const policies = fc.record({
  kind: fc.constantFrom<"full" | "backward">("full", "full", "backward"),
  share: fc.double({ min: 0.02, max: 1.1, noNaN: true }),
  reserved: fc.double({ min: 0, max: 0.5, noNaN: true }),
  pins: fc.oneof(
    { weight: 3, arbitrary: fc.constant<number[]>([]) },
    { weight: 1, arbitrary: fc.array(fc.nat(40), { maxLength: 2 }) },
  ),
  force: fc.boolean(),
});
type Policy = typeof policies extends fc.Arbitrary<infer Found> ? Found : never;

function codesOf(violations: readonly { readonly code: string; readonly at: number }[]): readonly string[] {
  return violations.map(({ code, at }) => `${at} ${code}`).sort();
}

function holdsSteps(records: Log): void {
  const { operations } = parseTranscript(records);
  const limit = STEPS.each * records.length + STEPS.log;
  assert(operations <= limit, `${operations} steps for ${records.length} records`);
}

/** Pairs, cuts and violations are the oracle's; appending is parsing from scratch; the cost is linear. */
function holdsParse(records: Log, isOwn: boolean): void {
  const whole = parseTranscript(records);
  assert.deepEqual(whole.pairs, naivePairs(records), "pairs");
  assert.deepEqual(whole.legalCuts, naiveCuts(records), "legal cuts");
  assert.deepEqual(codesOf(checkTranscript(whole)), codesOf(naiveViolations(records)), "violations");
  if (isOwn) assert.deepEqual(checkTranscript(whole), [], "our own log");
  holdsSteps(records);

  const growing = new Transcript();
  let legal: readonly number[] = [];
  for (const message of messagesOf(records)) {
    growing.append(message);
    const fresh = parseTranscript(records.slice(0, growing.records.length));
    assert.deepEqual(growing.pairs, fresh.pairs, "pairs of a prefix");
    assert.deepEqual(growing.atoms, fresh.atoms, "atoms of a prefix");
    assert.deepEqual(growing.legalCuts, fresh.legalCuts, "cuts of a prefix");
    if (isOwn) assert(legal.every((at) => growing.isLegalCut(at)), "a cut that was legal stays so");
    legal = growing.legalCuts;
  }
}

/** The selector answers what the oracle answers, and its cut keeps every condition. */
function holdsCut(records: Log, { kind, share, reserved, pins, force }: Policy): void {
  const messages = messagesOf(records).length;
  const total = records.reduce((sum, { tokens }) => sum + tokens, 0);
  const budget = Math.max(1, Math.floor(total * share));
  const pinned = pins.map((pin) => pin % messages);
  const policy: CutPolicy = { kind, budget, reserve: Math.floor(budget * reserved), pinned, force };
  const plan = selectCut(parseTranscript(records), policy);
  const naive = naivePlan(records, policy);
  assert.equal(plan.kind, naive.kind, "the kind of the answer");
  const answer = plan.kind === "cut" ? plan.method : plan.kind === "defer" ? plan.reason : plan.kind;
  answers.set(answer, (answers.get(answer) ?? 0) + 1);
  if (plan.kind !== "cut" || naive.kind !== "cut") return;
  assert(naive.ats.includes(plan.at) && naive.kept === plan.keptTokens, "the cut");
  holdsConditions(records, { plan, policy });
}

/** C1 to C3 by the oracle, C5 by a second run; C4 is held where there are texts, in the wire formats. */
function holdsConditions(
  records: Log,
  { plan, policy }: { readonly plan: CutPlan & { kind: "cut" }; readonly policy: CutPolicy },
): void {
  const pinned = wholeAtoms(records, policy.pinned ?? []);
  const shown = messagesOf(records).map((_, at) => at).filter((at) => at >= plan.at || pinned.includes(at));
  assert(!severs(records, shown), "a pair is severed");
  const summary = policy.reserve ?? 0;
  const after = applyCut(records, { ...plan, pinned: policy.pinned ?? [], summary });
  const added = naiveViolations(after.records).length - naiveViolations(records).length;
  assert(added <= 0, "a cut adds a violation");
  const kept = after.records.reduce((sum, { kind, tokens }) => kind === "system" ? sum : sum + tokens, 0);
  assert.equal(kept, plan.keptTokens, "tokens kept");
  assert.equal(new NaiveCosts(after.records, { ...policy, ...after }).reserve, summary);
  const again = selectCut(parseTranscript(after.records), { ...policy, ...after, force: false });
  assert(again.kind === "nothing" || (policy.force === true && again.kind === "defer"), "a second run");
}

/** A long log made of many short ones, each with its own ids. */
function joined(logs: readonly Log[]): Log {
  return place(
    logs.flatMap((records, index) =>
      messagesOf(records).map((message) =>
        message.map(({ message: _, ...part }) =>
          part.callId ? { ...part, callId: `${index}:${part.callId}` } : part
        )
      )
    ),
  );
}

/** Holds a check against samples, and says how long it took. */
function each<Found>(
  what: string,
  { samples, check, times }: {
    readonly samples: fc.Arbitrary<Found>;
    readonly check: (found: Found) => void;
    readonly times: number;
  },
): void {
  console.log(`${what}: ${runs(times).numRuns.toLocaleString("en")}`);
  const start = performance.now();
  fc.assert(fc.property(samples, check), runs(times));
  console.log(`  in ${((performance.now() - start) / 1_000).toFixed(0)} s`);
}

for (const [what, logs] of [["our own logs", ownLog], ["logs from elsewhere", foreignLog]] as const) {
  each(what, {
    samples: fc.tuple(logs, policies),
    check: ([records, policy]) => {
      holdsParse(records, logs === ownLog);
      holdsCut(records, policy);
    },
    times: Math.ceil(LOGS / 2),
  });
}
console.log(`  answers: ${[...answers].map(([answer, times]) => `${answer} ${times}`).join(", ")}`);
each("logs of about 3,000 records", {
  samples: fc.array(fc.oneof(ownLog, foreignLog), { minLength: 150, maxLength: 150 }).map(joined),
  check: holdsSteps,
  times: Math.ceil(LOGS / 500),
});
const times = Math.ceil(LOGS / FORMATS.length / 4);
const share = fc.double({ min: 0.05, max: 0.9, noNaN: true });
for (const shape of FORMATS) {
  const [whole, broken] = [wholeOf(shape, { ids: "unique" }), brokenOf(shape, { ids: "unique" })];
  const check = ([sample, how]: readonly [Sample, Squeeze]): void => holdsCompaction(sample, how);
  each(`${shape}, repaired`, { samples: brokenOf(shape), check: holdsRepair, times });
  each(`${shape}, compacted`, { samples: fc.tuple(whole, squeezes), check, times });
  each(`${shape}, broken and compacted`, { samples: fc.tuple(broken, squeezes), check, times });
  each(`${shape}, grown and compacted again`, {
    samples: fc.tuple(whole, whole, fc.tuple(share, share)),
    check: ([first, second, shares]) => holdsMerge({ first, second }, shares),
    times,
  });
}
