import assert from "node:assert/strict";
import {
  type CutPolicy,
  MIN_PROGRESS,
  parseTranscript,
  verify,
  type VerifyInput,
} from "../../src/core/mod.ts";
import { log } from "../support/logs.ts";

const BEFORE = "H:100 Ua:50 Ra:900 A:20 Ub:30 Rb:200 A:40";
const AFTER = "Z:80 A:20 Ub:30 Rb:200 A:40";
const POLICY: CutPolicy = { budget: 400, reserve: 100 };

/** Codes of the rejections of a compaction of {@link BEFORE} at 3. */
function codes(
  after: string,
  more: Partial<VerifyInput> = {},
  before = BEFORE,
): string[] {
  return verify({
    before: parseTranscript(log(before)),
    after: parseTranscript(log(after)),
    at: 3,
    from: 1,
    policy: POLICY,
    pinned: [],
    records: () => true,
    ...more,
  }).map(({ code }) => code);
}

Deno.test("verify() accepts an honest compaction", () => {
  assert.deepEqual(codes(AFTER), []);
});

Deno.test("verify() accepts one with a pinned message in front of the tail", () => {
  const pinned = { from: 2, pinned: [1], policy: { ...POLICY, budget: 450, pinned: [0] } };
  assert.deepEqual(codes("Z:80 H:100 A:20 Ub:30 Rb:200 A:40", pinned), []);
});

Deno.test("verify() accepts a shortened result", () => {
  assert.deepEqual(codes("Z:80 A:20 Ub:30 Rb:120 A:40"), []);
});

Deno.test("verify() accepts calls in flight in the tail", () => {
  const before = `${BEFORE} Uc`;
  assert.deepEqual(codes(`${AFTER} Uc`, {}, before), []);
});

Deno.test.each([
  { what: "a dropped call", after: "Z:80 A:20 A:30 Rb:200 A:40", found: ["invalid", "pair_changed"] },
  {
    what: "a call that was dropped with its message",
    after: "Z:80 A:20 Rb:200 A:40",
    found: ["invalid", "pair_changed"],
  },
  { what: "a dropped result", after: "Z:80 A:20 Ub:30 A:40", found: ["invalid", "pair_changed"] },
  {
    what: "a doubled result",
    after: "Z:80 A:20 Ub:30 Rb:200 Rb:9 A:40",
    found: ["invalid", "pair_changed"],
  },
  { what: "a result doubled in its message", after: "Z:80 A:20 Ub:30 Rb:200+Rb:9 A:40", found: ["invalid"] },
  {
    what: "a pair that was to be removed",
    after: "Z:80 Ua:50 Ra:90 A:20 Ub:30 Rb:60 A:40",
    found: ["pair_changed"],
  },
  { what: "another id", after: "Z:80 A:20 Ux:30 Rx:200 A:40", found: ["pair_changed"] },
  {
    what: "a result moved behind the next message",
    after: "Z:80 A:20 Ub:30 A:40 Rb:200",
    found: ["invalid", "invalid", "pair_changed"],
  },
  {
    what: "a pair moved before another message",
    after: "Z:80 Ub:30 Rb:200 A:20 A:40",
    found: ["pair_changed"],
  },
  { what: "a lost pair", after: "Z:80 A:20 A:30 H:200 A:40", found: ["pair_changed"] },
])("verify() rejects $what", ({ after, found }) => {
  assert.deepEqual(codes(after), found);
});

Deno.test("verify() rejects a removed pair that the summary does not record, and names it", () => {
  const input = { records: (call: number) => call !== 1 };
  assert.deepEqual(codes(AFTER, input), ["pair_unrecorded"]);
  assert.deepEqual(codes(AFTER, { records: (call) => call === 1 }), [], "kept pairs need no record");
});

Deno.test("verify() wants no record of a removed approval, which is no tool call", () => {
  const before = "H:900 Uq?:5 Rq?:5 A:100 H:40";
  const found = verify({
    before: parseTranscript(log(before)),
    after: parseTranscript(log("Z:80 A:100 H:40")),
    at: 3,
    from: 1,
    policy: POLICY,
    pinned: [],
    records: () => false,
  });
  assert.deepEqual(found, []);
});

Deno.test("verify() cites the condition that would break", () => {
  const [first] = verify({
    before: parseTranscript(log(BEFORE)),
    after: parseTranscript(log("Z:80 A:20 A:30 Rb:200 A:40")),
    at: 3,
    from: 1,
    policy: POLICY,
    pinned: [],
    records: () => false,
  });
  assert.deepEqual([first?.code, first?.condition], ["invalid", "C2"]);
  assert.match(first?.message ?? "", /result b /);
});

Deno.test("verify() wants the context to become smaller by a tenth", () => {
  const before = "H:500 Ua:250 Ra:250 A:1000";
  const policy = { policy: { budget: 5_000, reserve: 0 } };
  assert.equal(MIN_PROGRESS, 0.1);
  assert.deepEqual(codes("Z:800 A:1000", policy, before), []);
  assert.deepEqual(codes("Z:801 A:1000", policy, before), ["not_smaller"]);
  assert.deepEqual(codes("Z:900 A:1000", { ...policy, minProgress: 0.05 }, before), []);
  assert.deepEqual(codes("Z:901 A:1000", { ...policy, minProgress: 0.05 }, before), ["not_smaller"]);
});

Deno.test("verify() wants the next plan to be `nothing` (C5)", () => {
  assert.deepEqual(codes(AFTER, { policy: { budget: 330, reserve: 100 } }), ["not_idempotent"]);
  assert.deepEqual(codes(AFTER, { policy: { budget: 341, reserve: 100 } }), []);
});

Deno.test("verify() charges pinned messages where they stand now when it plans again", () => {
  const after = "Z:80 H:100 A:20 Ub:30 Rb:200 A:40";
  // 100 for the reserve, 100 pinned, 290 in the tail.
  const pinned = (budget: number) => ({ from: 2, pinned: [1], policy: { ...POLICY, budget, pinned: [0] } });
  assert.deepEqual(codes(after, pinned(427)), []);
  assert.deepEqual(codes(after, pinned(410)), ["not_idempotent"]);
});

Deno.test("verify() lets a forced cut stay over its budget, but not where another cut is left", () => {
  const small = { policy: { budget: 50, reserve: 10, force: true } };
  assert.deepEqual(codes("Z:8 H:200", small, "H:900 A:900 A:90 H:200"), []);
  assert.deepEqual(codes(AFTER, small), ["not_idempotent"]);
});

Deno.test("verify() accepts a pinned pair that stays verbatim, which the summary need not record", () => {
  const before = "H:900 Ua:50 Ra:100 A:20 Ub:30 Rb:200 A:40";
  const after = "Z:80 Ua:50 Ra:100 A:20 Ub:30 Rb:200 A:40";
  const policy = { ...POLICY, budget: 600, pinned: [1, 2] };
  assert.deepEqual(
    codes(after, { from: 3, pinned: [1, 2], policy, records: (call) => call !== 1 }, before),
    [],
  );
});

Deno.test("verify() rejects a cut between reasoning and the call that it belongs to", () => {
  const before = "H:900 A:10 T>:50 Ua:30 Ra:100 A:20";
  assert.notDeepEqual(codes("Z:80 Ua:30 Ra:100 A:20", {}, before), []);
});

Deno.test("verify() rejects a cut that leaves a call in flight behind, though the summary records it", () => {
  // A person owes the answer to a: when it comes, its call is gone.
  const before = "H:900 Ua!:50 A:100 H:40";
  assert.notDeepEqual(codes("Z:80 H:40", {}, before), []);
});
