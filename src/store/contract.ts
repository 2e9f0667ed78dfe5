/**
 * What every store has to do, as tests for whoever writes one.
 *
 * @module
 */
import type { Clock, Store } from "../ports.ts";
import { beginCases } from "./_contract_begins.ts";
import { branchCases } from "./_contract_branches.ts";
import { claimCases } from "./_contract_claims.ts";
import { eventCases } from "./_contract_events.ts";
import { leaseCases } from "./_contract_leases.ts";
import { listCases } from "./_contract_lists.ts";
import { ContractClock } from "./_contract_rig.ts";
import { pauseCases } from "./_contract_pauses.ts";
import { sessionCases } from "./_contract_sessions.ts";

/** One test of the contract. */
export interface StoreTest {
  /** What the store does, as the rest of a sentence that begins with its name. */
  readonly name: string;
  /** Runs the test on a store of its own; rejects where the store does not keep the contract. */
  readonly run: () => Promise<void>;
}

/**
 * Makes the tests that a store of your own has to pass, for any test runner. They cover sessions and their entries,
 * branches, leases and takeovers, what is stored with a lease, turns that wait, events, lists, claims, odd and big content, and many callers at once; crashes are for you to
 * add, who know where your store can be cut off. An entry of 20 MB and a session of 10,000 entries are among them.
 *
 * @param make Opens a new, empty store that measures time by the clock, which stands still unless a test moves it on.
 * The test closes the store when it is through.
 * @returns The tests; they can be run in any order, and at once.
 *
 * @example Under `deno test`
 * ```ts ignore
 * import { storeContract } from "@selvage/selvage/store-contract";
 * import { myStore } from "./my_store.ts";
 *
 * for (const { name, run } of storeContract((clock) => myStore({ clock }))) Deno.test(`myStore() ${name}`, run);
 * ```
 *
 * @example Without a runner
 * ```ts
 * import { memoryStore } from "@selvage/selvage";
 * import { storeContract } from "@selvage/selvage/store-contract";
 *
 * const tests = storeContract((clock) => Promise.resolve(memoryStore({ clock })));
 * for (const { run } of tests.slice(0, 3)) await run();
 * ```
 */
export function storeContract(make: (clock: Clock) => Promise<Store>): readonly StoreTest[] {
  const all = [
    ...sessionCases,
    ...branchCases,
    ...leaseCases,
    ...beginCases,
    ...pauseCases,
    ...eventCases,
    ...listCases,
    ...claimCases,
  ];
  return all.map(({ name, run }): StoreTest => ({
    name,
    run: async () => {
      const clock = new ContractClock();
      const store = await make(clock);
      try {
        await run(store, clock);
      } finally {
        store.close();
      }
    },
  }));
}
