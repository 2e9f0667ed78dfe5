// In a file of its own: what one test loads stays loaded for all others of its file.
import assert from "node:assert/strict";
import { isLoaded } from "../../src/tokens/counter.ts";
import { Bench, calls, endOf, replies, tool } from "../support/turns.ts";

Deno.test("runTurn() does not load the tokenizer for a short turn", async () => {
  const bench = new Bench({
    tools: [tool("read", ({ n }) => `Line ${n}.\n`.repeat(40))],
    script: replies(calls("read", { n: 1 }, { n: 2 }), calls("read", { n: 3 }), { text: "Read." }),
    window: 32_000,
  });
  assert.equal(endOf(await bench.run("Read three files.")), "stop");
  assert.equal(endOf(await bench.run("Thanks.")), "stop");
  assert.equal(isLoaded("o200k_base"), false);
  assert.equal(isLoaded("cl100k_base"), false);
});
