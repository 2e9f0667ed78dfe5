import assert from "node:assert/strict";
import { IllegalCompactionCut, SelvageError } from "../../src/core/mod.ts";

Deno.test("SelvageError carries a code, fields and a cause", () => {
  const cause = new Error("why");
  const error = new SelvageError("some_code", "Cannot do it: found 1, wanted 2", {
    cause,
    fields: { found: 1 },
  });
  assert(error instanceof Error);
  assert.deepEqual([error.name, error.code, error.fields, error.cause], [
    "SelvageError",
    "some_code",
    { found: 1 },
    cause,
  ]);
  assert.equal("cause" in new SelvageError("c", "m"), false);
});

Deno.test.each([
  { before: 3, after: 6, wanted: "wanted 3 or 6" },
  { before: null, after: 0, wanted: "wanted 0" },
  { before: 0, after: null, wanted: "wanted 0" },
  { before: null, after: null, wanted: "no legal cut exists" },
])("IllegalCompactionCut says `$wanted`", ({ before, after, wanted }) => {
  const error = new IllegalCompactionCut(4, { before, after });
  assert(error instanceof SelvageError);
  assert.equal(error.name, "IllegalCompactionCut");
  assert.equal(error.code, "illegal_cut");
  assert.deepEqual(error.fields, { at: 4, nearest: { before, after } });
  assert(error.message.startsWith("Cannot cut the transcript at message 4"));
  assert(error.message.endsWith(wanted), error.message);
});
