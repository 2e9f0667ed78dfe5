/**
 * The contract of stores: small values under a name that one of many stores.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Owner } from "../ports.ts";
import { cases, type ContractCase, ODD_NAMES, ODD_TEXTS } from "./_contract_rig.ts";

const ADA: Owner = { tenant: "acme", user: "ada" };

/** Tests of claims. */
export const claimCases: readonly ContractCase[] = cases((test) => {
  test("keeps the first value that is claimed under a name", async (store) => {
    assert.equal(await store.claim(ADA, "name"), undefined);
    assert.equal(await store.claim(ADA, "name", { value: "first", ttlMs: 1_000 }), "first");
    assert.equal(await store.claim(ADA, "name", { value: "second", ttlMs: 1_000 }), "first");
    assert.equal(await store.claim(ADA, "name"), "first");
    assert.equal(await store.claim(ADA, "other"), undefined);
  });

  test("claims nothing by looking", async (store) => {
    assert.equal(await store.claim(ADA, "name"), undefined);
    assert.equal(await store.claim(ADA, "name"), undefined);
    assert.equal(await store.claim(ADA, "name", { value: 1, ttlMs: 1_000 }), 1);
  });

  test("lets a claim go when its time is up", async (store, clock) => {
    await store.claim(ADA, "name", { value: "first", ttlMs: 1_000 });
    await clock.advance(999);
    // One more claim does not prolong the first.
    assert.equal(await store.claim(ADA, "name", { value: "second", ttlMs: 5_000 }), "first");
    await clock.advance(1);
    assert.equal(await store.claim(ADA, "name"), undefined);
    assert.equal(await store.claim(ADA, "name", { value: "third", ttlMs: 1_500.5 }), "third");
    await clock.advance(1_500);
    assert.equal(await store.claim(ADA, "name"), "third");
    await clock.advance(1);
    assert.equal(await store.claim(ADA, "name"), undefined);
  });

  test("gives one value to all of many that claim at once", async (store, clock) => {
    for (let round = 0; round < 3; round++) {
      const claims = Array.from(
        { length: 20 },
        (_, value) => store.claim(ADA, "name", { value, ttlMs: 1_000 }),
      );
      const found = await Promise.all(claims);
      assert.equal(new Set(found).size, 1);
      assert.equal(await store.claim(ADA, "name"), found[0]);
      // The next round meets one that has expired.
      await clock.advance(1_000);
    }
  });

  test("puts a value over the one that it names, and over no other", async (store, clock) => {
    const first = { n: 1, by: "a" };
    await store.claim(ADA, "name", { value: first, ttlMs: 1_000 });
    const found = await store.claim(ADA, "name");
    const second = { n: 2, by: "b" };
    assert.deepEqual(await store.claim(ADA, "name", { value: second, ttlMs: 2_000, over: found }), second);
    assert.deepEqual(await store.claim(ADA, "name", { value: { n: 9 }, ttlMs: 9_000, over: found }), second);
    assert.deepEqual(await store.claim(ADA, "name", { value: { n: 9 }, ttlMs: 9_000, over: {} }), second);
    await clock.advance(1_999);
    assert.deepEqual(await store.claim(ADA, "name"), second);
    await clock.advance(1);
    // What has expired is over, whatever it was; where there is nothing, nothing is in the way.
    assert.equal(await store.claim(ADA, "name"), undefined);
    assert.equal(await store.claim(ADA, "name", { value: 3, ttlMs: 1_000, over: second }), 3);
    // A time of nothing lets it go at once.
    await store.claim(ADA, "name", { value: 3, ttlMs: 0, over: 3 });
    assert.equal(await store.claim(ADA, "name"), undefined);
  });

  test("counts right for many that count at once", async (store) => {
    await Promise.all(Array.from({ length: 20 }, async (_, by) => {
      for (;;) {
        const found = await store.claim(ADA, "count") as { n: number } | undefined;
        const value = { n: (found?.n ?? 0) + 1, by };
        const kept = await store.claim(ADA, "count", {
          value,
          ttlMs: 60_000,
          ...(found === undefined ? {} : { over: found }),
        });
        if (JSON.stringify(kept) === JSON.stringify(value)) return;
      }
    }));
    assert.equal((await store.claim(ADA, "count") as { n: number }).n, 20);
  });

  test("keeps any JSON value, and nothing else", async (store) => {
    const values = [null, false, 0, "", [], {}, { deep: [{ a: null }] }, ...ODD_TEXTS];
    for (const [i, value] of values.entries()) {
      assert.deepEqual(await store.claim(ADA, `name ${i}`, { value, ttlMs: 1_000 }), value);
      assert.deepEqual(await store.claim(ADA, `name ${i}`, { value: "late", ttlMs: 1_000 }), value);
    }
    await assert.rejects(store.claim(ADA, "none", { value: undefined, ttlMs: 1_000 }));
    assert.equal(await store.claim(ADA, "none"), undefined);
  });

  test("keeps the claims of owners and names apart", async (store) => {
    const owners: Owner[] = [ADA, { tenant: "acme" }, { tenant: "acme", user: "bob" }, { tenant: "ada" }];
    const all = [
      ...owners.map((owner) => ({ owner, name: "name" })),
      ...ODD_NAMES.flatMap((name) => [
        { owner: ADA, name },
        { owner: { tenant: name }, name: "name" },
        { owner: { tenant: "t", user: name }, name: "name" },
      ]),
    ];
    for (const [value, { owner, name }] of all.entries()) {
      assert.equal(await store.claim(owner, name, { value, ttlMs: 1_000 }), value);
    }
    for (const [value, { owner, name }] of all.entries()) assert.equal(await store.claim(owner, name), value);
  });

  test("keeps many claims, and forgets only those that have expired", async (store, clock) => {
    await store.claim(ADA, "long", { value: "long", ttlMs: 10_000 });
    for (let i = 0; i < 100; i++) await store.claim(ADA, `short ${i}`, { value: i, ttlMs: 1_000 });
    await clock.advance(1_000);
    for (let i = 0; i < 100; i++) await store.claim(ADA, `late ${i}`, { value: i, ttlMs: 1_000 });
    assert.equal(await store.claim(ADA, "long"), "long");
    assert.equal(await store.claim(ADA, "short 0"), undefined);
    assert.equal(await store.claim(ADA, "late 0"), 0);
  });

  test("keeps claims safe from callers", async (store) => {
    const value = { lines: ["a"] };
    const own = await store.claim(ADA, "name", { value, ttlMs: 1_000 });
    value.lines.push("b");
    Object.assign(own ?? {}, { lines: [] });
    assert.deepEqual(await store.claim(ADA, "name"), { lines: ["a"] });
  });
});
