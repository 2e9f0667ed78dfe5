import assert from "node:assert/strict";
import process from "node:process";
import type { Commit, Store } from "../../src/ports.ts";
import { kvStore } from "../../src/store/kv.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import {
  KEY,
  makeSession,
  readEvents,
  resultEntry,
  take,
  testStore,
  textEvent,
  textEvents,
  userEntries,
  userEntry,
} from "../support/store_contract.ts";
import { dump, PREFIX, tempFile, withFile, withKvSpy } from "./kv_rig.ts";

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

Deno.test("kvStore() deletes a session to the last record", async () => {
  await withFile(async ({ one, kv }) => {
    const other = { ...KEY, session: "s10" };
    const kept = await take(one, { key: other, turn: "other" });
    await one.commit(other, kept.lease, { entries: userEntries(0, 1) });
    const { lease } = await take(one);
    await one.commit(KEY, lease, {
      entries: [...userEntries(0, 300), resultEntry(300, "x".repeat(900_000))],
      view: { version: 1, value: "v".repeat(90_000) },
      events: [...textEvents(0, 3), textEvent(3, "x".repeat(200_000))],
    });
    await kv.set([...PREFIX, "c", "000000000000001-orphan", 0], new Uint8Array(9));
    await kv.set([...PREFIX, "e", 900], new Uint8Array(9));
    await one.delete(KEY);
    assert.equal((await dump(kv)).size, 0);
    assert.deepEqual([...(await dump(kv, ["selvage.sessions"])).keys()], ['["s10"]']);
    assert.deepEqual((await one.read(other))?.entries, userEntries(0, 1));
  });
});

Deno.test("kvStore() refuses the end of a page with a name that no session can have", async () => {
  const store = await kvStore({ path: ":memory:" });
  await makeSession(store, KEY);
  const after = (session: string) => btoa(JSON.stringify([1, "acme", "ada", session]));
  const error = { code: "bad_request", fields: { field: "after" } };
  await assert.rejects(store.list(KEY, { after: after("x".repeat(2_100)) }), error);
  await assert.rejects(store.list(null, { after: after("x".repeat(9_000)) }), error);
  assert.deepEqual((await store.list(KEY, { after: after("x".repeat(2_000)) })).sessions, []);
  store.close();
});

Deno.test("kvStore() keeps every record and every atomic within what the database takes", async () => {
  await withKvSpy(async (spy) => {
    const store = await kvStore({ path: ":memory:" });
    const { lease } = await take(store);
    const long = "漢字👩‍👧".repeat(20_000);
    await store.commit(KEY, lease, { events: [textEvent(0, "x".repeat(61_300)), textEvent(1, "short")] });
    const commits: Commit[] = [
      { entries: [resultEntry(0, "0123456789".repeat(2_000_000))], events: [textEvent(2, long)] },
      { entries: userEntries(1, 2_500), view: { version: 1, value: long }, events: textEvents(3, 2_500) },
      {
        entries: userEntries(2_501, 30, 60_000),
        view: { version: 2, value: long.repeat(9) },
        meter: "m".repeat(60_000),
      },
      { events: Array.from({ length: 40 }, (_, i) => textEvent(2_503 + i, "x".repeat(60_000))) },
      { entries: userEntries(2_531, 1), release: true },
    ];
    for (const commit of commits) await store.commit(KEY, lease, commit);
    assert.equal((await readEvents(store))?.length, 2_543);
    assert.equal((await store.read(KEY))?.entries.length, 2_532);
    assert.ok(spy.atomics.length > 40);
    for (const { records, bytes, keyBytes, largest } of spy.atomics) {
      assert.ok(largest <= 65_536, `a value of ${largest} bytes`);
      assert.ok(bytes + keyBytes <= 800 * 1_024, `an atomic of ${bytes + keyBytes} bytes`);
      assert.ok(records <= 1_000 && keyBytes <= 80 * 1_024, `${records} records, keys of ${keyBytes} bytes`);
    }
    // Small commits are one atomic each: the entry, its events and the head.
    const before = spy.atomics.length;
    const next = await take(store, { turn: "t2" });
    await store.commit(KEY, next.lease, {
      entries: userEntries(2_532, 1),
      events: [{ id: "t2:0", type: "a" }],
    });
    await store.commit(KEY, next.lease, { events: [{ id: "t2:1", type: "b" }], release: true });
    assert.deepEqual(spy.atomics.slice(before).map(({ records }) => records), [2, 3, 2]);
    store.close();
  });
});

Deno.test("kvStore() claims what is new with one operation, and reads only where something is there", async () => {
  await withKvSpy(async (spy) => {
    const store = await kvStore({ path: ":memory:" });
    let reads = 0;
    const { get } = Deno.Kv.prototype;
    Deno.Kv.prototype.get = function <T>(...args: Parameters<typeof get>) {
      reads++;
      return get.apply(this, args) as Promise<Deno.KvEntryMaybe<T>>;
    };
    try {
      const claim = (value: string) => store.claim(KEY, "name", { value, ttlMs: 1_000 });
      assert.equal(await claim("first"), "first");
      assert.deepEqual([spy.atomics.length, reads], [1, 0]);
      assert.equal(await claim("second"), "first");
      assert.deepEqual([spy.atomics.length, reads], [2, 1]);
    } finally {
      Deno.Kv.prototype.get = get;
    }
    store.close();
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

Deno.test("kvStore() makes the folder of its file", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const store = await kvStore({ path: `${folder}/not/yet/kv.sqlite` });
    assert.equal(await store.read(KEY), null);
    store.close();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("kvStore() says which database it cannot open", async () => {
  const file = await Deno.makeTempFile();
  try {
    // A file stands where its folder would.
    const path = `${file}/folder/kv.sqlite`;
    await assert.rejects(kvStore({ path }), {
      code: "kv_unavailable",
      message: /folder\/kv\.sqlite.*found "/,
    });
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("kvStore() can be closed twice, and answers nothing after that", async () => {
  const store = await kvStore({ path: ":memory:" });
  assert.equal(await store.read(KEY), null);
  store.close();
  store.close();
  await assert.rejects(store.read(KEY));
});

Deno.test("kvStore() and memoryStore() append to a long session and read it at the price of a short one", async () => {
  const stores = { kv: await kvStore({ path: ":memory:" }), memory: memoryStore() };
  for (const [name, store] of Object.entries(stores)) {
    const [short, long] = [await growing(store, "short", 1_000), await growing(store, "long", 10_000)];
    // Against itself in one run, by the same amount of work: what grew with the log would cost ten times as much.
    const cost = { append: [Infinity, Infinity], read: [Infinity, Infinity] };
    for (let round = 0; round < 7; round++) {
      for (const [i, session] of [short, long].entries()) {
        cost.append[i] = Math.min(cost.append[i] ?? 0, await cpuTime(() => session.append(40)));
        const times = session === short ? 10 : 1;
        cost.read[i] = Math.min(cost.read[i] ?? 0, await cpuTime(() => session.read(times)));
      }
    }
    for (const [work, [few = 0, many = Infinity]] of Object.entries(cost)) {
      assert.ok(
        many < 4 * few,
        `${name} ${work}: ${many} us of CPU in a long session, ${few} us in a short one`,
      );
    }
    store.close();
  }
});

/** A session of so many entries, and more to come. */
async function growing(store: Store, session: string, entries: number) {
  const key = { ...KEY, session };
  const { lease } = await take(store, { key, turn: session, ttlMs: 1_000_000 });
  let length = 0;
  const commit = async (count: number) => {
    await store.commit(key, lease, { entries: userEntries(length, count) });
    length += count;
  };
  while (length < entries) await commit(100);
  return {
    append: async (times: number) => {
      for (let i = 0; i < times; i++) await commit(1);
    },
    read: async (times: number) => {
      for (let i = 0; i < times; i++) await store.read(key);
    },
  };
}

/** Microseconds of CPU that something takes: the machine may have other things to do. */
async function cpuTime(run: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
