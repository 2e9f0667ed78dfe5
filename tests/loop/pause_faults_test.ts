/** Paused turns whose processes die, and what comes due while they wait. */
import assert from "node:assert/strict";
import * as z from "zod";
import { defineTool } from "../../src/loop/tools.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import { anthropic } from "../../src/models/anthropic.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { startAnthropicDouble } from "../support/anthropic_double.ts";
import { startDouble } from "../support/openai_double.ts";
import {
  assertLog,
  Bench,
  endOf,
  eventsOf,
  KEY,
  prose,
  replies,
  tool,
  withCommit,
} from "../support/turns.ts";
import {
  ALL,
  answering,
  doomed,
  makeBench,
  makeTools,
  resume,
  type Runs,
  statuses,
  STEP,
} from "./_mortal.ts";

for (const commits of [0, 1]) {
  Deno.test(`a turn killed after ${commits} commits behind its input, before it could pause, pauses when it is taken over`, async () => {
    const { bench, dieAt, live } = makeBench();
    dieAt(commits);
    await doomed(bench, bench.start("Go"));
    live();
    const events = await resume(bench);
    const last = events.at(-1);
    assert.ok(last?.type === "turn.paused", `found ${last?.type}`);
    assert.deepEqual(last.pending.map(({ ref }) => ref), ["e1.1", "e1.2", "e1.3"]);
    assert.equal(endOf(await bench.answer(ALL)), "stop");
    assertLog((await bench.state()).entries);
  });
}

Deno.test("a process that dies before the answers are stored leaves the turn waiting for them", async () => {
  const { bench, runs, dieAt, live } = makeBench();
  await bench.run("Go");
  const before = await bench.state();
  dieAt(0);
  await doomed(bench, answering(bench, ALL));
  live();
  const { head, entries } = await bench.state();
  assert.deepEqual([entries, head.lease?.pause], [before.entries, before.head.lease?.pause]);
  await assert.rejects(resume(bench), { code: "turn_paused" });
  assert.equal(endOf(await bench.answer(ALL)), "stop");
  assert.deepEqual(runs, { some: [{ name: "some" }], none: [{ name: "none" }] });
  await bench.assertSound();
});

Deno.test("a process that dies behind the answers loses none: what may be run again is, without being asked for again", async () => {
  const { bench, runs, dieAt, live } = makeBench();
  await bench.run("Go");
  dieAt(1);
  await doomed(bench, answering(bench, ALL));
  live();
  assert.deepEqual(await statuses(bench), { "e1.0": "ok", "e1.1": "ok" });
  await assert.rejects(bench.answer(ALL), { code: "turn_not_paused" });
  const events = await resume(bench);
  assert.equal(endOf(events), "stop");
  // Told all the same: the process before had no time for it.
  assert.ok(eventsOf(events, "tool.result").some(({ ref }) => ref === "e1.1"));
  assert.deepEqual(await statuses(bench), { "e1.0": "ok", "e1.1": "ok", "e1.2": "aborted", "e1.3": "ok" });
  assert.equal(runs.some.length, 1);
  assertLog((await bench.state()).entries);
});

Deno.test("what the user says with answers outlives the process that took it, once, and behind the round", async () => {
  for (const end of ["resume", "abort"] as const) {
    for (const approved of [true, false]) {
      const { bench, dieAt, live } = makeBench();
      await bench.run("Go");
      const approvals = ["e1.2", "e1.3"].map((ref) => ({ ref, approved }));
      dieAt(1);
      await doomed(bench, answering(bench, { ...ALL, approvals, input: "And be quick" }));
      live();
      const events = end === "resume"
        ? await resume(bench)
        : (await bench.run("Next"), (await bench.store.events(KEY, "t0", 0))?.events as TurnEvent[]);
      assert.deepEqual(eventsOf(events, "user.message").map(({ ref, input }) => [ref, input]), [
        ["e6", "And be quick"],
      ]);
      const { entries } = await bench.assertSound();
      assert.deepEqual(entries.slice(1, 7).map(({ kind }) => kind), [
        "assistant",
        "result",
        "result",
        "result",
        "result",
        "user",
      ]);
      assert.equal(entries.filter(({ kind }) => kind === "user").length, end === "resume" ? 2 : 3);
    }
  }
});

Deno.test("a store that fails while answers are taken in refuses them, and the turn waits on", async () => {
  let isDown = false;
  const runs: Runs = { some: [], none: [] };
  const bench = new Bench({
    script: replies(STEP),
    tools: makeTools(runs),
    wrap: (store) =>
      withCommit(
        store,
        (key, lease, commit) =>
          isDown && commit.entries !== undefined
            ? Promise.reject(new Error("disk full"))
            : store.commit(key, lease, commit),
      ),
  });
  await bench.run("Go");
  isDown = true;
  await assert.rejects(bench.answer(ALL), { message: "disk full" });
  isDown = false;
  assert.deepEqual(await statuses(bench), { "e1.0": "ok" });
  assert.equal(endOf(await bench.answer(ALL)), "stop");
  await bench.assertSound();
});

Deno.test("a compaction that comes due while calls wait defers with open_call, and runs when the answer is in", async () => {
  let at = 0;
  const read = tool("read", () => prose(6_000, at++));
  const locate = defineTool({ name: "locate", description: "Asks the client", input: z.looseObject({}) });
  const step = { calls: [{ name: "read", input: {} }, { name: "locate", input: {} }] };
  const bench = new Bench({
    script: replies({ calls: [{ name: "read", input: {} }] }, step),
    window: 9_000,
    tools: [read, locate],
    agent: { recall: false, compaction: { compactAt: 0.3, compactTo: 0.15 } },
  });
  const before = await bench.run(prose(1_500, 90));
  const told = eventsOf(before, "compaction").map(({ phase, reason }) => `${phase} ${reason}`);
  assert.equal(before.at(-1)?.type, "turn.paused");
  assert.ok(told.includes("deferred open_call"), told.join("\n"));
  const { head } = await bench.state();
  assert.equal(head.flag?.reason, "open_call");
  const after = await bench.answer({ results: [{ ref: "e3.1", output: "here" }] });
  assert.equal(endOf(after), "stop");
  const applied = eventsOf(after, "compaction").filter(({ phase }) => phase === "applied");
  assert.equal(applied.length, 1);
  assert.notEqual(applied[0]?.resolved, undefined);
  // No cut passes what waits: the pair is whole in the next request.
  assert.equal((await bench.assertSound()).head.flag, undefined);
});

for (
  const [dialect, start] of [
    ["openai-chat", (script: Parameters<typeof startDouble>[0]["script"]) => {
      const double = startDouble({ script });
      return {
        double,
        model: openaiChat({ model: "m", apiKey: "k", baseURL: double.url, window: 20_000, maxOutput: 500 }),
      };
    }],
    ["anthropic", (script: Parameters<typeof startDouble>[0]["script"]) => {
      const double = startAnthropicDouble({ script });
      return {
        double,
        model: anthropic({ model: "m", apiKey: "k", baseURL: double.url, window: 20_000, maxOutput: 500 }),
      };
    }],
  ] as const
) {
  Deno.test(`a turn that was paused renders validly in ${dialect}: results, refusals, pictures, tools of the client`, async () => {
    const { double, model } = start(replies(STEP, { calls: [{ name: "alert", input: {} }] }));
    await using _ = double;
    const bench = new Bench({ model, tools: makeTools({ some: [], none: [] }) });
    const clientTools = [{
      name: "alert",
      description: "Shows it",
      inputSchema: { type: "object", properties: {} },
    }];
    await bench.run("Go", { clientTools });
    const picture = [{ type: "text", text: "This" }, {
      type: "file",
      mediaType: "image/png",
      data:
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    }];
    await bench.answer({ results: [{ ref: "e1.1", output: picture }] });
    await bench.answer({
      approvals: [{ ref: "e1.2", approved: true }, { ref: "e1.3", approved: false, reason: "not now" }],
    });
    assert.equal(
      endOf(await bench.answer({ results: [{ ref: "e6.0", error: "no screen" }], input: "Go on" })),
      "stop",
    );
    assert.equal(endOf(await bench.run("Next")), "stop");
    assert.deepEqual(double.violations, []);
    const last = JSON.stringify(double.requests.at(-1));
    assert.match(last, /did not allow the call: not now/);
    // The Chat Completions protocol has no pictures in results; a note stands for them.
    assert.match(last, dialect === "anthropic" ? /iVBORw0KGgo/ : /This.*image\/png/);
    await bench.assertSound();
  });
}
