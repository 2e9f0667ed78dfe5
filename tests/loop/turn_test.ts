import assert from "node:assert/strict";
import type { TurnEvent } from "../../src/loop/events.ts";
import {
  Bench,
  calls,
  endOf,
  eventsOf,
  finish,
  modelOf,
  prose,
  replies,
  tool,
  withCommit,
} from "../support/turns.ts";

Deno.test("runTurn() tells a whole turn in events", async (t) => {
  const bench = new Bench({
    tools: [
      tool("read", ({ path }) => `The text of ${path}.`),
      tool("list", () => ({ files: ["a.txt", "b.txt"] })),
    ],
    script: replies(
      {
        reasoning: "Look first.",
        text: "I look around.",
        calls: [{ name: "list", input: {} }, { name: "read", input: { path: "a.txt" } }],
      },
      calls("write", { path: "a.txt" }),
      { text: "There are two files." },
    ),
    agent: { system: "You are careful." },
  });
  const events = await bench.run("What is here?", { agentName: "helper" });
  const { entries } = await bench.assertSound();
  await t.assertSnapshot(events.map((event) => JSON.stringify(event)));
  await t.assertSnapshot(entries);
  await t.assertSnapshot(bench.requests.at(-1)?.messages);
});

Deno.test("runTurn() numbers its events from the first to the last", async () => {
  const bench = new Bench({ script: replies(calls("read", {}, {})), tools: [tool("read", () => "x")] });
  const events = await bench.run("Go");
  assert.deepEqual(events.map(({ id }) => id), events.map((_, n) => `t0:${n}`));
  assert.equal(events[0]?.type, "turn.started");
  assert.equal(endOf(events), "stop");
});

Deno.test("runTurn() has given back its lease and stopped its heartbeat when it says that it has finished", async () => {
  const bench = new Bench();
  const events = bench.start("Go");
  for (let next = await events.next(); next.value?.type !== "turn.finished"; next = await events.next());
  await bench.assertSound();
  await bench.clock.advance(60_000);
  assert.equal((await events.next()).done, true);
});

Deno.test("runTurn() lands parallel results as they come and shows them in the order of the calls", async () => {
  const gates = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const started: number[] = [];
  const bench = new Bench({
    tools: [
      tool("wait", async ({ n }) => {
        started.push(Number(n));
        await gates[Number(n)]?.promise;
        return `result ${n}`;
      }),
    ],
    script: replies(calls("wait", { n: 0 }, { n: 1 }, { n: 2 })),
  });
  const landed: string[] = [];
  for await (const event of bench.start("Go")) {
    if (event.type === "tool.call" && event.call === 2) gates[2]?.resolve();
    if (event.type !== "tool.result") continue;
    landed.push(event.ref);
    gates[landed.length === 1 ? 0 : 1]?.resolve();
  }
  assert.deepEqual(started, [0, 1, 2]);
  assert.deepEqual(landed, ["e1.2", "e1.0", "e1.1"]);
  const { entries } = await bench.assertSound();
  assert.deepEqual(
    entries.slice(2, 5).map((entry) => entry.kind === "result" && entry.call),
    ["e1.2", "e1.0", "e1.1"],
  );
  const message = bench.requests[1]?.messages.at(-1);
  assert.ok(message?.role === "tool");
  assert.deepEqual(message.content.map(({ toolCallId }) => toolCallId), ["e1_0", "e1_1", "e1_2"]);
  assert.deepEqual(message.content.map(({ output }) => output), [
    { type: "text", value: "result 0" },
    { type: "text", value: "result 1" },
    { type: "text", value: "result 2" },
  ]);
});

Deno.test.each([[1], [2], [8]])("runTurn() runs at most %i calls at the same time", async (limit) => {
  let running = 0;
  let most = 0;
  const bench: Bench = new Bench({
    tools: [
      tool("work", async () => {
        most = Math.max(most, ++running);
        await bench.clock.sleep(10);
        running--;
        return "done";
      }),
    ],
    script: replies(calls("work", ...Array.from({ length: 12 }, (_, n) => ({ n })))),
    agent: { toolConcurrency: limit },
  });
  const events = bench.run("Go");
  await bench.clock.advance(1_000);
  assert.equal(endOf(await events), "stop");
  assert.equal(most, limit);
  await bench.assertSound();
});

Deno.test.each([[0], [-3], [NaN], [0.5]])(
  "runTurn() refuses a toolConcurrency of %f, and stores nothing",
  async (toolConcurrency) => {
    const bench = new Bench({
      tools: [tool("work", () => "done")],
      script: replies(calls("work", {}, {})),
      agent: { toolConcurrency },
    });
    await assert.rejects(
      bench.run("Go"),
      /toolConcurrency: found .*, wanted a whole number of calls, 1 or more/,
    );
  },
);

Deno.test("runTurn() runs no tool before the model's terminal marker is stored", async () => {
  const order: string[] = [];
  const bench = new Bench({
    tools: [tool("act", () => void order.push("tool"))],
    model: modelOf(async function* (_request, _signal, call) {
      if (call > 0) return yield finish("Done.");
      yield { type: "tool.input.delta", call: 0, name: "act", delta: "{}" };
      await Promise.resolve();
      order.push("finish");
      const part = { type: "tool-call" as const, toolCallId: "x", toolName: "act", input: {} };
      yield { type: "finish", reason: "tool-calls", message: { role: "assistant", content: [part] } };
    }),
    wrap: (store) =>
      withCommit(store, async (key, lease, commit) => {
        await store.commit(key, lease, commit);
        for (const entry of commit.entries ?? []) order.push(`stored ${entry.kind}`);
      }),
  });
  await bench.run("Go");
  assert.deepEqual(order.slice(0, 3), ["finish", "stored assistant", "tool"]);
});

Deno.test("runTurn() ends with max-steps where the model never stops, its last calls answered", async () => {
  const bench = new Bench({
    tools: [tool("read", () => "more")],
    script: () => calls("read", { n: 1 }),
    agent: { maxSteps: 3 },
  });
  const events = await bench.run("Go");
  assert.equal(endOf(events), "max-steps");
  assert.equal(eventsOf(events, "tool.result").length, 3);
  assert.equal(bench.requests.length, 3);
  await bench.assertSound();
  assert.equal(endOf(await bench.run("And now?")), "max-steps");
  await bench.assertSound();
});

Deno.test("runTurn() adds up the usage of its model calls", async () => {
  const usages = [
    { inputTokens: 100, outputTokens: 10, cachedTokens: 5 },
    undefined,
    { inputTokens: 200, outputTokens: 20 },
  ];
  const bench = new Bench({
    tools: [tool("read", () => "x")],
    model: modelOf(async function* (_request, _signal, call) {
      await Promise.resolve();
      const usage = usages[call];
      const part = { type: "tool-call" as const, toolCallId: "x", toolName: "read", input: {} };
      const isLast = call === 2;
      yield {
        type: "finish",
        reason: isLast ? "stop" : "tool-calls",
        message: { role: "assistant", content: isLast ? "Done." : [part] },
        ...(usage === undefined ? {} : { usage }),
      };
    }),
  });
  const last = (await bench.run("Go")).at(-1);
  assert.deepEqual(last, {
    type: "turn.finished",
    reason: "stop",
    usage: { inputTokens: 300, outputTokens: 30, cachedTokens: 5 },
    steps: 3,
    model: bench.agent.model.id,
    id: last?.id,
  });
});

Deno.test("runTurn() shows a fixed text for an answer without any, so that the next turn is well formed", async () => {
  const contents = ["", [], [{ type: "text", text: "" }], [{ type: "reasoning", text: "hm" }]] as const;
  const bench = new Bench({
    model: modelOf(async function* (_request, _signal, call) {
      await Promise.resolve();
      yield {
        type: "finish",
        reason: "stop",
        message: { role: "assistant", content: contents[call] ?? "x" },
      };
    }),
  });
  for (const _ of [...contents, "last"]) await bench.run("Well?");
  await bench.assertSound();
  const shown = bench.requests.at(-1)?.messages.filter(({ role }) => role === "assistant");
  for (const { content } of shown ?? []) assert.match(JSON.stringify(content), /\(no answer\)/);
});

Deno.test("runTurn() keeps its own copy of the input and of what a model hands over", async () => {
  const input = [{ type: "text" as const, text: "mine" }];
  const part = { type: "tool-call" as const, toolCallId: "x", toolName: "spoil", input: { list: [1] } };
  const message = { role: "assistant" as const, content: [part] };
  const bench = new Bench({
    tools: [
      tool("spoil", (given) => {
        (given["list"] as number[]).push(2);
        part.input.list.push(3);
        return "ok";
      }),
    ],
    model: modelOf(async function* (_request, _signal, call) {
      await Promise.resolve();
      if (call > 0) return yield finish("Done.");
      yield { type: "finish", reason: "tool-calls", message };
    }),
  });
  const events: TurnEvent[] = [];
  for await (const event of bench.start(input)) {
    events.push(event);
    if (event.type === "step.started") (input[0] as { text: string }).text = "changed";
  }
  assert.equal(endOf(events), "stop");
  const text = JSON.stringify(bench.requests.at(-1)?.messages);
  assert.match(text, /mine/);
  assert.match(text, /"list":\[1\]/);
  assert.deepEqual(
    JSON.stringify((await bench.state()).entries[1]).match(/"list":\[[^\]]*\]/)?.[0],
    '"list":[1]',
  );
});

Deno.test("runTurn() shows the same messages before and after a restart", async () => {
  const bench = new Bench({
    tools: [tool("read", ({ n }) => ({ text: prose(5_000, Number(n)), bad: "\ud83d", no: undefined }))],
    script: replies(...Array.from({ length: 9 }, (_, n) => calls("read", { n }, { n: n + 100 }))),
    window: 8_000,
  });
  const first = await bench.run("One");
  const last = bench.requests.at(-1)?.messages ?? [];
  const { view } = await bench.assertSound();
  assert.ok((view as { trims: unknown[] }).trims.length > 0, "nothing is trimmed");
  assert.ok(eventsOf(first, "tool.result").some(({ shortened }) => shortened), "nothing is capped");
  const second = await bench.run("Two");
  assert.deepEqual(eventsOf(second, "compaction"), []);
  assert.deepEqual(bench.requests.at(-1)?.messages.slice(0, last.length), last);
});
