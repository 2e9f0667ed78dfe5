/** Turns that wait for their client or for a person: what is asked, what is answered, and what is refused. */
import assert from "node:assert/strict";
import * as z from "zod";
import { defineTool } from "../../src/loop/tools.ts";
import { resumeTurn } from "../../src/loop/turn.ts";
import type { AnswerRequest } from "../../src/loop/agent.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import type { Tool } from "../../src/ports.ts";
import { assertLog, Bench, calls, endOf, eventsOf, KEY, prose, replies, tool } from "../support/turns.ts";

/** A tool that the client runs. */
function clientTool(name: string): Tool {
  return defineTool({ name, description: `The client does ${name}`, input: z.object({ n: z.number() }) });
}

/** A tool that a person has to allow, which keeps count. */
function guarded(
  name: string,
  runs: unknown[],
  needsApproval: Parameters<typeof defineTool>[0]["needsApproval"] = true,
) {
  return defineTool({
    name,
    description: `Does ${name}`,
    input: z.looseObject({}),
    needsApproval,
    execute: (input) => {
      runs.push(input);
      return `${name} is done`;
    },
  });
}

function pausedOf(events: readonly TurnEvent[]) {
  const last = events.at(-1);
  assert.equal(last?.type, "turn.paused", `found ${last?.type} at the end`);
  return last;
}

/** What each result of the log says. */
async function resultsOf(bench: Bench) {
  const { entries } = await bench.state();
  return entries.flatMap((entry) =>
    entry.kind === "result" ? [[entry.call, entry.status, entry.output]] : []
  );
}

Deno.test("runTurn() pauses for a tool of the client, and answerTurn() goes on with its result", async () => {
  const bench = new Bench({
    script: replies(calls("locate", { n: 1 }), { text: "Oslo it is." }),
    tools: [clientTool("locate")],
  });
  const before = await bench.run("Where am I?");
  const { type: _, id: __, usage: ___, ...paused } = pausedOf(before);
  const waiting = { ref: "e1.0", call: 0, name: "locate", input: { n: 1 }, reason: "tool" };
  assert.deepEqual(paused, { reason: "tool", pending: [waiting], steps: 1 });
  assert.deepEqual(eventsOf(before, "tool.call").map(({ ref }) => ref), ["e1.0"]);
  // At rest, with nothing that could time out.
  assert.deepEqual(bench.clock.sleeping, []);
  const { head } = await bench.state();
  assert.equal(head.lease?.expires, 0);
  assert.deepEqual(head.lease?.pause?.pending, [{ ref: "e1.0", name: "locate", reason: "tool" }]);
  await bench.clock.advance(365 * 24 * 3_600_000);
  const after = await bench.answer({ results: [{ ref: "e1.0", output: { city: "Oslo" } }] });
  assert.equal(endOf(after), "stop");
  assert.deepEqual(eventsOf(after, "tool.result").map(({ ref, status, output }) => [ref, status, output]), [
    ["e1.0", "ok", { city: "Oslo" }],
  ]);
  assert.equal(eventsOf(after, "turn.started").length, 0);
  // One turn, one user message, numbers that rise.
  const { entries } = await bench.assertSound();
  assert.deepEqual(entries.map(({ kind, turn }) => [kind, turn]), [
    ["user", "t0"],
    ["assistant", "t0"],
    ["result", "t0"],
    ["assistant", "t0"],
  ]);
  const numbers = [...before, ...after].map(({ id }) => Number(id.split(":")[1]));
  assert.deepEqual(numbers, numbers.toSorted((a, b) => a - b));
  assert.deepEqual((await bench.store.events(KEY, "t0", 0))?.events, [...before, ...after]);
});

Deno.test("runTurn() runs the calls of a step that it can run before it pauses for the others, and says both", async () => {
  const runs: unknown[] = [];
  const bench = new Bench({
    script: replies({
      calls: [
        { name: "locate", input: { n: 1 } },
        { name: "read", input: {} },
        { name: "send", input: { to: "Ada" } },
        { name: "locate", input: { n: "not a number" } },
      ],
    }),
    tools: [clientTool("locate"), tool("read", () => "read"), guarded("send", runs)],
  });
  const events = await bench.run("Go");
  const { reason, pending } = pausedOf(events);
  assert.equal(reason, "approval");
  assert.deepEqual(pending.map(({ ref, reason }) => [ref, reason]), [["e1.0", "tool"], ["e1.2", "approval"]]);
  assert.deepEqual(
    (await resultsOf(bench)).map(([ref, status]) => [ref, status]),
    [
      ["e1.3", "error"],
      ["e1.1", "ok"],
    ].toSorted(([a = ""], [b = ""]) => (a === "e1.1" ? -1 : 1) - (b === "e1.1" ? -1 : 1)),
  );
  assert.deepEqual(runs, []);
  const half = await bench.answer({ approvals: [{ ref: "e1.2", approved: true }] });
  assert.deepEqual(pausedOf(half).pending.map(({ ref }) => ref), ["e1.0"]);
  assert.equal(pausedOf(half).reason, "tool");
  assert.deepEqual(runs, []);
  const rest = await bench.answer({ results: [{ ref: "e1.0", output: "here" }] });
  assert.equal(endOf(rest), "stop");
  assert.deepEqual(runs, [{ to: "Ada" }]);
  await bench.assertSound();
});

Deno.test("answerTurn() gives a call that is not allowed an error that names the reason, and never runs it", async () => {
  const runs: unknown[] = [];
  const bench = new Bench({ script: replies(calls("send", {}, {})), tools: [guarded("send", runs)] });
  await bench.run("Go");
  const events = await bench.answer({
    approvals: [{ ref: "e1.0", approved: false, reason: "not on a Sunday" }, {
      ref: "e1.1",
      approved: false,
    }],
  });
  assert.equal(endOf(events), "stop");
  assert.deepEqual(await resultsOf(bench), [
    ["e1.0", "error", {
      type: "execution-denied",
      reason: "The user did not allow the call: not on a Sunday",
    }],
    ["e1.1", "error", { type: "execution-denied", reason: "The user did not allow the call" }],
  ]);
  assert.deepEqual(runs, []);
  await bench.assertSound();
});

Deno.test("needsApproval decides call by call, and a call that it fails for is not run", async () => {
  const runs: unknown[] = [];
  const asks = guarded("pay", runs, (input) => {
    const { amount } = input as { amount: unknown };
    if (typeof amount !== "number") throw new Error("no amount");
    return amount > 10;
  });
  const hangs = { ...guarded("hang", runs, () => new Promise<boolean>(() => {})), timeoutMs: 500 };
  const bench = new Bench({
    script: replies({
      calls: [
        { name: "pay", input: { amount: 5 } },
        { name: "pay", input: { amount: 50 } },
        { name: "pay", input: {} },
        { name: "hang", input: {} },
      ],
    }),
    tools: [asks, hangs],
  });
  const running = bench.run("Pay");
  await bench.clock.advance(500);
  assert.deepEqual(pausedOf(await running).pending.map(({ ref }) => ref), ["e1.1"]);
  assert.deepEqual(runs, [{ amount: 5 }]);
  const results = new Map((await resultsOf(bench)).map(([ref, , output]) => [ref, JSON.stringify(output)]));
  assert.match(results.get("e1.2") ?? "", /Not executed.*no amount/);
  assert.match(results.get("e1.3") ?? "", /Not executed.*500 ms/);
  await bench.answer({ approvals: [{ ref: "e1.1", approved: true }] });
  assert.deepEqual(runs, [{ amount: 5 }, { amount: 50 }]);
  await bench.assertSound();
});

Deno.test("tools that the client brings along are told to the model, stored with the input, and waited for", async () => {
  const clientTools = [{
    name: "alert",
    description: "Shows a box",
    inputSchema: { type: "object", properties: {} },
  }];
  const bench = new Bench({
    script: replies(calls("alert", {}), calls("alert", {})),
    tools: [tool("read", () => "")],
  });
  await bench.run("Go", { clientTools });
  await bench.answer({ results: [{ ref: "e1.0", output: "shown" }] });
  for (const request of bench.requests) {
    assert.deepEqual(request.tools.map(({ name }) => name), ["read", "alert", "recall"]);
  }
  const { entries: [input] } = await bench.state();
  assert.deepEqual(input?.kind === "user" && input.clientTools, clientTools);
  await bench.answer({ results: [{ ref: "e3.0", error: "no screen" }] });
  assert.deepEqual((await resultsOf(bench)).at(-1), ["e3.0", "error", {
    type: "error-text",
    value: "no screen",
  }]);
  // The next turn has the tools that it brings along itself.
  await bench.run("And now?");
  assert.deepEqual(bench.requests.at(-1)?.tools.map(({ name }) => name), ["read", "recall"]);
  await bench.assertSound();
});

for (
  const [what, clientTools] of [
    ["one name twice", [1, 2].map(() => ({ name: "a", description: "", inputSchema: { type: "object" } }))],
    ["the name of an agent's tool", [{ name: "read", description: "", inputSchema: { type: "object" } }]],
    ["schemas for which there is no room", [{
      name: "a",
      description: prose(200_000),
      inputSchema: { type: "object" },
    }]],
  ] as const
) {
  Deno.test(`runTurn() refuses tools of the client with ${what}, and stores nothing`, async () => {
    const bench = new Bench({ tools: [tool("read", () => "")], window: 20_000 });
    await assert.rejects(bench.run("Go", { clientTools }), { code: "bad_client_tools" });
    assert.equal(await bench.store.read(KEY), null);
  });
}

Deno.test("runTurn() takes a client's tool of the name of one that the agent leaves to its clients as that one", async () => {
  const bench = new Bench({
    script: replies(calls("locate", { n: 1 }), { text: "Oslo it is." }),
    tools: [clientTool("locate")],
  });
  const clientTools = [{ name: "locate", description: "Locates", inputSchema: { type: "object" } }];
  const { pending } = pausedOf(await bench.run("Where am I?", { clientTools }));
  assert.deepEqual(pending.map(({ name, reason }) => [name, reason]), [["locate", "tool"]]);
  const after = await bench.answer({ results: [{ ref: "e1.0", output: "Oslo" }] });
  assert.equal(endOf(after), "stop");
  // The schema is the agent's: another one would be another prefix.
  const [request] = bench.requests;
  assert.deepEqual(
    request?.tools.filter(({ name }) => name === "locate").map(({ description }) => description),
    [
      "The client does locate",
    ],
  );
});

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

Deno.test("a new turn is refused while one waits, or closes its calls first where it says so", async () => {
  const bench = new Bench({
    script: replies(calls("locate", { n: 1 }, { n: 2 })),
    tools: [clientTool("locate")],
  });
  await bench.run("Go");
  await bench.answer({ results: [{ ref: "e1.1", output: "here" }] });
  await assert.rejects(bench.run("Next"), (error: { code: string; fields: Record<string, unknown> }) => {
    assert.equal(error.code, "turn_paused");
    assert.deepEqual(error.fields, {
      turn: "t0",
      pending: [{ ref: "e1.0", name: "locate", reason: "tool" }],
    });
    return true;
  });
  // Nor is it taken over as one that was left.
  const resumed = resumeTurn({ agent: bench.agent, session: KEY.session, turn: "t0" }, bench);
  await assert.rejects(resumed.next(), { code: "turn_paused" });
  const events = await bench.run("Next", { onPaused: "abort" });
  assert.equal(endOf(events), "stop");
  assert.deepEqual((await resultsOf(bench)).map(([ref, status]) => [ref, status]), [["e1.1", "ok"], [
    "e1.0",
    "aborted",
  ]]);
  const told = (await bench.store.events(KEY, "t0", 0))?.events as readonly TurnEvent[];
  assert.equal(endOf(told), "aborted");
  await bench.assertSound();
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
