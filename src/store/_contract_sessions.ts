/**
 * The contract of stores: sessions, their entries and views. Over 300 lines: it is a list.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Commit, Entry, SessionKey } from "../ports.ts";
import {
  breathe,
  cases,
  type ContractCase,
  KEY,
  longTexts,
  ODD_NAMES,
  ODD_TEXTS,
  readEntries,
  resultEntry,
  take,
  userEntries,
  userEntry,
} from "./_contract_rig.ts";

/** Tests of sessions. */
export const sessionCases: readonly ContractCase[] = cases((test) => {
  test("knows nothing of a session that was never made", async (store) => {
    assert.equal(await store.read(KEY), null);
    assert.equal(await store.entry(KEY, 0), null);
    assert.equal(await store.delete(KEY), false);
  });

  test("keeps the agent that a session was made with", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { release: true });
    const again = await store.acquire(KEY, { agent: "other", owner: "process-2", turn: "t2", ttlMs: 1 });
    assert.equal(again.head.agent, "default");
    assert.equal(again.lease.agent, "other");
    assert.equal(again.head.epoch, 2);
  });

  test("appends, and reads back what was appended", async (store, clock) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: [userEntry(0, "hello")] });
    await clock.advance(500);
    const more: Entry[] = [
      {
        kind: "assistant",
        seq: 1,
        turn: "t1",
        at: 2,
        step: 1,
        message: {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hm", providerOptions: { p: { signature: "x==" } } },
            {
              type: "tool-call",
              toolCallId: "a",
              toolName: "read_file",
              input: { path: "a.ts", deep: [1, { b: null }] },
            },
          ],
        },
        reason: "tool-calls",
        model: "scripted",
        usage: { inputTokens: 3, outputTokens: 4 },
      },
      resultEntry(2, { lines: ["a", "b"], ok: true }),
    ];
    await store.commit(KEY, lease, { entries: more });
    const state = await store.read(KEY);
    assert.deepEqual(state?.entries, [userEntry(0, "hello"), ...more]);
    assert.equal(state?.head.length, 3);
    assert.equal(state?.head.updatedAt, clock.now());
    assert.equal(state?.head.createdAt, clock.now() - 500);
    assert.deepEqual(state?.head.lease, lease);
  });

  test("gives the entries of a session with its lease", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: userEntries(0, 3), meter: { anchor: 7 }, release: true });
    const taken = await take(store, { turn: "t2" });
    assert.deepEqual(taken.entries, userEntries(0, 3));
    assert.deepEqual(taken.head.meter, { anchor: 7 });
    assert.deepEqual(taken.head.lease, taken.lease);
  });

  test("keeps every kind of text in entries and views", async (store) => {
    const { lease } = await take(store);
    const texts = [...ODD_TEXTS, ...longTexts()];
    const entries = texts.map((text, seq) => userEntry(seq, text));
    await store.commit(KEY, lease, { entries, view: { version: 1, value: texts } });
    const state = await store.read(KEY);
    assert.deepEqual(state?.entries, entries);
    assert.deepEqual(state?.view, texts);
  });

  test("keeps an entry of 20 MB", async (store) => {
    const { lease } = await take(store);
    const big = resultEntry(1, "0123456789".repeat(2_000_000));
    await store.commit(KEY, lease, { entries: [userEntry(0, "read it"), big, userEntry(2, "thanks")] });
    assert.deepEqual(await store.entry(KEY, 1), big);
    assert.deepEqual(await readEntries(store), [userEntry(0, "read it"), big, userEntry(2, "thanks")]);
  });

  test("keeps entries of every size about 60 KiB, 64 KiB and twice that", async (store) => {
    const { lease } = await take(store);
    const overhead = JSON.stringify(userEntry(0, "")).length;
    const sizes = [61_440, 65_536, 122_880, 131_072].flatMap((size) =>
      [-1, 0, 1].map((by) => size + by - overhead)
    );
    const entries = sizes.map((size, seq) => userEntry(seq, "x".repeat(size)));
    await store.commit(KEY, lease, { entries });
    assert.deepEqual(await readEntries(store), entries);
  });

  test("keeps 10,000 entries of many commits, and goes on", async (store) => {
    const { lease } = await take(store);
    for (let seq = 0; seq < 9_900; seq += 300) {
      await store.commit(KEY, lease, { entries: userEntries(seq, 300) });
    }
    for (let seq = 9_900; seq < 10_000; seq++) {
      await store.commit(KEY, lease, { entries: userEntries(seq, 1) });
    }
    assert.deepEqual(await readEntries(store), userEntries(0, 10_000));
    assert.deepEqual(await store.entry(KEY, 9_999), userEntries(9_999, 1)[0]);
    await store.commit(KEY, lease, { release: true });
    const next = await take(store, { turn: "t2" });
    assert.equal(next.entries.length, 10_000);
    await store.commit(KEY, next.lease, { entries: userEntries(10_000, 1) });
    assert.equal((await store.read(KEY))?.head.length, 10_001);
    assert.equal(await store.delete(KEY), true);
    assert.equal(await store.read(KEY), null);
  });

  test("keeps a commit of many entries and many bytes", async (store) => {
    const { lease } = await take(store);
    // By bytes, then by number: an imported chat comes in one piece.
    const many = [...userEntries(0, 40, 50_000), ...userEntries(40, 2_500)];
    await store.commit(KEY, lease, { entries: many, view: { version: 1, value: { tail: 3 } } });
    const state = await store.read(KEY);
    assert.deepEqual(state?.entries, many);
    assert.deepEqual(state?.view, { tail: 3 });
  });

  test("keeps views of any size, the last one in force", async (store) => {
    const { lease } = await take(store);
    const first = { summary: "ledger ".repeat(30_000), tail: 12 };
    await store.commit(KEY, lease, { view: { version: 1, value: first } });
    assert.deepEqual((await store.read(KEY))?.view, first);
    await store.commit(KEY, lease, { view: { version: 2, value: { tail: 20 } }, entries: userEntries(0, 1) });
    const state = await store.read(KEY);
    assert.equal(state?.head.view, 2);
    assert.deepEqual(state?.view, { tail: 20 });
    await store.commit(KEY, lease, { release: true });
    assert.deepEqual((await take(store, { turn: "t2" })).view, { tail: 20 });
  });

  test("sets the flag, keeps it, and clears it", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { flag: { reason: "open_call", since: 5 } });
    await store.commit(KEY, lease, { entries: userEntries(0, 1) });
    assert.deepEqual((await store.read(KEY))?.head.flag, { reason: "open_call", since: 5 });
    await store.commit(KEY, lease, { flag: null });
    assert.ok(!("flag" in ((await store.read(KEY))?.head ?? {})));
  });

  test("keeps the meter until another comes", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { meter: { anchor: 100, factor: 1.1 } });
    await store.commit(KEY, lease, { entries: userEntries(0, 1) });
    assert.deepEqual((await store.read(KEY))?.head.meter, { anchor: 100, factor: 1.1 });
    await store.commit(KEY, lease, { meter: null });
    assert.equal((await store.read(KEY))?.head.meter, null);
  });

  test("takes a commit that has landed for done", async (store) => {
    const { lease } = await take(store);
    const commits: Commit[] = [
      { entries: userEntries(0, 2), meter: { anchor: 1 } },
      { entries: [resultEntry(2, "漢".repeat(60_000))], view: { version: 1, value: "v".repeat(70_000) } },
      { view: { version: 2, value: "w" }, flag: { reason: "open_call", since: 1 } },
      { entries: userEntries(3, 1), flag: null, release: true },
    ];
    for (const commit of commits) {
      await store.commit(KEY, lease, commit);
      const before = await store.read(KEY);
      await store.commit(KEY, lease, commit);
      assert.deepEqual(await store.read(KEY), before);
    }
  });

  test("refuses what does not follow on or is not JSON, and changes nothing", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: userEntries(0, 2), view: { version: 1, value: 1 } });
    const before = await store.read(KEY);
    const endless: Record<string, unknown> = {};
    endless["self"] = endless;
    const broken: Commit[] = [
      { entries: userEntries(3, 1) },
      { entries: [userEntry(1, "not what is stored")] },
      { entries: [userEntry(2, "a"), userEntry(4, "b")] },
      { entries: [userEntry(2, "a"), userEntry(2, "b")] },
      { view: { version: 1, value: "not what is stored" } },
      { view: { version: 0, value: 1 } },
      { entries: userEntries(2, 1), view: { version: 1, value: 1 } },
      { entries: userEntries(3, 1), release: true },
      { entries: userEntries(3, 1), suspend: true },
      { entries: [resultEntry(2, endless)] },
      { view: { version: 2, value: undefined } },
      { entries: userEntries(2, 1), meter: endless },
    ];
    for (const commit of broken) await assert.rejects(store.commit(KEY, lease, commit));
    assert.deepEqual(await store.read(KEY), before);
    // A view that was replaced before it was stored leaves a gap.
    await store.commit(KEY, lease, { view: { version: 4, value: "four" } });
    assert.equal((await store.read(KEY))?.view, "four");
    await store.commit(KEY, lease, { entries: userEntries(2, 1) });
  });

  test("reads a session of one point in time while it grows", async (store) => {
    const { lease } = await take(store);
    let isDone = false;
    const writing = (async () => {
      for (let seq = 0; seq < 40; seq++) {
        await store.commit(KEY, lease, {
          entries: userEntries(seq, 1),
          view: { version: seq + 1, value: seq + 1 },
        });
      }
    })().finally(() => isDone = true);
    while (!isDone) {
      const state = await store.read(KEY);
      assert.ok(state !== null);
      assert.deepEqual([state.entries.length, state.view ?? 0], [state.head.length, state.head.length]);
      await breathe();
    }
    await writing;
  });

  test("reads one life of a session that is deleted and made anew", async (store, clock) => {
    let isDone = false;
    const writing = (async () => {
      for (let life = 0; life < 12; life++) {
        const { lease } = await take(store, { turn: `t${life}` });
        const length = life % 2 === 0 ? 70_000 : 10;
        await store.commit(KEY, lease, {
          entries: Array.from({ length: 5 }, (_, i) => userEntry(i, `${life}`.padEnd(length))),
        });
        await clock.advance(1);
        await store.delete(KEY);
      }
    })().finally(() => isDone = true);
    while (!isDone) {
      const texts = (await readEntries(store)).map((entry) =>
        JSON.stringify(entry).slice(0, 200).match(/content":"(\d+)/)?.[1]
      );
      assert.equal(new Set(texts).size, texts.length === 0 ? 0 : 1);
      await store.entry(KEY, 4);
      await breathe();
    }
    await writing;
  });

  test("gives single entries, and null where there is none", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: userEntries(0, 3) });
    assert.deepEqual(await store.entry(KEY, 0), userEntries(0, 1)[0]);
    assert.deepEqual(await store.entry(KEY, 2), userEntries(2, 1)[0]);
    for (const seq of [3, -1, 0.5, NaN, 1e300]) assert.equal(await store.entry(KEY, seq), null);
  });

  test("deletes a session while a turn runs, which then loses its lease", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, {
      entries: [resultEntry(0, "x".repeat(200_000)), ...userEntries(1, 250)],
      view: { version: 1, value: "v".repeat(100_000) },
    });
    assert.equal(await store.delete(KEY), true);
    assert.equal(await store.read(KEY), null);
    assert.equal(await store.entry(KEY, 0), null);
    const lost = { code: "lease_lost" };
    await assert.rejects(store.commit(KEY, lease, { entries: userEntries(251, 1) }), lost);
    await assert.rejects(store.renew(KEY, lease, 1), lost);
    assert.equal(await store.delete(KEY), false);
    const anew = await take(store, { turn: "t2" });
    assert.deepEqual([anew.head.length, anew.head.view, anew.lease.epoch], [0, 0, 1]);
    await assert.rejects(store.commit(KEY, lease, {}), lost);
    assert.deepEqual(anew.entries, []);
  });

  test("deletes with unusedSince only what has not changed since", async (store, clock) => {
    const { lease } = await take(store);
    await clock.advance(1_000);
    await store.commit(KEY, lease, { entries: userEntries(0, 1), release: true });
    const changed = clock.now();
    await clock.advance(1_000);
    assert.equal(await store.delete(KEY, { unusedSince: changed - 1 }), false);
    assert.equal(await store.delete(KEY, { unusedSince: changed }), false);
    assert.deepEqual(await readEntries(store), userEntries(0, 1));
    assert.equal(await store.delete(KEY, { unusedSince: changed + 1 }), true);
    assert.equal(await store.read(KEY), null);
    assert.equal(await store.delete(KEY, { unusedSince: clock.now() }), false);
  });

  test(
    "deletes with unusedSince no session whose turn runs, but one whose turn was left",
    async (store, clock) => {
      const { lease } = await take(store);
      await clock.advance(5_000);
      const since = clock.now();
      assert.equal(await store.delete(KEY, { unusedSince: since }), false);
      await store.renew(KEY, lease, 10_000);
      await clock.advance(9_999);
      assert.equal(await store.delete(KEY, { unusedSince: since }), false);
      await store.commit(KEY, lease, { entries: userEntries(0, 1) });
      await clock.advance(1);
      // The lease has run out, but something has changed.
      assert.equal(await store.delete(KEY, { unusedSince: since }), false);
      assert.equal(await store.delete(KEY, { unusedSince: clock.now() }), true);
    },
  );

  test("deletes with unusedSince nothing that comes into use meanwhile", async (store, clock) => {
    for (let round = 0; round < 10; round++) {
      const key = { ...KEY, session: `s${round}` };
      const { lease } = await take(store, { key, turn: `t${round}` });
      await store.commit(key, lease, { release: true });
      await clock.advance(1_000);
      const [deleted, taken] = await Promise.all([
        store.delete(key, { unusedSince: clock.now() }),
        take(store, { key, turn: `t${round} again` }),
      ]);
      // Either came first: what was deleted was made anew, and what was taken first was spared.
      assert.equal(taken.lease.epoch, deleted ? 1 : 2);
      await store.commit(key, taken.lease, { entries: userEntries(0, 1) });
    }
  });

  test("keeps tenants, users and sessions apart", async (store) => {
    const keys: SessionKey[] = [
      KEY,
      { tenant: "acme", session: "s1" },
      { tenant: "acme", user: "bob", session: "s1" },
      { tenant: "other", user: "ada", session: "s1" },
      { tenant: "acme", user: "ada", session: "s2" },
      // The same words in other places, and starts of the names of others.
      { tenant: "ada", user: "acme", session: "s1" },
      { tenant: "acme", user: "ada", session: "s" },
      { tenant: "acmeada", session: "s1" },
      { tenant: "acme", user: "s1", session: "h" },
    ];
    for (const [i, key] of keys.entries()) {
      const { lease, entries } = await take(store, { key, turn: `t${i}` });
      assert.deepEqual(entries, []);
      await store.commit(key, lease, { entries: [userEntry(0, `mine ${i}`)] });
    }
    assert.equal(await store.delete(KEY), true);
    assert.equal(await store.read(KEY), null);
    for (const [i, key] of keys.entries()) {
      if (i > 0) assert.deepEqual(await readEntries(store, key), [userEntry(0, `mine ${i}`)]);
    }
  });

  test("keeps names apart that hold odd characters", async (store) => {
    const keys = ODD_NAMES.flatMap((name): SessionKey[] => [
      { tenant: "odd", user: "u", session: name },
      { tenant: name, user: "u", session: "odd" },
      { tenant: "t", user: name, session: "odd" },
    ]);
    for (const [i, key] of keys.entries()) {
      const { lease } = await take(store, { key, turn: `t${i}` });
      await store.commit(key, lease, { entries: [userEntry(0, JSON.stringify(key))] });
    }
    for (const key of keys) {
      assert.deepEqual(await readEntries(store, key), [userEntry(0, JSON.stringify(key))]);
    }
    for (const key of keys) assert.equal(await store.delete(key), true);
  });

  test("keeps what is stored safe from callers", async (store) => {
    const { lease } = await take(store);
    const value = { lines: ["a"] };
    const meter = { anchor: 1 };
    const view = { tail: 1 };
    await store.commit(KEY, lease, {
      entries: [resultEntry(0, value)],
      meter,
      view: { version: 1, value: view },
    });
    value.lines.push("b");
    meter.anchor = 2;
    view.tail = 2;
    await store.commit(KEY, lease, { entries: userEntries(1, 1) });
    const read = await store.read(KEY);
    assert.deepEqual(read?.entries[0], resultEntry(0, { lines: ["a"] }));
    assert.deepEqual([read?.head.meter, read?.view], [{ anchor: 1 }, { tail: 1 }]);
    Object.assign(read?.entries[0] ?? {}, { seq: 9 });
    Object.assign(read?.head ?? {}, { length: 9 });
    Object.assign(await store.entry(KEY, 0) ?? {}, { seq: 9 });
    const again = await store.read(KEY);
    assert.deepEqual([again?.entries[0]?.seq, again?.head.length], [0, 2]);
  });
});
