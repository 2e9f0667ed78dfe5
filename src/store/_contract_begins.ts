/**
 * The contract of stores: what is stored together with a lease.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { LeasedSession, LeaseRequest, Store } from "../ports.ts";
import {
  breathe,
  cases,
  codeIs,
  type ContractCase,
  KEY,
  makeSession,
  settle,
  userEntries,
} from "./_contract_rig.ts";

/** Asks for the lease of a session, together with a beginning. */
function begin(
  store: Store,
  begin: NonNullable<LeaseRequest["begin"]>,
  turn = "t1",
): Promise<LeasedSession> {
  return store.acquire(KEY, { agent: "default", owner: turn, turn, ttlMs: 10_000, begin });
}

/** Tests of what turns begin with. */
export const beginCases: readonly ContractCase[] = cases((test) => {
  test("stores what a turn begins with together with its lease", async (store, clock) => {
    await makeSession(store, KEY, { turn: "t0", entries: userEntries(0, 2) });
    const seen: LeasedSession[] = [];
    const flag = { reason: "size", since: 1 };
    const taken = await begin(store, async (state) => {
      seen.push(structuredClone(state));
      await clock.advance(1_000);
      return {
        entries: userEntries(2, 2),
        view: { version: 3, value: "view" },
        meter: 7,
        flag,
        pins: { e1: true },
      };
    });
    const [given] = seen;
    assert.ok(given !== undefined && seen.length === 1);
    assert.deepEqual(given.entries, userEntries(0, 2));
    assert.deepEqual([given.head.length, given.view, given.head.lease?.turn], [2, null, "t1"]);
    // As it was read, under a lease that counts from when it was stored.
    const { lease } = taken;
    assert.deepEqual(taken, { ...given, lease, head: { ...given.head, lease } });
    assert.equal(lease.expires, clock.now() + 10_000);
    const after = {
      ...taken.head,
      length: 4,
      view: 3,
      meter: 7,
      flag,
      pins: { e1: true },
      updatedAt: clock.now(),
    };
    assert.deepEqual(await store.read(KEY), { head: after, entries: userEntries(0, 4), view: "view" });
    await store.commit(KEY, lease, { entries: userEntries(4, 1), release: true });
    assert.deepEqual((await store.read(KEY))?.entries, userEntries(0, 5));
  });

  test("makes a session with what its first turn begins with", async (store) => {
    const { head, entries } = await begin(store, (state) => {
      assert.deepEqual([state.head.length, state.entries, state.view], [0, [], null]);
      return { entries: userEntries(0, 1) };
    });
    assert.deepEqual([head.length, entries], [0, []]);
    assert.deepEqual((await store.read(KEY))?.entries, userEntries(0, 1));
    assert.deepEqual((await store.list(KEY)).sessions.map(({ key }) => key.session), ["s1"]);
  });

  test("leaves a branch with the lease, where a turn begins with that", async (store) => {
    await makeSession(store, KEY, { turn: "t0", entries: userEntries(0, 3) });
    await begin(store, () => ({ fork: { from: 0, at: 1, view: 0 }, entries: userEntries(1, 1, 30) }));
    assert.deepEqual((await store.read(KEY))?.entries, [...userEntries(0, 1), ...userEntries(1, 1, 30)]);
    assert.deepEqual((await store.read(KEY, { branch: 0 }))?.entries, userEntries(0, 3));
  });

  test("gives up the lease with what it stores, where it is told so", async (store) => {
    const { lease } = await begin(store, () => ({ entries: userEntries(0, 1), suspend: true }));
    await assert.rejects(store.commit(KEY, lease, { entries: userEntries(1, 1) }), codeIs("lease_lost"));
    const next = await store.acquire(KEY, {
      agent: "",
      owner: "o",
      turn: "t1",
      ttlMs: 10_000,
      takeover: true,
    });
    assert.deepEqual([next.entries, next.lease.takeovers], [userEntries(0, 1), 0]);
  });

  test("takes no lease, and stores nothing, where a beginning is refused", async (store) => {
    const refusals: [NonNullable<LeaseRequest["begin"]>, object][] = [
      [() => Promise.reject(new Error("no room")), { message: "no room" }],
      [() => ({ entries: userEntries(7, 1) }), { name: "RangeError" }],
      [() => ({ meter: 1n }), { name: "TypeError" }],
    ];
    for (const [refusal, error] of refusals) await assert.rejects(begin(store, refusal), error);
    assert.equal(await store.read(KEY), null);
    assert.deepEqual((await store.list(KEY)).sessions, []);
    assert.equal(await store.claim(KEY, "turn/t1"), undefined);
    await makeSession(store, KEY, { turn: "t0", entries: userEntries(0, 2) });
    const before = await store.read(KEY);
    for (const [refusal, error] of refusals) await assert.rejects(begin(store, refusal), error);
    assert.deepEqual(await store.read(KEY), before);
    assert.equal((await begin(store, () => ({ entries: userEntries(2, 1) }))).head.epoch, 2);
  });

  test("asks nobody what a turn begins with that cannot start", async (store) => {
    await begin(store, () => ({}));
    const never = (): never => assert.fail("asked");
    await assert.rejects(begin(store, never, "t2"), codeIs("turn_running"));
  });

  test("stores a beginning of any size", async (store) => {
    // More than a database takes in one piece.
    const entries = userEntries(0, 60, 50_000);
    const { lease } = await begin(
      store,
      () => ({ entries, view: { version: 1, value: "漢".repeat(60_000) } }),
    );
    const state = await store.read(KEY);
    assert.deepEqual(state?.entries, entries);
    assert.equal(state?.view, "漢".repeat(60_000));
    assert.equal(state?.head.lease?.turn, "t1");
    await store.commit(KEY, lease, { entries: userEntries(60, 1), release: true });
    assert.deepEqual((await store.read(KEY))?.head.length, 61);
  });

  test("shows the lease of a turn together with what it begins with, whatever its size", async (store) => {
    for (const [round, count] of [1, 60, 2_500].entries()) {
      const key = { ...KEY, session: `s${round}` };
      const entries = userEntries(0, count, Math.ceil(3_000_000 / count));
      let isStored = false;
      const request = { agent: "default", owner: "o", turn: `t${round}`, ttlMs: 10_000 };
      const asked = store.acquire(key, { ...request, begin: () => ({ entries }) })
        .finally(() => isStored = true);
      // Whoever looks, looks at what a crash at that moment would leave.
      while (!isStored) {
        const [claim, state, { sessions }] = [
          await store.claim(key, `turn/t${round}`),
          await store.read(key),
          await store.list(key),
        ];
        // What is seen later may be there although what was looked for before was not.
        assert.ok(claim === undefined || state !== null, "a turn is known, and its session is not there");
        assert.ok(state === null || sessions.some(({ key: { session } }) => session === key.session));
        assert.ok(
          state === null || state.entries.length === count,
          "a lease without what its turn begins with",
        );
        await breathe();
      }
      await asked;
      assert.deepEqual((await store.read(key))?.entries, entries);
    }
  });

  test("stores the beginning of one of many turns that ask at once, and of no other", async (store) => {
    for (const [round, length] of [20, 50_000].entries()) {
      const at = round * 15;
      const turns = Array.from({ length: 12 }, (_, i) => `t${round}-${i}`);
      const asked = turns.map((turn) =>
        begin(
          store,
          () => ({ entries: userEntries(at, 15, length).map((entry) => ({ ...entry, turn })) }),
          turn,
        )
      );
      const { won, codes } = await settle(asked);
      assert.deepEqual(codes, Array(11).fill("turn_running"));
      const [{ lease } = assert.fail("none has won")] = won;
      const { entries = [] } = await store.read(KEY) ?? {};
      assert.deepEqual(entries.slice(at).map(({ turn }) => turn), Array(15).fill(lease.turn));
      await store.commit(KEY, lease, { release: true });
    }
  });
});
