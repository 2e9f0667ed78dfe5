/** Bills that cannot be true: too high they must not end a session, too low they must not let it pass its window. */
import { deepEqual, equal, ok } from "node:assert/strict";
import * as z from "zod";
import { defineTool } from "../../src/loop/tools.ts";
import { runTurn } from "../../src/loop/turn.ts";
import { scripted, type ScriptedReply, scriptedTokens } from "../../src/models/scripted.ts";
import type { Model, Usage } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { isPlausible } from "../../src/tokens/usage.ts";
import { Bench, calls, endOf, eventsOf, replies, tool } from "../support/turns.ts";

const WINDOW = 16_000;

/** A model that bills what it wants. */
function billing(model: Model, bill: (real: Usage) => Usage, seen: number[] = []): Model {
  return {
    ...model,
    async *stream(request, signal) {
      seen.push(scriptedTokens([request.system, request.tools, request.messages]));
      for await (const event of model.stream(request, signal)) {
        yield event.type === "finish" && event.usage !== undefined
          ? { ...event, usage: bill(event.usage) }
          : event;
      }
    },
  };
}

const HIGH: readonly (readonly [string, Partial<Usage>])[] = [
  ["an answer over its limit", { outputTokens: 13_000 }],
  ["an answer over the window", { outputTokens: 1e6 }],
  ["an astronomic answer", { outputTokens: 1e307 }],
  ["a prompt just under the window", { inputTokens: 15_500 }],
  ["a prompt over the window", { inputTokens: 1e15 }],
];
for (const [name, wrong] of HIGH) {
  Deno.test(`a bill with ${name} does not end the session`, async () => {
    const store = memoryStore();
    const model = billing(
      scripted({ script: () => ({ text: "x" }), window: WINDOW }),
      (real) => ({ ...real, ...wrong }),
    );
    for (let turn = 0; turn < 3; turn++) {
      for await (const event of runTurn({ agent: { model }, session: "s", input: "hi" }, { store })) {
        ok(event.type !== "error", JSON.stringify(event));
        if (event.type === "turn.finished") equal(event.reason, "stop");
      }
    }
  });
}

const NONE: readonly (readonly [string, Partial<Usage>])[] = [
  ["too large to be added to itself", { inputTokens: 1e308, outputTokens: 1e308 }],
  ["beyond what numbers can tell apart", { inputTokens: 2 ** 53 }],
  ["beyond any window", { outputTokens: 1e9 + 1 }],
  ["below nothing", { outputTokens: -5 }],
  ["with a share that is none", { cachedTokens: NaN }],
];
for (const [name, wrong] of NONE) {
  Deno.test(`a bill ${name} is none: it is added to nothing, and ends no turn, limit or not`, async () => {
    for (const maxTokens of [undefined, 50_000]) {
      let n = 0;
      const script = replies(calls("work", {}), calls("work", {}), calls("work", {}));
      const model = billing(
        scripted({ script, window: 128_000 }),
        (real) => n++ < 2 ? { ...real, ...wrong } : { inputTokens: 900, outputTokens: 7 },
      );
      const bench = new Bench({
        model,
        tools: [tool("work", () => "done")],
        agent: maxTokens === undefined ? {} : { maxTokens },
      });
      const events = await bench.run("Go");
      equal(endOf(events), "stop", JSON.stringify(eventsOf(events, "error")));
      deepEqual(eventsOf(events, "turn.finished")[0]?.usage, { inputTokens: 1_800, outputTokens: 14 });
      await bench.assertSound();
    }
  });
}

Deno.test("parts of tokens are billed as whole ones, and end a turn that may not cost more", async () => {
  const script = replies(calls("work", {}), calls("work", {}), calls("work", {}));
  const model = billing(
    scripted({ script, window: 128_000 }),
    () => ({ inputTokens: 20_000.5, outputTokens: 7.1, cachedTokens: 0.2 }),
  );
  const bench = new Bench({ model, tools: [tool("work", () => "done")], agent: { maxTokens: 50_000 } });
  const events = await bench.run("Go");
  equal(eventsOf(events, "error")[0]?.code, "turn_out_of_tokens");
  deepEqual(eventsOf(events, "turn.finished")[0]?.usage, {
    inputTokens: 60_003,
    outputTokens: 24,
    cachedTokens: 3,
  });
  await bench.assertSound();
});

const LOW: readonly (readonly [string, (real: Usage) => Usage])[] = [
  ["next to nothing", () => ({ inputTokens: 1, outputTokens: 1 })],
  ["only what is not cached", (real) => ({ ...real, inputTokens: Math.min(real.inputTokens, 700) })],
];
for (const [name, bill] of LOW) {
  Deno.test(`a provider that bills ${name} does not get the context past its window`, async () => {
    const read = defineTool({
      name: "read",
      description: "Reads",
      input: z.object({}),
      execute: () => "some words of a file ".repeat(100),
    });
    let reads = 0;
    const script = scripted({
      script: () => ++reads > 120 ? { text: "Done." } : { calls: [{ name: "read", input: {} }] },
      // It takes anything; what it is sent is looked at here.
      window: 10_000_000,
      maxOutput: 1_000,
    });
    const seen: number[] = [];
    const model = { ...billing(script, bill, seen), window: WINDOW };
    for await (
      const event of runTurn({ agent: { model, tools: [read], maxSteps: 200 }, session: "s", input: "go" }, {
        store: memoryStore(),
      })
    ) {
      if (event.type === "turn.finished") equal(event.reason, "stop");
    }
    ok(Math.max(...seen) < WINDOW, `a request of ${Math.max(...seen)} tokens`);
  });
}

Deno.test("isPlausible() takes true bills of dense and of repetitive text", () => {
  const limits = { bound: 40_000, window: 128_000, maxOutput: 8_000 };
  for (const inputTokens of [40_000, 10_000, 5_000, 2_500]) {
    equal(isPlausible({ inputTokens, outputTokens: 100 }, limits), true, `${inputTokens}`);
  }
  equal(isPlausible({ inputTokens: 2_000, outputTokens: 100 }, limits), false);
  equal(isPlausible(undefined, limits), false);
});

Deno.test("arguments and outputs that are nested too deeply are answered, shown and stored", async () => {
  let deep: unknown = "x";
  for (let level = 0; level < 3_000; level++) deep = { a: deep };
  const echo = defineTool({
    name: "echo",
    description: "Says it",
    input: z.looseObject({}),
    execute: () => deep,
  });
  const model = scripted({
    script: ({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? { text: "Done." }
        : { calls: [{ name: "echo", input: deep }, { name: "echo", input: {} }] },
  });
  const store = memoryStore();
  const statuses: string[] = [];
  for await (
    const event of runTurn({ agent: { model, tools: [echo] }, session: "s", input: "go" }, { store })
  ) {
    if (event.type === "tool.result") {
      statuses.push(`${event.status} ${JSON.stringify(event.output).slice(0, 60)}`);
    }
    if (event.type === "turn.finished") equal(event.reason, "stop");
  }
  equal(statuses.length, 2);
  ok(
    statuses.every((status) => status.startsWith("error") && !status.includes("call stack")),
    statuses.join("\n"),
  );
  const state = await store.read({ tenant: "local", session: "s" });
  ok(JSON.stringify(state).length > 0);
});

const CHEAP: readonly (readonly [string, string])[] = [
  ["white space", " ".repeat(200_000)],
  ["one character", "=".repeat(100_000)],
];
for (const bills of [true, false]) {
  for (const [name, text] of CHEAP) {
    const says = bills ? "bills" : "has a bill for nothing and refuses";
    Deno.test(`a provider that ${says} ${name} far over our count ends no session`, async () => {
      const odd = tool("odd", () => text);
      let replies: ScriptedReply[] = [];
      const script = scripted({
        script: () => replies.shift() ?? { text: "Done." },
        window: 9_000,
        maxOutput: 1_000,
      });
      const model: Model = {
        ...script,
        async *stream(request, signal) {
          for await (const event of script.stream(request, signal)) {
            if (bills || event.type !== "finish") yield event;
            else {
              const { usage: _, ...rest } = event;
              yield rest;
            }
          }
        },
      };
      const bench = new Bench({ model, tools: [odd] });
      for (let turn = 0; turn < 3; turn++) {
        replies = Array.from({ length: 10 }, (_, at) => calls("odd", ...Array(1 + at % 3).fill({})));
        const events = await bench.run(`Go ${turn}`);
        equal(endOf(events), "stop", JSON.stringify(eventsOf(events, "error")));
        const compactions = eventsOf(events, "compaction");
        if (turn === 0) {
          ok(compactions.some(({ phase }) => phase === "applied"), JSON.stringify(compactions));
        }
        for (const event of compactions) {
          ok(event.phase !== "rejected", JSON.stringify(event));
        }
      }
      await bench.assertSound();
    });
  }
}
