import assert from "node:assert/strict";
import type { Commit, SessionPage } from "../../src/ports.ts";
import { kvStore } from "../../src/store/kv.ts";
import { ManualClock } from "../support/clock.ts";
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
  userEntry,
} from "../support/store_contract.ts";
import { dump, PREFIX, tempFile, withFile, withKvSpy } from "./kv_rig.ts";

const HOUR = 3_600_000;

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

Deno.test("kvStore() does not count what a crashed commit has left", async () => {
  await withFile(async ({ one, two, kv, clock }) => {
    const { lease } = await take(one);
    await one.commit(KEY, lease, { entries: userEntries(0, 2) });
    // All batches but the last of a commit that was then killed.
    await kv.set([...PREFIX, "e", 2], new TextEncoder().encode(JSON.stringify(userEntry(2, "lost"))));
    await kv.set([...PREFIX, "e", 3], { chunks: "gone", n: 2, bytes: 100_000 });
    await kv.set([...PREFIX, "v", 1], new TextEncoder().encode('"lost"'));
    await kv.set([...PREFIX, "x", "gone", 0], new Uint8Array(9));
    assert.deepEqual((await two.read(KEY))?.entries, userEntries(0, 2));
    assert.equal(await two.entry(KEY, 2), null);
    await clock.advance(10_000);
    const next = await takeOver(two);
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
    await takeOver(one, { turn: "t2" });
    const left = await dump(kv, [...PREFIX, "c"]);
    const kept = JSON.stringify(orphan(young, 0).slice(4));
    assert.deepEqual(left, new Map([...named, [kept, new Uint8Array(9)]]));
  });
});

Deno.test("kvStore() clears what a crashed deletion has left", async () => {
  await withFile(async ({ one, two, kv }) => {
    const { lease } = await take(one);
    await one.commit(KEY, lease, {
      entries: [...userEntries(0, 150), resultEntry(150, "x".repeat(200_000))],
      events: textEvents(0, 2),
    });
    await kv.delete([...PREFIX, "h"]);
    assert.equal(await two.read(KEY), null);
    assert.equal(await two.events(KEY, "t1", 0), null);
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
      await assert.rejects(takeOver(two), error);
      await assert.rejects(take(two, { turn: "t2" }));
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
    await assert.rejects(two.events(KEY, "t1", 0), error);
    await assert.rejects(take(two), error);
    await assert.rejects(takeOver(two), error);
    await assert.rejects(two.commit(KEY, lease, { entries: userEntries(1, 1) }), error);
    // This one still remembers the head that it wrote.
    await assert.rejects(one.commit(KEY, lease, { entries: userEntries(1, 1) }), error);
    await assert.rejects(two.renew(KEY, lease, 1), error);
    await assert.rejects(two.delete(KEY), error);
    await assert.rejects(two.delete(KEY, { unusedSince: Number.MAX_SAFE_INTEGER }), error);
    assert.deepEqual(await dump(kv), before);
  });
});

Deno.test("kvStore() lists what it can read, whatever lies beside it", async () => {
  await withFile(async ({ one, two, kv }) => {
    for (const session of ["s1", "s2", "s3", "s4"]) await makeSession(one, { ...KEY, session });
    const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
    await kv.set(["selvage", "acme", "ada", "s1", "h"], encode({ schema: 2 }));
    await kv.set(["selvage", "acme", "ada", "s2", "h"], new Uint8Array(9));
    await kv.delete(["selvage", "acme", "ada", "s3", "h"]);
    for (const owner of [KEY, null]) {
      const { sessions, next } = await two.list(owner);
      assert.deepEqual([sessions.map(({ key }) => key.session), next], [["s4"], null]);
    }
    // A page may have nothing to show, and another one behind it.
    const pages: string[][] = [];
    for (let after: string | null = "";;) {
      const page: SessionPage = await two.list(KEY, { limit: 1, ...(after === "" ? {} : { after }) });
      pages.push(page.sessions.map(({ key }) => key.session));
      after = page.next;
      if (after === null) break;
    }
    assert.deepEqual(pages, [["s4"], [], [], []]);
    await kv.set(["selvage.sessions", "acme", "ada", 1, "s9"], "text");
    await assert.rejects(two.list(KEY), { code: "store_corrupt", message: /a string in the list/ });
  });
});

Deno.test("kvStore() loses a whole commit or nothing, wherever it is cut off", async () => {
  const before = [userEntry(0, "before")];
  const commit: Commit = {
    entries: [resultEntry(1, "x".repeat(1_500_000)), userEntry(2, "y")],
    view: { version: 1, value: "v".repeat(900_000) },
    events: [textEvent(1, "e".repeat(1_000_000)), textEvent(2)],
  };
  let whole = 0;
  for (let cut = 0; whole === 0; cut++) {
    await withFile(async ({ path, two, clock }) => {
      await withKvSpy(async ({ atomics, dieAfter }) => {
        const dying = await kvStore({ path, clock });
        const { lease } = await take(dying);
        await dying.commit(KEY, lease, { entries: before, events: textEvents(0, 1) });
        const earlier = atomics.length;
        dieAfter(cut);
        const { won } = await settle([dying.commit(KEY, lease, commit)]);
        dying.close();
        assert.equal(atomics.length - earlier, cut);
        whole = won.length;
        dieAfter(Infinity);
        const isWhole = whole === 1;
        assert.deepEqual(await readEvents(two), [textEvent(0), ...(isWhole ? commit.events ?? [] : [])]);
        await clock.advance(10_000);
        const next = await takeOver(two);
        assert.deepEqual(next.entries, [...before, ...(isWhole ? commit.entries ?? [] : [])]);
        assert.equal(next.view, isWhole ? commit.view?.value : null);
        // What lies there from before is no hindrance.
        const again: Commit = { entries: userEntries(next.head.length, 2), view: { version: 2, value: 2 } };
        await two.commit(KEY, next.lease, { ...again, events: textEvents(1_000_000, 1) });
        assert.deepEqual((await two.read(KEY))?.entries.slice(next.head.length), again.entries);
        assert.deepEqual((await readEvents(two))?.at(-1), textEvent(1_000_000));
        assert.ok(isWhole || cut < 6);
        if (isWhole) assert.ok(cut >= 5);
      });
    });
  }
});

Deno.test("kvStore() loses a turn's start as a whole where it is cut off", async () => {
  await withFile(async ({ path, two, kv, clock }) => {
    await withKvSpy(async ({ dieAfter }) => {
      const dying = await kvStore({ path, clock });
      dieAfter(0);
      await assert.rejects(take(dying), {
        code: "store_unavailable",
        cause: new Error("The process was killed"),
      });
      dying.close();
    });
    for (const prefix of [["selvage"], ["selvage.sessions"], ["selvage.claims"]]) {
      assert.equal((await dump(kv, prefix)).size, 0);
    }
    assert.equal((await take(two)).lease.epoch, 1);
  });
});

Deno.test("kvStore() keeps what a branch owns that was left when it sweeps old chunks", async () => {
  await withFile(async ({ one, two, kv, clock }) => {
    const { lease } = await take(one);
    const first = [userEntry(0, "a"), userEntry(1, "b".repeat(100_000)), userEntry(2, "c".repeat(100_000))];
    await one.commit(KEY, lease, { entries: first, view: { version: 1, value: "1".repeat(100_000) } });
    const fork = { from: 0, at: 1, view: 0 };
    const entries = [userEntry(1, "d".repeat(100_000))];
    await one.commit(KEY, lease, { fork, entries, view: { version: 1, value: "2".repeat(100_000) } });
    await clock.advance(2 * HOUR);
    await takeOver(two);
    assert.deepEqual((await two.read(KEY, { branch: 0 }))?.entries, first);
    assert.equal((await two.read(KEY, { branch: 0 }))?.view, "1".repeat(100_000));
    assert.deepEqual((await two.read(KEY))?.entries, [userEntry(0, "a"), ...entries]);
    assert.equal((await dump(kv, [...PREFIX, "c"])).size, 10);
  });
});

Deno.test("kvStore() forks whole or not at all, wherever it is cut off", async () => {
  const spied = async (deaths: number): Promise<boolean> => {
    using file = tempFile();
    const clock = new ManualClock();
    const before = userEntries(0, 3);
    const commit = { fork: { from: 0, at: 1, view: 0 }, entries: userEntries(1, 40, 50_000) };
    let isDone = true;
    await withKvSpy(async (spy) => {
      const store = await kvStore({ path: file.path, clock });
      const { lease } = await take(store);
      await store.commit(KEY, lease, { entries: before });
      spy.dieAfter(deaths);
      await store.commit(KEY, lease, commit).catch(() => isDone = false);
      store.close();
    });
    const store = await kvStore({ path: file.path, clock });
    const entries = (await store.read(KEY))?.entries;
    assert.deepEqual(entries, isDone ? [before[0], ...commit.entries] : before);
    await clock.advance(10_000);
    const { lease } = await takeOver(store);
    const fork = { from: 0, at: 2, view: 0 };
    await store.commit(KEY, lease, { fork, entries: userEntries(2, 1), release: true });
    assert.deepEqual((await store.read(KEY))?.entries, before);
    store.close();
    return isDone;
  };
  const outcomes: boolean[] = [];
  for (let deaths = 0; outcomes.at(-1) !== true && deaths < 20; deaths++) outcomes.push(await spied(deaths));
  assert.ok(outcomes.length > 2 && outcomes.at(-1) === true, outcomes.join());
});
