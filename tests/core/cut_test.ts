import assert from "node:assert/strict";
import {
  type CutPolicy,
  parseTranscript,
  selectCut,
  summaryReserve,
  TRIM_FLOOR,
} from "../../src/core/mod.ts";
import { log } from "../support/logs.ts";

/** Selects with no reserve but where one is given, so that the arithmetic can be read off the notation. */
const select = (notation: string, policy: CutPolicy) =>
  selectCut(parseTranscript(log(notation)), { reserve: 0, ...policy });

Deno.test.each([
  [10_000, 1_500],
  [2_000, 300],
  [1_000, 300],
  [600, 200],
  [400, 133],
  [300, 110],
  [200, 100],
  [1, 0],
  [26_666, 3_999],
  [100_000, 4_000],
])("summaryReserve(%i) is %i", (budget, reserve) => {
  assert.equal(summaryReserve(budget), reserve);
});

Deno.test.each([0, -1, NaN])("selectCut() refuses a budget of %s", (budget) => {
  assert.throws(() => select("H A", { budget }), { name: "RangeError", message: /wanted a positive number/ });
});

Deno.test("selectCut() answers `nothing` up to the budget and its lookback, reserve included", () => {
  assert.deepEqual(select("H:500 A:600", { budget: 1_000, reserve: 50 }), {
    kind: "nothing",
    reason: "within_lookback",
    keptTokens: 1_150,
  });
  assert.partialDeepStrictEqual(select("H:500 A:450", { budget: 1_000, reserve: 50 }), {
    kind: "nothing",
    reason: "within_budget",
  });
  assert.equal(select("H:500 A:601", { budget: 1_000, reserve: 50 }).kind, "cut");
  assert.equal(select("H:500 A:500", { budget: 1_000, lookback: 0 }).kind, "nothing");
  assert.equal(select("H:500 A:501", { budget: 1_000, lookback: 0 }).kind, "cut");
  assert.equal(selectCut(parseTranscript([]), { budget: 1 }).kind, "nothing");
});

Deno.test("selectCut() answers `nothing` at the bound itself, where 1.15 times the budget rounds down", () => {
  // 100 * (1 + 0.15) is 114.99999999999999.
  assert.equal(select("H:15 A:100", { budget: 100 }).kind, "nothing");
});

Deno.test("selectCut() finds nothing left to do after a near cut that keeps the last token of the lookback", () => {
  const plan = select("H:50 A:115", { budget: 100 });
  assert.deepEqual(plan, { kind: "cut", at: 1, keptTokens: 115, distance: 15, method: "near", trims: [] });
  assert.equal(select("Z:0 A:115", { budget: 100, from: 1 }).kind, "nothing");
});

Deno.test("selectCut() takes 29 % of 100 as 29, where the product rounds down", () => {
  // 0.29 * 100 is 28.999999999999996.
  const plan = select("H:50 A:129", { budget: 100, lookback: 0.29 });
  assert.deepEqual(plan, { kind: "cut", at: 1, keptTokens: 129, distance: 29, method: "near", trims: [] });
  assert.equal(select("H:29 A:100", { budget: 100, lookback: 0.29 }).kind, "nothing");
});

Deno.test("selectCut() charges the default reserve in place of the summary", () => {
  const plan = selectCut(parseTranscript(log("H:2000 A:700 H:100")), { budget: 1_000 });
  assert.deepEqual(plan, { kind: "cut", at: 1, keptTokens: 1_100, distance: 100, method: "near", trims: [] });
});

Deno.test.each([
  { what: "takes the near cut that keeps more", budget: 550, at: 2, distance: 50 },
  { what: "takes the near cut that keeps less", budget: 640, at: 2, distance: -40 },
  { what: "takes the one that keeps more of two equally near", budget: 650, at: 1, distance: 50 },
  { what: "takes the cut that meets the budget", budget: 600, at: 2, distance: 0 },
])("selectCut() $what", ({ budget, at, distance }) => {
  const plan = select("H:500 A:100 H:400 A:200", { budget });
  assert.deepEqual(plan, {
    kind: "cut",
    at,
    keptTokens: budget + distance,
    distance,
    method: "near",
    trims: [],
  });
});

Deno.test("selectCut() takes lookback and lookahead from the budget for raw messages, reserve left out", () => {
  const policy = { budget: 1_000, reserve: 500 };
  // 15 % of the 500 that are left for raw messages are 75.
  const found = (notation: string, more: Partial<CutPolicy> = {}) => {
    const plan = select(notation, { ...policy, ...more });
    return plan.kind === "cut" ? `${plan.method} ${plan.distance}` : plan.kind;
  };
  assert.equal(found("H:900 A:85 H:490", { lookahead: 0 }), "near 75");
  assert.equal(found("H:900 A:86 H:490", { lookahead: 0 }), "forward -10");
  assert.equal(found("H:900 A:500 H:425"), "near -75");
  assert.equal(found("H:900 A:500 H:424"), "forward -76");
});

Deno.test("selectCut() shortens kept results, oldest first, and no more than it must", () => {
  const notation = "H:500 Ua Ra:1000 A:100 Ub Rb:600 A:100";
  assert.deepEqual(select(notation, { budget: 1_200 }), {
    kind: "cut",
    at: 1,
    keptTokens: 1_200,
    distance: 0,
    method: "trim",
    trims: [{ record: 2, message: 2, tokens: 380 }],
  });
  const both = select(notation, { budget: 1_000 });
  assert(both.kind === "cut");
  assert.deepEqual(both.trims.map(({ record, tokens }) => [record, tokens]), [[2, TRIM_FLOOR], [5, 580]]);
});

Deno.test("selectCut() goes forward where trimming to the floor is not enough", () => {
  assert.deepEqual(select("H:900 Ua:100 Ra:900 A:500", { budget: 900, reserve: 300 }), {
    kind: "cut",
    at: 3,
    keptTokens: 800,
    distance: -100,
    method: "forward",
    trims: [],
  });
  const plan = select("H:900 Ua:700 Ra:200 A:100", { budget: 800 });
  assert(plan.kind === "cut");
  assert.equal(plan.method, "forward", "a result at the floor is not shortened");
});

Deno.test.each([
  {
    what: "never cuts away the last atom",
    notation: "H:10 A:5000",
    reason: "atom_too_wide",
    before: 1,
    after: null,
  },
  { what: "never cuts at 0", notation: "A:5000", reason: "atom_too_wide", before: null, after: null },
  {
    what: "waits for an open call",
    notation: "H:10 Ua:900 A Ub:5000",
    reason: "open_call",
    before: 3,
    after: null,
  },
  {
    what: "waits for a promised call",
    notation: "H:10 Ua! A:900 H:50",
    reason: "open_call",
    before: 1,
    after: null,
  },
  {
    what: "finds no cut in an open round at the start",
    notation: "Ua:900 H A+Ub! H Ra",
    reason: "open_call",
    before: null,
    after: null,
  },
])("selectCut() $what and defers with `$reason`", ({ notation, reason, before, after }) => {
  assert.deepEqual(select(notation, { budget: 100 }), { kind: "defer", reason, nearest: { before, after } });
});

Deno.test("selectCut() defers with `pinned_too_big` where reserve and pinned messages fill the budget", () => {
  const plan = select("H:80 A:500 H:10", { budget: 100, reserve: 20, pinned: [0] });
  assert.deepEqual(plan, { kind: "defer", reason: "pinned_too_big", nearest: { before: 2, after: null } });
  assert.equal(select("H:80 A:500 H:1", { budget: 100, reserve: 18, pinned: [0, 0] }).kind, "cut");
});

Deno.test("selectCut() keeps pinned messages at their full cost, wherever the cut falls", () => {
  const notation = "H:100 A:500 H:100 A:300 H:100";
  const plan = select(notation, { budget: 500, pinned: [0, 2] });
  assert.deepEqual(plan, {
    kind: "cut",
    at: 4,
    keptTokens: 300,
    distance: -200,
    method: "forward",
    trims: [],
  });
  const near = select(notation, { budget: 590, pinned: [2, 0, 2] });
  assert.deepEqual(near, { kind: "cut", at: 3, keptTokens: 600, distance: 10, method: "near", trims: [] });
});

Deno.test("selectCut() does not shorten a pinned result: what is pinned stays verbatim", () => {
  const plan = select("H:500 A:400 Ua Ra:600 A", { budget: 800, pinned: [2, 3] });
  assert.deepEqual(plan, {
    kind: "cut",
    at: 2,
    keptTokens: 620,
    distance: -180,
    method: "forward",
    trims: [],
  });
});

Deno.test.each([[1], [2]])("selectCut() charges the whole pair of which message %i is pinned", (pin) => {
  const records = log("H:500 Ua:20 Ra:50 A:100 H:40");
  const plan = selectCut(parseTranscript(records), { budget: 120, reserve: 0, pinned: [pin] });
  assert.deepEqual(plan, { kind: "cut", at: 4, keptTokens: 110, distance: -10, method: "near", trims: [] });
});

Deno.test("selectCut() cuts only behind `from`, and never counts what lies before it", () => {
  const notation = "Z:300 H:50 H:400 A:100 H:200";
  const policy = { budget: 400, reserve: 100, from: 2, pinned: [1] };
  assert.deepEqual(select(notation, policy), {
    kind: "cut",
    at: 4,
    keptTokens: 350,
    distance: -50,
    method: "forward",
    trims: [],
  });
  assert.deepEqual(select("Z:5000 H:50 A:100", { ...policy, pinned: [], from: 1 }), {
    kind: "nothing",
    reason: "within_budget",
    keptTokens: 250,
  });
  assert.equal(select("Z:10 H:50 H:900", { ...policy, from: 2 }).kind, "defer");
});

Deno.test("selectCut() shortens results where nothing is left to remove behind `from`", () => {
  const plan = select("Z:10 Ua Ra:900 H:10", { budget: 400, from: 1 });
  assert.deepEqual(plan, {
    kind: "cut",
    at: 1,
    keptTokens: 400,
    distance: 0,
    method: "trim",
    trims: [{ record: 2, message: 2, tokens: 380 }],
  });
});

Deno.test("selectCut() leaves system messages out of the arithmetic", () => {
  assert.equal(select("S:9000 H:50 A:40", { budget: 100 }).kind, "nothing");
  const plan = select("S:9000 H:300 A:40 S:9000 H:50", { budget: 100 });
  assert.deepEqual(plan, { kind: "cut", at: 2, keptTokens: 90, distance: -10, method: "near", trims: [] });
});

Deno.test.each([
  { what: "keeps more than the budget", budget: 640, at: 1, distance: 60 },
  { what: "takes a cut that meets the budget", budget: 600, at: 2, distance: 0 },
])("selectCut() with policy `backward` $what", ({ budget, at, distance }) => {
  const plan = select("H:500 A:100 H:400 A:200", { budget, kind: "backward" });
  assert.deepEqual(plan, {
    kind: "cut",
    at,
    keptTokens: budget + distance,
    distance,
    method: "near",
    trims: [],
  });
});

Deno.test("selectCut() with policy `backward` defers rather than keep less or trim", () => {
  const plan = select("H:500 Ua:10 Ra:590 A:200", { budget: 300, kind: "backward" });
  assert.deepEqual(plan, { kind: "defer", reason: "atom_too_wide", nearest: { before: 1, after: 3 } });
  const open = select("H:500 Ua:10 Ra:590 Ub:500", { budget: 300, kind: "backward" });
  assert.deepEqual(open, { kind: "defer", reason: "open_call", nearest: { before: 3, after: null } });
});

Deno.test("selectCut() shortens results of an open atom unless `trimOpen` is false", () => {
  const notation = "H:500 Ua+Ub Ra:900";
  assert.deepEqual(select(notation, { budget: 400 }), {
    kind: "cut",
    at: 1,
    keptTokens: 400,
    distance: 0,
    method: "trim",
    trims: [{ record: 3, message: 2, tokens: 380 }],
  });
  const plan = select(notation, { budget: 400, trimOpen: false });
  assert.deepEqual(plan, { kind: "defer", reason: "open_call", nearest: { before: 1, after: null } });
});

Deno.test("selectCut() with `trimOpen` false still shortens closed atoms behind an open one", () => {
  // A person owes the answer to a; the round of b is over, and the model has read it.
  const plan = select("H:500 Ua! A Ub Rb:900 A", { budget: 400, trimOpen: false });
  assert.equal(plan.kind, "cut", JSON.stringify(plan));
});
