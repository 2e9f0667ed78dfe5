/**
 * The contract of stores as Deno tests, and what it stores for other tests to use.
 *
 * @module
 */
import type { Clock, Store } from "../../src/ports.ts";
import { storeContract } from "../../src/store/contract.ts";

export {
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
} from "../../src/store/_contract_rig.ts";

/**
 * Registers the contract tests of a store.
 *
 * @param name What the tests are called after, for example `memoryStore()`.
 * @param make Opens a new, empty store that measures leases by the clock. The test closes it.
 */
export function testStore(name: string, make: (clock: Clock) => Promise<Store>): void {
  for (const { name: does, run } of storeContract(make)) Deno.test(`${name} ${does}`, run);
}
