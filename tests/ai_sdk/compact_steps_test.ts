import assert from "node:assert/strict";
import fc from "fast-check";
import { compactSteps, type CompactStepsEvent, type LoopMessage } from "../../src/ai_sdk/mod.ts";
import { importMessages } from "../../src/compaction/import.ts";
import { measureOutput } from "../../src/tokens/measure.ts";
import { loadMeasure } from "../../src/loop/measures.ts";
import { brokenOf } from "../property/_transcripts.ts";
import { runs } from "../support/runs.ts";
import { prose } from "../support/turns.ts";
import {
  callPart,
  FakeLoop,
  faults,
  type Kind,
  KINDS,
  resultPart,
  round,
  said,
  SMALL,
  summaryOf,
  TASK,
} from "./_loop.ts";

const KEEPS: Kind = "keeps what was returned";
const WHOLE: Kind = "sends the whole history";

const measure = await loadMeasure();

/** Tokens of messages, as the engine counts them. */
function tokensOf(messages: readonly LoopMessage[]): number {
  return importMessages(messages).entries.reduce((sum, entry) => {
    if (entry.kind === "result") return sum + measureOutput(entry.output, measure);
    return sum + measure(JSON.stringify(entry.message.content));
  }, 0);
}

Deno.test.each(KINDS)(
  "compactSteps() keeps a loop that $kind inside its window, task first",
  async ({ kind }) => {
    const loop = new FakeLoop(compactSteps(SMALL), { messages: [TASK], kind });
    await loop.rounds(60);
    for (const sent of loop.sent) {
      assert.ok(tokensOf(sent) < 5_900, `found ${tokensOf(sent)} tokens`);
      assert.ok(sent.some(({ content }) => content === TASK.content));
    }
    assert.ok(new Set(loop.sent.map(summaryOf)).size >= 5, "there were few compactions");
  },
);

Deno.test("compactSteps() sends the same, however the loop goes on", async () => {
  const [a, b] = KINDS.map(({ kind }) => new FakeLoop(compactSteps(SMALL), { messages: [TASK], kind }));
  for (const loop of [a!, b!]) {
    await loop.rounds(30, { count: 2, length: 700 });
    await loop.step([{ role: "assistant", content: "All read." }]);
    loop.say("And once more.");
    await loop.rounds(20);
  }
  assert.deepEqual(a!.sent, b!.sent);
});

Deno.test("compactSteps() leaves the head of what it sends as it is, byte for byte, until it compacts again", async () => {
  const loop = new FakeLoop(compactSteps(SMALL), { messages: [TASK], kind: WHOLE });
  await loop.rounds(50, { count: 2, length: 900 });
  let changes = 0;
  for (const [at, sent] of loop.sent.slice(1).entries()) {
    const before = loop.sent[at]!;
    const isSame = JSON.stringify(sent.slice(0, before.length)) === JSON.stringify(before);
    if (!isSame) changes++;
    assert.equal(isSame, summaryOf(sent) === summaryOf(before));
  }
  assert.ok(changes >= 5 && changes < 20, `found ${changes} changes in 50 steps`);
});

Deno.test("compactSteps() gives copies of the same history the same messages", async () => {
  const [one, two] = [compactSteps(SMALL), compactSteps(SMALL)];
  let messages = [TASK];
  for (let n = 0; n < 30; n++) {
    const a = await one({ messages });
    const b = await two({ messages: structuredClone(messages) });
    assert.deepEqual(b, a);
    messages = [...messages, ...round(n)];
  }
  assert.notEqual(await one({ messages }), undefined);
});

Deno.test("compactSteps() returns nothing where nothing has to change", async () => {
  const prepareStep = compactSteps(SMALL);
  assert.equal(await prepareStep({ messages: [TASK] }), undefined);
  assert.equal(await prepareStep({ messages: [TASK, ...round(0)] }), undefined);
  assert.equal(await prepareStep({ messages: [] }), undefined);
});

Deno.test("compactSteps() keeps the caller's own objects where they are shown whole", async () => {
  const image = { role: "user", content: [{ type: "image", image: new Uint8Array([137, 80, 78, 71]) }] };
  const rules = { role: "system", content: "Be brief." };
  const messages = [rules, image, ...Array.from({ length: 20 }, (_, n) => round(n)).flat()];
  const step = await compactSteps({ ...SMALL, window: 16_000 })({ messages });
  assert.ok(step && step.messages.length < messages.length);
  assert.equal(step.messages[0], rules);
  assert.ok(summaryOf([step.messages[1]!]));
  assert.equal(step.messages[2], image);
  const shortened = step.messages.filter(({ content }) =>
    JSON.stringify(content).includes("are left out here")
  );
  const whole = step.messages.slice(3).filter((message) => !shortened.includes(message));
  assert.ok(whole.length > 5 && whole.every((message) => messages.includes(message as typeof rules)));
});

Deno.test("compactSteps() keeps loops apart that begin alike", async () => {
  const prepareStep = compactSteps(SMALL);
  const loops = [100, 200].map((seed) => ({
    seed,
    loop: new FakeLoop(prepareStep, { messages: [TASK], kind: KEEPS }),
  }));
  for (let n = 0; n < 30; n++) {
    await Promise.all(loops.map(({ loop, seed }) => loop.step(round(seed + n))));
  }
  for (const { loop, seed } of loops) {
    const own = summaryOf(loop.sent.at(-1)!)!;
    const ids = JSON.stringify(loop.sent) + own;
    assert.ok(ids.includes(`src/c${seed}_0.ts`));
    assert.ok(!ids.includes(`src/c${seed === 100 ? 200 : 100}_0.ts`));
  }
});

Deno.test("compactSteps() mends any history, and sends nothing that breaks a pair", async () => {
  await fc.assert(
    fc.asyncProperty(brokenOf("ai-sdk"), fc.integer({ min: 2_000, max: 12_000 }), async (sample, window) => {
      const messages = sample.messages as unknown as LoopMessage[];
      // Calls at the very end are the loop's own to answer.
      const step = await compactSteps({ window, fixed: 0 })({ messages }).catch((error) => {
        assert.equal(error.code, "context_exhausted");
        return undefined;
      });
      if (step !== undefined) assert.deepEqual(faults(step.messages), []);
    }),
    runs(60),
  );
});

Deno.test("compactSteps() answers what an aborted loop has left open, before the user's next message", async () => {
  const messages = [
    TASK,
    { role: "assistant", content: [callPart("a"), callPart("b")] },
    { role: "tool", content: [resultPart("b", "read")] },
    said("Go on."),
  ];
  const step = await compactSteps(SMALL)({ messages });
  assert.deepEqual(faults(step?.messages ?? []), []);
  assert.match(JSON.stringify(step?.messages[2]), /Aborted: the call did not finish/);
  assert.equal(step?.messages.at(-1), messages.at(-1));
});

Deno.test.each(KINDS)(
  "compactSteps() shortens a result that no window holds, in a loop that $kind",
  async ({ kind }) => {
    const loop = new FakeLoop(compactSteps(SMALL), { messages: [TASK], kind });
    await loop.rounds(2);
    await loop.step([
      { role: "assistant", content: [callPart("big"), callPart("small")] },
      { role: "tool", content: [resultPart("big", prose(400_000)), resultPart("small", "read")] },
    ]);
    await loop.rounds(2);
    const [shown, later] = loop.sent.slice(-2).map((sent) =>
      sent.find(({ content }) => JSON.stringify(content).includes("characters are left out"))
    );
    assert.match(JSON.stringify(shown), /the whole result is entry e\d+\.0\]/);
    assert.deepEqual(later, shown);
    assert.ok(loop.sent.every((sent) => tokensOf(sent) < 5_900));
  },
);

Deno.test("compactSteps() ends the loop with context_exhausted where nothing makes it small enough", async () => {
  const messages = [said(prose(60_000))];
  const events: CompactStepsEvent[] = [];
  const prepareStep = compactSteps({ ...SMALL, onEvent: (event) => events.push(event) });
  await assert.rejects(prepareStep({ messages }), {
    code: "context_exhausted",
    message: /over 5888 of 8000 tokens/,
  });
  assert.deepEqual(events.findLast(({ type }) => type === "compaction")?.type, "compaction");
  // The same instance goes on with another loop.
  assert.equal(await prepareStep({ messages: [TASK] }), undefined);
});

Deno.test("compactSteps() believes a bill over its own count, and none that cannot be", async () => {
  const events: CompactStepsEvent[] = [];
  const prepareStep = compactSteps({ ...SMALL, onEvent: (event) => events.push(event) });
  const loop = new FakeLoop(prepareStep, { messages: [TASK], kind: WHOLE });
  const readings = (): readonly number[] =>
    events.splice(0).flatMap((event) => event.type === "context" ? [event.tokens] : []);
  await loop.step(round(0, { length: 300 }), { inputTokens: 3_000, outputTokens: 50 });
  readings();
  await loop.step(round(1, { length: 300 }), { inputTokens: 9_000_000, outputTokens: 50 });
  assert.ok(Math.min(...readings()) >= 3_050);
  await loop.step(round(2, { length: 300 }), {});
  assert.ok(Math.max(...readings()) < 2_000, "what no request can have is not believed");
});

Deno.test("compactSteps() learns from the first bill what is sent beside the messages", async () => {
  const events: CompactStepsEvent[] = [];
  const { fixed: _, ...rest } = SMALL;
  const prepareStep = compactSteps({ ...rest, onEvent: (event) => events.push(event) });
  const loop = new FakeLoop(prepareStep, { messages: [TASK], kind: WHOLE, model: { modelId: "m" } });
  await loop.step(round(0), { inputTokens: 2_020, outputTokens: 20 });
  await loop.step(round(1));
  const thresholds = events.flatMap((event) => event.type === "context" ? [event.compactAt] : []);
  assert.equal(thresholds[0], 4_160);
  // 2,000 are fixed: 0.65 of the other 4,400, and these.
  assert.ok(Math.abs(thresholds.at(-1)! - 4_860) < 30, `found ${thresholds.at(-1)}`);
});

Deno.test("compactSteps() keeps what is pinned, and the task of the run, whatever goes", async () => {
  const note = said("Never touch config.ts.");
  const prepareStep = compactSteps({ ...SMALL, pin: ({ content }) => content === note.content });
  const loop = new FakeLoop(prepareStep, { messages: [note], kind: KEEPS });
  await loop.rounds(20);
  loop.say("Now the tests.");
  await loop.rounds(30);
  const texts = loop.sent.at(-1)!.map(({ content }) => content);
  assert.ok(texts.includes(note.content) && texts.includes("Now the tests."));
});

Deno.test("compactSteps() keeps system text in front, and takes later system text into the ledger", async () => {
  const rules = { role: "system", content: "Be brief." };
  const later = { role: "system", content: "From now on in French." };
  const messages = [
    rules,
    TASK,
    ...round(0),
    later,
    ...Array.from({ length: 20 }, (_, n) => round(n + 1)).flat(),
  ];
  const step = await compactSteps(SMALL)({ messages });
  assert.equal(step?.messages[0], rules);
  assert.equal(step?.messages.filter(({ role }) => role === "system").length, 1);
  assert.match(summaryOf(step!.messages)!, /user: "From now on in French\."/);
});

Deno.test("compactSteps() keeps approvals with the call that they are about", async () => {
  const asked = [
    {
      role: "assistant",
      content: [callPart("a"), { type: "tool-approval-request", approvalId: "p", toolCallId: "a" }],
    },
    { role: "tool", content: [{ type: "tool-approval-response", approvalId: "p", approved: true }] },
    { role: "tool", content: [resultPart("a", "deleted")] },
  ];
  const old = [TASK, ...asked, ...Array.from({ length: 20 }, (_, n) => round(n)).flat()];
  const gone = await compactSteps(SMALL)({ messages: old });
  assert.ok(gone && !JSON.stringify(gone.messages).includes("approval"));
  assert.deepEqual(faults(gone.messages), []);
  const recent = [TASK, ...Array.from({ length: 20 }, (_, n) => round(n)).flat(), ...asked];
  const kept = await compactSteps(SMALL)({ messages: recent });
  assert.deepEqual(kept?.messages.slice(-3), asked);
});

Deno.test("compactSteps() refuses what it cannot work with when it is made", () => {
  assert.throws(() => compactSteps({ window: 500 }), { code: "bad_budget" });
  assert.throws(() => compactSteps({ window: 8_000, compactAt: 0.2 }), { code: "bad_budget" });
  assert.throws(() => compactSteps({ window: 8_000, summarize: "gpt-5" as never }), TypeError);
});
