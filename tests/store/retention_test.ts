import assert from "node:assert/strict";
import { kvStore } from "../../src/store/kv.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { deleteUnused } from "../../src/store/retention.ts";
import { ManualClock } from "../support/clock.ts";

const DAY_MS = 24 * 3_600_000;

for (const name of ["memoryStore", "kvStore"] as const) {
  Deno.test(`deleteUnused() deletes what nobody used for long from a ${name}, and nothing else`, async () => {
    const clock = new ManualClock();
    const store = name === "memoryStore"
      ? memoryStore({ clock })
      : await kvStore({ clock, path: ":memory:" });
    try {
      const make = async (session: string, tenant = "acme") => {
        const key = { tenant, session };
        const request = { agent: "a", owner: "o", turn: `t-${session}`, ttlMs: 10_000 };
        return { key, lease: (await store.acquire(key, request)).lease };
      };
      // More than a page of old ones, of two tenants.
      for (let n = 0; n < 70; n++) {
        const { key, lease } = await make(`old${n}`, n % 2 === 0 ? "acme" : "other");
        await store.commit(key, lease, { release: true });
      }
      const used = await make("used");
      const running = await make("running");
      await clock.advance(10 * DAY_MS);
      await store.commit(used.key, used.lease, { release: true });
      await store.renew(running.key, running.lease, 10_000);
      assert.equal(await deleteUnused(store, { unusedMs: 10 * DAY_MS + 1, clock }), 0);
      assert.equal(await deleteUnused(store, { unusedMs: 9 * DAY_MS, clock }), 70);
      const { sessions, next } = await store.list(null);
      assert.deepEqual(sessions.map(({ key }) => key.session).toSorted(), ["running", "used"]);
      assert.equal(next, null);
      assert.equal(await deleteUnused(store, { unusedMs: 0, clock, signal: AbortSignal.abort() }), 0);
    } finally {
      store.close();
    }
  });
}
