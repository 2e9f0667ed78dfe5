/** Tools that tell how far they are. */
import assert from "node:assert/strict";
import { Bench, calls, endOf, eventsOf, replies, tool } from "../support/turns.ts";

Deno.test("what a generator yields is told in order, each before the result, which is what it returns", async () => {
  const work = tool("work", async function* (input) {
    for (let n = 1; n <= 3; n++) {
      yield { done: n, of: input["of"] };
      if (input["of"] === 3) await null;
    }
    return `all of ${input["of"]}`;
  });
  const bench = new Bench({ script: replies(calls("work", { of: 3 }, { of: 30 })), tools: [work] });
  const events = await bench.run("Go");
  assert.equal(endOf(events), "stop");
  for (const [call, of] of [[0, 3], [1, 30]] as const) {
    const own = events.filter((event) =>
      "ref" in event && event.ref === `e1.${call}` && event.type !== "tool.input.delta"
    );
    assert.deepEqual(own.map((event) => event.type === "tool.progress" ? event.data : event.type), [
      "tool.call",
      { done: 1, of },
      { done: 2, of },
      { done: 3, of },
      "tool.result",
    ]);
    assert.equal(
      eventsOf(events, "tool.result").find(({ ref }) => ref === `e1.${call}`)?.output,
      `all of ${of}`,
    );
  }
  await bench.assertSound();
});

Deno.test("progress is told while other calls of the step still run, and is bounded", async () => {
  let finish = (): void => {};
  const wait = new Promise<void>((resolve) => finish = resolve);
  const bench = new Bench({
    script: replies({ calls: [{ name: "slow", input: {} }, { name: "chatty", input: {} }] }),
    tools: [
      tool("slow", () => wait.then(() => "slow")),
      tool("chatty", async function* () {
        yield "x".repeat(20_000);
        for (let n = 0; n < 1_500; n++) yield n;
        await wait;
        return "said";
      }),
    ],
  });
  const told: unknown[] = [];
  for await (const event of bench.start("Go")) {
    if (event.type !== "tool.progress") continue;
    told.push(event.data);
    if (told.length === 1_000) finish();
  }
  assert.equal(told.length, 1_000);
  assert.equal(String(told[0]).length, 8_192);
  await bench.assertSound();
});

Deno.test("a generator that is cancelled, or late, is told to return, and its end is the call's own", async () => {
  for (const how of ["cancel", "late"] as const) {
    let isClosed = false;
    const stop = new AbortController();
    const bench: Bench = new Bench({
      script: replies(calls("work", {})),
      tools: [{
        ...tool("work", async function* (_, { signal }) {
          try {
            for (;;) {
              yield "going on";
              await bench.clock.sleep(100, signal);
            }
          } finally {
            isClosed = true;
          }
        }),
        timeoutMs: 1_000,
      }],
    });
    const running = bench.run("Go", { signal: stop.signal });
    await bench.clock.advance(550);
    if (how === "cancel") stop.abort(new Error("enough"));
    await bench.clock.advance(1_000);
    const events = await running;
    const [result] = eventsOf(events, "tool.result");
    assert.equal(result?.status, how === "cancel" ? "aborted" : "error");
    assert.ok(isClosed);
    assert.ok(eventsOf(events, "tool.progress").length >= 5);
    await bench.assertSound();
  }
});

Deno.test("a generator that waits for nothing and never ends holds nothing up, and is late like any other", async () => {
  for (const how of ["cancel", "late"] as const) {
    let isClosed = false;
    const stop = new AbortController();
    const bench = new Bench({
      script: replies(calls("spins", {})),
      tools: [{
        ...tool("spins", async function* () {
          try {
            for (let n = 0;; n++) yield n;
          } finally {
            isClosed = true;
          }
        }),
        timeoutMs: 1_000,
      }],
    });
    const running = bench.run("Go", { signal: stop.signal });
    // Whatever else the process has to do comes to its turn.
    await new Promise((resolve) => setTimeout(resolve));
    if (how === "cancel") stop.abort(new Error("enough"));
    await bench.clock.advance(1_000);
    const events = await running;
    assert.equal(eventsOf(events, "tool.result")[0]?.status, how === "cancel" ? "aborted" : "error");
    assert.ok(isClosed);
    await bench.assertSound();
  }
});

Deno.test("a generator that throws, or yields what JSON cannot say, is an error like any other", async () => {
  let isClosed = false;
  const bench = new Bench({
    script: replies({ calls: [{ name: "throws", input: {} }, { name: "big", input: {} }] }),
    tools: [
      tool("throws", async function* () {
        yield 1;
        throw new Error("broken");
      }),
      tool("big", async function* () {
        try {
          yield 5n;
          yield 6;
        } finally {
          isClosed = true;
        }
      }),
    ],
  });
  const events = await bench.run("Go");
  const results = eventsOf(events, "tool.result");
  assert.deepEqual(results.map(({ status }) => status), ["error", "error"]);
  assert.match(String(results.find(({ name }) => name === "throws")?.output), /throws failed: broken/);
  assert.match(String(results.find(({ name }) => name === "big")?.output), /big failed/);
  assert.ok(isClosed);
  await bench.assertSound();
});

Deno.test("an iterator by hand that will not be told to return ends its own call, late or cancelled, and nothing else", async () => {
  const ways: Readonly<Record<string, () => unknown>> = {
    "throws at once": () => {
      throw new Error("connection already closed");
    },
    "gives nothing": () => undefined,
    "gives what throws when it is waited for": () => ({
      get then() {
        throw new Error("not to be waited for");
      },
    }),
  };
  for (const [name, onReturn] of Object.entries(ways)) {
    for (const how of ["cancel", "late"] as const) {
      const stop = new AbortController();
      const made = {
        next: () => new Promise(() => {}),
        return: onReturn,
        [Symbol.asyncIterator]: () => made,
      };
      const bench = new Bench({
        script: replies(calls("hangs", {})),
        tools: [{ ...tool("hangs", () => made), timeoutMs: 1_000 }],
      });
      const running = bench.run("Go", { signal: stop.signal });
      await bench.clock.advance(500);
      if (how === "cancel") stop.abort(new Error("enough"));
      await bench.clock.advance(1_000);
      const events = await running;
      const [result] = eventsOf(events, "tool.result");
      assert.equal(result?.status, how === "cancel" ? "aborted" : "error", `${name}, ${how}`);
      await bench.assertSound();
    }
  }
});
