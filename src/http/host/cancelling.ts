/**
 * Turns that are cancelled by the key of their request: nobody may know them by name yet, nor whether they began.
 *
 * @module
 */
import { cancelled, keepFromBeginning } from "../../loop/turn_name.ts";
import type { Owner } from "../../ports.ts";
import { voidKey } from "../idempotency.ts";
import type { HostParts } from "./parts.ts";
import { isStillborn } from "./starting.ts";

/**
 * Keeps a turn from beginning, and every later one under the same key.
 *
 * @param parts The parts of the host.
 * @param request Whose key it is.
 * @returns The name of the turn where it has begun, and is to be cancelled by that; null where it never does.
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
    if (!await keepFromBeginning(parts.store, { owner, turn })) return turn;
    // It may wait here for its tools, its session or its place.
    parts.beginning.get(turn)?.abort(cancelled());
    return null;
  }
}
