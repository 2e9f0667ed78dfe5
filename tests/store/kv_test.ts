import assert from "node:assert/strict";
import type { Store } from "../../src/ports.ts";
import { kvStore } from "../../src/store/kv.ts";
import { ManualClock } from "../support/clock.ts";
import { KEY, resultEntry, take, testStore, userEntries, userEntry } from "../support/store_contract.ts";

const PREFIX = ["selvage", "acme", "ada", "s1"];
const HOUR = 3_600_000;

/** A database file that is gone at the end of the block. */
function tempFile(): Disposable & { readonly path: string } {
  const dir = Deno.makeTempDirSync();
  return { path: `${dir}/kv.sqlite`, [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }) };
}

/** All records of the test's session, as the database has them. */
async function dump(kv: Deno.Kv, prefix: Deno.KvKey = PREFIX): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for await (const { key, value } of kv.list({ prefix })) found.set(JSON.stringify(key.slice(4)), value);
  return found;
}

/** Runs a test on a file with two stores and a bare view of the database. */
async function withFile(
  run: (at: { one: Store; two: Store; kv: Deno.Kv; clock: ManualClock }) => Promise<void>,
): Promise<void> {
  using file = tempFile();
  const clock = new ManualClock();
  const [one, two] = [await kvStore({ path: file.path, clock }), await kvStore({ path: file.path, clock })];
  const kv = await Deno.openKv(file.path);
  try {
    await run({ one, two, kv, clock });
  } finally {
    one.close();
    two.close();
    kv.close();
  }
}

testStore("kvStore(:memory:)", (clock) => kvStore({ path: ":memory:", clock }));

testStore("kvStore(file)", async (clock) => {
  const file = tempFile();
  const store = await kvStore({ path: file.path, clock });
  const close = store.close.bind(store);
  return Object.assign(store, {
    close() {
      close();
      file[Symbol.dispose]();
    },
  });
});

Deno.test("kvStore() keeps sessions when it is closed and opened again", async () => {
  using file = tempFile();
  const clock = new ManualClock();
  const first = await kvStore({ path: file.path, clock });
  const { lease } = await take(first);
  await first.commit(KEY, lease, {
    entries: userEntries(0, 2),
    view: { version: 1, value: "v".repeat(70_000) },
  });
  first.close();
  // The lease goes on where it was: the store is not what holds it.
  const second = await kvStore({ path: file.path, clock });
  await second.commit(KEY, lease, { entries: [resultEntry(2, "r".repeat(200_000))] });
  await second.renew(KEY, lease, 20_000);
  second.close();
  const third = await kvStore({ path: file.path, clock });
  const state = await third.read(KEY);
  assert.deepEqual(state?.entries, [...userEntries(0, 2), resultEntry(2, "r".repeat(200_000))]);
  assert.equal(state?.view, "v".repeat(70_000));
  assert.equal(state?.head.lease?.expires, clock.now() + 20_000);
  third.close();
});

Deno.test("kvStore() works beside another one on the same file", async () => {
  await withFile(async ({ one, two }) => {
    const runs = [one, two].map(async (store, i) => {
      const key = { ...KEY, session: `s${i}` };
      const { lease } = await take(store, { key });
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
    for (let round = 0; round < 10; round++) {
      const asked = [one, two, one, two].map((store, i) => take(store, { turn: `t${i}` }));
      const won = (await Promise.allSettled(asked)).filter(({ status }) => status === "fulfilled");
      assert.equal(won.length, 1);
      await clock.advance(10_000);
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

Deno.test("kvStore() takes a commit for done whose acknowledgement was lost", async () => {
  await withFile(async ({ one, two, kv }) => {
    const { lease } = await take(one);
    const commit = {
      entries: [userEntry(0, "漢".repeat(50_000))],
      view: { version: 1, value: "v" },
      release: true,
    };
    // The write of a commit of `one` that it never heard of.
    await two.commit(KEY, lease, commit);
    const before = await dump(kv);
    await one.commit(KEY, lease, commit);
    assert.deepEqual(await dump(kv), before);
  });
});

Deno.test("kvStore() refuses a commit of a lease that another store took over", async () => {
  await withFile(async ({ one, two, kv, clock }) => {
    const { lease } = await take(one);
    await one.commit(KEY, lease, { entries: userEntries(0, 1) });
    await clock.advance(10_000);
    await take(two, { owner: "isolate-2" });
    const before = await dump(kv);
    // Several batches: not one of them may land.
    const big = Array.from({ length: 4 }, (_, i) => resultEntry(i + 1, "x".repeat(700_000)));
    await assert.rejects(one.commit(KEY, lease, { entries: big }), {
      code: "lease_lost",
      fields: { turn: "t1", epoch: 1 },
    });
    await assert.rejects(one.renew(KEY, lease, 1), { code: "lease_lost" });
    assert.deepEqual(await dump(kv), before);
  });
});

Deno.test("kvStore() keeps values as bytes of JSON text, and what is long in chunks", async () => {
  await withFile(async ({ one, kv }) => {
    const { lease } = await take(one);
    const long = userEntry(1, "漢".repeat(50_000));
    await one.commit(KEY, lease, { entries: [userEntry(0, "字"), long] });
    const records = await dump(kv);
    const short = records.get('["e",0]');
    assert.ok(short instanceof Uint8Array);
    assert.deepEqual(JSON.parse(new TextDecoder().decode(short)), userEntry(0, "字"));
    const named = records.get('["e",1]') as { chunks: string; n: number; bytes: number };
    const bytes = new TextEncoder().encode(JSON.stringify(long)).length;
    assert.deepEqual([named.n, named.bytes], [3, bytes]);
    const chunks = [0, 1, 2].map((i) => records.get(JSON.stringify(["c", named.chunks, i])) as Uint8Array);
    assert.deepEqual(chunks.map((chunk) => chunk.length), [61_440, 61_440, bytes - 122_880]);
    assert.equal(records.size, 1 + 2 + 3);
  });
});

Deno.test("kvStore() does not count what a crashed commit has left", async () => {
  await withFile(async ({ one, two, kv, clock }) => {
    const { lease } = await take(one);
    await one.commit(KEY, lease, { entries: userEntries(0, 2) });
    // All batches but the last of a commit that was then killed.
    await kv.set([...PREFIX, "e", 2], new TextEncoder().encode(JSON.stringify(userEntry(2, "lost"))));
    await kv.set([...PREFIX, "e", 3], { chunks: "gone", n: 2, bytes: 100_000 });
    await kv.set([...PREFIX, "v", 1], new TextEncoder().encode('"lost"'));
    assert.deepEqual((await two.read(KEY))?.entries, userEntries(0, 2));
    assert.equal(await two.entry(KEY, 2), null);
    await clock.advance(10_000);
    const next = await take(two);
    assert.deepEqual([next.entries.length, next.view], [2, null]);
    await two.commit(KEY, next.lease, { entries: userEntries(2, 2), view: { version: 1, value: "kept" } });
    const state = await one.read(KEY);
    assert.deepEqual([state?.entries, state?.view], [userEntries(0, 4), "kept"]);
  });
});

Deno.test("kvStore() sweeps old chunks that nobody names when it takes a lease over", async () => {
  await withFile(async ({ one, two, kv, clock }) => {
    const { lease } = await take(one);
    const entries = [userEntry(0, "e".repeat(100_000))];
    await one.commit(KEY, lease, { entries, view: { version: 1, value: "1".repeat(100_000) } });
    await one.commit(KEY, lease, { view: { version: 2, value: "2".repeat(100_000) } });
    const named = await dump(kv, [...PREFIX, "c"]);
    assert.equal(named.size, 6);
    const orphan = (at: number, i: number) => [...PREFIX, "c", `${String(at).padStart(15, "0")}-orphan`, i];
    await kv.set(orphan(clock.now(), 0), new Uint8Array(9));
    await kv.set(orphan(clock.now(), 1), new Uint8Array(9));
    const young = clock.now() + 5_000;
    await kv.set(orphan(young, 0), new Uint8Array(9));
    await one.commit(KEY, lease, { release: true });
    await clock.advance(HOUR + 5_000);
    // After a clean end there is nothing to look for.
    const clean = await take(two, { turn: "t2" });
    assert.equal((await dump(kv, [...PREFIX, "c"])).size, 9);
    await two.renew(KEY, clean.lease, 0);
    await take(one, { turn: "t3" });
    const left = await dump(kv, [...PREFIX, "c"]);
    const kept = JSON.stringify(orphan(young, 0).slice(4));
    assert.deepEqual(left, new Map([...named, [kept, new Uint8Array(9)]]));
  });
});

Deno.test("kvStore() deletes a session to the last record", async () => {
  await withFile(async ({ one, kv }) => {
    const other = { ...KEY, session: "s10" };
    const kept = await take(one, { key: other });
    await one.commit(other, kept.lease, { entries: userEntries(0, 1) });
    const { lease } = await take(one);
    await one.commit(KEY, lease, {
      entries: [...userEntries(0, 300), resultEntry(300, "x".repeat(900_000))],
      view: { version: 1, value: "v".repeat(90_000) },
    });
    await kv.set([...PREFIX, "c", "000000000000001-orphan", 0], new Uint8Array(9));
    await kv.set([...PREFIX, "e", 900], new Uint8Array(9));
    await one.delete(KEY);
    assert.equal((await dump(kv)).size, 0);
    assert.deepEqual((await one.read(other))?.entries, userEntries(0, 1));
  });
});

Deno.test("kvStore() deletes a session to the last record while another store writes to it", async () => {
  await withFile(async ({ one, two, kv }) => {
    for (let round = 0; round < 5; round++) {
      const { lease } = await take(one);
      const writing = (async () => {
        for (let seq = 0;; seq++) {
          await one.commit(KEY, lease, {
            entries: [resultEntry(seq, "x".repeat(seq % 2 === 0 ? 700_000 : 10))],
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

Deno.test("kvStore() clears what a crashed deletion has left", async () => {
  await withFile(async ({ one, two, kv }) => {
    const { lease } = await take(one);
    await one.commit(KEY, lease, {
      entries: [...userEntries(0, 150), resultEntry(150, "x".repeat(200_000))],
    });
    await kv.delete([...PREFIX, "h"]);
    assert.equal(await two.read(KEY), null);
    const anew = await take(two, { turn: "t2" });
    assert.deepEqual([anew.entries, (await dump(kv)).size], [[], 1]);
    await kv.delete([...PREFIX, "h"]);
    await kv.set([...PREFIX, "e", 0], new Uint8Array(9));
    assert.equal(await one.delete(KEY), false);
    assert.equal((await dump(kv)).size, 0);
  });
});

Deno.test("kvStore() names the entry and the session that it cannot read", async () => {
  await withFile(async ({ one, two, kv, clock }) => {
    const { lease } = await take(one);
    const entries = [userEntry(0, "a"), userEntry(1, "x".repeat(150_000)), userEntry(2, "c")];
    await one.commit(KEY, lease, { entries, view: { version: 1, value: "v".repeat(70_000) } });
    const good = await dump(kv);
    const { chunks } = good.get('["e",1]') as { chunks: string };
    const view = good.get('["v",1]') as { chunks: string };
    const damages: [string, Deno.KvKey, unknown, RegExp][] = [
      ["entry 1", ["c", chunks, 1], null, /"s1": found 2 of 3 chunks/],
      ["entry 1", ["c", chunks, 2], new Uint8Array(3), /"s1": found 3 of 3 chunks/],
      ["entry 1", ["c", chunks, 3], new Uint8Array(1), /a chunk that is not its own/],
      ["entry 1", ["c", chunks, 0], "text", /a chunk that is not its own/],
      ["entry 0", ["e", 0], null, /found nothing/],
      ["entry 2", ["e", 2], null, /found nothing/],
      ["entry 2", ["e", 2], 7, /found number/],
      ["entry 2", ["e", 2], new TextEncoder().encode('{"kind":'), /8 bytes that are not JSON/],
      ["view 1", ["v", 1], null, /found nothing/],
      ["view 1", ["c", view.chunks, 0], null, /found 1 of 2 chunks/],
      ["the head", ["h"], "text", /found string/],
      ["the head", ["h"], new TextEncoder().encode("{"), /not JSON/],
    ];
    await clock.advance(10_000);
    for (const [what, key, value, message] of damages) {
      const at = [...PREFIX, ...key];
      const before = await kv.get(at);
      await (value === null ? kv.delete(at) : kv.set(at, value));
      const damaged = await dump(kv);
      const error = { code: "store_corrupt", fields: { session: "s1", what }, message };
      await assert.rejects(two.read(KEY), error);
      // The lease of a session that cannot be read is not taken.
      await assert.rejects(take(two), error);
      if (what === "entry 1") await assert.rejects(two.entry(KEY, 1), error);
      assert.deepEqual(await dump(kv), damaged);
      await (before.value === null ? kv.delete(at) : kv.set(at, before.value));
    }
    assert.deepEqual((await two.read(KEY))?.entries, entries);
  });
});

Deno.test("kvStore() leaves alone what was stored in another format", async () => {
  await withFile(async ({ one, two, kv }) => {
    const { lease } = await take(one);
    await one.commit(KEY, lease, { entries: userEntries(0, 1) });
    const head = await kv.get<Uint8Array>([...PREFIX, "h"]);
    const later = { ...JSON.parse(new TextDecoder().decode(head.value ?? undefined)), schema: 2, leases: [] };
    await kv.set([...PREFIX, "h"], new TextEncoder().encode(JSON.stringify(later)));
    const before = await dump(kv);
    const error = {
      code: "store_schema",
      fields: { found: 2, wanted: 1 },
      message: /found stored format 2, wanted 1/,
    };
    await assert.rejects(two.read(KEY), error);
    await assert.rejects(two.entry(KEY, 0), error);
    await assert.rejects(take(two), error);
    await assert.rejects(two.commit(KEY, lease, { entries: userEntries(1, 1) }), error);
    // This one still remembers the head that it wrote.
    await assert.rejects(one.commit(KEY, lease, { entries: userEntries(1, 1) }), error);
    await assert.rejects(two.renew(KEY, lease, 1), error);
    await assert.rejects(two.delete(KEY), error);
    assert.deepEqual(await dump(kv), before);
  });
});

Deno.test("kvStore() says what is missing where Deno runs without KV", async () => {
  const openKv = Object.getOwnPropertyDescriptor(Deno, "openKv");
  assert.ok(openKv !== undefined);
  try {
    Object.defineProperty(Deno, "openKv", { value: undefined, configurable: true });
    await assert.rejects(kvStore({ path: "x.sqlite" }), {
      code: "kv_unavailable",
      message: /at "x.sqlite".*--unstable-kv/,
    });
  } finally {
    Object.defineProperty(Deno, "openKv", openKv);
  }
});

Deno.test("kvStore() says which database it cannot open", async () => {
  using file = tempFile();
  const path = `${file.path}/no/such/folder/kv.sqlite`;
  await assert.rejects(kvStore({ path }), {
    code: "kv_unavailable",
    message: /no\/such\/folder.*unable to open/,
  });
});

Deno.test("kvStore() can be closed twice, and answers nothing after that", async () => {
  const store = await kvStore({ path: ":memory:" });
  await store.ping();
  store.close();
  store.close();
  await assert.rejects(store.ping());
});
