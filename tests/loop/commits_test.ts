/** How often a turn writes to its store, and what goes together. */
import assert from "node:assert/strict";
import { scripted } from "../../src/models/scripted.ts";
import { Bench, calls, modelOf, prose, replies, tool } from "../support/turns.ts";

for (const waitMs of [0, 400]) {
  Deno.test(`runTurn() makes two commits a step, and one for the answer and the end, where the model thinks for ${waitMs} ms`, async () => {
    const script = scripted({ script: replies(calls("read", {}, {}), calls("read", {}), { text: "Done." }) });
    const bench: Bench = new Bench({
      tools: [tool("read", () => "read")],
      model: modelOf(async function* (request, signal) {
        if (waitMs > 0) await bench.clock.sleep(waitMs, signal);
        yield* script.stream(request, signal);
      }),
    });
    const run = bench.run("Go");
    await bench.clock.advance(3 * waitMs);
    await run;
    const shapes = bench.commits.map(({ entries = [], events = [], release }) =>
      [
        ...entries.map(({ kind }) => kind),
        ...events.flatMap(({ type }) => type === "step.started" ? [type] : []),
        ...(release ? ["release"] : []),
      ].join(" ")
    );
    assert.deepEqual(shapes, [
      // A turn whose first answer takes its time tells other processes meanwhile that it has begun.
      ...(waitMs > 0 ? ["step.started", "assistant"] : ["assistant step.started"]),
      "result result step.started",
      "assistant",
      "result step.started",
      "assistant release",
    ]);
    await bench.assertSound();
  });
}

Deno.test("runTurn() makes at most three commits a step", async () => {
  const bench = new Bench({
    tools: [tool("read", ({ n }) => prose(2_000, Number(n)))],
    script: ({ messages }) => {
      const step = messages.filter(({ role }) => role === "assistant").length;
      return calls("read", ...Array.from({ length: 1 + step % 4 }, (_, n) => ({ n })));
    },
    window: 12_000,
    agent: { maxSteps: 20 },
  });
  let before = 0;
  const perStep: number[] = [];
  for await (const event of bench.start("Go")) {
    if (event.type !== "step.started" && event.type !== "turn.finished") continue;
    perStep.push(bench.commits.length - before);
    before = bench.commits.length;
  }
  await bench.assertSound();
  assert.ok(Math.max(...perStep.slice(1)) <= 3, perStep.join());
});
