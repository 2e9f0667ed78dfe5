/**
 * Turns that are cancelled by the key of their request: nobody may know them by name yet, nor whether they began.
 *
 * @module
 */
import { cancelled } from "../../loop/acquire.ts";
import type { Owner } from "../../ports.ts";
import { voidKey } from "../idempotency.ts";
import type { HostParts } from "./parts.ts";
import { isStillborn } from "./starting.ts";

/**
 * Keeps a turn from beginning, and every later one under the same key.
 *
 * @param parts The parts of the host.
 * @param request Whose key it is.
 * @returns The name that the turn has got, if any: it may have begun, and is to be cancelled by it.
 */
export async function forestall(
  parts: HostParts,
  { owner, key }: { readonly owner: Owner; readonly key: string },
): Promise<string | null> {
  for (let attempt = 0;; attempt++) {
    const named = await voidKey(parts.store, { owner, key, attempt });
    if (named === null) return null;
    const { turn, session } = named;
    if (await isStillborn(parts, { turn, key: { ...owner, session } })) continue;
    parts.beginning.get(turn)?.abort(cancelled());
    return turn;
  }
}
