/** What the lint asks of a property. */
import { equal } from "node:assert/strict";
import plugin from "../../tools/lint_runs.ts";

const IMPORT = 'import fc from "fast-check";\n';

Deno.test.each(
  [
    ["fc.assert(fc.property(fc.nat(), check), runs());", 0],
    ["await fc.assert(fc.asyncProperty(fc.nat(), check), runs(40, { isSlow: true }));", 0],
    ["const found = fc.sample(fc.nat(), runs(150));", 0],
    ["fc.assert(fc.property(fc.nat(), check));", 1],
    ["fc.assert(fc.property(fc.nat(), check), { numRuns: 5 });", 1],
    ["fc.assert(fc.property(fc.nat(), check), { ...runs(), seed: 5 });", 1],
    ["const failure = fc.check(fc.property(fc.nat(), check));", 1],
    ["const found = fc.sample(fc.nat(), 150);", 1],
    ["const draw = fc.sample;", 1],
    ["fc.configureGlobal({ seed: 5 });", 1],
  ] as const,
)("lint_runs takes a property by its runs only: %j", (text, faults) => {
  const found = Deno.lint.runPlugin(plugin, "some_test.ts", IMPORT + text);
  equal(found.length, faults, JSON.stringify(found));
});

Deno.test("lint_runs knows fast-check by one name", () => {
  const find = (text: string) => Deno.lint.runPlugin(plugin, "some_test.ts", text).length;
  equal(find(IMPORT), 0);
  equal(find('import * as fc from "fast-check";'), 1);
  equal(find('import { assert } from "fast-check";'), 1);
  equal(find('import check from "fast-check";'), 1);
});
