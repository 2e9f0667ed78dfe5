/**
 * What stays verbatim through compactions. A pin keeps a whole atom: half a pair is none (conditions C1 and C2).
 *
 * @module
 */
import type { Entry, ResultEntry, Tool } from "../ports.ts";
import { callsOf } from "./render.ts";

/**
 * The entries of the atoms that hold some entries: a call's message, with all its calls and their results.
 *
 * @param entries The log.
 * @param seqs Numbers of entries.
 * @returns Numbers in log order, each once.
 */
export function wholeAtoms(entries: readonly Entry[], seqs: readonly number[]): readonly number[] {
  const messages = new Set<number>();
  const found = new Set<number>();
  for (const seq of seqs) {
    const entry = entries[seq];
    if (entry?.kind === "result") messages.add(messageOf(entry));
    else if (entry !== undefined && callsOf(entry).length > 0) messages.add(seq);
    else if (entry !== undefined) found.add(seq);
  }
  if (messages.size > 0) {
    for (const entry of entries) {
      if (messages.has(entry.kind === "result" ? messageOf(entry) : entry.seq)) found.add(entry.seq);
    }
  }
  return [...found].sort((a, b) => a - b);
}

/** Number of the entry that made the call of a result. */
function messageOf({ call }: ResultEntry): number {
  return Number.parseInt(call.slice(1));
}

/**
 * The results that their tools want retained: of `latest` the newest that is no error, of `always` each of them, the
 * newest first for as long as they have room.
 *
 * @param entries The log.
 * @param tools The agent's tools.
 * @param room The most tokens of the retained atoms together; `sizeOf` gives those of some entries, null where they are
 *   not shown any more: what is in the ledger stays there.
 */
export function retainedResults(
  entries: readonly Entry[],
  tools: readonly Tool[],
  { room, sizeOf }: {
    readonly room: number;
    readonly sizeOf: (seqs: readonly number[]) => number | null;
  },
): readonly number[] {
  const wanted = new Map(
    tools.flatMap(({ name, retain = "normal" }) => retain === "normal" ? [] : [[name, retain] as const]),
  );
  const kept = new Set<number>();
  let left = room;
  for (let seq = entries.length - 1; seq >= 0 && wanted.size > 0; seq--) {
    const entry = entries[seq];
    if (entry?.kind !== "result" || entry.status !== "ok") continue;
    const retain = wanted.get(entry.toolName);
    if (retain === undefined) continue;
    if (retain === "latest") wanted.delete(entry.toolName);
    if (kept.has(seq)) continue;
    const atom = wholeAtoms(entries, [seq]);
    const size = sizeOf(atom);
    if (size === null || size > left) continue;
    left -= size;
    for (const member of atom) kept.add(member);
  }
  return [...kept].sort((a, b) => a - b);
}
