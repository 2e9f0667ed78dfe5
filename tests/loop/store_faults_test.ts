/**
 * Turns under a store that fails at each of its commits, a lease that is lost, a process that dies, another turn in
 * the same session. A turn that has started always tells an error and its end, and the log stays whole.
 */
import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import type { Lease, Store } from "../../src/ports.ts";
import {
  assertLog,
  Bench,
  calls,
  endOf,
  errorsOf,
  KEY,
  prose,
  replies,
  reporting,
  tool,
  withCommit,
} from "../support/turns.ts";

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
  assert.ok(count > 4);
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
  // The last commit, of the events so far, was made within the first half second.
  await bench.clock.advance(4_000);
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
  for (let alive = 0; alive < 5; alive++) {
    let made = 0;
    const isDead = ({ turn, epoch }: Lease): boolean => turn === "t0" && epoch === 1 && made >= alive;
    const bench = new Bench({
      tools: reading,
      script: steps(),
      wrap: (store) => ({
        ...withCommit(store, async (key, lease, commit) => {
          if (isDead(lease)) return await new Promise(() => {});
          await store.commit(key, lease, commit);
          made++;
        }),
        renew: (key, lease, ttlMs) => isDead(lease) ? new Promise(() => {}) : store.renew(key, lease, ttlMs),
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
    if (alive % 2 === 1) assert.ok(closed.length > 0, `nothing is open after commit ${alive}`);
  }
});

Deno.test("runTurn() takes no lease where the session cannot be read", async () => {
  let isBad = false;
  const bench = new Bench({
    wrap: (store) => ({
      ...withCommit(store, (...args) => store.commit(...args)),
      acquire: (key, { begin, ...options }) =>
        store.acquire(key, {
          ...options,
          begin: async (state) => await begin?.(isBad ? { ...state, view: { cut: "no view" } } : state) ?? {},
        }),
    }),
  });
  assert.equal(endOf(await bench.run("Go")), "stop");
  isBad = true;
  const before = await bench.state();
  await assert.rejects(bench.run("Go"));
  isBad = false;
  assert.deepEqual(await bench.state(), before);
  assert.equal(endOf(await bench.run("Go")), "stop");
});

Deno.test("runTurn() aborts the tools that still run when it fails", async () => {
  const aborted: unknown[] = [];
  const bench: Bench = new Bench({
    tools: [
      tool("polite", (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => (aborted.push(signal.reason), reject(signal.reason)));
        })),
      tool("break", () => {
        const { clock } = bench;
        const now = clock.now.bind(clock);
        let n = 0;
        // The second time is that of the result's entry.
        clock.now = () => {
          if (++n === 2) throw new Error("no time");
          return now();
        };
        return "x";
      }),
    ],
    script: replies({ calls: [{ name: "polite", input: {} }, { name: "break", input: {} }] }),
  });
  const { result: events, reports } = await reporting(() => bench.run("Go"));
  assert.deepEqual(errorsOf(events), ["internal"]);
  assert.equal(aborted.length, 1);
  assert.deepEqual(reports, aborted);
  await bench.assertSound();
});
