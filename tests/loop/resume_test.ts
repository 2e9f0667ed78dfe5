/** Turns that their process left unfinished: taken over with everything that was stored, and nothing done twice. */
import assert from "node:assert/strict";
import { resumeTurn, runTurn } from "../../src/loop/turn.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import type { Lease, Store, Tool } from "../../src/ports.ts";
import {
  assertLog,
  Bench,
  calls,
  endOf,
  errorsOf,
  eventsOf,
  KEY,
  replies,
  tool,
  withCommit,
} from "../support/turns.ts";

/** A store that stops hearing of a holder after so many of its commits, as when a process is killed. */
function killedAfter(commits: number) {
  let made = 0;
  let isDead = false;
  const dead = ({ epoch }: Lease): boolean => epoch === 1 && isDead;
  const never = (): Promise<never> => new Promise(() => {});
  const wrap = (store: Store): Store => ({
    ...withCommit(store, async (key, lease, commit) => {
      if (dead(lease)) return await never();
      await store.commit(key, lease, commit);
      isDead ||= lease.epoch === 1 && ++made >= commits;
    }),
    renew: (key, lease, ttlMs) => dead(lease) ? never() : store.renew(key, lease, ttlMs),
  });
  return { wrap, isDead: () => isDead };
}

/** A turn of three steps with two calls each, killed after so many commits. */
async function killed(commits: number, options: { readonly tools?: readonly Tool[] } = {}) {
  const { wrap } = killedAfter(commits);
  const runs: string[] = [];
  const record = (name: string) =>
    tool(name, (input) => {
      runs.push(`${name} ${input["n"]}`);
      return `result ${input["n"]}`;
    });
  const step = (n: number) => ({ calls: [{ name: "write", input: { n } }, { name: "look", input: { n } }] });
  const tools = options.tools ?? [record("write"), { ...record("look"), sideEffect: "none" as const }];
  const bench = new Bench({
    wrap,
    tools,
    script: ({ messages }) => {
      const done = messages.filter(({ role }) => role === "assistant").length;
      return done < 3 ? step(done) : { text: "All three are done." };
    },
  });
  const seen: TurnEvent[] = [];
  void (async () => {
    for await (const event of bench.start("Go")) seen.push(event);
  })();
  await bench.clock.advance(1);
  return { bench, seen, runs };
}

async function resume(bench: Bench): Promise<readonly TurnEvent[]> {
  const request = { agent: bench.agent, session: KEY.session, turn: "t0" };
  return await Array.fromAsync(resumeTurn(request, { store: bench.store, clock: bench.clock }));
}

for (const commits of [0, 1, 2, 3, 4]) {
  Deno.test(`resumeTurn() goes on with a turn killed after ${commits} commits behind its input, and loses nothing that was stored`, async () => {
    const { bench, runs } = await killed(commits);
    const before = await bench.state();
    const known = (await bench.store.events(KEY, "t0", 0))?.events ?? [];
    const ran = [...runs];
    await bench.clock.advance(10_001);
    const events = await resume(bench);
    assert.equal(endOf(events), "stop");
    const { head, entries } = await bench.state();
    assert.equal(head.lease, undefined);
    assertLog(entries);
    assert.deepEqual(entries.slice(0, before.entries.length), before.entries);
    assert.ok(entries.every(({ turn }) => turn === "t0"));
    // A call is run twice only where it may be, or where its result was never stored.
    const stored = new Set(before.entries.flatMap((entry) => entry.kind === "result" ? [entry.call] : []));
    for (const event of eventsOf(events, "tool.call")) assert.ok(!stored.has(event.ref), event.ref);
    const again = runs.slice(ran.length).filter((run) => ran.includes(run));
    for (const run of again) assert.match(run, /^look/);
    // Those who read both runs learn of each call and each result, in numbers that rise.
    const told = [...known, ...events] as TurnEvent[];
    assert.deepEqual(
      eventsOf(told, "tool.result").map(({ ref }) => ref).toSorted(),
      entries.flatMap((entry) => entry.kind === "result" ? [entry.call] : []).toSorted(),
    );
    const numbers = told.map(({ id }) => Number(id.split(":")[1]));
    assert.deepEqual(numbers, numbers.toSorted((a, b) => a - b));
    assert.equal(new Set(numbers).size, numbers.length);
    assert.deepEqual((await bench.store.events(KEY, "t0", 0))?.events, told);
  });
}

Deno.test("resumeTurn() refuses while the turn lives, when it is over, and where there is none", async () => {
  const { bench } = await killed(3);
  await assert.rejects(resume(bench), { code: "turn_running" });
  await bench.clock.advance(10_001);
  await resume(bench);
  await assert.rejects(resume(bench), { code: "turn_over" });
  const request = { agent: bench.agent, session: "none", turn: "t0" };
  await assert.rejects(Array.fromAsync(resumeTurn(request, bench)), { code: "turn_over" });
  assert.equal(await bench.store.read({ ...KEY, session: "none" }), null);
});

Deno.test("resumeTurn() gives up a turn that has killed its process four times, and tells so", async () => {
  const { bench } = await killed(3);
  for (let n = 0; n < 3; n++) {
    await bench.clock.advance(10_001);
    // A process that takes the turn over and dies at once.
    await bench.store.acquire(KEY, { agent: "", owner: `o${n}`, turn: "t0", ttlMs: 10_000, takeover: true });
  }
  await bench.clock.advance(10_001);
  assert.deepEqual(await resume(bench), []);
  const events = (await bench.store.events(KEY, "t0", 0))?.events as readonly TurnEvent[];
  assert.deepEqual(errorsOf(events), ["turn_lost"]);
  assert.equal(endOf(events), "error");
  const { head, entries } = await bench.state();
  assert.equal(head.lease, undefined);
  assertLog(entries);
  assert.equal(endOf(await bench.run("Again")), "stop");
});

Deno.test("runTurn() with suspend lets tools in hand finish, and another process goes on at once", async () => {
  const down = new AbortController();
  let finish = (): void => {};
  const slow = tool("slow", () => new Promise((resolve) => finish = () => resolve("done")));
  const bench = new Bench({ tools: [slow], script: replies(calls("slow", {}, {})) });
  const request = { agent: bench.agent, session: KEY.session, input: "Go", suspend: down.signal };
  const events: TurnEvent[] = [];
  const running = (async () => {
    for await (
      const event of runTurn(request, {
        store: bench.store,
        clock: bench.clock,
        newId: () => "t0",
      })
    ) {
      events.push(event);
    }
  })();
  await bench.clock.advance(1);
  assert.equal(eventsOf(events, "tool.call").length, 2);
  down.abort();
  finish();
  await bench.clock.advance(3_000);
  await running;
  const results = eventsOf(events, "tool.result");
  assert.deepEqual(
    results.map(({ status }) => status),
    ["ok", "aborted"],
    "the second was waited for no longer",
  );
  assert.equal(eventsOf(events, "turn.finished").length, 0);
  assert.deepEqual(bench.clock.sleeping, []);
  const rest = await resume(bench);
  assert.equal(endOf(rest), "stop");
  assert.equal((await bench.state()).head.lease, undefined);
  // Given up, not died: it can happen as often as there are updates.
  for (let n = 0; n < 5; n++) {
    const turn = `u${n}`;
    const ports = { store: bench.store, clock: bench.clock, newId: () => turn };
    await Array.fromAsync(runTurn({ ...request, suspend: AbortSignal.abort() }, ports));
    const more = { agent: bench.agent, session: KEY.session, turn };
    for (let m = 0; m < 5; m++) {
      assert.deepEqual(
        eventsOf(
          await Array.fromAsync(resumeTurn({ ...more, suspend: AbortSignal.abort() }, ports)),
          "error",
        ),
        [],
      );
    }
    assert.equal(endOf(await Array.fromAsync(resumeTurn(more, ports))), "stop");
  }
});

Deno.test("runTurn() closes a turn that was left and nobody came back for, and leaves one that goes on", async () => {
  const { bench } = await killed(4);
  await bench.clock.advance(10_001);
  assert.equal(endOf(await bench.run("Something else")), "stop");
  const left = (await bench.store.events(KEY, "t0", 0))?.events as readonly TurnEvent[];
  assert.equal(endOf(left), "aborted");
  assertLog((await bench.state()).entries);

  const lease = { agent: "default", owner: "o", turn: "c0", ttlMs: 1_000, onDisconnect: "continue" } as const;
  await bench.store.acquire(KEY, lease);
  await bench.clock.advance(1_001);
  await assert.rejects(bench.run("Again"), { code: "turn_interrupted" });
});

Deno.test("a turn ends when another process asks for it, within a second", async () => {
  const hang = tool(
    "hang",
    (_, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason), { once: true })
      ),
  );
  const bench = new Bench({ tools: [hang], script: replies(calls("hang", {})) });
  const running = Array.fromAsync(bench.start("Go"));
  await bench.clock.advance(1);
  await bench.store.claim({ tenant: KEY.tenant }, "cancel/t0", { value: true, ttlMs: 60_000 });
  await bench.clock.advance(1_000);
  const events = await running;
  assert.equal(endOf(events), "aborted");
  assert.deepEqual(eventsOf(events, "tool.result").map(({ status }) => status), ["aborted"]);
  await bench.assertSound();
});
