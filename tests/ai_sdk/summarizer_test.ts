import assert from "node:assert/strict";
import { compactSteps, type CompactStepsEvent, type Summarize } from "../../src/ai_sdk/mod.ts";
import { ManualClock } from "../support/clock.ts";
import { FakeLoop, SMALL, summaryOf, TASK } from "./_loop.ts";

/** Lets what waits behind promises come to its turn. */
async function settle(): Promise<void> {
  for (let n = 0; n < 50; n++) await Promise.resolve();
}

/** Runs steps with a summarizer; gives what was sent and what became of each compaction. */
async function run(summarize: Summarize, { steps = 30, graceMs = 0 } = {}) {
  const events: CompactStepsEvent[] = [];
  const clock = new ManualClock();
  const prepareStep = compactSteps({
    ...SMALL,
    clock,
    summarize,
    graceMs,
    onEvent: (event) => events.push(event),
  });
  const loop = new FakeLoop(prepareStep, { messages: [TASK], kind: "keeps what was returned" });
  for (let n = 0; n < steps; n++) {
    await loop.rounds(1);
    await settle();
  }
  const compactions = events.flatMap((event) => event.type === "compaction" ? [event] : []);
  return { sent: loop.sent, compactions };
}

const answers: readonly { readonly what: string; readonly answer: string }[] = [
  { what: "plain text", answer: "All files were read; nothing is broken." },
  { what: "the JSON that is asked for", answer: '{"narrative":"All files were read; nothing is broken."}' },
];

Deno.test.each(answers)(
  "compactSteps() takes $what from a function beside the ledger",
  async ({ answer }) => {
    const asked: (Parameters<Summarize>[0] & { readonly isLate: boolean })[] = [];
    const { sent, compactions } = await run((request) => {
      asked.push({ ...request, isLate: request.abortSignal.aborted });
      return Promise.resolve(answer);
    });
    assert.match(
      summaryOf(sent.at(-1)!)!,
      /check [0-9a-f]{8}\]\n\n\[notes by a model [^\n]*\n\| All files were read; nothing is broken\.$/,
    );
    const applied = compactions.filter(({ phase }) => phase === "applied");
    assert.ok(applied.length > 1 && applied.every(({ summary }) => summary === "ledger+prose"));
    assert.match(asked[0]!.prompt, /"ref":"e1"/);
    assert.match(asked[0]!.system, /follow no instruction/);
    assert.ok(asked.every(({ maxOutputTokens, isLate }) => maxOutputTokens > 0 && !isLate));
  },
);

const failures: readonly { readonly what: string; readonly summarize: Summarize; readonly code: string }[] = [
  { what: "throws", summarize: () => Promise.reject(new Error("no")), code: "summary_failed" },
  { what: "answers nothing", summarize: () => " ", code: "summary_blank" },
  { what: "does not stop", summarize: () => "word ".repeat(5_000), code: "summary_too_long" },
];

Deno.test.each(failures)(
  "compactSteps() has the ledger alone where the summarizer $what",
  async ({ summarize, code }) => {
    const { sent, compactions } = await run(summarize);
    assert.match(summaryOf(sent.at(-1)!)!, /check [0-9a-f]{8}\]$/);
    const applied = compactions.filter(({ phase }) => phase === "applied");
    assert.ok(applied.length > 1);
    assert.deepEqual([...new Set(applied.map(({ summaryFailure }) => summaryFailure))], [code]);
  },
);

Deno.test("compactSteps() waits for no summarizer while the model can be called", async () => {
  const { sent, compactions } = await run(() => new Promise(() => {}), { steps: 12, graceMs: 5_000 });
  assert.equal(sent.length, 12);
  assert.deepEqual(compactions.map(({ phase }) => phase), ["started"]);
});

Deno.test("compactSteps() goes on with the ledger where the summarizer is late and the model cannot be called", async () => {
  const aborted: boolean[] = [];
  const { sent, compactions } = await run(({ abortSignal }) => {
    abortSignal.addEventListener("abort", () => aborted.push(true));
    return new Promise(() => {});
  });
  assert.equal(sent.length, 30);
  const failures = compactions.filter(({ phase }) => phase === "applied").map(({ summaryFailure }) =>
    summaryFailure
  );
  assert.ok(failures.length > 0 && failures.every((code) => code === "summary_late"));
  assert.equal(aborted.length, failures.length);
});

Deno.test("compactSteps() takes a model of the AI SDK as its summarizer", async () => {
  const prompts: string[] = [];
  const parts = [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: '{"narrative":"Read, all of it."}' },
    { type: "text-end", id: "t" },
    { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: {} },
  ];
  const model = {
    specificationVersion: "v3",
    provider: "p",
    modelId: "m",
    doStream: ({ prompt }: { readonly prompt: readonly object[] }) => {
      prompts.push(JSON.stringify(prompt));
      return Promise.resolve({ stream: ReadableStream.from(parts) });
    },
  };
  const events: CompactStepsEvent[] = [];
  const prepareStep = compactSteps({
    ...SMALL,
    clock: new ManualClock(),
    summarize: model,
    onEvent: (event) => events.push(event),
  });
  const loop = new FakeLoop(prepareStep, { messages: [TASK], kind: "sends the whole history" });
  for (let n = 0; n < 30; n++) {
    await loop.rounds(1);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  assert.match(summaryOf(loop.sent.at(-1)!)!, /\n\| Read, all of it\.$/);
  assert.match(prompts[0]!, /src\/c0_0\.ts/);
});
