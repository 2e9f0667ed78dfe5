/** Reasoning that a provider has signed, in loops that compactSteps() compacts: condition C6. */
import assert from "node:assert/strict";
import { compactSteps, type LoopMessage } from "../../src/ai_sdk/mod.ts";
import { FakeLoop, KINDS, round, SMALL, summaryOf, TASK } from "./_loop.ts";

const reasoning = (text: string) => ({
  type: "reasoning",
  text,
  providerOptions: { anthropic: { signature: `sig ${text}` } },
});

/** A round in which the model thought before it called. */
function thoughtful(n: number): LoopMessage[] {
  const [call, result] = round(n);
  return [{ ...call!, content: [reasoning(`thought ${n}`), ...(call!.content as object[])] }, result!];
}

/** Thoughts that are sent. */
function thoughtsIn(messages: readonly LoopMessage[]): readonly string[] {
  return [...JSON.stringify(messages).matchAll(/sig (thought \d+)/g)].map(([, thought]) => thought!);
}

Deno.test.each(KINDS)(
  "compactSteps() sends signed reasoning only behind the beginning it was made under, where the model wants that, in a loop that $kind",
  async ({ kind }) => {
    const model = { modelId: "claude-fable-5-1" };
    const loop = new FakeLoop(compactSteps(SMALL), { messages: [TASK], kind, model });
    for (let n = 0; n < 30; n++) await loop.step(thoughtful(n));
    const since = new Map<string, string | undefined>();
    for (const [n, sent] of loop.sent.entries()) {
      for (const thought of thoughtsIn(sent)) assert.equal(since.get(thought), summaryOf(sent), thought);
      since.set(`thought ${n}`, summaryOf(sent));
    }
    assert.ok(loop.sent.at(-1)!.length > 4 && thoughtsIn(loop.sent.at(-1)!).length > 0);
  },
);

Deno.test("compactSteps() keeps signed reasoning of the run in progress where the model does not bind it", async () => {
  const loop = new FakeLoop(compactSteps(SMALL), { messages: [TASK], kind: "keeps what was returned" });
  for (let n = 0; n < 30; n++) await loop.step(thoughtful(n));
  for (const sent of loop.sent.slice(1)) {
    const answers = sent.filter(({ role }) => role === "assistant").length;
    assert.equal(thoughtsIn(sent).length, answers);
  }
  await loop.step([{ role: "assistant", content: "All read." }]);
  loop.say("Go on.");
  const after = await loop.step([]);
  assert.ok(thoughtsIn(after).length < after.filter(({ role }) => role === "assistant").length - 1);
});
