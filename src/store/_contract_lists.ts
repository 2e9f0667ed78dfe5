/**
 * The contract of stores: lists of sessions.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Owner, SessionKey, SessionPage, Store } from "../ports.ts";
import {
  breathe,
  cases,
  codeIs,
  type ContractCase,
  type ContractClock,
  KEY,
  makeSession,
  ODD_NAMES,
  take,
  takeOver,
  userEntries,
} from "./_contract_rig.ts";

const ADA: Owner = { tenant: "acme", user: "ada" };

/** Makes sessions of an owner one after the other, a millisecond apart. */
async function makeSessions(
  store: Store,
  { clock, names, owner = ADA, ms = 1 }: {
    readonly clock: ContractClock;
    readonly names: readonly string[];
    readonly owner?: Owner;
    readonly ms?: number;
  },
): Promise<void> {
  for (const session of names) {
    await makeSession(store, { ...owner, session });
    await clock.advance(ms);
  }
}

function numbered(count: number, prefix = "s"): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`);
}

/** The pages of a list, with whatever is to happen after each. */
async function pages(
  store: Store,
  { owner = ADA, limit, between }: {
    readonly owner?: Owner | null;
    readonly limit?: number;
    readonly between?: (page: readonly SessionKey[]) => Promise<void>;
  } = {},
): Promise<SessionKey[][]> {
  const found: SessionKey[][] = [];
  let after: string | null | undefined;
  while (after !== null) {
    const page: SessionPage = await store.list(owner, {
      ...(limit === undefined ? {} : { limit }),
      ...(after === undefined ? {} : { after }),
    });
    const keys = page.sessions.map(({ key }) => key);
    found.push(keys);
    await between?.(keys);
    after = page.next;
  }
  return found;
}

async function names(...options: Parameters<typeof pages>): Promise<string[]> {
  return (await pages(...options)).flat().map(({ session }) => session);
}

/** Tests of lists. */
export const listCases: readonly ContractCase[] = cases((test) => {
  test("lists nothing where there is nothing", async (store) => {
    assert.deepEqual(await store.list(ADA), { sessions: [], next: null });
    assert.deepEqual(await store.list(null), { sessions: [], next: null });
    await store.claim(ADA, "name", { value: 1, ttlMs: 1_000 });
    await assert.rejects(takeOver(store));
    assert.deepEqual(await store.list(ADA), { sessions: [], next: null });
  });

  test("lists sessions with their heads as they are, the newest first", async (store, clock) => {
    await makeSessions(store, { clock, names: ["b", "c", "a"] });
    const { lease } = await take(store, { key: { ...ADA, session: "c" }, turn: "now" });
    await store.commit({ ...ADA, session: "c" }, lease, { entries: userEntries(0, 2), meter: { anchor: 1 } });
    const { sessions, next } = await store.list(ADA);
    // It is the time when it was made that counts, so that pages hold while sessions are used.
    assert.deepEqual(sessions.map(({ key }) => key), ["a", "c", "b"].map((session) => ({ ...ADA, session })));
    assert.equal(next, null);
    for (const { key, head } of sessions) assert.deepEqual(head, (await store.read(key))?.head);
    assert.deepEqual(sessions[1]?.head.lease, lease);
  });

  test("lists in pages of any size, each session once", async (store, clock) => {
    await makeSessions(store, { clock, names: numbered(23) });
    const all = numbered(23).reverse();
    for (const limit of [1, 2, 7, 10, 11, 22]) {
      const found = await pages(store, { limit });
      assert.deepEqual(found.flat().map(({ session }) => session), all);
      assert.deepEqual(found.map((page) => page.length).slice(0, -1), Array(found.length - 1).fill(limit));
    }
    for (const limit of [23, 24, 500]) assert.deepEqual((await pages(store, { limit })).length, 1);
  });

  test("lists 50 in a page by default", async (store, clock) => {
    await makeSessions(store, { clock, names: numbered(61) });
    assert.deepEqual((await pages(store)).map((page) => page.length), [50, 11]);
  });

  test("lists sessions made at the same time, each once", async (store, clock) => {
    await makeSessions(store, { clock, names: numbered(15), ms: 0 });
    for (const name of ODD_NAMES) await makeSession(store, { ...ADA, session: name });
    const all = [...numbered(15), ...ODD_NAMES].sort();
    for (const limit of [1, 4, 31, 32, 40]) assert.deepEqual((await names(store, { limit })).sort(), all);
    assert.deepEqual(await names(store, { limit: 3 }), await names(store));
  });

  test("lists the sessions of one owner, or of all", async (store, clock) => {
    const owners: Owner[] = [
      ADA,
      { tenant: "acme" },
      { tenant: "acme", user: "bob" },
      { tenant: "acm", user: "eada" },
      { tenant: "zoo", user: "ada" },
      { tenant: "ada", user: "acme" },
      { tenant: "\ud800", user: "漢字" },
    ];
    for (let round = 0; round < 3; round++) {
      for (const owner of owners) {
        const session = `s${round}`;
        await makeSession(store, { ...owner, session }, { turn: session });
        await clock.advance(1);
      }
    }
    for (const owner of owners) {
      const own = ["s2", "s1", "s0"].map((session) => ({ ...owner, session }));
      assert.deepEqual((await pages(store, { owner })).flat(), own);
      assert.deepEqual((await pages(store, { owner, limit: 1 })).flat(), own);
    }
    const text = (key: SessionKey) => JSON.stringify([key.tenant, key.user ?? "", key.session]);
    const all = owners.flatMap((owner) => numbered(3).map((session) => text({ ...owner, session })));
    for (const limit of [1, 4, 500]) {
      const found = (await pages(store, { owner: null, limit })).flat();
      assert.deepEqual(found.map(text).sort(), all.toSorted());
    }
  });

  test("gives nobody a page of another's sessions", async (store, clock) => {
    const owners: Owner[] = [ADA, { tenant: "acme" }, { tenant: "zoo", user: "zoe" }];
    for (const owner of owners) await makeSessions(store, { clock, owner, names: numbered(4) });
    for (const owner of owners) {
      const { next } = await store.list(owner, { limit: 2 });
      assert.ok(next !== null);
      for (const other of owners) {
        // What ends one list is no place in another, or a place like any other.
        const page: SessionPage = await store.list(other, { after: next }).catch((error) => {
          assert.equal(error.code, "bad_request");
          return { sessions: [], next: null };
        });
        for (const { key } of page.sessions) {
          assert.deepEqual([key.tenant, key.user], [other.tenant, other.user]);
        }
      }
    }
  });

  test("pages on while sessions are made, used and deleted", async (store, clock) => {
    await makeSessions(store, { clock, names: numbered(30) });
    const gone: string[] = [];
    const found = await names(store, {
      limit: 5,
      between: async (page) => {
        const last = Number(page.at(-1)?.session.slice(1));
        // The one at which the next page begins, one that is yet to come, one that is used, a new one.
        await store.delete({ ...ADA, session: `s${last}` });
        await store.delete({ ...ADA, session: `s${last - 2}` });
        gone.push(`s${last - 2}`);
        const used = { ...ADA, session: `s${last - 1}` };
        if (await store.read(used) !== null) await makeSession(store, used, { turn: `again ${last}` });
        await makeSessions(store, { clock, names: [`new ${last}`] });
      },
    });
    assert.ok(gone.length > 4);
    assert.deepEqual(found, numbered(30).reverse().filter((name) => !gone.includes(name)));
  });

  test("lists while sessions are deleted and made anew at the same time", async (store, clock) => {
    await makeSessions(store, { clock, names: numbered(40) });
    let isDone = false;
    const writing = (async () => {
      for (let i = 0; i < 40; i += 2) {
        await store.delete({ ...ADA, session: `s${i}` });
        await makeSession(store, { ...ADA, session: `s${i}` }, { turn: `anew ${i}` });
        await clock.advance(1);
        await store.delete({ ...ADA, session: `s${i}` });
      }
    })().finally(() => isDone = true);
    const staying = numbered(40).filter((_, i) => i % 2 === 1).reverse();
    do {
      const found = await names(store, { limit: 9 });
      assert.deepEqual(found.filter((name) => Number(name.slice(1)) % 2 === 1), staying);
      await breathe();
    } while (!isDone);
    await writing;
    assert.deepEqual(await names(store), staying);
  });

  test("lists a session no more that was deleted, and anew one made again", async (store, clock) => {
    await makeSessions(store, { clock, names: ["a", "b", "c"] });
    await store.delete({ ...ADA, session: "a" });
    assert.deepEqual(await names(store), ["c", "b"]);
    await store.delete({ ...ADA, session: "b" }, { unusedSince: clock.now() });
    assert.deepEqual(await names(store), ["c"]);
    await makeSession(store, { ...ADA, session: "a" }, { turn: "again" });
    assert.deepEqual(await names(store), ["a", "c"]);
  });

  test("lists keys without what else their objects carry", async (store) => {
    await makeSession(store, { ...KEY, secret: "x" } as SessionKey);
    assert.deepEqual((await store.list(KEY)).sessions.map(({ key }) => key), [KEY]);
  });

  test("refuses sizes of pages that are none", async (store) => {
    await makeSession(store, KEY);
    const refused = codeIs("bad_request", { field: "limit" });
    for (const limit of [0, -1, 501, 1.5, NaN, Infinity]) {
      await assert.rejects(store.list(ADA, { limit }), refused);
      await assert.rejects(store.list(null, { limit }), refused);
    }
    for (const limit of [1, 500]) assert.equal((await store.list(ADA, { limit })).sessions.length, 1);
  });

  test("refuses what no page gave as its end", async (store) => {
    await makeSession(store, KEY);
    const refused = codeIs("bad_request", { field: "after" });
    for (
      const after of ["", " ", "x", "!!", "漢", "null", btoa("null"), btoa("[]"), btoa('["a","b","c","d"]')]
    ) {
      await assert.rejects(store.list(ADA, { after }), refused, JSON.stringify(after));
      await assert.rejects(store.list(null, { after }), refused, JSON.stringify(after));
    }
  });
});
