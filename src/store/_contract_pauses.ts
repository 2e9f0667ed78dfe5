/**
 * The contract of stores: turns that wait for answers.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Lease, Pause, Store } from "../ports.ts";
import {
  cases,
  codeIs,
  type ContractCase,
  KEY,
  readEvents,
  resultEntry,
  settle,
  take,
  takeOver,
  textEvents,
  userEntries,
} from "./_contract_rig.ts";

const PAUSE: Pause = {
  pending: [
    { ref: "e0.0", name: "locate", reason: "tool" },
    { ref: "e0.1", name: "send", reason: "approval" },
  ],
  approved: ["e0.2"],
};

/** Takes the lease of a turn that waits. */
function answer(store: Store, owner = "process-2", turn = "t1"): ReturnType<Store["acquire"]> {
  return store.acquire(KEY, { agent: "", owner, turn, ttlMs: 10_000, takeover: "paused" });
}

/** Makes a turn that waits; gives the lease that it had. */
async function pause(store: Store): Promise<Lease> {
  const { lease } = await take(store);
  await store.commit(KEY, lease, {
    entries: userEntries(0, 1),
    events: textEvents(0, 2),
    pause: PAUSE,
    suspend: true,
  });
  return lease;
}

/** Tests of turns that wait. */
export const pauseCases: readonly ContractCase[] = cases((test) => {
  test("keeps a turn that waits, however long it does, and tells what for", async (store, clock) => {
    const lease = await pause(store);
    await clock.advance(3_000 * 24 * 3_600_000);
    const state = await store.read(KEY);
    assert.deepEqual(state?.head.lease, { ...lease, expires: 0, pause: PAUSE });
    assert.deepEqual(state?.entries, userEntries(0, 1));
    assert.deepEqual((await store.events(KEY, "t1", 9))?.lease?.pause, PAUSE);
    assert.deepEqual((await store.list(KEY)).sessions[0]?.head.lease?.pause, PAUSE);
    await assert.rejects(store.commit(KEY, lease, { release: true }), codeIs("lease_lost"));
    await assert.rejects(store.renew(KEY, lease, 10_000), codeIs("lease_lost"));
  });

  test("refuses a new turn, and a takeover, while one waits", async (store) => {
    await pause(store);
    const before = await store.read(KEY);
    const paused = codeIs("turn_paused", { turn: "t1", pending: PAUSE.pending });
    await assert.rejects(take(store, { turn: "t2" }), paused);
    await assert.rejects(take(store), paused);
    await assert.rejects(takeOver(store), paused);
    assert.deepEqual(await store.read(KEY), before);
    assert.equal(await store.claim(KEY, "turn/t2"), undefined);
  });

  test("gives the lease of a turn that waits to one answer at a time", async (store, clock) => {
    await pause(store);
    const owners = Array.from({ length: 20 }, (_, i) => `process-${i}`);
    const { won, codes } = await settle(owners.map((owner) => answer(store, owner)));
    assert.deepEqual(codes, Array(19).fill("turn_running"));
    const [first] = won;
    assert.ok(first !== undefined);
    assert.deepEqual([first.lease.epoch, first.lease.takeovers, first.lease.pause], [2, 0, PAUSE]);
    assert.equal(first.lease.expires, clock.now() + 10_000);
    // A part of the answers: the turn waits on.
    const rest = { pending: PAUSE.pending.slice(1), approved: [] };
    await store.commit(KEY, first.lease, { entries: [resultEntry(1, "here")], pause: rest, suspend: true });
    const { lease } = await answer(store, "process-3");
    assert.deepEqual([lease.epoch, lease.takeovers, lease.pause], [3, 0, rest]);
    await assert.rejects(store.commit(KEY, first.lease, {}), codeIs("lease_lost"));
    // The last of them: it goes on, and takes no more.
    const none = { pending: [], approved: ["e0.1"] };
    await store.commit(KEY, lease, { entries: [resultEntry(2, "there")], pause: none });
    await assert.rejects(answer(store), codeIs("turn_not_paused", { turn: "t1" }));
    await assert.rejects(takeOver(store), codeIs("turn_running"));
    assert.deepEqual((await store.read(KEY))?.head.lease?.pause, none);
    // Who takes it over is told what was allowed.
    await clock.advance(10_000);
    await assert.rejects(answer(store), codeIs("turn_not_paused"));
    const left = await takeOver(store);
    assert.deepEqual([left.lease.pause, left.lease.takeovers], [none, 1]);
    await store.commit(KEY, left.lease, { release: true });
    assert.equal((await store.read(KEY))?.head.lease, undefined);
    await assert.rejects(answer(store), codeIs("turn_not_paused"));
    assert.equal((await take(store, { turn: "t2" })).lease.pause, undefined);
  });

  test("lets a turn wait on whose answer was never stored", async (store, clock) => {
    await pause(store);
    for (let died = 0; died < 5; died++) {
      await answer(store);
      await assert.rejects(answer(store, "process-3"), codeIs("turn_running"));
      await clock.advance(10_000);
      await assert.rejects(take(store, { turn: "t2" }), codeIs("turn_paused"));
      await assert.rejects(takeOver(store), codeIs("turn_paused"));
    }
    const { lease } = await answer(store);
    // Who dies while answers are taken in, is not held against the turn.
    assert.deepEqual([lease.epoch, lease.takeovers, lease.pause], [7, 0, PAUSE]);
    await store.commit(KEY, lease, { suspend: true });
    assert.deepEqual((await store.read(KEY))?.head.lease?.pause, PAUSE);
    assert.deepEqual(await readEvents(store), textEvents(0, 2));
  });

  test("answers no turn but the one that waits", async (store) => {
    const none = codeIs("turn_not_paused", { turn: "t1" });
    await assert.rejects(answer(store), none);
    assert.equal(await store.read(KEY), null);
    const { lease } = await take(store);
    await assert.rejects(answer(store), none);
    await store.commit(KEY, lease, { suspend: true });
    await assert.rejects(answer(store), none);
    const next = await takeOver(store);
    await store.commit(KEY, next.lease, { pause: PAUSE, suspend: true });
    await assert.rejects(answer(store, "process-3", "t2"), codeIs("turn_not_paused", { turn: "t2" }));
    assert.equal((await answer(store)).lease.turn, "t1");
  });

  test("takes the commit that pauses a turn once more, where its acknowledgement was lost", async (store) => {
    const { lease } = await take(store);
    const commit = { entries: userEntries(0, 1), pause: PAUSE, suspend: true };
    await store.commit(KEY, lease, commit);
    const paused = await store.read(KEY);
    await store.commit(KEY, lease, commit);
    assert.deepEqual(await store.read(KEY), paused);
    const other = { ...commit, pause: { pending: [], approved: [] } };
    await assert.rejects(store.commit(KEY, lease, other), codeIs("lease_lost"));
  });
});
