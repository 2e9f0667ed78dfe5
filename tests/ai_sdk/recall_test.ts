import assert from "node:assert/strict";
import { compactSteps, type LoopMessage } from "../../src/ai_sdk/mod.ts";
import type { ModelRequest } from "../../src/ports.ts";
import { startDouble } from "../support/openai_double.ts";
import { prose } from "../support/turns.ts";
import { callPart, FakeLoop, KINDS, resultPart, round, SMALL, summaryOf, TASK } from "./_loop.ts";
import { toolSet, VERSIONS } from "./_versions.ts";

const RECALLING = { ...SMALL, recall: true } as const;

Deno.test.each(KINDS)(
  "recall reads what compactSteps() has taken from a loop that $kind",
  async ({ kind }) => {
    const prepareStep = compactSteps(RECALLING);
    const loop = new FakeLoop(prepareStep, { messages: [TASK], kind });
    await loop.rounds(30);
    const sent = await loop.step([]);
    assert.match(summaryOf(sent)!, /The tool recall shows the originals/);
    // A tool is given what the step started with, or what was sent: versions differ.
    for (const messages of [loop.messages, sent]) {
      const text = await prepareStep.recall.execute({ ref: "e1.0" }, { messages });
      assert.match(text, /src\/c0_0\.ts[\s\S]*word 10 of the text/);
      const found = await prepareStep.recall.execute({ search: "src/c3_0.ts" }, { messages });
      assert.match(found, /e7/);
    }
    await assert.rejects(
      prepareStep.recall.execute({ ref: "e9999" }, { messages: sent }),
      /found nothing at e9999/,
    );
  },
);

Deno.test("recall reads the whole of a result that was shortened", async () => {
  const prepareStep = compactSteps(RECALLING);
  const loop = new FakeLoop(prepareStep, { messages: [TASK], kind: "keeps what was returned" });
  await loop.step([
    { role: "assistant", content: [callPart("big")] },
    { role: "tool", content: [resultPart("big", prose(40_000))] },
  ]);
  const sent = await loop.step([]);
  assert.match(JSON.stringify(sent), /the whole result is entry e1\.0\]/);
  const page = await prepareStep.recall.execute({ ref: "e1.0", offset: 30_000, limit: 500 }, {
    messages: sent,
  });
  assert.match(page, /characters 30000 to 30500/);
});

Deno.test("recall reads a history that no loop was followed on", async () => {
  const messages: LoopMessage[] = [TASK, ...round(0)];
  const text = await compactSteps(RECALLING).recall.execute({ ref: "e0" }, { messages });
  assert.match(text, /The task: read all of it\./);
});

Deno.test.each([...VERSIONS])(
  "recall is a tool of version $version like any other",
  async ({ ai: load, openai }) => {
    let step = 0;
    const seen: ModelRequest[] = [];
    await using double = startDouble({
      script(request) {
        seen.push(request);
        if (++step <= 25) return { calls: [{ name: "read", input: { n: step } }] };
        return step === 26 ? { calls: [{ name: "recall", input: { ref: "e1.0" } }] } : { text: "Done." };
      },
    });
    const ai = await load();
    const prepareStep = compactSteps({ ...RECALLING, maxOutput: 1_000 });
    const read = {
      name: "read",
      description: "Reads",
      inputSchema: { type: "object", properties: { n: { type: "number" } } },
      verbatimArgs: [],
      parse: (value: unknown) => ({ ok: true as const, value }),
      execute: (input: unknown) => prose(1_500, (input as { readonly n: number }).n),
    };
    const { text } = await ai.generateText({
      model: await openai(double.url),
      tools: { ...toolSet(ai, [read]), recall: prepareStep.recall },
      prompt: "The task: read all of it.",
      stopWhen: ai.stepCountIs(100),
      prepareStep,
    });
    assert.equal(text, "Done.");
    assert.deepEqual(double.violations, []);
    const last = JSON.stringify(seen.at(-1)?.messages.at(-1));
    assert.match(last, /word 1000 of the text/);
  },
);
