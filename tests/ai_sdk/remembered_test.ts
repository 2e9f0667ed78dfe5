/** What compactSteps() finds again: views that another process has made, or that hold for a beginning alone. */
import assert from "node:assert/strict";
import { compactSteps, type CompactStepsEvent } from "../../src/ai_sdk/mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { FakeLoop, faults, round, said, SMALL, summaryOf, TASK } from "./_loop.ts";

Deno.test("compactSteps() finds the view of another process in the store", async () => {
  const store = memoryStore();
  const loop = new FakeLoop(compactSteps({ ...SMALL, store }), {
    messages: [TASK],
    kind: "sends the whole history",
  });
  await loop.rounds(40);
  const here = await loop.step([]);
  const messages = structuredClone(loop.messages);
  const events: CompactStepsEvent[] = [];
  const onEvent = (event: CompactStepsEvent): void => void events.push(event);
  const other = await compactSteps({ ...SMALL, store, onEvent })({ messages });
  assert.deepEqual(other?.messages, here);
  assert.deepEqual(events.filter(({ type }) => type === "compaction"), [], "nothing is summarised twice");
  const stranger = await compactSteps({ ...SMALL, store, owner: { tenant: "other" } })({ messages });
  assert.notDeepEqual(stranger?.messages, here);
  assert.deepEqual(faults(stranger?.messages ?? []), []);
});

Deno.test("compactSteps() has one view where two processes compact the same history at once", async () => {
  const store = memoryStore();
  const messages = [TASK, ...Array.from({ length: 20 }, (_, n) => round(n)).flat()];
  const steps = await Promise.all(
    [0.35, 0.45, 0.25].map((compactTo) =>
      compactSteps({ ...SMALL, store, compactTo })({ messages: structuredClone(messages) })
    ),
  );
  assert.ok(steps[0]);
  assert.deepEqual(steps[1], steps[0]);
  assert.deepEqual(steps[2], steps[0]);
});

Deno.test("compactSteps() goes back to an earlier view where the history is another from some message on", async () => {
  const prepareStep = compactSteps(SMALL);
  const loop = new FakeLoop(prepareStep, { messages: [TASK], kind: "sends the whole history" });
  await loop.rounds(40);
  const at = loop.sent.findIndex((sent) => summaryOf(sent) !== undefined) + 2;
  const forked = [...loop.messages.slice(0, 1 + 2 * at), said("Something else, please.")];
  const step = await prepareStep({ messages: forked });
  assert.deepEqual(step?.messages.slice(0, -1), loop.sent[at]);
});

Deno.test("compactSteps() keeps the ledger of a loop that another process has followed", async () => {
  const loop = new FakeLoop(compactSteps(SMALL), { messages: [TASK], kind: "keeps what was returned" });
  await loop.rounds(30);
  const ledger = summaryOf(loop.sent.at(-1)!)!;
  const next = new FakeLoop(compactSteps(SMALL), {
    messages: structuredClone(loop.messages),
    kind: "keeps what was returned",
  });
  for (let n = 0; n < 30; n++) await next.step(round(100 + n));
  for (const sent of next.sent) assert.ok(sent.some(({ content }) => content === ledger));
  assert.notEqual(summaryOf(next.sent.at(-1)!), ledger);
});

Deno.test("compactSteps() goes on in memory where the store fails, and says so", async () => {
  const events: CompactStepsEvent[] = [];
  const store = { claim: () => Promise.reject(new Error("no disk")) };
  const prepareStep = compactSteps({ ...SMALL, store, onEvent: (event) => events.push(event) });
  const messages = [TASK, ...Array.from({ length: 20 }, (_, n) => round(n)).flat()];
  const step = await prepareStep({ messages });
  assert.ok(summaryOf(step?.messages ?? []));
  assert.deepEqual(await prepareStep({ messages }), step);
  const errors = events.filter(({ type }) => type === "error");
  assert.ok(
    errors.length > 0 && errors.every((event) => event.type === "error" && event.code === "store_failed"),
  );
});
