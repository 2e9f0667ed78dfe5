/**
 * Turns that end early: cancelled by their signal, or left by their listener. Whatever the moment, each open call
 * gets exactly one result, the lease is given back, no timer is left, and the next turn works.
 */
import assert from "node:assert/strict";
import type { TurnEvent } from "../../src/loop/events.ts";
import type { Script } from "../../src/models/scripted.ts";
import type { ModelEvent } from "../../src/ports.ts";
import { assertAccounted } from "../support/requests.ts";
import {
  Bench,
  type BenchOptions,
  calls,
  endOf,
  eventsOf,
  finish,
  modelOf,
  prose,
  replies,
  tool,
} from "../support/turns.ts";

const tools = [
  tool("read", ({ n }) => prose(3_000, Number(n))),
  tool("stuck", () => new Promise(() => {})),
  tool("polite", (_, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    })),
  tool("rude", async (_, { signal }) => {
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    return "a success that nobody waits for";
  }),
];

const reads = (from: number, count: number) =>
  calls("read", ...Array.from({ length: count }, (_, n) => ({ n: from + n })));

/** Two plain steps. */
const short = (): BenchOptions => ({
  tools,
  script: replies({ reasoning: "Hm.", text: "I read.", ...reads(0, 2) }, reads(2, 3)),
  agent: { toolConcurrency: 2 },
});

/** A window so small that the turn compacts, defers and shortens on its way. */
const long = (): BenchOptions => ({
  tools,
  window: 8_000,
  script: replies(reads(0, 1), reads(1, 4), reads(5, 1), reads(6, 2), reads(8, 3), { text: "All read." }),
});

async function assertUsable(bench: Bench): Promise<void> {
  await bench.assertSound();
  const events = await bench.run("And now?");
  assert.equal(endOf(events), "stop");
  const { entries } = await bench.assertSound();
  for (const request of bench.requests) assertAccounted(request, entries);
}

Deno.test.each([["a short turn", short], ["a turn that compacts", long]] as const)(
  "runTurn() can be left at any event of %s",
  async (_, options) => {
    const length = (await new Bench(options()).run("Go")).length;
    for (let index = 0; index < length; index++) {
      const bench = new Bench(options());
      let n = 0;
      for await (const _ of bench.start("Go")) if (n++ === index) break;
      await assertUsable(bench);
    }
  },
);

Deno.test.each([["a short turn", short], ["a turn that compacts", long]] as const)(
  "runTurn() can be cancelled at any event of %s",
  async (_, options) => {
    const uncut = await new Bench(options()).run("Go");
    // The last reading comes after the whole answer: what is complete stays so.
    const whole = uncut.findLastIndex(({ type }) => type === "context");
    for (let index = 0; index < uncut.length; index++) {
      const bench = new Bench(options());
      const stop = new AbortController();
      const events: TurnEvent[] = [];
      for await (const event of bench.start("Go", { signal: stop.signal })) {
        if (events.push(event) === index + 1) stop.abort(new Error("enough"));
      }
      assert.equal(endOf(events), index < whole ? "aborted" : "stop", `event ${index}`);
      assert.deepEqual(eventsOf(events, "error"), []);
      await assertUsable(bench);
    }
  },
);

Deno.test("runTurn() can be left while tools hang", async () => {
  const hang = { calls: ["stuck", "polite", "rude", "read"].map((name) => ({ name, input: { n: 1 } })) };
  const script: Script = ({ messages }) => messages.at(-1)?.content === "Go" ? hang : { text: "Done." };
  for (let index = 0;; index++) {
    const bench = new Bench({ tools, script });
    let n = 0;
    let isLast = false;
    for await (const event of bench.start("Go")) {
      isLast = event.type === "tool.result";
      if (n++ === index || isLast) break;
    }
    await assertUsable(bench);
    if (isLast) return assert.ok(index > 10, `only ${index} events`);
  }
});

Deno.test("runTurn() closes each call of a step as aborted when it is cancelled while tools hang", async () => {
  const stop = new AbortController();
  const bench = new Bench({
    tools,
    script: replies({
      calls: ["stuck", "polite", "rude", "read", "stuck", "nobody"].map((name) => ({
        name,
        input: { n: 1 },
      })),
    }),
    agent: { toolConcurrency: 4 },
  });
  const events: TurnEvent[] = [];
  for await (const event of bench.start("Go", { signal: stop.signal })) {
    events.push(event);
    if (event.type === "tool.result" && event.name === "read") queueMicrotask(() => stop.abort());
  }
  assert.equal(endOf(events), "aborted");
  const results = eventsOf(events, "tool.result");
  assert.deepEqual(
    results.map(({ name, status }) => [name, status]).sort(),
    [
      ["nobody", "aborted"],
      ["polite", "aborted"],
      ["read", "ok"],
      ["rude", "aborted"],
      ["stuck", "aborted"],
      [
        "stuck",
        "aborted",
      ],
    ],
  );
  await assertUsable(bench);
});

const hanging = (onReturn: "returns" | "hangs"): AsyncIterable<ModelEvent> => ({
  [Symbol.asyncIterator]() {
    let n = 0;
    return {
      next: () =>
        n++ === 0
          ? Promise.resolve({ done: false as const, value: { type: "text.delta" as const, text: "I " } })
          : new Promise(() => {}),
      return: () =>
        onReturn === "hangs"
          ? new Promise(() => {})
          : Promise.resolve({ done: true as const, value: undefined }),
    };
  },
});

Deno.test.each([["returns"], ["hangs"]] as const)(
  "runTurn() is cancelled although the model ignores its signal and hangs, and its return %s",
  async (onReturn) => {
    const stop = new AbortController();
    const bench = new Bench({
      model: modelOf((_request, _signal, call) => call === 0 ? hanging(onReturn) : one(finish("Done."))),
    });
    const events: TurnEvent[] = [];
    for await (const event of bench.start("Go", { signal: stop.signal })) {
      events.push(event);
      if (event.type === "text.delta") queueMicrotask(() => stop.abort());
    }
    assert.equal(endOf(events), "aborted");
    await assertUsable(bench);
  },
);

Deno.test.each([["returns"], ["hangs"]] as const)(
  "runTurn() can be left in the middle of a model's answer whose return %s",
  async (onReturn) => {
    const bench = new Bench({
      model: modelOf((_request, _signal, call) => call === 0 ? hanging(onReturn) : one(finish("Done."))),
    });
    for await (const event of bench.start("Go")) if (event.type === "text.delta") break;
    await assertUsable(bench);
  },
);

const script: Script = ({ messages }) =>
  messages.at(-1)?.content === "Go" ? { calls: [{ name: "stuck", input: {} }] } : { text: "Done." };
const model = modelOf((_request, _signal, call) => call === 0 ? hanging("hangs") : one(finish("Done.")));

Deno.test.each([["its model", "text.delta", { model }], ["a tool", "tool.call", { tools, script }]] as const)(
  "runTurn() that is left while it waits for %s ends, and nobody is told of an error",
  async (_, last, options) => {
    const bench = new Bench(options);
    const errors: unknown[] = [];
    const events = bench.start("Go", {}, { onError: (error) => errors.push(error) });
    for (let taken = await events.next(); taken.value?.type !== last; taken = await events.next());
    const waiting = events.next();
    await events.return();
    assert.deepEqual(await waiting, { done: true, value: undefined });
    assert.deepEqual(errors, []);
    await assertUsable(bench);
  },
);

async function* one(event: ModelEvent): AsyncGenerator<ModelEvent> {
  yield await Promise.resolve(event);
}

Deno.test("runTurn() takes a finished answer although the model hangs behind it", async () => {
  const bench = new Bench({
    model: modelOf(() => ({
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.resolve({ done: false, value: finish("Done.") }),
        return: () => new Promise(() => {}),
      }),
    })),
  });
  const stop = new AbortController();
  const events: TurnEvent[] = [];
  const ended = (async () => {
    for await (const event of bench.start("Go", { signal: stop.signal })) events.push(event);
  })();
  await bench.clock.advance(1);
  stop.abort();
  await ended;
  assert.equal(endOf(events), "stop");
  await bench.assertSound();
});

Deno.test("runTurn() does not start where its signal has aborted, and stores nothing", async () => {
  const bench = new Bench();
  await assert.rejects(bench.run("Go", { signal: AbortSignal.abort(new Error("before")) }), /before/);
  assert.equal(bench.commits.length, 0);
});

Deno.test("runTurn() lets go of its caller's signal", async () => {
  const { signal } = new AbortController();
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
  signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args));
  const bench = new Bench(short());
  await bench.run("Go", { signal });
  assert.equal(listeners, 0);
  for await (const _ of bench.start("Go", { signal })) break;
  assert.equal(listeners, 0);
});
