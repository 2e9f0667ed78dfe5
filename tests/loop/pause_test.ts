/** Turns that wait for their client or for a person: what is asked, what is answered, and what is refused. */
import assert from "node:assert/strict";
import type { SelvageError } from "../../src/core/errors.ts";
import { resumeTurn } from "../../src/loop/turn.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import { Bench, calls, endOf, eventsOf, KEY, prose, replies, tool } from "../support/turns.ts";
import { clientTool, guarded, pausedOf, resultsOf } from "./_pause.ts";

Deno.test("runTurn() pauses for a tool of the client, and answerTurn() goes on with its result", async () => {
  const bench = new Bench({
    script: replies(calls("locate", { n: 1 }), { text: "Oslo it is." }),
    tools: [clientTool("locate")],
  });
  const before = await bench.run("Where am I?");
  const { type: _, id: __, usage: ___, ...paused } = pausedOf(before);
  const waiting = { ref: "e1.0", call: 0, name: "locate", input: { n: 1 }, reason: "tool" };
  assert.deepEqual(paused, { reason: "tool", pending: [waiting], steps: 1, model: "scripted" });
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

Deno.test("a new turn is refused while one waits, or closes its calls first where it says so", async () => {
  const bench = new Bench({
    script: replies(calls("locate", { n: 1 }, { n: 2 })),
    tools: [clientTool("locate")],
  });
  await bench.run("Go");
  await bench.answer({ results: [{ ref: "e1.1", output: "here" }] });
  await assert.rejects(bench.run("Next"), (error: SelvageError) => {
    assert.equal(error.code, "turn_paused");
    assert.match(error.message, /found turn "t0" waiting for 1 answer, wanted/);
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
