import assert from "node:assert/strict";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import {
  KEY,
  makeSession,
  readEvents,
  take,
  testStore,
  textEvents,
  userEntries,
} from "../support/store_contract.ts";

const HOUR = 3_600_000;

testStore("memoryStore()", (clock) => Promise.resolve(memoryStore({ clock })));

Deno.test("memoryStore() measures leases by the clock of the machine by default", async () => {
  const store = memoryStore();
  const before = Date.now();
  const { lease } = await take(store, { ttlMs: 10_000 });
  assert.ok(lease.expires >= before + 10_000 && lease.expires <= Date.now() + 10_000);
  store.close();
  assert.equal(await store.read(KEY), null);
});

Deno.test("memoryStore() lets the id of a turn be used again after a day", async () => {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const { lease } = await take(store);
  await store.commit(KEY, lease, { release: true });
  await clock.advance(24 * HOUR - 1);
  await assert.rejects(take(store), { code: "turn_exists" });
  await clock.advance(1);
  assert.equal((await take(store)).lease.epoch, 2);
});

Deno.test("memoryStore() forgets events by and by, but for those of a turn that is not over", async () => {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const kept = { ...KEY, session: "kept" };
  const { lease: running } = await take(store, { key: kept, turn: "kept", ttlMs: 9 * HOUR });
  const events = [{ id: "kept:0", type: "turn.started" }];
  await store.commit(kept, running, { events });
  const { lease } = await take(store, { ttlMs: 9 * HOUR });
  // Every one of these meets events that have been over for long enough, more often than they are looked for.
  for (let n = 0; n < 1_100; n++) {
    await store.commit(KEY, lease, { events: textEvents(n, 1) });
    if (n % 500 === 0) await clock.advance(HOUR + 1);
  }
  assert.deepEqual(await readEvents(store, { key: kept, turn: "kept" }), events);
  await store.commit(KEY, lease, { release: true });
  assert.deepEqual(await readEvents(store), textEvents(0, 1_100));
  await clock.advance(HOUR + 1);
  assert.equal(await readEvents(store), null);
  await store.commit(kept, running, { entries: userEntries(0, 1), release: true });
  assert.equal(await readEvents(store, { key: kept, turn: "kept" }), null);
});

Deno.test("memoryStore() forgets claims by and by, but only those that have expired", async () => {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  await store.claim(KEY, "long", { value: "long", ttlMs: 10_000 });
  for (let i = 0; i < 600; i++) await store.claim(KEY, `short ${i}`, { value: i, ttlMs: 1_000 });
  await clock.advance(1_000);
  for (let i = 0; i < 600; i++) await store.claim(KEY, `late ${i}`, { value: i, ttlMs: 1_000 });
  assert.equal(await store.claim(KEY, "long"), "long");
  assert.equal(await store.claim(KEY, "short 599"), undefined);
  assert.equal(await store.claim(KEY, "late 0"), 0);
});

Deno.test("memoryStore() looks for what is old no more often than a write each, however much it holds", async () => {
  const store = memoryStore({ clock: new ManualClock() });
  for (let i = 0; i < 20_000; i++) await store.claim(KEY, `held ${i}`, { value: i, ttlMs: 1_000 });
  let looks = 0;
  const iterate = Map.prototype[Symbol.iterator];
  Map.prototype[Symbol.iterator] = function () {
    looks += this.size;
    return iterate.call(this);
  };
  try {
    for (let i = 0; i < 20_000; i++) await store.claim(KEY, `more ${i}`, { value: i, ttlMs: 1_000 });
  } finally {
    Map.prototype[Symbol.iterator] = iterate;
  }
  assert.ok(looks > 0 && looks <= 60_000, `${looks} looks`);
});

Deno.test("memoryStore() asks anew what a turn begins with where somebody has come by meanwhile", async () => {
  const store = memoryStore({ clock: new ManualClock() });
  const lengths: number[] = [];
  const { lease } = await store.acquire(KEY, {
    agent: "default",
    owner: "o",
    turn: "t1",
    ttlMs: 10_000,
    async begin({ head: { length } }) {
      lengths.push(length);
      if (lengths.length < 3) {
        await makeSession(store, KEY, { turn: `other ${length}`, entries: userEntries(length, 1) });
      }
      return { entries: userEntries(length, 1) };
    },
  });
  assert.deepEqual([lengths, lease.epoch], [[0, 1, 2], 3]);
  assert.deepEqual((await store.read(KEY))?.entries, userEntries(0, 3));
});
