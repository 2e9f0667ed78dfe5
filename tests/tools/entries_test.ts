/** Which test files share an isolate. */
import { deepEqual } from "node:assert/strict";
import { ENTRIES, planEntries } from "../../tools/_entries.ts";

Deno.test("planEntries() names every file once: in the entry of its folder, or alone", () => {
  const { texts, alone } = planEntries(
    new Map([
      ["tests/loop/b_test.ts", "Deno.test.each([])"],
      ["tests/loop/a_test.ts", "Deno.test()"],
      ["tests/http/a_test.ts", "beforeAll"],
      ["tests/http/encode/a_test.ts", ""],
      ["tests/version_test.ts", ""],
      ["tests/loop/snap_test.ts", "await t.assertSnapshot(events);"],
      ["tests/loop/lazy_test.ts", "equal(isLoaded(name), false);"],
      ["tests/loop/hook_test.ts", "Deno.test.beforeAll(() => {});"],
      ["tests/loop/work_test.ts", "await processorMs(run);"],
    ]),
  );
  deepEqual(Object.fromEntries(texts), {
    [`${ENTRIES}/http_test.ts`]: 'import "../tests/http/a_test.ts";\n',
    [`${ENTRIES}/http_encode_test.ts`]: 'import "../tests/http/encode/a_test.ts";\n',
    [`${ENTRIES}/loop_test.ts`]: 'import "../tests/loop/a_test.ts";\nimport "../tests/loop/b_test.ts";\n',
  });
  deepEqual(alone, [
    "tests/loop/hook_test.ts",
    "tests/loop/lazy_test.ts",
    "tests/loop/snap_test.ts",
    "tests/loop/work_test.ts",
    "tests/version_test.ts",
  ]);
});
