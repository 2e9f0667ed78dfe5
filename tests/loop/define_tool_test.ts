import assert from "node:assert/strict";
import * as z from "zod";
import { defineTool } from "../../src/loop/tools.ts";

Deno.test("defineTool() describes its input as a JSON Schema and names what is wrong with one", () => {
  const read = defineTool({
    name: "read_file",
    description: "Reads",
    input: z.object({ path: z.string(), lines: z.object({ from: z.number() }).optional() }),
    verbatimArgs: ["path"],
    timeoutMs: 5,
    execute: () => "x",
  });
  assert.deepEqual(read.inputSchema["required"], ["path"]);
  assert.deepEqual([read.verbatimArgs, read.timeoutMs], [["path"], 5]);
  assert.deepEqual(read.parse({ path: "a", more: 1 }), { ok: true, value: { path: "a" } });
  const bad = read.parse({ lines: { from: "1" } });
  assert.ok(!bad.ok);
  assert.match(bad.message, /path: .*; lines\.from: /);
  const worse = read.parse(7);
  assert.ok(!worse.ok);
  assert.match(worse.message, /^input: /);
});

Deno.test.each([[""], ["a b"], ["a.b"], ["x".repeat(65)], ["é"], ["a\n"]])(
  "defineTool() refuses the name %j",
  (name) => {
    const input = z.object({});
    assert.throws(() => defineTool({ name, description: "", input, execute: () => 1 }), {
      name: "TypeError",
      message: /^Cannot define the tool: found the name ".*", wanted/s,
    });
  },
);
