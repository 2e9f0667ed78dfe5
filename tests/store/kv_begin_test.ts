/** What a turn begins with where that is more than the database takes in one piece. */
import assert from "node:assert/strict";
import type { Store } from "../../src/ports.ts";
import { kvStore } from "../../src/store/kv.ts";
import { ManualClock } from "../support/clock.ts";
import { KEY, makeSession, settle, userEntries, userEntry } from "../support/store_contract.ts";
import { dump, withFile, withKvSpy } from "./kv_rig.ts";

for (const [what, earlier] of [["a new session", 0], ["a session with a past", 3]] as const) {
  Deno.test(`kvStore() begins a big turn of ${what} whole or not at all, wherever it is cut off`, async () => {
    const past = userEntries(0, earlier);
    // Many that are small, and two that take chunks.
    const begun = [
      ...userEntries(earlier, 1_000, 1_000),
      userEntry(earlier + 1_000, "漢".repeat(300_000)),
      userEntry(earlier + 1_001, "x".repeat(100_000)),
    ];
    const ask = (store: Store) =>
      store.acquire(KEY, {
        agent: "default",
        owner: "o",
        turn: "big",
        ttlMs: 10_000,
        begin: () => ({ entries: begun, view: { version: 1, value: "v".repeat(70_000) } }),
      });
    let whole = 0;
    for (let cut = 0; whole === 0; cut++) {
      await withFile(async ({ path, two, kv }) => {
        if (earlier > 0) await makeSession(two, KEY, { turn: "past", entries: past });
        const [before, sessions] = [await two.read(KEY), await two.list(KEY)];
        await withKvSpy(async ({ atomics, dieAfter }) => {
          const dying = await kvStore({ path, clock: new ManualClock() });
          dieAfter(cut);
          whole = (await settle([ask(dying)])).won.length;
          dying.close();
          assert.equal(atomics.length, cut);
        });
        if (whole === 0) {
          assert.deepEqual([await two.read(KEY), await two.list(KEY)], [before, sessions]);
          assert.equal(await two.claim(KEY, "turn/big"), undefined);
          // The same turn begins at once, as if nothing had been.
          assert.equal((await ask(two)).head.length, earlier);
        }
        const state = await two.read(KEY);
        assert.deepEqual([state?.entries.length, state?.head.lease?.turn], [earlier + begun.length, "big"]);
        assert.deepEqual(state?.entries, [...past, ...begun]);
        assert.deepEqual(await two.claim(KEY, "turn/big"), { session: "s1", agent: "default" });
        await two.delete(KEY);
        assert.equal((await dump(kv)).size, 0);
      });
    }
  });
}

Deno.test("kvStore() mixes no big beginnings of two stores that ask at once, nor with small ones", async () => {
  await withFile(async ({ one, two }) => {
    for (let round = 0; round < 6; round++) {
      // Half of them in sessions that are yet to be.
      const key = { ...KEY, session: `s${round}` };
      const past = round % 2 === 0 ? 0 : 2;
      if (past > 0) await makeSession(one, key, { turn: `past ${round}`, entries: userEntries(0, past) });
      const asked = [one, two, one, two].map((store, i) => {
        const turn = `t${round}-${i}`;
        const entries = (i === 3 ? userEntries(past, 2) : userEntries(past, 20 + 7 * i, 50_000 + i * 9_000))
          .map((entry) => ({ ...entry, turn }));
        const begin = () => ({ entries });
        return store.acquire(key, { agent: "default", owner: turn, turn, ttlMs: 10_000, begin });
      });
      const { won, codes } = await settle(asked);
      assert.deepEqual(codes, Array(3).fill("turn_running"));
      const [{ lease } = assert.fail("none has won")] = won;
      const entries = (await two.read(key))?.entries.slice(past) ?? [];
      const i = Number(lease.turn.at(-1));
      assert.deepEqual(entries.map(({ turn }) => turn), Array(i === 3 ? 2 : 20 + 7 * i).fill(lease.turn));
    }
  });
});

Deno.test("kvStore() begins a big turn anew where its session is cleared meanwhile", async () => {
  await withFile(async ({ path, two, kv, clock }) => {
    await withKvSpy(async (spy) => {
      const store = await kvStore({ path, clock });
      const entries = userEntries(0, 60, 50_000);
      const begin = () => ({ entries });
      const request = { agent: "default", owner: "o", turn: "t1", ttlMs: 10_000, begin };
      // Between its parts: the mark is there, and one of them, or two.
      for (const at of [2, 3]) {
        let seen = 0;
        const step = (): Promise<void> => {
          if (++seen < at) spy.interrupt("atomic", step);
          return seen === at ? two.delete(KEY).then((was) => assert.equal(was, false)) : Promise.resolve();
        };
        spy.interrupt("atomic", step);
        await store.acquire(KEY, request);
        assert.equal(seen, at);
        assert.deepEqual((await two.read(KEY))?.entries, entries);
        await two.delete(KEY);
        await kv.delete(["selvage.claims", "acme", "ada", "turn/t1"]);
      }
      store.close();
    });
  });
});
