/**
 * The log of a session, page by page.
 *
 * @module
 */
import type { Client, ShownEntry } from "../../client/mod.ts";

/** Reads all entries of a session. Throws as the client does. */
export async function storedEntries(client: Client, session: string): Promise<readonly ShownEntry[]> {
  const entries: ShownEntry[] = [];
  for (let from: number | null = 0; from !== null;) {
    const page: { next: number | null; entries: readonly ShownEntry[] } = await client.sessions
      .messages(session, { from });
    entries.push(...page.entries);
    from = page.next;
  }
  return entries;
}
