/**
 * What every store has to do. An adapter passes when `testStore()` passes for it.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Clock, Commit, Entry, Lease, ResultEntry, SessionKey, Store } from "../../src/ports.ts";
import { ManualClock } from "./clock.ts";

/** A session for tests that need only one. */
export const KEY: SessionKey = { tenant: "acme", user: "ada", session: "s1" };

/** Makes a user's entry. */
export function userEntry(seq: number, text: string): Entry {
  return {
    kind: "user",
    seq,
    turn: "t1",
    at: 1_700_000_000_000 + seq,
    message: { role: "user", content: text },
  };
}

/** Makes a tool's result. */
export function resultEntry(seq: number, value: unknown): ResultEntry {
  return {
    kind: "result",
    seq,
    turn: "t1",
    at: 1_700_000_000_000 + seq,
    step: 0,
    call: `e${seq - 1}.0`,
    toolName: "read_file",
    status: "ok",
    output: { type: "json", value },
    ms: 3,
  };
}

/** Makes entries from `from` on, `count` of them, each with a text of `length` characters. */
export function userEntries(from: number, count: number, length = 20): Entry[] {
  return Array.from({ length: count }, (_, i) => userEntry(from + i, `${from + i} `.padEnd(length, "x")));
}

/** Asks for the lease of a session with what most tests do not care about filled in. */
export function take(
  store: Store,
  { key = KEY, turn = "t1", owner = "isolate-1", ttlMs = 10_000 } = {},
): ReturnType<Store["acquire"]> {
  return store.acquire(key, { agent: "default", owner, turn, ttlMs });
}

async function readEntries(store: Store, key = KEY): Promise<readonly Entry[]> {
  return (await store.read(key))?.entries ?? [];
}

function codeIs(code: string): { code: string } {
  return { code };
}

/**
 * Registers the contract tests of a store.
 *
 * @param name What the tests are called after, for example `memoryStore()`.
 * @param make Opens a new, empty store that measures leases by the clock. The test closes it.
 */
export function testStore(name: string, make: (clock: Clock) => Promise<Store>): void {
  function test(does: string, run: (store: Store, clock: ManualClock) => Promise<void>): void {
    Deno.test(`${name} ${does}`, async () => {
      const clock = new ManualClock();
      const store = await make(clock);
      try {
        await run(store, clock);
      } finally {
        store.close();
      }
    });
  }

  test("knows nothing of a session that was never made", async (store) => {
    assert.equal(await store.read(KEY), null);
    assert.equal(await store.entry(KEY, 0), null);
    assert.equal(await store.delete(KEY), false);
    await store.ping();
  });

  test("makes a session with its first lease", async (store, clock) => {
    const taken = await take(store);
    const lease: Lease = { owner: "isolate-1", turn: "t1", epoch: 1, expires: clock.now() + 10_000 };
    const head = {
      schema: 1,
      agent: "default",
      length: 0,
      view: 0,
      createdAt: clock.now(),
      updatedAt: clock.now(),
      epoch: 1,
      lease,
    };
    assert.deepEqual(taken, { head, entries: [], view: null, lease });
    assert.deepEqual(await store.read(KEY), { head, entries: [], view: null });
  });

  test("keeps the agent that a session was made with", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { release: true });
    const again = await store.acquire(KEY, { agent: "other", owner: "isolate-2", turn: "t2", ttlMs: 1 });
    assert.equal(again.head.agent, "default");
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
        step: 0,
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

  test("keeps every kind of text", async (store) => {
    const { lease } = await take(store);
    const texts = [
      "",
      "\u0000\u001f\u007f\u2028\ufeff",
      "漢字かな交じり文 한국어",
      "👩‍👩‍👧 🏳️‍🌈 e\u0301",
      "high \ud83d alone, low \ude00 alone",
      '"\\\n\r\t</script>',
    ];
    const long = ["漢字".repeat(40_000), "👩‍👧".repeat(30_000), `${"é".repeat(61_000)}\ud800`];
    const entries = [...texts, ...long].map((text, seq) => userEntry(seq, text));
    await store.commit(KEY, lease, { entries });
    assert.deepEqual(await readEntries(store), entries);
  });

  test("keeps an entry of 5 MB", async (store) => {
    const { lease } = await take(store);
    const big = resultEntry(1, "0123456789".repeat(500_000));
    await store.commit(KEY, lease, { entries: [userEntry(0, "read it"), big, userEntry(2, "thanks")] });
    assert.deepEqual(await store.entry(KEY, 1), big);
    assert.deepEqual(await readEntries(store), [userEntry(0, "read it"), big, userEntry(2, "thanks")]);
  });

  test("keeps entries of every size about the size of a chunk", async (store) => {
    const { lease } = await take(store);
    const overhead = JSON.stringify(userEntry(0, "")).length;
    const sizes = [-1, 0, 1].flatMap((by) => [61_440, 122_880].map((size) => size + by - overhead));
    const entries = sizes.map((size, seq) => userEntry(seq, "x".repeat(size)));
    await store.commit(KEY, lease, { entries });
    assert.deepEqual(await readEntries(store), entries);
  });

  test("keeps 300 entries of one commit, and 300 more of many", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: userEntries(0, 300) });
    for (let seq = 300; seq < 600; seq += 10) {
      await store.commit(KEY, lease, { entries: userEntries(seq, 10) });
    }
    assert.deepEqual(await readEntries(store), userEntries(0, 600));
  });

  test("keeps a commit that is too much for one atomic operation", async (store) => {
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
    assert.ok(JSON.stringify(first).length > 200 * 1024);
    await store.commit(KEY, lease, { view: { version: 1, value: first } });
    assert.deepEqual((await store.read(KEY))?.view, first);
    await store.commit(KEY, lease, { view: { version: 2, value: { tail: 20 } }, entries: userEntries(0, 1) });
    const state = await store.read(KEY);
    assert.equal(state?.head.view, 2);
    assert.deepEqual(state?.view, { tail: 20 });
    await store.commit(KEY, lease, { release: true });
    assert.deepEqual((await take(store)).view, { tail: 20 });
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

  test("refuses a lease while another is alive, and tells which", async (store, clock) => {
    const { lease } = await take(store);
    await clock.advance(9_999);
    await assert.rejects(take(store, { turn: "t2" }), {
      code: "turn_running",
      fields: { turn: "t1", expires: lease.expires },
    });
    // Nor does the same turn get it twice: two loops would run it.
    await assert.rejects(take(store), codeIs("turn_running"));
    assert.deepEqual((await store.read(KEY))?.head.lease, lease);
  });

  test("lets a lease be taken over once it has expired, and refuses the old one", async (store, clock) => {
    const old = await take(store);
    await store.commit(KEY, old.lease, { entries: userEntries(0, 2), view: { version: 1, value: 1 } });
    await clock.advance(10_000);
    const next = await take(store, { turn: "t1", owner: "isolate-2" });
    assert.equal(next.lease.epoch, 2);
    assert.deepEqual(next.entries, userEntries(0, 2));
    assert.equal(next.view, 1);
    const zombie: Commit[] = [
      { entries: userEntries(2, 1) },
      { entries: [resultEntry(2, "漢".repeat(60_000))] },
      { view: { version: 2, value: "old" } },
      { flag: null },
      { release: true },
      {},
    ];
    for (const commit of zombie) {
      await assert.rejects(store.commit(KEY, old.lease, commit), codeIs("lease_lost"));
    }
    await assert.rejects(store.renew(KEY, old.lease, 10_000), codeIs("lease_lost"));
    await store.commit(KEY, next.lease, { entries: userEntries(2, 1) });
    assert.deepEqual(await store.read(KEY), {
      head: { ...next.head, length: 3, updatedAt: clock.now() },
      entries: userEntries(0, 3),
      view: 1,
    });
  });

  test("lets an expired lease go on while nobody has taken it over", async (store, clock) => {
    const { lease } = await take(store);
    await clock.advance(60_000);
    await store.commit(KEY, lease, { entries: userEntries(0, 1) });
    await store.renew(KEY, lease, 10_000);
    await assert.rejects(take(store, { turn: "t2" }), codeIs("turn_running"));
  });

  test("renews a lease from now on", async (store, clock) => {
    const { lease } = await take(store);
    await clock.advance(3_000);
    await store.renew(KEY, lease, 10_000);
    assert.equal((await store.read(KEY))?.head.lease?.expires, clock.now() + 10_000);
    await clock.advance(9_999);
    await assert.rejects(take(store, { turn: "t2" }), codeIs("turn_running"));
    await clock.advance(1);
    assert.equal((await take(store, { turn: "t2" })).lease.epoch, 2);
  });

  test("keeps a renewed lease through commits", async (store, clock) => {
    const { lease } = await take(store);
    await clock.advance(3_000);
    await store.renew(KEY, lease, 10_000);
    // The commit knows only the lease as it was given.
    await store.commit(KEY, lease, { entries: userEntries(0, 1) });
    assert.equal((await store.read(KEY))?.head.lease?.expires, clock.now() + 10_000);
  });

  test("releases a lease with a commit", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: userEntries(0, 1), release: true });
    const state = await store.read(KEY);
    assert.ok(state !== null && !("lease" in state.head));
    assert.equal(state.head.epoch, 1);
    await assert.rejects(store.commit(KEY, lease, { entries: userEntries(1, 1) }), codeIs("lease_lost"));
    await assert.rejects(store.renew(KEY, lease, 1), codeIs("lease_lost"));
    assert.equal((await take(store, { turn: "t2" })).lease.epoch, 2);
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

  test("refuses entries and views that do not follow on, and changes nothing", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: userEntries(0, 2), view: { version: 1, value: 1 } });
    const before = await store.read(KEY);
    const broken: Commit[] = [
      { entries: userEntries(3, 1) },
      { entries: [userEntry(1, "not what is stored")] },
      { entries: [userEntry(2, "a"), userEntry(4, "b")] },
      { entries: [userEntry(2, "a"), userEntry(2, "b")] },
      { view: { version: 1, value: "not what is stored" } },
      { view: { version: 0, value: 1 } },
      { entries: userEntries(2, 1), view: { version: 1, value: 1 } },
    ];
    for (const commit of broken) await assert.rejects(store.commit(KEY, lease, commit), RangeError);
    const endless: Record<string, unknown> = {};
    endless.self = endless;
    await assert.rejects(store.commit(KEY, lease, { entries: [resultEntry(2, endless)] }), TypeError);
    await assert.rejects(store.commit(KEY, lease, { view: { version: 2, value: undefined } }), TypeError);
    assert.deepEqual(await store.read(KEY), before);
    // A view that was replaced before it was stored leaves a gap.
    await store.commit(KEY, lease, { view: { version: 4, value: "four" } });
    assert.equal((await store.read(KEY))?.view, "four");
    await store.commit(KEY, lease, { entries: userEntries(2, 1) });
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
    await assert.rejects(store.commit(KEY, lease, { entries: userEntries(251, 1) }), codeIs("lease_lost"));
    await assert.rejects(store.renew(KEY, lease, 1), codeIs("lease_lost"));
    assert.equal(await store.delete(KEY), false);
    const anew = await take(store, { turn: "t2" });
    assert.deepEqual([anew.head.length, anew.head.view, anew.lease.epoch], [0, 0, 1]);
    await assert.rejects(store.commit(KEY, lease, {}), codeIs("lease_lost"));
    assert.deepEqual(anew.entries, []);
  });

  test("gives the lease to exactly one of many that ask at once", async (store, clock) => {
    for (const epoch of [1, 2]) {
      const asked = Array.from(
        { length: 8 },
        (_, i) => take(store, { turn: `t${i}`, owner: `isolate-${i}` }),
      );
      const outcomes = await Promise.allSettled(asked);
      const won = outcomes.filter((outcome) => outcome.status === "fulfilled").map((outcome) =>
        outcome.value
      );
      assert.equal(won.length, 1);
      assert.equal(won[0]?.lease.epoch, epoch);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") assert.equal(outcome.reason.code, "turn_running");
      }
      await clock.advance(10_000);
    }
  });

  test("takes commits and renewals of a lease at once", async (store, clock) => {
    const { lease } = await take(store);
    await clock.advance(3_000);
    const work: Promise<void>[] = [];
    for (let seq = 0; seq < 30; seq++) {
      work.push(store.commit(KEY, lease, { entries: userEntries(seq, 1) }), store.renew(KEY, lease, 10_000));
    }
    await Promise.all(work);
    const state = await store.read(KEY);
    assert.deepEqual(state?.entries, userEntries(0, 30));
    assert.equal(state?.head.lease?.expires, clock.now() + 10_000);
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
      isDone = true;
    })();
    while (!isDone) {
      const state = await store.read(KEY);
      assert.ok(state !== null);
      assert.deepEqual([state.entries.length, state.view ?? 0], [state.head.length, state.head.length]);
      // A turn of the event loop: a store that answers at once must not starve the writer.
      await new Promise((resolve) => setTimeout(resolve, 0));
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
      isDone = true;
    })();
    while (!isDone) {
      const texts = (await readEntries(store)).map((entry) =>
        JSON.stringify(entry).slice(0, 200).match(/content":"(\d+)/)?.[1]
      );
      assert.equal(new Set(texts).size, texts.length === 0 ? 0 : 1);
      await store.entry(KEY, 4);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await writing;
  });

  test("gives single entries, and null where there is none", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: userEntries(0, 3) });
    assert.deepEqual(await store.entry(KEY, 0), userEntry(0, "0 ".padEnd(20, "x")));
    assert.deepEqual(await store.entry(KEY, 2), userEntry(2, "2 ".padEnd(20, "x")));
    for (const seq of [3, -1, 0.5, NaN, 1e300]) assert.equal(await store.entry(KEY, seq), null);
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
      const { lease, entries } = await take(store, { key });
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
    const names = [
      "a/b",
      "a\u0000b",
      "a",
      "a\u0000",
      "..",
      '","',
      "漢字",
      "👩‍👧",
      "\ud800",
      "\ufffd",
      "\udc00",
      "e\u0301",
      "é",
      " ",
      "h",
      "constructor",
      "__proto__",
    ];
    const keys = names.flatMap((name): SessionKey[] => [
      { tenant: "odd", user: "u", session: name },
      { tenant: name, user: "u", session: "odd" },
      { tenant: "t", user: name, session: "odd" },
    ]);
    for (const key of keys) {
      const { lease } = await take(store, { key });
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
}
