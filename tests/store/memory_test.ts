import assert from "node:assert/strict";
import { memoryStore } from "../../src/store/memory.ts";
import { KEY, take, testStore } from "../support/store_contract.ts";

testStore("memoryStore()", (clock) => Promise.resolve(memoryStore({ clock })));

Deno.test("memoryStore() measures leases by the clock of the machine by default", async () => {
  const store = memoryStore();
  const before = Date.now();
  const { lease } = await take(store, { ttlMs: 10_000 });
  assert.ok(lease.expires >= before + 10_000 && lease.expires <= Date.now() + 10_000);
  store.close();
  assert.equal(await store.read(KEY), null);
});
