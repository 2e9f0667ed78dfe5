/**
 * Retention: sessions that nobody has used for long are deleted.
 *
 * @module
 */
import { aClock, number, optionsOf, requireOptions, rule } from "../core/options.ts";
import type { Clock, Store } from "../ports.ts";

const rules = optionsOf<Parameters<typeof deleteUnused>[1]>({
  unusedMs: number("milliseconds, 0 or more", { least: 0 }),
  clock: aClock,
  signal: rule("an AbortSignal", (value) => value instanceof AbortSignal),
}, ["unusedMs", "clock"]);

/**
 * Deletes the sessions of all owners in which nothing has changed for a time and no turn runs.
 *
 * @param store The store.
 * @param options `unusedMs`: that time, in milliseconds; `clock`; `signal` ends the work early.
 * @returns How many were deleted.
 * @throws TypeError (as a rejection) for an option that is unknown, missing or of the wrong kind; nothing is deleted.
 *
 * @example
 * ```ts
 * import { deleteUnused, memoryStore } from "@selvage/selvage";
 *
 * const clock = { now: () => Date.now(), sleep: () => Promise.resolve() };
 * console.log(await deleteUnused(memoryStore(), { unusedMs: 30 * 24 * 3_600_000, clock })); // 0
 * ```
 */
export async function deleteUnused(
  store: Store,
  options: {
    readonly unusedMs: number;
    readonly clock: Clock;
    readonly signal?: AbortSignal;
  },
): Promise<number> {
  requireOptions("delete unused sessions", options, rules);
  const { unusedMs, clock, signal } = options;
  const unusedSince = clock.now() - unusedMs;
  let deleted = 0;
  let after: string | null = "";
  while (after !== null) {
    const page: Awaited<ReturnType<Store["list"]>> = await store.list(null, after === "" ? {} : { after });
    for (const { key, head } of page.sessions) {
      if (signal?.aborted) return deleted;
      if (head.updatedAt < unusedSince && await store.delete(key, { unusedSince })) deleted++;
    }
    after = page.next;
  }
  return deleted;
}
