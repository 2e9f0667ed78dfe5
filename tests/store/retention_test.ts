import assert from "node:assert/strict";
import type { SessionKey, Store } from "../../src/ports.ts";
import { kvStore } from "../../src/store/kv.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { deleteUnused } from "../../src/store/retention.ts";
import { ManualClock } from "../support/clock.ts";
import { makeSession, take, userEntries } from "../support/store_contract.ts";

const DAY = 24 * 3_600_000;

const STORES: readonly [string, (clock: ManualClock) => Promise<Store>][] = [
  ["memoryStore()", (clock) => Promise.resolve(memoryStore({ clock }))],
  ["kvStore()", (clock) => kvStore({ path: ":memory:", clock })],
];

for (const [name, make] of STORES) {
  Deno.test(`deleteUnused() deletes what nobody has used for long from ${name}`, async () => {
    const clock = new ManualClock();
    const store = await make(clock);
    const keys = Array.from({ length: 120 }, (_, i): SessionKey => ({
      tenant: `tenant ${i % 3}`,
      ...(i % 2 === 0 ? { user: "ada" } : {}),
      session: `s${i}`,
    }));
    for (const key of keys) await makeSession(store, key);
    const [used, running, left, late] = keys;
    assert.ok(used !== undefined && running !== undefined && left !== undefined && late !== undefined);
    await take(store, { key: left, turn: "left" });
    await clock.advance(DAY);
    await makeSession(store, used, { turn: "again", entries: userEntries(0, 1) });
    await take(store, { key: running, turn: "running" });
    const unused = { unusedMs: DAY - 1, clock };
    const stop = new AbortController();
    stop.abort();
    assert.equal(await deleteUnused(store, { ...unused, signal: stop.signal }), 0);
    assert.equal(await deleteUnused(store, { unusedMs: DAY, clock }), 0);
    assert.equal(await deleteUnused(store, unused), 118);
    assert.equal(await deleteUnused(store, unused), 0);
    const { sessions, next } = await store.list(null);
    assert.deepEqual([sessions.map(({ key }) => key.session).sort(), next], [["s0", "s1"], null]);
    assert.equal(await store.read(left), null);
    store.close();
  });
}

Deno.test("deleteUnused() refuses options that nobody knows, or of another kind, and deletes nothing", async () => {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  await makeSession(store, { tenant: "acme", session: "s1" });
  await clock.advance(DAY);
  // deno-lint-ignore no-explicit-any -- What a caller in JavaScript can write.
  const remove = (options: any) => deleteUnused(store, options);
  const refusals = [
    [undefined, /delete unused sessions: found nothing, wanted an object with unusedMs, clock/],
    [{ clock }, /unusedMs: found nothing, wanted milliseconds, 0 or more/],
    [{ unusedMs: "1", clock }, /unusedMs: found "1", wanted milliseconds/],
    [{ unusedMs: NaN, clock }, /unusedMs: found NaN/],
    [{ unusedMs: -1, clock }, /unusedMs: found -1/],
    [{ unusedMs: 1 }, /clock: found nothing, wanted a clock/],
    [{ unusedMs: 1, clock, signal: true }, /signal: found true, wanted an AbortSignal/],
    [{ unusedMs: 1, clock, unusedDays: 30 }, /unusedDays: found an option that nobody knows/],
  ] as const;
  for (const [options, message] of refusals) {
    await assert.rejects(remove(options), { name: "TypeError", message });
  }
  assert.equal((await store.list(null)).sessions.length, 1);
});
