/**
 * The contract of stores: branches of a log, and the views that hold in them.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Entry, Lease, Store } from "../ports.ts";
import {
  cases,
  codeIs,
  type ContractCase,
  KEY,
  readEntries,
  take,
  takeOver,
  textEvents,
  userEntries,
  userEntry,
} from "./_contract_rig.ts";

/** The texts of a log, in a few letters. */
async function texts(store: Store, branch?: number): Promise<string | null> {
  const state = await store.read(KEY, branch === undefined ? {} : { branch });
  return state?.entries.map(({ seq, ...entry }) =>
    `${seq}${entry.kind === "user" ? entry.message.content : "?"}`
  ).join(" ") ?? null;
}

function named(from: number, names: string): Entry[] {
  return names.split("").map((name, at) => userEntry(from + at, name));
}

/** A session with the entries a to f, a view made after b and another one after d. */
async function sixEntries(store: Store): Promise<Lease> {
  const { lease } = await take(store);
  await store.commit(KEY, lease, { entries: named(0, "ab"), view: { version: 1, value: "after b" } });
  await store.commit(KEY, lease, { entries: named(2, "cd"), view: { version: 3, value: "after d" } });
  await store.commit(KEY, lease, {
    entries: named(4, "ef"),
    flag: { reason: "open_call", since: 1 },
    meter: { anchor: 6 },
  });
  return lease;
}

/** Tests of branches. */
export const branchCases: readonly ContractCase[] = cases((test) => {
  test("forks a log at an entry, and keeps the branch that it left", async (store) => {
    const lease = await sixEntries(store);
    const fork = { from: 0, at: 2, view: 1 };
    await store.commit(KEY, lease, { fork, entries: named(2, "xy"), events: textEvents(0, 1) });
    assert.equal(await texts(store), "0a 1b 2x 3y");
    const state = await store.read(KEY);
    assert.equal(state?.view, "after b");
    const { branch, branches, length, view, flag, meter } = state?.head ?? {};
    assert.deepEqual({ branch, length, view, flag }, { branch: 1, length: 4, view: 1, flag: undefined });
    assert.deepEqual(meter, { anchor: 6 });
    assert.equal(branches?.length, 2);
    assert.deepEqual(branches?.[0], { parent: null, at: 0, base: 0, length: 6, view: 3 });
    assert.deepEqual([branches?.[1]?.parent, branches?.[1]?.at, branches?.[1]?.base], [0, 2, 1]);
    const old = await store.read(KEY, { branch: 0 });
    assert.equal(await texts(store, 0), "0a 1b 2c 3d 4e 5f");
    assert.deepEqual([old?.head.length, old?.head.view, old?.view], [6, 3, "after d"]);
    assert.deepEqual([old?.head.lease, old?.head.flag], [undefined, undefined]);
    assert.equal(await store.read(KEY, { branch: 2 }), null);
    assert.deepEqual(await store.read(KEY, { branch: 1 }), state);
    assert.deepEqual(await store.entry(KEY, 2), userEntry(2, "x"));
    assert.deepEqual(await store.entry(KEY, 1), userEntry(1, "b"));
    assert.equal(await store.entry(KEY, 4), null);
  });

  test("numbers the views of a branch on from the one that it took along", async (store) => {
    const lease = await sixEntries(store);
    await store.commit(KEY, lease, { fork: { from: 0, at: 3, view: 1 }, entries: named(3, "x") });
    await store.commit(KEY, lease, { view: { version: 3, value: "of the branch" } });
    assert.equal((await store.read(KEY))?.view, "of the branch");
    assert.equal((await store.read(KEY, { branch: 0 }))?.view, "after d");
    await assert.rejects(store.commit(KEY, lease, { view: { version: 3, value: "again" } }), RangeError);
  });

  test("reads views by their number, as the branch has them", async (store) => {
    const lease = await sixEntries(store);
    const views = async (branch?: number): Promise<unknown[]> => {
      const at = branch === undefined ? {} : { branch };
      const read = (view: number) => store.read(KEY, { ...at, view });
      return (await Promise.all([0, 1, 2, 3, 4].map(read))).map((state) => state?.view);
    };
    assert.deepEqual(await views(), [null, "after b", null, "after d", null]);
    await store.commit(KEY, lease, { fork: { from: 0, at: 3, view: 1 }, entries: named(3, "x") });
    await store.commit(KEY, lease, { view: { version: 2, value: "2" } });
    await store.commit(KEY, lease, { view: { version: 4, value: "4" } });
    // View 3 of the branch that was left was made after the fork: here there is none of that number.
    assert.deepEqual(await views(), [null, "after b", "2", null, "4"]);
    assert.deepEqual(await views(0), [null, "after b", null, "after d", null]);
  });

  test("forks branches of branches, old ones too, and copies nothing", async (store) => {
    const lease = await sixEntries(store);
    const forks: [from: number, at: number, names: string, whole: string][] = [
      [0, 4, "gh", "0a 1b 2c 3d 4g 5h"],
      [1, 5, "i", "0a 1b 2c 3d 4g 5i"],
      [2, 1, "jkl", "0a 1j 2k 3l"],
      [0, 6, "m", "0a 1b 2c 3d 4e 5f 6m"],
      [4, 5, "n", "0a 1b 2c 3d 4e 5n"],
      [3, 0, "o", "0o"],
      [6, 1, "p", "0o 1p"],
    ];
    for (const [from, at, names, whole] of forks) {
      await store.commit(KEY, lease, { fork: { from, at, view: 0 }, entries: named(at, names) });
      assert.equal(await texts(store), whole);
    }
    await store.commit(KEY, lease, { release: true });
    for (const [index, [, , , whole]] of forks.entries()) assert.equal(await texts(store, index + 1), whole);
    assert.equal(await texts(store, 0), "0a 1b 2c 3d 4e 5f");
    const { lease: next } = await take(store, { turn: "t2" });
    await store.commit(KEY, next, { entries: named(2, "q"), release: true });
    assert.equal(await texts(store), "0o 1p 2q");
  });

  test("keeps pins, those of shared entries alone in a new branch", async (store) => {
    const lease = await sixEntries(store);
    await store.commit(KEY, lease, { pins: { e1: true, "e3.0": true } });
    await store.commit(KEY, lease, { entries: named(6, "g") });
    assert.deepEqual((await store.read(KEY))?.head.pins, { e1: true, "e3.0": true });
    await store.commit(KEY, lease, { fork: { from: 0, at: 2, view: 1 }, entries: named(2, "x") });
    assert.deepEqual((await store.read(KEY))?.head.pins, { e1: true });
    await store.commit(KEY, lease, { pins: {} });
    assert.deepEqual((await store.read(KEY))?.head.pins, {});
  });

  test("refuses a fork that leaves no entry of a branch, and changes nothing", async (store) => {
    const lease = await sixEntries(store);
    const before = await store.read(KEY);
    for (
      const fork of [
        { from: 0, at: 7, view: 0 },
        { from: 0, at: -1, view: 0 },
        { from: 1, at: 1, view: 0 },
        { from: 0, at: 2, view: 4 },
      ]
    ) {
      await assert.rejects(store.commit(KEY, lease, { fork, entries: named(fork.at, "x") }), RangeError);
    }
    const fork = { from: 0, at: 2, view: 0 };
    await assert.rejects(store.commit(KEY, lease, { fork, entries: named(6, "x") }), RangeError);
    assert.deepEqual(await store.read(KEY), before);
    await store.commit(KEY, lease, { release: true });
    await assert.rejects(store.commit(KEY, lease, { fork }), codeIs("lease_lost"));
    assert.equal((await store.read(KEY))?.head.branches, undefined);
  });

  test("takes a fork for done whose acknowledgement was lost", async (store) => {
    const lease = await sixEntries(store);
    const commit = { fork: { from: 0, at: 2, view: 1 }, entries: named(2, "x") };
    await store.commit(KEY, lease, commit);
    const before = await store.read(KEY);
    await store.commit(KEY, lease, commit);
    assert.deepEqual(await store.read(KEY), before);
  });

  test("takes over a turn that died in a new branch", async (store, clock) => {
    const lease = await sixEntries(store);
    await store.commit(KEY, lease, { fork: { from: 0, at: 1, view: 0 }, entries: named(1, "x") });
    await clock.advance(10_000);
    const { lease: next, entries, head } = await takeOver(store);
    assert.deepEqual([entries.length, head.branch], [2, 1]);
    await store.commit(KEY, next, { entries: named(2, "y"), release: true });
    assert.equal(await texts(store), "0a 1x 2y");
  });

  test("keeps entries and views of many pieces in each branch, and deletes all of them", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: userEntries(0, 3, 90_000) });
    const fork = { from: 0, at: 1, view: 0 };
    const other = userEntries(1, 60, 50_000);
    await store.commit(KEY, lease, { fork, entries: other, view: { version: 1, value: "v".repeat(90_000) } });
    assert.deepEqual((await readEntries(store)).slice(1), other);
    assert.deepEqual((await store.read(KEY, { branch: 0 }))?.entries, userEntries(0, 3, 90_000));
    await store.commit(KEY, lease, { release: true });
    assert.equal(await store.delete(KEY), true);
    const { head, entries } = await take(store, { turn: "t2" });
    assert.deepEqual([head.branches, head.branch, entries], [undefined, undefined, []]);
    assert.equal(await store.read(KEY, { branch: 1 }), null);
  });

  test("refuses more branches than a head can hold", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: named(0, "a") });
    for (let n = 1; n < 500; n++) await store.commit(KEY, lease, { fork: { from: n - 1, at: 1, view: 0 } });
    const fork = { from: 7, at: 1, view: 0 };
    await assert.rejects(store.commit(KEY, lease, { fork }), { code: "too_many_branches" });
    await store.commit(KEY, lease, { entries: named(1, "b"), release: true });
    assert.equal(await texts(store), "0a 1b");
  });
});
