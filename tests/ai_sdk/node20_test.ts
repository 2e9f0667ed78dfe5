/** What runs outside of Deno needs nothing of the language that came after Node 20. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { compactSteps } from "../../src/ai_sdk/mod.ts";
import { checkMessages, compactTranscript, readTranscript, repairTranscript } from "../../src/transcripts.ts";
import { formatOf, FORMATS } from "../property/_shapes.ts";
import { brokenOf } from "../property/_transcripts.ts";
import { runs } from "../support/runs.ts";
import { FakeLoop, faults, SMALL, summaryOf, TASK } from "./_loop.ts";

/** Where it would be found, and by which names. */
const LATER: readonly (readonly [object, readonly string[]])[] = [
  [Map, ["groupBy"]],
  [Object, ["groupBy"]],
  [Array, ["fromAsync"]],
  [Promise, ["withResolvers", "try"]],
  [RegExp, ["escape"]],
  [Error, ["isError"]],
  [Set.prototype, [
    "union",
    "intersection",
    "difference",
    "symmetricDifference",
    "isSubsetOf",
    "isSupersetOf",
    "isDisjointFrom",
  ]],
  [Object.getPrototypeOf(Object.getPrototypeOf([].values())), [
    "map",
    "filter",
    "take",
    "drop",
    "flatMap",
    "reduce",
    "toArray",
    "forEach",
    "some",
    "every",
    "find",
  ]],
  [Uint8Array, ["fromBase64", "fromHex"]],
  [Uint8Array.prototype, ["toBase64", "toHex", "setFromBase64", "setFromHex"]],
];

/** Does something in a language that is as it was in Node 20. */
async function without(work: () => void | Promise<void>): Promise<void> {
  const taken = LATER.flatMap(([owner, names]) =>
    names.flatMap((name) => {
      const found = Object.getOwnPropertyDescriptor(owner, name);
      return found === undefined ? [] : [{ owner, name, found }];
    })
  );
  for (const { owner, name } of taken) Reflect.deleteProperty(owner, name);
  try {
    await work();
  } finally {
    for (const { owner, name, found } of taken) Object.defineProperty(owner, name, found);
  }
}

Deno.test.each(FORMATS.map((shape) => ({ shape })))(
  "a transcript is repaired and compacted with what Node 20 has: $shape",
  async ({ shape }) => {
    const format = formatOf(shape);
    const samples = fc.sample(brokenOf(shape), runs(30));
    await without(() => {
      for (const { messages } of samples) {
        const repaired = repairTranscript(readTranscript(messages, { format })).messages;
        assert.deepEqual(checkMessages(readTranscript(repaired, { format })), []);
        compactTranscript(readTranscript(messages, { format }), { budget: 500 });
      }
    });
  },
);

Deno.test("compactSteps() needs nothing that Node 20 does not have", async () => {
  const loop = new FakeLoop(compactSteps(SMALL), { messages: [TASK], kind: "sends the whole history" });
  await without(() => loop.rounds(30));
  assert.ok(summaryOf(loop.sent.at(-1)!));
  assert.deepEqual(faults(loop.sent.at(-1)!), []);
});
