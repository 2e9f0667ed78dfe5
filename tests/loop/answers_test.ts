/** Answers to turns that wait: what is taken, in which order, and what is refused. */
import assert from "node:assert/strict";
import * as z from "zod";
import type { AnswerRequest } from "../../src/loop/agent.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { assertLog, Bench, calls, endOf, eventsOf, prose, replies, tool } from "../support/turns.ts";
import { clientTool, guarded, resultsOf } from "./_pause.ts";

Deno.test("answerTurn() refuses what does not fit, and stores nothing of it", async () => {
  const bench = new Bench({
    script: replies({
      calls: [{ name: "locate", input: { n: 1 } }, { name: "send", input: {} }, { name: "read", input: {} }],
    }),
    tools: [clientTool("locate"), guarded("send", []), tool("read", () => "")],
  });
  await assert.rejects(bench.answer({ results: [{ ref: "e1.0", output: 1 }] }), { code: "turn_not_paused" });
  await bench.run("Go");
  const before = await bench.state();
  const fits = { ref: "e1.0", output: "here" };
  const cases = [
    ["bad_request", {}],
    ["bad_request", { results: [fits, fits] }],
    ["call_not_found", { results: [fits, { ref: "e9.0", output: 1 }] }],
    ["call_not_found", { results: [fits, { ref: "e1.3", output: 1 }] }],
    ["call_not_found", { results: [fits, { ref: "nonsense", output: 1 }] }],
    ["call_not_pending", { results: [fits, { ref: "e1.2", output: 1 }] }],
    ["call_not_pending", { results: [fits, { ref: "e1.1", output: 1 }] }],
    ["call_not_pending", { results: [fits], approvals: [{ ref: "e1.0", approved: true }] }],
    ["call_not_pending", { approvals: [{ ref: "e1.0", approved: true }] }],
    ["bad_request", { results: [{ ref: "e1.0", output: 5n }] }],
  ] as const;
  for (const [code, answers] of cases) {
    const expected = code === "call_not_pending" && "approvals" in answers && "results" in answers
      ? "bad_request"
      : code;
    await assert.rejects(
      bench.answer(answers),
      { code: expected },
      JSON.stringify(answers, (_, value) => typeof value === "bigint" ? "bigint" : value),
    );
    const { head: { epoch: _, lease, ...head }, ...rest } = await bench.state();
    const { head: { epoch: __, lease: was, ...headBefore }, ...restBefore } = before;
    assert.deepEqual([head.length, rest, lease?.pause, lease?.expires], [
      headBefore.length,
      restBefore,
      was?.pause,
      0,
    ]);
  }
  await assert.rejects(bench.answer({ turn: "other", results: [fits] }), { code: "turn_not_paused" });
  await bench.answer({ results: [fits], approvals: [{ ref: "e1.1", approved: true }] });
  await assert.rejects(bench.answer({ results: [fits] }), { code: "turn_not_paused" });
  await bench.assertSound();
});

Deno.test("what the user says with the last answers is stored with them, behind them, and told before the next step", async () => {
  const bench = new Bench({
    script: replies(calls("locate", { n: 1 }, { n: 2 })),
    tools: [clientTool("locate")],
  });
  await bench.run("Go");
  const client = { id: "m7" };
  const results = ["e1.0", "e1.1"].map((ref) => ({ ref, output: "here" }));
  const events = await bench.answer({ results, input: "And be quick", client });
  assert.equal(endOf(events), "stop");
  const told = events.filter(({ type }) => /^(tool.result|user.message|step.started)$/.test(type));
  assert.deepEqual(told.map(({ type }) => type), [
    "tool.result",
    "tool.result",
    "user.message",
    "step.started",
  ]);
  assert.deepEqual(eventsOf(events, "user.message").map(({ ref, input }) => [ref, input]), [
    ["e4", "And be quick"],
  ]);
  const { entries } = await bench.assertSound();
  const said = entries[4];
  assert.deepEqual(said?.kind === "user" && [said.message.content, said.client, said.turn], [
    "And be quick",
    client,
    "t0",
  ]);
  const stored = bench.commits.filter(({ entries }) => entries?.some(({ kind }) => kind === "result"));
  assert.deepEqual(stored.map(({ entries }) => entries?.map(({ kind }) => kind)), [[
    "result",
    "result",
    "user",
  ]]);
  assert.deepEqual(bench.requests.at(-1)?.messages.map(({ role }) => role), [
    "user",
    "assistant",
    "tool",
    "user",
  ]);
});

Deno.test("what the user says with an approval comes behind what was allowed, however the turn ends", async () => {
  for (const end of ["stop", "aborted"] as const) {
    const stop = new AbortController();
    const send = defineTool({
      name: "send",
      description: "Sends",
      input: z.looseObject({}),
      needsApproval: true,
      execute: () => {
        if (end === "aborted") stop.abort();
        return "sent";
      },
    });
    const bench = new Bench({ script: replies(calls("send", {}, {})), tools: [send] });
    await bench.run("Go");
    const approvals = [{ ref: "e1.0", approved: true }, { ref: "e1.1", approved: false }];
    const events = await bench.answer({ approvals, input: "Then stop", signal: stop.signal });
    assert.equal(endOf(events), end);
    const { entries } = await bench.assertSound();
    assert.deepEqual(entries.slice(2, 5).map((entry) => entry.kind === "result" ? entry.call : entry.kind), [
      "e1.1",
      "e1.0",
      "user",
    ]);
    assert.deepEqual(eventsOf(events, "user.message").map(({ ref }) => ref), ["e4"]);
    assert.equal(entries.filter(({ kind }) => kind === "user").length, 2);
  }
});

Deno.test("answerTurn() refuses an input that cannot come behind a whole round, and stores nothing", async () => {
  const bench = new Bench({
    script: replies({ calls: [{ name: "locate", input: { n: 1 } }, { name: "send", input: {} }] }),
    tools: [clientTool("locate"), guarded("send", [])],
    window: 60_000,
  });
  await bench.run("Go");
  const results = [{ ref: "e1.0", output: "here" }];
  const approvals = [{ ref: "e1.1", approved: true }];
  const picture = [{ type: "file" as const, mediaType: "image/png", data: "A".repeat(50_000) }];
  await assert.rejects(bench.answer({ results, input: "More" }), {
    message: /found 1 call still waiting behind these answers, wanted/,
  });
  const cases: readonly [string, Partial<AnswerRequest>][] = [
    ["turn_paused", { results, input: "More" }],
    ["turn_paused", { approvals, input: "More" }],
    ["bad_request", { input: "More" }],
    ["input_empty", { results, approvals, input: " " }],
    ["input_too_large", { results, approvals, input: prose(400_000) }],
    // Kept with the lease until the call has run.
    ["input_too_large", { results, approvals, input: picture }],
  ];
  for (const [code, answers] of cases) {
    await assert.rejects(bench.answer(answers), { code });
    const { entries, head } = await bench.state();
    assert.equal(entries.length, 2);
    assert.equal(head.lease?.pause?.pending.length, 2);
    assert.equal(head.lease?.pause?.said, undefined);
  }
  await bench.answer({ results, approvals: [{ ref: "e1.1", approved: false }], input: picture });
  await bench.assertSound();
});

Deno.test("of two answers to one call one is taken, and of two to different calls both are", async () => {
  const bench = new Bench({
    script: replies(calls("locate", { n: 1 }, { n: 2 })),
    tools: [clientTool("locate")],
  });
  await bench.run("Go");
  const both = [1, 2].map((n) => bench.answer({ results: [{ ref: "e1.0", output: `answer ${n}` }] }));
  const other = bench.answer({ results: [{ ref: "e1.1", output: "other" }] });
  const settled = Promise.allSettled([...both, other]);
  await bench.clock.advance(2_000);
  const outcomes = await settled;
  assert.deepEqual(outcomes.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  const [, lost] = outcomes;
  assert.ok(lost?.status === "rejected");
  assert.match(lost.reason.code, /^(call_not_pending|turn_not_paused)$/);
  const { entries } = await bench.assertSound();
  assertLog(entries);
  assert.deepEqual(
    (await resultsOf(bench)).map(([ref, , output]) => [ref, (output as { value: unknown }).value]),
    [
      ["e1.0", "answer 1"],
      ["e1.1", "other"],
    ],
  );
});

Deno.test("images and files that a client answers with reach the model as such, and their price the meter", async () => {
  const data = "iVBORw0KGgo=";
  const output = [{ type: "text", text: "A picture" }, { type: "file", mediaType: "image/png", data }];
  const bench = new Bench({ script: replies(calls("locate", { n: 1 })), tools: [clientTool("locate")] });
  await bench.run("Go");
  const events = await bench.answer({ results: [{ ref: "e1.0", output }] });
  assert.deepEqual(eventsOf(events, "tool.result")[0]?.output, output);
  assert.deepEqual((await resultsOf(bench)).at(-1), ["e1.0", "ok", { type: "content", value: output }]);
  const [result] = bench.requests.at(-1)?.messages.at(-1)?.content ?? [];
  assert.deepEqual((result as { output: unknown }).output, { type: "content", value: output });
  const tokens = eventsOf(events, "context").map(({ tokens }) => tokens);
  assert.ok(Math.max(...tokens) > 1_600, `${tokens}`);
});
