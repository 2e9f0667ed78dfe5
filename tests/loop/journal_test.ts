import assert from "node:assert/strict";
import { Journal, LEASE_TTL_MS } from "../../src/loop/journal.ts";
import type { Clock, Commit, Lease, Store } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import { userEntry } from "../support/store_contract.ts";
import { KEY, withCommit } from "../support/turns.ts";

interface Rig {
  readonly clock: ManualClock;
  readonly journal: Journal;
  readonly store: Store;
  readonly commits: Commit[];
  readonly failures: unknown[];
  readonly renewed: number[];
  readonly lease: Lease;
}

async function rig(
  commit?: (commit: Commit, n: number) => Promise<void> | void,
  isAway: (n: number) => boolean = () => false,
  set = { by: 0 },
): Promise<Rig> {
  const clock = new ManualClock();
  // A clock that is set to another time shows that one, and sleeps as long as before.
  const shown: Clock = { now: () => clock.now() + set.by, sleep: (ms, signal) => clock.sleep(ms, signal) };
  const inner = memoryStore({ clock: shown });
  const commits: Commit[] = [];
  const failures: unknown[] = [];
  const renewed: number[] = [];
  const store: Store = {
    ...withCommit(inner, async (key, lease, made) => {
      commits.push(made);
      await commit?.(made, commits.length);
      await inner.commit(key, lease, made);
    }),
    renew: async (key, lease, ttlMs) => {
      renewed.push(ttlMs);
      if (isAway(renewed.length)) throw new Error("away");
      await inner.renew(key, lease, ttlMs);
    },
  };
  const { lease } = await store.acquire(KEY, { agent: "a", owner: "o", turn: "t", ttlMs: LEASE_TTL_MS });
  const onFailure = (error: unknown): void => void failures.push(error);
  const journal = new Journal({ store, key: KEY, lease, clock: shown, onFailure, onCancel: () => {} });
  return { clock, journal, store, commits, failures, renewed, lease };
}

Deno.test("Journal.flush() commits what was noted in one go, and nothing where nothing was", async () => {
  const { journal, commits } = await rig();
  await journal.flush();
  assert.deepEqual(commits, []);
  journal.entry(userEntry(0, "a"));
  journal.entry(userEntry(1, "b"));
  journal.change({ flag: { reason: "open_call", since: 1 } });
  journal.change({ flag: null, meter: 7 });
  await journal.flush();
  const entries = [userEntry(0, "a"), userEntry(1, "b")];
  assert.deepEqual(commits, [{ flag: null, meter: 7, entries, ttlMs: LEASE_TTL_MS }]);
  journal.close();
});

Deno.test("Journal.flush() keeps the order, however long a commit takes", async () => {
  const order: number[] = [];
  const rigged: Rig = await rig(async (_, n) => {
    if (n === 1) await rigged.clock.sleep(500);
    order.push(n);
  });
  const { journal, store, clock } = rigged;
  for (let seq = 0; seq < 3; seq++) {
    journal.entry(userEntry(seq, "x"));
    void journal.flush();
  }
  await clock.advance(500);
  assert.deepEqual(order, [1, 2, 3]);
  assert.equal((await store.read(KEY))?.entries.length, 3);
  journal.close();
});

Deno.test("Journal.flush() rejects for ever once a commit has failed, and tells it once", async () => {
  const full = new Error("disk full");
  const { journal, commits, failures, store } = await rig((_, n) => {
    if (n === 2) throw full;
  });
  for (let seq = 0; seq < 4; seq++) {
    journal.entry(userEntry(seq, "x"));
    // Not awaited: nothing may be left unhandled.
    void journal.flush();
  }
  await assert.rejects(journal.flush(), full);
  assert.deepEqual(failures, [full]);
  assert.equal(commits.length, 2, "nothing is tried behind a failure");
  assert.equal((await store.read(KEY))?.entries.length, 1);
  journal.close();
});

Deno.test("Journal renews its lease until it is closed, and leaves no timer", async () => {
  const { journal, clock, renewed, failures } = await rig();
  await clock.advance(9_500);
  assert.deepEqual(renewed, [LEASE_TTL_MS, LEASE_TTL_MS, LEASE_TTL_MS]);
  journal.close();
  await clock.advance(10_000);
  assert.equal(renewed.length, 3);
  assert.deepEqual(clock.sleeping, []);
  assert.deepEqual(failures, []);
});

Deno.test("Journal renews its lease at once where the clock was set back: it would outlive its turn by as long", async () => {
  const set = { by: 0 };
  const { journal, clock, store, renewed } = await rig(undefined, undefined, set);
  await clock.advance(500);
  set.by = -3_600_000;
  await clock.advance(1_000);
  const { expires = Infinity } = (await store.read(KEY))?.head.lease ?? {};
  assert.ok(expires <= clock.now() + set.by + LEASE_TTL_MS, `good for ${expires - clock.now() - set.by} ms`);
  await clock.advance(3_000);
  assert.equal(renewed.length, 2, "and every three seconds then, as before");
  journal.close();
});

Deno.test("Journal renews its lease along with what it commits, and by itself where that is nothing", async () => {
  const { journal, clock, store, renewed } = await rig();
  for (let n = 0; n < 15; n++) {
    journal.event({ type: "text.delta", step: 1, text: "x", id: `t:${n}` });
    await clock.advance(1_000);
  }
  assert.deepEqual(renewed, []);
  const { lease } = (await store.read(KEY))?.head ?? {};
  assert.ok(lease !== undefined && lease.expires > clock.now() + LEASE_TTL_MS - 1_000);
  await clock.advance(3_500);
  assert.deepEqual(renewed, [LEASE_TTL_MS]);
  journal.close();
});

Deno.test("Journal tells that its lease is lost, by heartbeat", async () => {
  const { journal, clock, failures, store, lease } = await rig();
  await store.commit(KEY, lease, { release: true });
  await clock.advance(3_000);
  assert.equal((failures[0] as { code?: string }).code, "lease_lost");
  await assert.rejects(journal.flush(), { code: "lease_lost" });
  assert.deepEqual(clock.sleeping, []);
  journal.close();
});

Deno.test("Journal does not mind a store that is away for a moment", async () => {
  const { journal, clock, failures, store } = await rig(undefined, (n) => n < 3);
  await clock.advance(20_000);
  assert.deepEqual(failures, []);
  const { lease } = (await store.read(KEY))?.head ?? {};
  assert.ok(lease !== undefined && lease.expires > clock.now());
  journal.close();
});

Deno.test("Journal fails when no heartbeat comes through before the lease runs out", async () => {
  const { journal, clock, failures, renewed } = await rig(undefined, (n) => n > 2);
  await clock.advance(30_000);
  assert.deepEqual(failures.map(String), ["Error: away"]);
  assert.equal(renewed.length, 7, "twice for good, and five times in vain");
  journal.close();
});

Deno.test("Journal is silent about a heartbeat that meets the end of its turn", async () => {
  const { journal, clock, failures } = await rig();
  await clock.advance(2_999);
  journal.change({ release: true });
  const released = journal.flush();
  await clock.advance(1);
  await released;
  journal.close();
  assert.ok(failures.length <= 1);
});

Deno.test("a clock that fails while the journal looks after its lease fails the turn, and not the process", async () => {
  const clock = new ManualClock();
  let isBroken = false;
  const now = (): number => {
    if (isBroken) throw new Error("no time");
    return clock.now();
  };
  const shown: Clock = { now, sleep: (ms, signal) => clock.sleep(ms, signal) };
  const store = memoryStore({ clock });
  const { lease } = await store.acquire(KEY, { agent: "a", owner: "o", turn: "t", ttlMs: LEASE_TTL_MS });
  const failures: unknown[] = [];
  const onFailure = (error: unknown): void => void failures.push(error);
  const journal = new Journal({ store, key: KEY, lease, clock: shown, onFailure, onCancel: () => {} });
  isBroken = true;
  await clock.advance(1_500);
  assert.match(String(failures), /no time/);
  journal.close();
});
