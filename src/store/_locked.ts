/**
 * Patience with an SQLite file that somebody else writes to at the moment.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Clock } from "../ports.ts";
import { systemClock } from "../loop/clock.ts";
import { storeFault } from "../loop/store_fault.ts";

const PATIENCE_MS = 5_000;

function isLocked(error: unknown): boolean {
  return error instanceof Error && error.message.includes("database is locked");
}

/** Whether an error is one of ours, or says that too much was asked for in one piece. */
function isOurs(error: unknown): boolean {
  return error instanceof SelvageError || error instanceof Error && error.message.includes("too large");
}

/**
 * Runs a store operation, again after 2 to 15 ms for as long as the database is locked, and throws `store_busy`
 * after 5 s of that. A locked database never has taken the write. What a database fails with otherwise, a full disk for
 * example, is the cause of a `store_unavailable`.
 *
 * The clock is real time unless a test says otherwise, whatever clock the store has: the lock is held by another
 * process, which a clock that stands still would wait for without end.
 */
export async function whileLocked<T>(run: () => Promise<T>, clock: Clock = systemClock): Promise<T> {
  const start = clock.now();
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!isLocked(error)) throw isOurs(error) ? error : storeFault(error);
      const waited = clock.now() - start;
      if (waited >= PATIENCE_MS) {
        throw new SelvageError(
          "store_busy",
          `Cannot reach the store: found its database locked for ${waited} ms, wanted a turn within ${PATIENCE_MS} ms`,
          { cause: error, fields: { retryable: true } },
        );
      }
      // Jitter, so that two writers that met do not meet again.
      await clock.sleep(2 + Math.random() * 13);
    }
  }
}
