import assert from "node:assert/strict";
import { type CutPolicy, parseTranscript, selectCut } from "../../src/core/mod.ts";
import { log } from "../support/logs.ts";

/** Selects for a context that must shrink now. */
const force = (notation: string, policy: CutPolicy) =>
  selectCut(parseTranscript(log(notation)), { reserve: 0, force: true, ...policy });

Deno.test("selectCut() with force answers as without it where a method finds a cut", () => {
  const near = force("H:500 A:100 H:400 A:200", { budget: 550 });
  assert.deepEqual(near, { kind: "cut", at: 2, keptTokens: 600, distance: 50, method: "near", trims: [] });
  assert.equal(force("H:50 A:50", { budget: 100 }).kind, "nothing");
});

Deno.test("selectCut() with force does not stay over the budget by trimming where going forward meets it", () => {
  const plan = force("H:100 Ua:2000 Ra:300 A:50", { budget: 100 });
  assert.deepEqual(plan, { kind: "cut", at: 3, keptTokens: 50, distance: -50, method: "forward", trims: [] });
});

Deno.test("selectCut() with force goes forward under policy `backward`", () => {
  const plan = force("H:500 Ua:10 Ra:590 A:200", { budget: 300, kind: "backward" });
  assert.deepEqual(plan, {
    kind: "cut",
    at: 3,
    keptTokens: 200,
    distance: -100,
    method: "forward",
    trims: [],
  });
});

Deno.test("selectCut() with force shortens all it may where the last legal cut keeps too much", () => {
  const plan = force("H:900 Ua:100 Ra:900 Ub:300", { budget: 200 });
  assert(plan.kind === "cut", JSON.stringify(plan));
  assert.deepEqual([plan.at, plan.keptTokens, plan.distance], [3, 300, 100]);
  const open = force("H:900 Ua:100+Ub:300 Ra:900", { budget: 200 });
  assert.deepEqual(open, {
    kind: "cut",
    at: 1,
    keptTokens: 600,
    distance: 400,
    method: "trim",
    trims: [{ record: 3, message: 2, tokens: 200 }],
  });
});

Deno.test("selectCut() with force takes the last legal cut though there is no result to shorten", () => {
  const plan = force("H:9000 A:800 H:700", { budget: 100 });
  assert(plan.kind === "cut", JSON.stringify(plan));
  assert.deepEqual([plan.at, plan.keptTokens, plan.distance], [2, 700, 600]);
});

Deno.test("selectCut() with force cuts although reserve and pinned messages fill the budget", () => {
  const plan = force("H:200 A:9000 H:50", { budget: 100, pinned: [0] });
  assert(plan.kind === "cut", JSON.stringify(plan));
  assert.deepEqual([plan.at, plan.keptTokens], [2, 250]);
});

Deno.test("selectCut() with force still defers where there is no legal cut", () => {
  assert.equal(force("A:900", { budget: 100 }).kind, "defer");
  assert.equal(force("Ua! H:900 A:900", { budget: 100 }).kind, "defer");
  assert.equal(force("Z:10 A:900", { budget: 100, from: 1 }).kind, "defer");
});

Deno.test("selectCut() with force never severs: it stays before the first open call", () => {
  const plan = force("H:900 A:10 Ua!:10 Ub:900 Rb:900 A:900", { budget: 100 });
  assert(plan.kind === "cut", JSON.stringify(plan));
  assert.equal(plan.at, 2);
});
