/** How often properties are tried, and from which seed. */
import { deepEqual, equal, match, notEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { runsOf } from "./runs.ts";

function env(values: Readonly<Record<string, string>>): Pick<Deno.Env, "get"> {
  return { get: (name) => values[name] };
}

Deno.test("runs() are the same in every gate", () => {
  const ask = runsOf(env({}));
  deepEqual(ask(40), runsOf(env({}))(40));
  deepEqual(ask(), { ...ask(40), numRuns: 100 });
  deepEqual(ask(40, { isSlow: true }), { ...ask(40), endOnFailure: true });
  equal("path" in ask(), false);
});

Deno.test("runs() are N times as many by SELVAGE_FUZZ=N, from a seed that is drawn once, and are shrunk", () => {
  const ask = runsOf(env({ SELVAGE_FUZZ: "20" }));
  equal(ask(40, { isSlow: true }).numRuns, 800);
  equal(ask(40, { isSlow: true }).endOnFailure, false);
  equal(ask(40).seed, ask().seed);
  const seeds = Array.from({ length: 5 }, () => runsOf(env({ SELVAGE_FUZZ: "20" }))().seed);
  notEqual(new Set(seeds).size, 1);
  equal(runsOf(env({ SELVAGE_FUZZ: "0.01" }))(150).numRuns, 2);
});

Deno.test("runs() repeat what SELVAGE_SEED names: a seed, or the one case of a path", () => {
  deepEqual(runsOf(env({ SELVAGE_SEED: "-5" }))(40, { isSlow: true }), {
    numRuns: 40,
    seed: -5,
    endOnFailure: false,
  });
  equal(runsOf(env({ SELVAGE_SEED: "-5", SELVAGE_FUZZ: "2" }))().seed, -5);
  const property = fc.property(fc.nat(1_000_000), (n) => n < 900_000);
  const runs = runsOf(env({}));
  const found = fc.check(property, runs(1_000));
  equal(found.failed, true);
  match(found.counterexamplePath ?? "", /^\d+(:\d+)*$/);
  {
    const runs = runsOf(env({ SELVAGE_SEED: `${found.seed}:${found.counterexamplePath}` }));
    const again = fc.check(property, runs());
    deepEqual(again.counterexample, found.counterexample);
    equal(again.numRuns, 1);
  }
});

Deno.test.each(
  [
    ["SELVAGE_FUZZ", "many"],
    ["SELVAGE_FUZZ", "0"],
    ["SELVAGE_FUZZ", ""],
    ["SELVAGE_FUZZ", "Infinity"],
    [
      "SELVAGE_SEED",
      "x",
    ],
    ["SELVAGE_SEED", "1:2:"],
    ["SELVAGE_SEED", ""],
  ] as const,
)("runs() refuse %s=%j: no property may pass for want of runs", (name, value) => {
  throws(() => runsOf(env({ [name]: value })), RangeError);
});
