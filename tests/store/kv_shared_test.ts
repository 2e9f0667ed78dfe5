/** One database that several stores use at a time. Over 300 lines: a list of cases that share one way to open it. */
import assert from "node:assert/strict";
import type { Commit, SessionPage, Store } from "../../src/ports.ts";
import { kvStore } from "../../src/store/kv.ts";
import {
  KEY,
  makeSession,
  readEvents,
  resultEntry,
  settle,
  take,
  takeOver,
  textEvent,
  textEvents,
  userEntries,
} from "../support/store_contract.ts";
import { dump, type KvSpy, type SharedFile, withFile, withKvSpy } from "./kv_rig.ts";

const HOUR = 3_600_000;

Deno.test("kvStore() works beside another one on the same file", async () => {
  await withFile(async ({ one, two }) => {
    const runs = [one, two].map(async (store, i) => {
      const key = { ...KEY, session: `s${i}` };
      const { lease } = await take(store, { key, turn: `t${i}` });
      for (let seq = 0; seq < 50; seq++) {
        await store.commit(key, lease, { entries: userEntries(seq, 1, 2_000) });
      }
    });
    await Promise.all(runs);
    assert.deepEqual((await two.read({ ...KEY, session: "s0" }))?.entries, userEntries(0, 50, 2_000));
    assert.deepEqual((await one.read({ ...KEY, session: "s1" }))?.entries, userEntries(0, 50, 2_000));
  });
});

Deno.test("kvStore() gives the lease to one of two stores that ask at once", async () => {
  await withFile(async ({ one, two, clock }) => {
    const stores = [one, two, one, two];
    const first = await settle(
      stores.map((store, i) => take(store, { turn: `t${i}`, owner: `process-${i}` })),
    );
    assert.deepEqual(first.codes, Array(3).fill("turn_running"));
    const turn = first.won[0]?.lease.turn ?? "";
    for (let epoch = 2; epoch < 12; epoch++) {
      await clock.advance(10_000);
      const next = await settle(stores.map((store, i) => takeOver(store, { turn, owner: `process-${i}` })));
      assert.deepEqual(next.codes, Array(3).fill("turn_running"));
      assert.deepEqual(next.won.map(({ lease }) => [lease.epoch, lease.takeovers]), [[epoch, epoch - 1]]);
    }
  });
});

Deno.test("kvStore() asks anew what a turn begins with where another store has come by meanwhile", async () => {
  await withFile(async ({ one, two }) => {
    for (const [round, size] of [20, 50_000].entries()) {
      const lengths: number[] = [];
      const from = round * 32;
      const { lease } = await one.acquire(KEY, {
        agent: "default",
        owner: "o",
        turn: `t${round}`,
        ttlMs: 10_000,
        async begin({ head: { length } }) {
          lengths.push(length);
          if (lengths.length < 3) {
            await makeSession(two, KEY, { turn: `other ${length}`, entries: userEntries(length, 1) });
          }
          return { entries: userEntries(length, 30, size) };
        },
      });
      assert.deepEqual(lengths, [from, from + 1, from + 2]);
      const entries = (await two.read(KEY))?.entries.slice(from);
      assert.deepEqual(entries, [...userEntries(from, 2), ...userEntries(from + 2, 30, size)]);
      await one.commit(KEY, lease, { release: true });
    }
  });
});

Deno.test("kvStore() gives one id to one turn, whichever store and session it is asked of", async () => {
  await withFile(async ({ one, two }) => {
    for (let round = 0; round < 10; round++) {
      const turn = `t${round}`;
      const asked = Array.from(
        { length: 6 },
        (_, i) =>
          take(i % 2 === 0 ? one : two, {
            turn,
            key: { ...KEY, session: `s${round}-${i}` },
            owner: `process-${i}`,
          }),
      );
      const { won, codes } = await settle(asked);
      assert.equal(won.length, 1);
      assert.deepEqual(codes, Array(5).fill("turn_exists"));
    }
    const heads = (await one.list(KEY, { limit: 500 })).sessions.map(({ head }) => head.lease?.turn);
    assert.deepEqual(heads.sort(), Array.from({ length: 10 }, (_, i) => `t${i}`));
  });
});

Deno.test("kvStore() gives one value to 20 that claim at once from two stores", async () => {
  await withFile(async ({ one, two, clock }) => {
    for (let round = 0; round < 5; round++) {
      const claims = Array.from(
        { length: 20 },
        (_, value) => (value % 2 === 0 ? one : two).claim(KEY, "name", { value, ttlMs: 1_000 }),
      );
      const found = await Promise.all(claims);
      assert.equal(new Set(found).size, 1);
      assert.deepEqual([await one.claim(KEY, "name"), await two.claim(KEY, "name")], [found[0], found[0]]);
      // The record of one that has expired is still there.
      await clock.advance(1_000);
    }
  });
});

Deno.test("kvStore() lets the id of a turn be used again after a day, though its record is still there", async () => {
  await withFile(async ({ one, two, kv, clock }) => {
    const { lease } = await take(one);
    await one.commit(KEY, lease, { release: true });
    await clock.advance(24 * HOUR - 1);
    await assert.rejects(take(two), { code: "turn_exists" });
    await clock.advance(1);
    assert.notEqual((await kv.get(["selvage.claims", "acme", "ada", "turn/t1"])).versionstamp, null);
    const { won, codes } = await settle([take(one), take(two), take(one), take(two)]);
    assert.deepEqual(won.map(({ lease }) => lease.epoch), [2]);
    for (const code of codes) assert.ok(code === "turn_running" || code === "turn_exists", String(code));
    await one.commit(KEY, won[0]?.lease ?? lease, { release: true });
    await assert.rejects(take(two), { code: "turn_exists" });
  });
});

Deno.test("kvStore() keeps turns of two stores going that contend for sessions", async () => {
  await withFile(async ({ one, two }) => {
    const keys = Array.from({ length: 4 }, (_, i) => ({ ...KEY, session: `s${i}` }));
    const counts = new Map<string, number>();
    const run = async (store: Store, name: string) => {
      for (let i = 0; i < 40; i++) {
        const key = keys[i % 4] ?? KEY;
        const turn = `${name} ${i}`;
        const [taken] = (await settle([take(store, { key, turn, owner: name })])).won;
        if (taken === undefined) continue;
        const { lease, head } = taken;
        await store.commit(key, lease, {
          entries: userEntries(head.length, 1),
          events: [{ id: `${turn}:0`, type: "a" }],
        });
        await store.commit(key, lease, {
          entries: userEntries(head.length + 1, 1),
          events: [{ id: `${turn}:1`, type: "b" }],
          release: true,
        });
        counts.set(key.session, (counts.get(key.session) ?? 0) + 1);
        assert.deepEqual(await readEvents(store, { key, turn }), [
          { id: `${turn}:0`, type: "a" },
          { id: `${turn}:1`, type: "b" },
        ]);
      }
    };
    await Promise.all([run(one, "one"), run(two, "two"), run(one, "three"), run(two, "four")]);
    for (const key of keys) {
      const state = await one.read(key);
      const turns = counts.get(key.session) ?? 0;
      assert.ok(turns >= 10);
      assert.deepEqual([state?.entries, state?.head.epoch], [userEntries(0, 2 * turns), turns]);
    }
  });
});

Deno.test("kvStore() commits although the same lease was renewed elsewhere", async () => {
  await withFile(async ({ one, two, clock }) => {
    const { lease } = await take(one);
    await clock.advance(1_000);
    await two.renew(KEY, lease, 10_000);
    await one.commit(KEY, lease, { entries: userEntries(0, 1) });
    const head = (await two.read(KEY))?.head;
    assert.deepEqual([head?.length, head?.lease?.expires], [1, clock.now() + 10_000]);
    // One of them is now behind what it remembers.
    await two.commit(KEY, lease, { entries: userEntries(1, 1) });
    await one.commit(KEY, lease, { entries: userEntries(2, 1) });
    assert.deepEqual((await one.read(KEY))?.entries, userEntries(0, 3));
  });
});

Deno.test("kvStore() refuses a commit of a lease that another store took over", async () => {
  await withFile(async ({ one, two, kv, clock }) => {
    const { lease } = await take(one);
    await one.commit(KEY, lease, { entries: userEntries(0, 1) });
    await clock.advance(10_000);
    await takeOver(two);
    const before = await dump(kv);
    // Several batches: not one of them may land, nor the events with them.
    const big = Array.from({ length: 4 }, (_, i) => resultEntry(i + 1, "x".repeat(700_000)));
    const events = textEvents(0, 2);
    await assert.rejects(one.commit(KEY, lease, { events }), { code: "lease_lost" });
    await assert.rejects(one.commit(KEY, lease, { events: [textEvent(0, "x".repeat(900_000))] }), {
      code: "lease_lost",
    });
    await assert.rejects(one.commit(KEY, lease, { entries: big, events }), {
      code: "lease_lost",
      fields: { turn: "t1", epoch: 1, isDeleted: false },
    });
    await assert.rejects(one.renew(KEY, lease, 1), { code: "lease_lost" });
    assert.deepEqual(await dump(kv), before);
  });
});

Deno.test("kvStore() deletes a session to the last record while another store writes to it", async () => {
  await withFile(async ({ one, two, kv }) => {
    for (let round = 0; round < 5; round++) {
      const { lease } = await take(one, { turn: `t1 ${round}` });
      const writing = (async () => {
        for (let seq = 0;; seq++) {
          await one.commit(KEY, lease, {
            entries: [resultEntry(seq, "x".repeat(seq % 2 === 0 ? 700_000 : 10))],
            events: [textEvent(seq, "x".repeat(seq % 3 === 0 ? 100_000 : 10))],
          });
        }
      })();
      const lost = assert.rejects(writing, { code: "lease_lost" });
      while (((await two.read(KEY))?.head.length ?? 0) < 3);
      // Two at once: one of them finds it there.
      assert.deepEqual((await Promise.all([two.delete(KEY), two.delete(KEY)])).sort(), [false, true]);
      await lost;
      assert.equal((await dump(kv)).size, 0);
    }
  });
});

/** Runs a test with a store that `interrupt()` steps in on, beside another one on the same file. */
async function withInterrupted(
  run: (at: SharedFile & { readonly store: Store; readonly interrupt: KvSpy["interrupt"] }) => Promise<void>,
): Promise<void> {
  await withFile((file) =>
    withKvSpy(async ({ interrupt }) => {
      const store = await kvStore({ path: file.path, clock: file.clock });
      try {
        await run({ ...file, store, interrupt });
      } finally {
        store.close();
      }
    })
  );
}

Deno.test("kvStore() deletes with unusedSince nothing that came into use since it looked", async () => {
  await withInterrupted(async ({ store, two, interrupt, clock }) => {
    await makeSession(two, KEY);
    await clock.advance(1_000);
    interrupt("atomic", () => take(two, { turn: "t2" }));
    assert.equal(await store.delete(KEY, { unusedSince: clock.now() }), false);
    assert.equal((await two.read(KEY))?.head.lease?.turn, "t2");
    // Without it, whatever has changed is deleted too.
    const lease = (await two.read(KEY))?.head.lease;
    assert.ok(lease !== undefined);
    interrupt("atomic", () => two.commit(KEY, lease, { entries: userEntries(0, 1) }));
    assert.equal(await store.delete(KEY), true);
    assert.equal(await two.read(KEY), null);
  });
});

Deno.test("kvStore() deletes nothing of a session that was made anew behind its head", async () => {
  await withInterrupted(async ({ store, two, interrupt, kv }) => {
    const { lease } = await take(two);
    await two.commit(KEY, lease, { entries: userEntries(0, 10), release: true });
    const entries = userEntries(0, 3);
    // The head goes with the first operation; the session is there again before the second.
    interrupt("atomic", () => {
      interrupt("atomic", async () => {
        const next = await take(two, { turn: "t2" });
        await two.commit(KEY, next.lease, { entries, events: [{ id: "t2:0", type: "a" }], release: true });
      });
      return Promise.resolve();
    });
    assert.equal(await store.delete(KEY), true);
    assert.deepEqual((await two.read(KEY))?.entries, entries);
    assert.equal((await readEvents(two, { turn: "t2" }))?.length, 1);
    assert.equal((await dump(kv)).size, 1 + 3 + 1);
    assert.equal((await two.list(KEY)).sessions.length, 1);
  });
});

Deno.test("kvStore() gives no lease on a session that somebody else took since it looked", async () => {
  await withInterrupted(async ({ store, two, interrupt, clock }) => {
    interrupt("atomic", () => take(two, { turn: "t2" }));
    await assert.rejects(take(store), { code: "turn_running", message: /found turn "t2" running/ });
    assert.equal(await two.claim(KEY, "turn/t1"), undefined);
    await clock.advance(10_000);
    interrupt("atomic", () => takeOver(two, { turn: "t2" }));
    await assert.rejects(takeOver(store, { turn: "t2", owner: "late" }), { code: "turn_running" });
    const lease = (await two.read(KEY))?.head.lease;
    assert.deepEqual([lease?.owner, lease?.takeovers, lease?.epoch], ["process-2", 1, 2]);
    // The turn ended meanwhile: there is nothing to take over any more.
    await clock.advance(10_000);
    interrupt("atomic", async () => {
      const { lease } = await takeOver(two, { turn: "t2" });
      await two.commit(KEY, lease, { release: true });
    });
    await assert.rejects(takeOver(store, { turn: "t2" }), { code: "turn_over" });
  });
});

Deno.test("kvStore() starts no turn whose id was used in another session since it looked", async () => {
  await withInterrupted(async ({ store, two, interrupt }) => {
    const other = { ...KEY, session: "s2" };
    interrupt("atomic", () => take(two, { key: other }));
    await assert.rejects(take(store), { code: "turn_exists", fields: { turn: "t1" } });
    assert.equal(await two.read(KEY), null);
    assert.deepEqual(await two.claim(KEY, "turn/t1"), { session: "s2", agent: "default" });
    assert.deepEqual((await two.list(KEY)).sessions.map(({ key }) => key), [other]);
  });
});

Deno.test("kvStore() gives the value that somebody else claimed since it looked", async () => {
  await withInterrupted(async ({ store, two, interrupt, clock }) => {
    for (const value of ["first", "second"]) {
      interrupt("atomic", () => two.claim(KEY, "name", { value, ttlMs: 1_000 }));
      assert.equal(await store.claim(KEY, "name", { value: "late", ttlMs: 1_000 }), value);
      await clock.advance(1_000);
    }
  });
});

Deno.test("kvStore() commits nothing once its turn is taken over, even between two parts of a commit", async () => {
  await withInterrupted(async ({ store, two, interrupt, clock, kv }) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: userEntries(0, 1), events: textEvents(0, 1) });
    await clock.advance(10_000);
    const commit: Commit = {
      entries: [resultEntry(1, "x".repeat(1_500_000)), ...userEntries(2, 3)],
      view: { version: 1, value: "old" },
      events: [textEvent(1, "e".repeat(900_000)), ...textEvents(2, 3)],
    };
    let records = 0;
    interrupt("atomic", () => {
      interrupt("atomic", async () => {
        const next = await takeOver(two);
        await two.commit(KEY, next.lease, {
          entries: userEntries(1, 2),
          events: textEvents(1_000_000, 1),
          release: true,
        });
        records = (await dump(kv)).size;
      });
      return Promise.resolve();
    });
    await assert.rejects(store.commit(KEY, lease, commit), { code: "lease_lost" });
    const state = await store.read(KEY);
    assert.deepEqual([state?.entries, state?.view], [userEntries(0, 3), null]);
    assert.deepEqual(await readEvents(store), [textEvent(0), textEvent(1_000_000)]);
    assert.equal((await dump(kv)).size, records);
  });
});

Deno.test("kvStore() reads no events of a session that was deleted since it looked", async () => {
  await withInterrupted(async ({ store, two, interrupt }) => {
    const events = [textEvent(0, "x".repeat(150_000)), textEvent(1)];
    for (const isAnew of [false, true]) {
      const turn = `t${isAnew}`;
      const { lease } = await take(two, { turn });
      await two.commit(KEY, lease, { events });
      // Between the record and the chunks that it names.
      interrupt("list", () => {
        interrupt("list", async () => {
          await two.delete(KEY);
          if (isAnew) await take(two, { turn: "anew" });
        });
        return Promise.resolve();
      });
      assert.equal(await store.events(KEY, turn, 0), null);
    }
  });
});

Deno.test("kvStore() lists no session that was deleted since it read the list", async () => {
  await withInterrupted(async ({ store, two, interrupt, clock }) => {
    for (const session of ["s1", "s2", "s3"]) {
      await makeSession(two, { ...KEY, session });
      await clock.advance(1);
    }
    const names = ({ sessions }: SessionPage) => sessions.map(({ key }) => key.session);
    interrupt("getMany", () => two.delete({ ...KEY, session: "s3" }));
    assert.deepEqual(names(await store.list(KEY, { limit: 2 })), ["s2"]);
    const page = await store.list(KEY, { limit: 1 });
    assert.deepEqual(names(page), ["s2"]);
    interrupt("getMany", () => two.delete({ ...KEY, session: "s2" }));
    const next = await store.list(KEY, { limit: 1, after: page.next ?? "" });
    assert.deepEqual([names(next), next.next], [["s1"], null]);
    // A page of nothing is not the end of the list.
    await makeSession(two, { ...KEY, session: "s4" });
    interrupt("getMany", () => two.delete({ ...KEY, session: "s4" }));
    const none = await store.list(KEY, { limit: 1 });
    assert.deepEqual(names(none), []);
    assert.deepEqual(names(await store.list(KEY, { limit: 1, after: none.next ?? "" })), ["s1"]);
  });
});
