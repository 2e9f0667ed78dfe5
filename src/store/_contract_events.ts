/**
 * The contract of stores: events of turns, for clients that lost their stream. Long, as it is a list.
 *
 * @module
 */
import assert from "node:assert/strict";
import { eventNumber } from "../loop/events.ts";
import type { StoredEvent } from "../ports.ts";
import {
  breathe,
  cases,
  codeIs,
  type ContractCase,
  KEY,
  longTexts,
  ODD_NAMES,
  ODD_TEXTS,
  readEvents,
  resultEntry,
  take,
  takeOver,
  textEvent,
  textEvents,
  userEntries,
} from "./_contract_rig.ts";

const HOUR_MS = 3_600_000;

/** Tests of events. */
export const eventCases: readonly ContractCase[] = cases((test) => {
  test("tells of a running turn without events, and of no other", async (store, clock) => {
    assert.equal(await store.events(KEY, "t1", 0), null);
    const { lease } = await take(store);
    assert.deepEqual(await store.events(KEY, "t1", 0), { events: [], lease });
    assert.equal(await store.events(KEY, "t2", 0), null);
    assert.equal(await store.events({ ...KEY, session: "s2" }, "t1", 0), null);
    await clock.advance(10_000);
    // Left, but not over.
    assert.deepEqual(await store.events(KEY, "t1", 0), { events: [], lease });
    const next = await takeOver(store);
    assert.deepEqual(await store.events(KEY, "t1", 0), { events: [], lease: next.lease });
    await store.commit(KEY, next.lease, { release: true });
    assert.equal(await store.events(KEY, "t1", 0), null);
  });

  test("gives events with the lease in force, of whichever turn", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { events: textEvents(0, 2) });
    assert.deepEqual(await store.events(KEY, "t1", 0), { events: textEvents(0, 2), lease });
    await store.commit(KEY, lease, { events: textEvents(2, 1), release: true });
    assert.deepEqual(await store.events(KEY, "t1", 0), { events: textEvents(0, 3), lease: null });
    const next = await take(store, { turn: "t2" });
    assert.deepEqual(await store.events(KEY, "t1", 2), { events: textEvents(2, 1), lease: next.lease });
    assert.deepEqual(await store.events(KEY, "t2", 0), { events: [], lease: next.lease });
  });

  test("gives events from any number on, also from within a batch and from between numbers", async (store) => {
    const { lease } = await take(store);
    const all: StoredEvent[] = [];
    for (const numbers of [[0, 1, 2, 3, 4], [5], [9, 12, 15], [1_000_000, 1_000_001], [1_000_005]]) {
      const events = numbers.map((n) => textEvent(n));
      await store.commit(KEY, lease, { events });
      all.push(...events);
    }
    const last = eventNumber(all.at(-1) ?? { id: "" });
    const asked = [0, 1, 4, 5, 6, 8, 9, 10, 15, 16, 999_999, 1_000_001, 1_000_002, last];
    for (const from of asked) {
      const wanted = all.filter((event) => eventNumber(event) >= from);
      assert.deepEqual(await readEvents(store, { from }), wanted, `from ${from}`);
    }
    for (const from of [last + 1, Number.MAX_SAFE_INTEGER]) {
      assert.deepEqual(await store.events(KEY, "t1", from), { events: [], lease });
    }
  });

  test("gives the events of many commits in pages, each event once and in order", async (store) => {
    const { lease } = await take(store);
    const all: StoredEvent[] = [];
    for (let n = 0; n < 1_200; n += 4) {
      const events = textEvents(n, 4);
      await store.commit(KEY, lease, {
        events,
        ...(n % 100 === 0 ? { entries: userEntries(n / 100, 1) } : {}),
      });
      all.push(...events);
    }
    for (const from of [0, 3, 597, 1_199]) {
      assert.deepEqual(await readEvents(store, { from }), all.slice(from));
    }
  });

  test("keeps events of any size and every kind of text", async (store) => {
    const { lease } = await take(store);
    const batches = [
      ODD_TEXTS,
      longTexts(),
      ["x".repeat(61_440), "y".repeat(65_536)],
      ["0123456789".repeat(300_000)],
      ["last"],
    ];
    const all: StoredEvent[] = [];
    for (const texts of batches) {
      const events = texts.map((text, i) => textEvent(all.length + i, text));
      await store.commit(KEY, lease, { events });
      all.push(...events);
    }
    assert.deepEqual(await readEvents(store), all);
    for (const from of all.keys()) assert.deepEqual(await readEvents(store, { from }), all.slice(from));
  });

  test("keeps the events of turns apart, whatever their ids", async (store) => {
    const turns = ["t", "t1", "t1:1", ":", ...ODD_NAMES];
    for (const [i, turn] of turns.entries()) {
      const { lease } = await take(store, { turn });
      const events = [{ id: `${turn}:0`, type: "text.delta", text: `mine ${i}` }];
      await store.commit(KEY, lease, { events, release: true });
    }
    for (const [i, turn] of turns.entries()) {
      assert.deepEqual(await readEvents(store, { turn }), [
        { id: `${turn}:0`, type: "text.delta", text: `mine ${i}` },
      ]);
    }
    const elsewhere = { ...KEY, session: "s2" };
    const { lease } = await take(store, { key: elsewhere, turn: "elsewhere" });
    await store.commit(elsewhere, lease, { events: textEvents(0, 1) });
    assert.equal(await readEvents(store, { turn: "elsewhere" }), null);
  });

  test("keeps events for an hour after the last", async (store, clock) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { events: textEvents(0, 2) });
    await clock.advance(HOUR_MS - 1);
    await store.commit(KEY, lease, { events: textEvents(2, 1), release: true });
    await clock.advance(HOUR_MS);
    const next = await take(store, { turn: "t2" });
    await store.commit(KEY, next.lease, { events: [{ id: "t2:0", type: "turn.started" }] });
    assert.deepEqual(await readEvents(store), textEvents(0, 3));
    await clock.advance(1);
    assert.equal(await store.events(KEY, "t1", 0), null);
    assert.deepEqual((await readEvents(store, { turn: "t2" }))?.length, 1);
  });

  test("keeps the events of a turn that is not over, however long it is silent", async (store, clock) => {
    const { lease } = await take(store, { ttlMs: 3 * HOUR_MS });
    await store.commit(KEY, lease, { events: textEvents(0, 2) });
    await clock.advance(2 * HOUR_MS);
    assert.deepEqual(await store.events(KEY, "t1", 1), { events: textEvents(1, 1), lease });
    await store.commit(KEY, lease, { events: textEvents(2, 1) });
    assert.deepEqual(await readEvents(store), textEvents(0, 3));
    await clock.advance(2 * HOUR_MS);
    const next = await takeOver(store);
    assert.deepEqual(await readEvents(store), textEvents(0, 3));
    await store.commit(KEY, next.lease, { events: textEvents(1_000_000, 1), release: true });
    assert.deepEqual(await readEvents(store), [...textEvents(0, 3), textEvent(1_000_000)]);
    await clock.advance(HOUR_MS + 1);
    assert.equal(await store.events(KEY, "t1", 0), null);
  });

  test("stores events with the rest of a commit or not at all", async (store) => {
    const { lease } = await take(store);
    await store.commit(KEY, lease, { entries: userEntries(0, 2), events: textEvents(0, 1) });
    const events = textEvents(1, 1);
    const long = [textEvent(1, "x".repeat(2_000_000))];
    await assert.rejects(store.commit(KEY, lease, { entries: userEntries(3, 1), events }));
    await assert.rejects(store.commit(KEY, lease, { entries: userEntries(3, 1), events: long }));
    const endless: Record<string, unknown> = {};
    endless["self"] = endless;
    const broken = [{ id: "t1:1", type: "tool.result", output: endless }];
    await assert.rejects(store.commit(KEY, lease, { entries: userEntries(2, 1), events: broken }));
    assert.deepEqual((await store.read(KEY))?.entries, userEntries(0, 2));
    assert.deepEqual(await readEvents(store), textEvents(0, 1));
    await store.commit(KEY, lease, { entries: userEntries(2, 1), events, release: true });
    assert.deepEqual(await readEvents(store), textEvents(0, 2));
  });

  test("stores no event of a holder whose turn was taken over", async (store, clock) => {
    const old = await take(store);
    await store.commit(KEY, old.lease, { events: textEvents(0, 1) });
    await clock.advance(10_000);
    const next = await takeOver(store);
    const zombie = [
      { events: textEvents(1, 3) },
      { events: [textEvent(1, "x".repeat(2_000_000))] },
      { entries: [resultEntry(0, "x".repeat(1_000_000))], events: textEvents(1, 1) },
      { events: textEvents(1, 1), release: true },
      { events: textEvents(1, 1), suspend: true },
    ];
    await store.commit(KEY, next.lease, { events: textEvents(1_000_000, 2) });
    for (const commit of zombie) {
      await assert.rejects(store.commit(KEY, old.lease, commit), codeIs("lease_lost"));
    }
    assert.deepEqual(await readEvents(store), [textEvent(0), ...textEvents(1_000_000, 2)]);
    assert.deepEqual((await store.read(KEY))?.head.lease, next.lease);
  });

  test("stores events once whose commit is made twice", async (store) => {
    const { lease } = await take(store);
    const commits = [
      { events: textEvents(0, 3) },
      { entries: userEntries(0, 1), events: textEvents(3, 1) },
      { events: textEvents(4, 2), release: true },
    ];
    for (const commit of commits) {
      await store.commit(KEY, lease, commit);
      await store.commit(KEY, lease, commit);
    }
    assert.deepEqual(await readEvents(store), textEvents(0, 6));
  });

  test("deletes the events of a session with it", async (store) => {
    const { lease } = await take(store);
    const events = [...textEvents(0, 2), textEvent(2, "x".repeat(200_000))];
    await store.commit(KEY, lease, { events, entries: userEntries(0, 1) });
    assert.equal(await store.delete(KEY), true);
    assert.equal(await store.events(KEY, "t1", 0), null);
    const anew = await take(store, { turn: "t2" });
    assert.equal(await store.events(KEY, "t1", 0), null);
    await assert.rejects(store.commit(KEY, lease, { events: textEvents(3, 1) }), codeIs("lease_lost"));
    assert.equal(await store.events(KEY, "t1", 0), null);
    assert.deepEqual(await store.events(KEY, "t2", 0), { events: [], lease: anew.lease });
  });

  test("gives every event to a reader that follows a turn to its end", async (store) => {
    const { lease } = await take(store);
    const writing = (async () => {
      for (let n = 0; n < 300; n += 3) {
        await store.commit(KEY, lease, { events: textEvents(n, 3), ...(n === 297 ? { release: true } : {}) });
        if (n % 10 === 0) await breathe();
      }
    })();
    const read: StoredEvent[] = [];
    for (;;) {
      const stored = await store.events(KEY, "t1", read.length);
      assert.ok(stored !== null);
      read.push(...stored.events);
      // Nothing new and no lease: that is the end, and nothing comes after it.
      if (stored.events.length === 0 && stored.lease === null) break;
      await breathe();
    }
    await writing;
    assert.deepEqual(read, textEvents(0, 300));
  });

  test("reads events while their session is deleted and made anew", async (store) => {
    let isDone = false;
    const writing = (async () => {
      for (let life = 0; life < 12; life++) {
        const { lease } = await take(store, { turn: `t1 ${life}` });
        const events = [textEvent(0, `${life}`), textEvent(1, `${life}`.padEnd(150_000))];
        await store.commit(KEY, lease, { events, entries: userEntries(0, 120) });
        await breathe();
        await store.delete(KEY);
      }
    })().finally(() => isDone = true);
    while (!isDone) {
      for (let life = 0; life < 12; life++) {
        const stored = await store.events(KEY, `t1 ${life}`, 0);
        assert.ok(stored === null || stored.events.length === 0 || stored.events.length === 2);
      }
      await breathe();
    }
    await writing;
  });

  test("keeps events safe from callers", async (store) => {
    const { lease } = await take(store);
    const output = { lines: ["a"] };
    const event = { id: "t1:0", type: "tool.result", output };
    const events = [event];
    await store.commit(KEY, lease, { events });
    output.lines.push("b");
    event.type = "error";
    events.push({ ...event, id: "t1:1" });
    const [read] = (await store.events(KEY, "t1", 0))?.events ?? [];
    const wanted = { id: "t1:0", type: "tool.result", output: { lines: ["a"] } };
    assert.deepEqual(read, wanted);
    Object.assign(read ?? {}, { type: "error" });
    assert.deepEqual(await readEvents(store), [wanted]);
  });
});
