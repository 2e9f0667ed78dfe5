/**
 * The contract of stores: leases, and turns that are taken over. Over 300 lines: it is a list.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Commit, Lease, Store } from "../ports.ts";
import {
  cases,
  codeIs,
  type ContractCase,
  KEY,
  makeSession,
  readEvents,
  resultEntry,
  settle,
  take,
  takeOver,
  textEvents,
  userEntries,
} from "./_contract_rig.ts";

/** Fails unless a lease can do nothing any more. */
async function assertLost(store: Store, lease: Lease): Promise<void> {
  const before = await store.read(KEY);
  const length = before?.head.length ?? 0;
  const commits: Commit[] = [
    { entries: userEntries(length, 1) },
    { entries: [resultEntry(length, "漢".repeat(60_000))], events: textEvents(5, 1) },
    // More than a database takes in one piece: nothing of it may land either.
    { entries: userEntries(length, 40, 50_000) },
    { view: { version: 9, value: "old" } },
    { flag: null },
    { events: textEvents(5, 3) },
    { release: true },
    {},
  ];
  for (const commit of commits) await assert.rejects(store.commit(KEY, lease, commit), codeIs("lease_lost"));
  await assert.rejects(store.renew(KEY, lease, 10_000), codeIs("lease_lost"));
  assert.deepEqual(await store.read(KEY), before);
}

/** Tests of leases. */
export const leaseCases: readonly ContractCase[] = cases((test) => {
  test("makes a session with its first lease", async (store, clock) => {
    const taken = await take(store);
    const lease: Lease = {
      owner: "process-1",
      turn: "t1",
      agent: "default",
      onDisconnect: "abort",
      epoch: 1,
      takeovers: 0,
      expires: clock.now() + 10_000,
    };
    const head = {
      schema: 1,
      agent: "default",
      length: 0,
      view: 0,
      createdAt: clock.now(),
      updatedAt: clock.now(),
      epoch: 1,
      lease,
    };
    assert.deepEqual(taken, { head, entries: [], view: null, lease });
    assert.deepEqual(await store.read(KEY), { head, entries: [], view: null });
  });

  test("refuses a lease while another is alive, and tells which", async (store, clock) => {
    const { lease } = await take(store);
    await clock.advance(9_999);
    const running = codeIs("turn_running", { turn: "t1", expires: lease.expires });
    await assert.rejects(take(store, { turn: "t2" }), running);
    // Nor does the same turn get it twice: two loops would run it.
    await assert.rejects(take(store), running);
    await assert.rejects(takeOver(store), running);
    await assert.rejects(takeOver(store, { turn: "t2" }), running);
    assert.deepEqual((await store.read(KEY))?.head.lease, lease);
    // What was refused has left nothing behind.
    await store.commit(KEY, lease, { release: true });
    assert.equal((await take(store, { turn: "t2" })).lease.turn, "t2");
  });

  test("refuses a new turn where another was left unfinished", async (store, clock) => {
    const request = { agent: "a", owner: "o", turn: "t1", ttlMs: 10_000, onDisconnect: "continue" } as const;
    const { lease } = await store.acquire(KEY, request);
    await store.commit(KEY, lease, { entries: userEntries(0, 1) });
    await clock.advance(10_000);
    const before = await store.read(KEY);
    const interrupted = codeIs("turn_interrupted", { turn: "t1", onDisconnect: "continue" });
    await assert.rejects(take(store, { turn: "t2" }), interrupted);
    await assert.rejects(take(store, { turn: "t1" }), interrupted);
    assert.deepEqual(await store.read(KEY), before);
    const { lease: next } = await takeOver(store);
    await store.commit(KEY, next, { release: true });
    assert.equal((await take(store, { turn: "t2" })).lease.turn, "t2");
  });

  test("goes on with a turn that was left, and refuses its old holder", async (store, clock) => {
    const request = { agent: "a", owner: "o", turn: "t1", ttlMs: 10_000, onDisconnect: "continue" } as const;
    const old = await store.acquire(KEY, request);
    await store.commit(KEY, old.lease, {
      entries: userEntries(0, 2),
      view: { version: 1, value: 1 },
      events: textEvents(0, 2),
    });
    await clock.advance(10_000);
    const next = await store.acquire(KEY, {
      agent: "another",
      owner: "process-2",
      turn: "t1",
      ttlMs: 7_000,
      onDisconnect: "abort",
      takeover: true,
    });
    // Agent and the rest stay what the turn was started with.
    assert.deepEqual(next.lease, {
      owner: "process-2",
      turn: "t1",
      agent: "a",
      onDisconnect: "continue",
      epoch: 2,
      takeovers: 1,
      expires: clock.now() + 7_000,
    });
    assert.deepEqual([next.entries, next.view], [userEntries(0, 2), 1]);
    assert.deepEqual(next.head.lease, next.lease);
    await assertLost(store, old.lease);
    await store.commit(KEY, next.lease, { entries: userEntries(2, 1) });
    assert.deepEqual(await store.read(KEY), {
      head: { ...next.head, length: 3, updatedAt: clock.now() },
      entries: userEntries(0, 3),
      view: 1,
    });
    assert.deepEqual(await readEvents(store), textEvents(0, 2));
  });

  test("refuses a holder that comes back once its turn has ended elsewhere", async (store, clock) => {
    const old = await take(store);
    await clock.advance(10_000);
    // Of the same name, even: the epoch tells them apart.
    const { lease } = await takeOver(store, { owner: old.lease.owner });
    await assertLost(store, old.lease);
    await store.commit(KEY, lease, { entries: userEntries(0, 1), release: true });
    await assertLost(store, old.lease);
    const next = await take(store, { turn: "t2" });
    await assertLost(store, old.lease);
    await assertLost(store, lease);
    await store.commit(KEY, next.lease, { release: true });
  });

  test("counts takeovers from holders that died, not from those that gave up", async (store, clock) => {
    const counts: number[] = [];
    let { lease } = await take(store);
    counts.push(lease.takeovers);
    for (const hasDied of [true, false, true, false, false, true]) {
      if (hasDied) await clock.advance(10_000);
      else await store.commit(KEY, lease, { suspend: true });
      lease = (await takeOver(store, { owner: `process-${lease.epoch + 1}` })).lease;
      counts.push(lease.takeovers);
      await store.renew(KEY, lease, 10_000);
      await store.commit(KEY, lease, { meter: lease.epoch });
      assert.equal((await store.read(KEY))?.head.lease?.takeovers, lease.takeovers);
    }
    assert.deepEqual(counts, [0, 1, 1, 2, 2, 2, 3]);
    assert.equal(lease.epoch, 7);
    await store.commit(KEY, lease, { release: true });
    assert.equal((await take(store, { turn: "t2" })).lease.takeovers, 0);
  });

  test("takes over no turn but the one that was left", async (store, clock) => {
    const over = (turn: string) => codeIs("turn_over", { turn });
    await assert.rejects(takeOver(store), over("t1"));
    assert.equal(await store.read(KEY), null);
    const { lease } = await take(store);
    await store.commit(KEY, lease, { release: true });
    await assert.rejects(takeOver(store), over("t1"));
    await take(store, { turn: "t2" });
    await clock.advance(10_000);
    const before = await store.read(KEY);
    await assert.rejects(takeOver(store), over("t1"));
    await assert.rejects(takeOver(store, { turn: "t3" }), over("t3"));
    assert.deepEqual(await store.read(KEY), before);
    assert.equal((await takeOver(store, { turn: "t2" })).lease.takeovers, 1);
  });

  test("gives a lease up in mid-turn, to be taken over at once", async (store, clock) => {
    const { lease } = await take(store);
    await clock.advance(1_000);
    const commit = { entries: userEntries(0, 1), events: textEvents(0, 2), meter: 3, suspend: true };
    await store.commit(KEY, lease, commit);
    const left = await store.read(KEY);
    assert.deepEqual([left?.head.length, left?.head.updatedAt], [1, clock.now()]);
    assert.equal(left?.head.lease?.turn, "t1");
    assert.ok((left?.head.lease?.expires ?? Infinity) <= clock.now());
    // Its acknowledgement may have been lost.
    await store.commit(KEY, lease, commit);
    await store.commit(KEY, lease, { suspend: true });
    assert.deepEqual(await store.read(KEY), left);
    // A heartbeat that was under way must not bring it back.
    await assertLost(store, lease);
    await assert.rejects(
      take(store, { turn: "t2" }),
      codeIs("turn_interrupted", { turn: "t1", onDisconnect: "abort" }),
    );
    const next = await takeOver(store);
    assert.deepEqual([next.lease.takeovers, next.lease.epoch, next.entries], [0, 2, userEntries(0, 1)]);
    assert.equal(next.lease.expires, clock.now() + 10_000);
    assert.deepEqual(await readEvents(store), textEvents(0, 2));
    await assertLost(store, lease);
  });

  test("keeps the epoch of a holder that gave up with nothing begun and unanswered", async (store, clock) => {
    const first = await take(store);
    // What is not given up says nothing of that.
    await store.commit(KEY, first.lease, { meter: 1, settled: true });
    assert.equal((await store.read(KEY))?.head.lease?.settled, undefined);
    const commit = { entries: userEntries(0, 1), suspend: true, settled: true };
    await store.commit(KEY, first.lease, commit);
    await store.commit(KEY, first.lease, commit);
    assert.equal((await store.read(KEY))?.head.lease?.settled, 1);
    const second = await takeOver(store);
    assert.deepEqual([second.lease.settled, second.lease.epoch], [1, 2]);
    await clock.advance(10_000);
    const third = await takeOver(store, { owner: "process-3" });
    assert.deepEqual(
      [third.lease.settled, third.lease.epoch],
      [1, 3],
      "of no use to whoever is not the next",
    );
    await store.commit(KEY, third.lease, { suspend: true, settled: true });
    assert.equal((await takeOver(store, { owner: "process-4" })).lease.settled, 3);
  });

  test("refuses a new turn with the id of an earlier one", async (store, clock) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: userEntries(0, 1), release: true });
    await clock.advance(3_600_000);
    const exists = codeIs("turn_exists", { turn: "t1" });
    const before = await store.read(KEY);
    await assert.rejects(take(store), exists);
    assert.deepEqual(await store.read(KEY), before);
    // Ids are one owner's, over all sessions.
    const other = { ...KEY, session: "s2" };
    await assert.rejects(take(store, { key: other }), exists);
    assert.equal(await store.read(other), null);
    assert.deepEqual((await store.list(KEY)).sessions.map(({ key }) => key.session), ["s1"]);
    for (const key of [{ ...KEY, user: "bob" }, { tenant: "acme", session: "s1" }]) {
      assert.equal((await take(store, { key })).lease.epoch, 1);
    }
    await store.delete(KEY);
    await assert.rejects(take(store), exists);
    assert.equal((await take(store, { turn: "t2" })).lease.epoch, 1);
  });

  test("claims the id of a turn with its lease", async (store, clock) => {
    assert.equal(await store.claim(KEY, "turn/t1"), undefined);
    const { lease } = await store.acquire(KEY, { agent: "a", owner: "o", turn: "t1", ttlMs: 10_000 });
    const claimed = { session: "s1", agent: "a" };
    assert.deepEqual(await store.claim(KEY, "turn/t1"), claimed);
    await assert.rejects(take(store, { turn: "t2" }));
    assert.equal(await store.claim(KEY, "turn/t2"), undefined);
    assert.equal(await store.claim({ tenant: "acme" }, "turn/t1"), undefined);
    await clock.advance(10_000);
    const next = await takeOver(store);
    assert.deepEqual(await store.claim(KEY, "turn/t1"), claimed);
    await assert.rejects(store.commit(KEY, lease, {}));
    await store.commit(KEY, next.lease, { release: true });
    assert.deepEqual(await store.claim(KEY, "turn/t1"), claimed);
  });

  test("lets an expired lease go on while nobody has taken it over", async (store, clock) => {
    const { lease } = await take(store);
    await clock.advance(60_000);
    await store.commit(KEY, lease, { entries: userEntries(0, 1), events: textEvents(0, 1) });
    await store.renew(KEY, lease, 10_000);
    await assert.rejects(takeOver(store), codeIs("turn_running"));
    assert.equal((await store.read(KEY))?.head.lease?.takeovers, 0);
  });

  test("renews a lease from now on", async (store, clock) => {
    const { lease } = await take(store);
    await clock.advance(3_000);
    await store.renew(KEY, lease, 10_000);
    assert.equal((await store.read(KEY))?.head.lease?.expires, clock.now() + 10_000);
    await clock.advance(9_999);
    await assert.rejects(takeOver(store), codeIs("turn_running"));
    await clock.advance(1);
    assert.equal((await takeOver(store)).lease.epoch, 2);
  });

  test("renews a lease along with a commit that says so, and with no other", async (store, clock) => {
    const { lease } = await take(store);
    await clock.advance(8_000);
    await store.commit(KEY, lease, { entries: userEntries(0, 1), ttlMs: 10_000 });
    const until = clock.now() + 10_000;
    assert.equal((await store.read(KEY))?.head.lease?.expires, until);
    await clock.advance(5_000);
    await store.commit(KEY, lease, { events: textEvents(0, 1) });
    assert.equal((await store.read(KEY))?.head.lease?.expires, until);
    // What is given up is given up.
    await store.commit(KEY, lease, { flag: null, suspend: true, ttlMs: 10_000 });
    await takeOver(store);
  });

  test("keeps a renewed lease through commits", async (store, clock) => {
    const { lease } = await take(store);
    await clock.advance(3_000);
    await store.renew(KEY, lease, 10_000);
    // The commit knows only the lease as it was given.
    await store.commit(KEY, lease, { entries: userEntries(0, 1) });
    assert.equal((await store.read(KEY))?.head.lease?.expires, clock.now() + 10_000);
  });

  test("releases a lease with a commit", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: userEntries(0, 1), release: true });
    const state = await store.read(KEY);
    assert.ok(state !== null && !("lease" in state.head));
    assert.equal(state.head.epoch, 1);
    await assert.rejects(store.commit(KEY, lease, { entries: userEntries(1, 1) }), codeIs("lease_lost"));
    await assert.rejects(store.renew(KEY, lease, 1), codeIs("lease_lost"));
    assert.equal((await take(store, { turn: "t2" })).lease.epoch, 2);
  });

  test("gives the lease to exactly one of many that ask at once", async (store, clock) => {
    const owners = Array.from({ length: 20 }, (_, i) => `process-${i}`);
    const first = await settle(owners.map((owner, i) => take(store, { turn: `t${i}`, owner })));
    assert.deepEqual(first.codes, Array(19).fill("turn_running"));
    assert.deepEqual(first.won.map(({ lease }) => lease.epoch), [1]);
    const turn = first.won[0]?.lease.turn ?? "";
    for (const epoch of [2, 3]) {
      await clock.advance(10_000);
      const next = await settle(owners.map((owner) => takeOver(store, { turn, owner })));
      assert.deepEqual(next.codes, Array(19).fill("turn_running"));
      assert.deepEqual(next.won.map(({ lease }) => [lease.epoch, lease.takeovers]), [[epoch, epoch - 1]]);
    }
  });

  test("starts a turn once that is asked for many times at once", async (store) => {
    const owners = Array.from({ length: 20 }, (_, i) => `process-${i}`);
    const { won, codes } = await settle(owners.map((owner) => take(store, { owner })));
    assert.equal(won.length, 1);
    for (const code of codes) assert.ok(code === "turn_running" || code === "turn_exists", String(code));
    assert.equal((await store.read(KEY))?.head.epoch, 1);
  });

  test("gives one id to one turn of an owner's sessions", async (store) => {
    const keys = Array.from({ length: 20 }, (_, i) => ({ ...KEY, session: `s${i}` }));
    const { won, codes } = await settle(keys.map((key) => take(store, { key })));
    assert.equal(won.length, 1);
    assert.deepEqual(codes, Array(19).fill("turn_exists"));
    const { sessions } = await store.list(KEY);
    assert.deepEqual(sessions.map(({ head }) => head), won.map(({ head }) => head));
    assert.equal((await Promise.all(keys.map((key) => store.read(key)))).filter(Boolean).length, 1);
  });

  test("takes commits and renewals of a lease at once", async (store, clock) => {
    const { lease } = await take(store);
    await clock.advance(3_000);
    const work: Promise<void>[] = [];
    for (let seq = 0; seq < 30; seq++) {
      const commit = { entries: userEntries(seq, 1), events: textEvents(seq * 2, 2) };
      work.push(store.commit(KEY, lease, commit), store.renew(KEY, lease, 10_000));
    }
    await Promise.all(work);
    const state = await store.read(KEY);
    assert.deepEqual(state?.entries, userEntries(0, 30));
    assert.equal(state?.head.lease?.expires, clock.now() + 10_000);
    assert.deepEqual(await readEvents(store), textEvents(0, 60));
  });

  test("runs turns of many sessions at once", async (store) => {
    const keys = Array.from({ length: 20 }, (_, i) => ({ ...KEY, session: `s${i}` }));
    await Promise.all(keys.map(async (key, i) => {
      for (let turn = 0; turn < 5; turn++) {
        await makeSession(store, key, { turn: `t${i}-${turn}`, entries: userEntries(turn, 1) });
      }
    }));
    for (const key of keys) {
      const state = await store.read(key);
      assert.deepEqual([state?.entries, state?.head.epoch], [userEntries(0, 5), 5]);
    }
  });
});
