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

Deno.test.each([
  [
    "oneOf",
    z.discriminatedUnion("kind", [z.object({ kind: z.literal("a") }), z.object({ kind: z.literal("b") })]),
  ],
  ["anyOf", z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])],
  ["no type", z.any()],
  ["array", z.array(z.string())],
])("defineTool() refuses an input that is %s: every request with it would be refused", (found, input) => {
  const schema: z.ZodType = input;
  assert.throws(() => defineTool({ name: "get", description: "", input: schema, execute: () => 1 }), {
    name: "TypeError",
    message: new RegExp(
      `^Cannot define the tool get: found an input that is ${found} in JSON Schema, wanted an object`,
    ),
  });
});

Deno.test("defineTool() takes every input that is an object", () => {
  for (
    const input of [
      z.object({}),
      z.looseObject({}),
      z.record(z.string(), z.number()),
      z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })),
    ]
  ) {
    const schema: z.ZodType = input;
    const { inputSchema } = defineTool({ name: "get", description: "", input: schema, execute: () => 1 });
    assert.equal(inputSchema["type"], "object");
  }
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
