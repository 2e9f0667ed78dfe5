/**
 * The name of a turn: whoever claims it first decides whether the turn begins. A store claims it with the lease, in one
 * step, and gives no lease for a name that is claimed.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Owner, Store } from "../ports.ts";

/** Milliseconds for which a turn is kept from beginning: as long as a request may come again. */
const NEVER_MS = 24 * 3_600_000;

/** What a name is claimed for whose turn is not to begin: no session has such a name. */
const NEVER = { session: "" };

/** The claim by which a turn is found for a day after it has begun. */
export function turnName(turn: string): string {
  return `turn/${turn}`;
}

/** Whether what a name was claimed for says that its turn never begins. */
export function isNever(claimed: unknown): boolean {
  return (claimed as { readonly session?: unknown } | undefined)?.session === NEVER.session;
}

/** Keeps a turn from beginning, in any process; false where it has begun. */
export async function keepFromBeginning(
  store: Pick<Store, "claim">,
  { owner, turn }: { readonly owner: Owner; readonly turn: string },
): Promise<boolean> {
  return isNever(await store.claim(owner, turnName(turn), { value: NEVER, ttlMs: NEVER_MS }));
}

/** The error for a turn that was cancelled before it could begin. */
export function cancelled(): SelvageError {
  return new SelvageError("turn_aborted", "Cannot start the turn: it was cancelled before it had begun");
}
