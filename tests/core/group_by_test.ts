import { deepEqual } from "node:assert/strict";
import fc from "fast-check";
import { groupBy } from "../../src/core/group_by.ts";
import { runs } from "../support/runs.ts";

Deno.test("groupBy() makes what Map.groupBy() makes", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), (items) => {
      const keyOf = (item: number) => item % 5;
      deepEqual([...groupBy(items, keyOf)], [...Map.groupBy(items, keyOf)]);
    }),
    runs(),
  );
});
