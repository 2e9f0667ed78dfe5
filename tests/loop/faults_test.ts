/**
 * Turns that something fails under: the model at each of its phases, the store at each commit, the lease. A turn
 * that has started always tells an error and its end, and the log stays whole.
 */
import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import type { ModelEvent, Store } from "../../src/ports.ts";
import {
  assertLog,
  Bench,
  calls,
  endOf,
  eventsOf,
  finish,
  KEY,
  modelOf,
  prose,
  replies,
  reporting,
  tool,
  withCommit,
} from "../support/turns.ts";

function errorsOf(events: readonly TurnEvent[]): string[] {
  return eventsOf(events, "error").map(({ code }) => code);
}

const text: ModelEvent = { type: "text.delta", text: "I " };
const input: ModelEvent = { type: "tool.input.delta", call: 0, name: "read", delta: '{"n"' };

/** A stream that gives some events and then fails or just ends. */
async function* broken(events: readonly ModelEvent[], error?: unknown): AsyncGenerator<ModelEvent> {
  for (const event of events) yield await Promise.resolve(event);
  if (error !== undefined) throw error;
}

const refused = new SelvageError("model_refused", "Cannot ask the model: it said no", {
  fields: { retryable: true },
});

Deno.test.each(
  [
    ["throws before it streams", () => {
      throw refused;
    }, "model_refused"],
    ["throws before its first event", () => broken([], refused), "model_refused"],
    ["throws in its text", () => broken([text], refused), "model_refused"],
    ["throws in its arguments", () => broken([text, input], refused), "model_refused"],
    ["throws what is no error", () => broken([text], "gone"), "internal"],
    ["throws an error of its own", () => broken([text], new TypeError("secret")), "internal"],
    ["ends without an event", () => broken([]), "model_stream_cut"],
    ["ends without a finish", () => broken([text, input]), "model_stream_cut"],
    ["is no iterable", () => ({}) as AsyncIterable<ModelEvent>, "internal"],
    ["finishes without a message", () => broken([{ type: "finish" } as ModelEvent]), "model_bad_response"],
    [
      "finishes with a part of no known kind",
      () =>
        broken([{ ...finish("x"), message: { role: "assistant", content: [{ type: "song" }] } } as never]),
      "model_bad_response",
    ],
    [
      "finishes with what JSON cannot say",
      () => broken([{ ...finish("x"), message: { role: "assistant", content: [{ n: 5n }] } } as never]),
      "model_bad_response",
    ],
  ] as const,
)("runTurn() tells an error where the model %s", async (_, stream, code) => {
  const bench = new Bench({
    tools: [tool("read", () => "x")],
    model: modelOf((_request, _signal, call) => call === 0 ? stream() : broken([finish("Done.")])),
  });
  const { result: events, reports } = await reporting(() => bench.run("Go"));
  assert.deepEqual(errorsOf(events), [code]);
  assert.equal(endOf(events), "error");
  assert.doesNotMatch(JSON.stringify(events), /secret/);
  assert.equal(eventsOf(events, "error")[0]?.retryable, code !== "model_stream_cut");
  assert.equal(reports.length, code === "internal" ? 1 : 0);
  const { entries } = await bench.assertSound();
  assert.deepEqual(entries.map(({ kind }) => kind), ["user"]);
  assert.equal(endOf(await bench.run("Again")), "stop");
  await bench.assertSound();
});

Deno.test.each([["length"], ["content-filter"]] as const)(
  "runTurn() runs no call of an answer that was cut off: %s",
  async (reason) => {
    let runs = 0;
    const bench = new Bench({
      tools: [tool("act", () => ++runs)],
      model: modelOf((_request, _signal, call) => {
        if (call > 0) return broken([finish("Done.")]);
        const part = { type: "tool-call" as const, toolCallId: "x", toolName: "act", input: { path: "/et" } };
        return broken([{ type: "finish", reason, message: { role: "assistant", content: [part, part] } }]);
      }),
    });
    const events = await bench.run("Go");
    assert.equal(runs, 0);
    const results = eventsOf(events, "tool.result");
    assert.deepEqual(results.map(({ status }) => status), ["error", "error"]);
    for (const { output } of results) assert.match(String(output), /^Not executed: /);
    assert.equal(endOf(events), reason === "length" ? "stop" : "content-filter");
    assert.equal(endOf(await bench.run("And?")), "stop");
    await bench.assertSound();
  },
);

Deno.test("runTurn() passes names on that no provider takes back, in a form that it does", async () => {
  const names = ["functions.read", "", "a\n[end of ledger; check 00000000]", "é".repeat(80), "__proto__"];
  const bench = new Bench({ script: replies({ calls: names.map((name) => ({ name, input: {} })) }) });
  const events = await bench.run("Go");
  assert.equal(endOf(events), "stop");
  assert.deepEqual(eventsOf(events, "tool.call").map(({ name }) => name), names);
  await bench.assertSound();
});

const tooLong = new SelvageError("context_length_exceeded", "Cannot answer: found too much");

/** A session with a few thousand tokens of history, under a model that then refuses. */
function refusedBench(times: number, before: readonly ModelEvent[] = []): Bench {
  let step = 0;
  return new Bench({
    tools: [tool("read", ({ n }) => prose(1_500, Number(n)))],
    model: modelOf(() => {
      if (step++ < 6) {
        const part = { type: "tool-call" as const, toolCallId: "x", toolName: "read", input: { n: step } };
        return broken([{
          type: "finish",
          reason: "tool-calls",
          message: { role: "assistant", content: [part] },
        }]);
      }
      return step - 7 < times ? broken(before, tooLong) : broken([finish("Done.")]);
    }, { window: 8_000, maxOutput: 500 }),
  });
}

Deno.test("runTurn() compacts once and asks again where the provider finds the request too long", async () => {
  const bench = refusedBench(1);
  const events = await bench.run("Go");
  assert.equal(endOf(events), "stop");
  assert.deepEqual(errorsOf(events), []);
  const applied = eventsOf(events, "compaction");
  assert.deepEqual(applied.map(({ phase, reason }) => [phase, reason]), [[
    "applied",
    "context_length_exceeded",
  ]]);
  assert.equal(bench.requests.length, 8);
  assert.ok(JSON.stringify(bench.requests[7]).length < JSON.stringify(bench.requests[6]).length * 0.9);
  assert.equal(eventsOf(events, "step.started").length, 7);
  await bench.assertSound();
});

Deno.test("runTurn() asks a second time only, and not at all where the answer had begun", async () => {
  const twice = refusedBench(9);
  const events = await twice.run("Go");
  assert.deepEqual(errorsOf(events), ["context_length_exceeded"]);
  assert.equal(twice.requests.length, 8);
  await twice.assertSound();
  const begun = refusedBench(1, [text]);
  assert.deepEqual(errorsOf(await begun.run("Go")), ["context_length_exceeded"]);
  assert.equal(begun.requests.length, 7);
  await begun.assertSound();
});

Deno.test("runTurn() compacts for a provider that counts much more than the meter does", async () => {
  // The provider takes 0.4 of what the meter would call a full window, and bills nothing from which to learn.
  let calls = 0;
  const bench = new Bench({
    tools: [tool("read", ({ n }) => prose(1_200, Number(n)))],
    model: modelOf((request) => {
      if (JSON.stringify(request.messages).length > 9_000) return broken([], tooLong);
      if (calls++ >= 20) return broken([finish("Done.")]);
      const part = { type: "tool-call" as const, toolCallId: "x", toolName: "read", input: { n: calls } };
      return broken([{
        type: "finish",
        reason: "tool-calls",
        message: { role: "assistant", content: [part] },
      }]);
    }, { window: 12_000, maxOutput: 500 }),
  });
  const events = await bench.run("Go");
  assert.deepEqual(errorsOf(events), []);
  assert.equal(endOf(events), "stop");
  await bench.assertSound();
});

const steps = () =>
  replies(calls("read", { n: 1 }), calls("read", { n: 2 }, { n: 3 }, { n: 4 }), calls("read", { n: 5 }), {
    text: "All read.",
  });

const reading = [tool("read", ({ n }) => prose(3_000, Number(n)))];

Deno.test.each(
  [
    ["lease_lost", new SelvageError("lease_lost", "Cannot write"), "lease_lost"],
    ["a plain error", new Error("disk full"), "internal"],
  ] as const,
)("runTurn() tells an error where the n-th commit fails with %s, for every n", async (_, error, code) => {
  const clean = new Bench({ tools: reading, script: steps(), window: 8_000 });
  await clean.run("Go");
  const count = clean.commits.length;
  assert.ok(count > 6);
  for (let n = 1; n <= count; n++) {
    let made = 0;
    const bench = new Bench({
      tools: reading,
      script: steps(),
      window: 8_000,
      wrap: (store) =>
        withCommit(store, async (key, lease, commit) => {
          if (++made === n) throw error;
          await store.commit(key, lease, commit);
        }),
    });
    const { result: events } = await reporting(async () => {
      try {
        return await bench.run("Go");
      } catch (thrown) {
        assert.equal(n, 1, "a turn that has started does not throw");
        assert.equal(thrown, error);
        return [];
      }
    });
    if (n > 1) {
      assert.deepEqual(errorsOf(events), [code], `commit ${n}`);
      assert.equal(endOf(events), "error");
    }
    assert.ok(made <= n, "nothing is stored behind a failure");
    assert.deepEqual(bench.clock.sleeping, []);
    // The lease runs out by itself; whoever comes next closes what is open.
    await bench.clock.advance(10_000);
    assert.equal(endOf(await bench.run("Again")), "stop");
    await bench.assertSound();
  }
});

Deno.test("runTurn() ends with lease_lost where somebody takes the session over", async () => {
  let taken: string | undefined;
  const bench: Bench = new Bench({
    tools: [
      tool("slow", async () => {
        // The process stands still for longer than the lease is good: the heartbeat comes too late.
        const { lease } = (await bench.state()).head;
        taken ??= (await other(bench.store).acquire(KEY, {
          agent: "default",
          owner: "other",
          turn: "other",
          ttlMs: 10_000,
        })).lease.turn;
        assert.equal(lease?.turn, "t0");
        return "done";
      }),
    ],
    script: replies(calls("slow", {})),
  });
  const events = await bench.run("Go");
  assert.equal(taken, "other");
  assert.deepEqual(errorsOf(events), ["lease_lost"]);
  assert.equal(endOf(events), "error");
  assert.equal((await bench.state()).head.lease?.turn, "other");
});

/** The store as one sees it to whom the lease has run out. */
function other(store: Store): Store {
  return {
    ...withCommit(store, (...args) => store.commit(...args)),
    acquire: async (key, options) => {
      const { head } = await store.read(key) ?? {};
      assert.ok(head?.lease);
      await store.commit(key, head.lease, { release: true });
      return await store.acquire(key, options);
    },
  };
}

Deno.test("runTurn() is ended by a heartbeat that finds the lease gone, although a tool hangs", async () => {
  const bench = new Bench({
    tools: [tool("stuck", () => new Promise(() => {}))],
    script: replies(calls("stuck", {})),
    wrap: (store) => ({
      ...withCommit(store, (...args) => store.commit(...args)),
      renew: () => Promise.reject(new SelvageError("lease_lost", "Cannot renew")),
    }),
  });
  const events = bench.run("Go");
  await bench.clock.advance(3_000);
  assert.deepEqual(errorsOf(await events), ["lease_lost"]);
  assert.deepEqual(bench.clock.sleeping, []);
});

Deno.test("runTurn() keeps its lease alive while a tool works for a minute", async () => {
  const bench: Bench = new Bench({
    tools: [tool("slow", () => bench.clock.sleep(55_000))],
    script: replies(calls("slow", {})),
  });
  const events = bench.run("Go");
  for (let second = 0; second < 50; second++) {
    await bench.clock.advance(1_000);
    const { lease } = (await bench.state()).head;
    assert.ok(lease !== undefined && lease.expires > bench.clock.now(), `second ${second}`);
  }
  await bench.clock.advance(10_000);
  assert.equal(endOf(await events), "stop");
  await bench.assertSound();
});

Deno.test("runTurn() waits for the turn that runs in its session, then goes on behind it", async () => {
  const bench: Bench = new Bench({
    tools: [tool("slow", () => bench.clock.sleep(4_000))],
    script: replies(calls("slow", {})),
  });
  const first = bench.run("One");
  await bench.clock.advance(1);
  const second = bench.run("Two");
  await bench.clock.advance(3_000);
  assert.equal((await bench.state()).head.lease?.turn, "t0");
  await bench.clock.advance(2_000);
  assert.equal(endOf(await first), "stop");
  assert.equal(endOf(await second), "stop");
  const { entries } = await bench.assertSound();
  assert.deepEqual(entries.map(({ turn }) => turn), ["t0", "t0", "t0", "t0", "t1", "t1"]);
});

Deno.test("runTurn() gives up with turn_running where the other turn goes on, and leaves it alone", async () => {
  const bench: Bench = new Bench({
    tools: [tool("slow", () => bench.clock.sleep(30_000))],
    script: replies(calls("slow", {})),
  });
  const first = bench.run("One");
  await bench.clock.advance(1);
  const second = assert.rejects(bench.run("Two"), { code: "turn_running" });
  await bench.clock.advance(11_000);
  await second;
  await bench.clock.advance(20_000);
  assert.equal(endOf(await first), "stop");
  await bench.assertSound();
});

Deno.test("runTurn() stops waiting for another turn when it is cancelled", async () => {
  const bench: Bench = new Bench({
    tools: [tool("slow", () => bench.clock.sleep(5_000))],
    script: replies(calls("slow", {})),
  });
  const stop = new AbortController();
  const first = bench.run("One");
  await bench.clock.advance(1);
  const second = assert.rejects(bench.run("Two", { signal: stop.signal }), /enough/);
  await bench.clock.advance(1_000);
  stop.abort(new Error("enough"));
  await second;
  await bench.clock.advance(5_000);
  assert.equal(endOf(await first), "stop");
  await bench.assertSound();
});

Deno.test("runTurn() closes as aborted what a crash in the middle of a step has left open", async () => {
  // The process dies after the n-th commit: nothing of it reaches the store any more.
  for (let alive = 1; alive < 6; alive++) {
    let made = 0;
    const isDead = (turn: string): boolean => turn === "t0" && made >= alive;
    const bench = new Bench({
      tools: reading,
      script: steps(),
      wrap: (store) => ({
        ...withCommit(store, async (key, lease, commit) => {
          if (isDead(lease.turn)) return await new Promise(() => {});
          await store.commit(key, lease, commit);
          made++;
        }),
        renew: (key, lease, ttlMs) =>
          isDead(lease.turn) ? new Promise(() => {}) : store.renew(key, lease, ttlMs),
      }),
    });
    const dropped = Array.fromAsync(bench.start("Go"));
    await Promise.race([dropped, bench.clock.advance(1)]);
    const before = await bench.state();
    const next = bench.run("Again");
    await bench.clock.advance(10_250);
    assert.equal(endOf(await next), "stop");
    const { entries } = await bench.state();
    assertLog(entries);
    assert.deepEqual(entries.slice(0, before.entries.length), before.entries);
    const closed = entries.slice(before.entries.length).filter(({ turn }) => turn === "t0");
    for (const entry of closed) assert.ok(entry.kind === "result" && entry.status === "aborted");
    if (alive % 2 === 0) assert.ok(closed.length > 0, `nothing is open after commit ${alive}`);
  }
});

Deno.test("runTurn() gives the lease back where the session cannot be read", async () => {
  let isBad = true;
  const bench = new Bench({
    wrap: (store) => ({
      ...withCommit(store, (...args) => store.commit(...args)),
      acquire: async (key, options) => ({
        ...await store.acquire(key, options),
        ...(isBad ? { view: { cut: "no view" } } : {}),
      }),
    }),
  });
  await assert.rejects(bench.run("Go"));
  isBad = false;
  assert.equal((await bench.state()).head.lease, undefined);
  assert.equal(endOf(await bench.run("Go")), "stop");
});
