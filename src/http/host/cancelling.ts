/**
 * Turns that are cancelled by the key of their request: nobody may know them by name yet, nor whether they began.
 *
 * @module
 */
import { SelvageError } from "../../core/errors.ts";
import { cancelled, keepFromBeginning } from "../../loop/turn_name.ts";
import type { Owner } from "../../ports.ts";
import { type KeyedTurn, keyedTurn, type OwnedKey, voidKey } from "../idempotency.ts";
import { limitsOf } from "../limits.ts";
import type { HostParts } from "./parts.ts";
import { isStillborn } from "./starting.ts";

/**
 * Keeps a turn from beginning, and every later one under the same key.
 *
 * @param parts The parts of the host.
 * @param request Whose key it is.
 * @returns The name of the turn where it has begun, and is to be cancelled by that; null where it never does.
 * @throws SelvageError `rate_limited` where nobody has used the key, and its caller may start no turn either.
 */
export async function forestall(
  parts: HostParts,
  { owner, key }: { readonly owner: Owner; readonly key: string },
): Promise<string | null> {
  for (let attempt = 0;; attempt++) {
    const owned = { owner, key, attempt };
    const found = await keyedTurn(parts.store, owned);
    const named = found === undefined ? await voidCounted(parts, owned) : found;
    if (named === null) return null;
    const { turn, session } = named;
    if (await isStillborn(parts, { turn, key: { ...owner, session } })) continue;
    if (!await keepFromBeginning(parts.store, { owner, turn })) return turn;
    // It may wait here for its tools, its session or its place.
    parts.beginning.get(turn)?.abort(cancelled());
    return null;
  }
}

/**
 * Claims a key for nothing that nobody has used. That is stored for a day, and so counts as the start of a turn does: of
 * the turns of a minute, for it takes no place among those that run.
 */
async function voidCounted({ quotas, store, limits }: HostParts, owned: OwnedKey): Promise<KeyedTurn | null> {
  const { owner } = owned;
  const { concurrentTurns: _, ...counted } = limitsOf(limits, owner);
  try {
    const leave = await quotas.enter(owner, { turn: "", session: "", limits: counted });
    const { named, isNew } = await voidKey(store, owned);
    // Its turn, or the same cancel, came in between, and is charged itself.
    if (!isNew) await leave({ hasStarted: false });
    return named;
  } catch (error) {
    if (!(error instanceof SelvageError && error.code === "rate_limited")) throw error;
    // One that has come in between is cancelled, whatever its caller may have.
    const named = await keyedTurn(store, owned);
    if (named !== undefined) return named;
    throw new SelvageError(
      "rate_limited",
      "Cannot cancel a turn that nobody has asked for yet: found no turn of this minute left, which such a cancel " +
        "takes as the start of a turn does; nor could that turn start now",
      { fields: error.fields, cause: error },
    );
  }
}
