/**
 * What stays verbatim through compactions. A pin keeps a whole atom: half a pair is none (conditions C1 and C2).
 *
 * @module
 */
import type { Entry, Tool } from "../ports.ts";
import type { StoredView } from "./context.ts";
import type { LedgerLine } from "./ledger.ts";
import { withoutLine } from "./ledger_range.ts";
import { callsOf, entryOfRef } from "./render.ts";

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
    if (entry?.kind === "result") messages.add(entryOfRef(entry.call));
    else if (entry !== undefined && callsOf(entry).length > 0) messages.add(seq);
    else if (entry !== undefined) found.add(seq);
  }
  if (messages.size > 0) {
    for (const entry of entries) {
      if (messages.has(entry.kind === "result" ? entryOfRef(entry.call) : entry.seq)) found.add(entry.seq);
    }
  }
  return [...found].sort((a, b) => a - b);
}

/**
 * The entries that are pinned: inputs that came with a pin, and what was pinned later, less what was let go.
 *
 * @param entries The log.
 * @param pins By ref, as the head of a session has them.
 * @returns Numbers of the entries of the user and of results.
 */
export function pinnedEntries(
  entries: readonly Entry[],
  pins: Readonly<Record<string, boolean>> = {},
): readonly number[] {
  return entries.flatMap((entry) => {
    if (entry.kind === "user") return pins[`e${entry.seq}`] ?? entry.pinned === true ? [entry.seq] : [];
    return entry.kind === "result" && pins[entry.call] === true ? [entry.seq] : [];
  });
}

/**
 * The pins of the entries that a branch shares with the one that it leaves: in it the same number is another entry.
 *
 * @param pins By ref, as the head of a session has them.
 * @param at The first entry that it does not share.
 */
export function sharedPins(pins: Readonly<Record<string, boolean>>, at: number): Record<string, boolean> {
  return Object.fromEntries(Object.entries(pins).filter(([ref]) => entryOfRef(ref) < at));
}

/**
 * Why an atom stays verbatim. `caller`: by a pin; `turn`: a message of the user, for as long as its turn ran; `tool`: by
 * `retain`; `released`: let go, until a later compaction records it.
 */
export type PinnedBy = "caller" | "turn" | "tool" | "released";

/**
 * Why entries that a view keeps stay verbatim.
 *
 * @param entries Those of one atom.
 * @param options `pins`: by ref, as the head has them; `caller`: numbers of what pins keep; `tools`: the agent's.
 */
export function pinnedBy(
  entries: readonly Entry[],
  { pins = {}, caller, tools }: {
    readonly pins?: Readonly<Record<string, boolean>> | undefined;
    readonly caller: ReadonlySet<number>;
    readonly tools: readonly Tool[];
  },
): PinnedBy {
  if (entries.some(({ seq }) => caller.has(seq))) return "caller";
  const retaining = new Set(
    tools.filter(({ retain = "normal" }) => retain !== "normal").map(({ name }) => name),
  );
  if (entries.some((entry) => entry.kind === "result" && retaining.has(entry.toolName))) return "tool";
  const isTask = entries.some((entry) => entry.kind === "user" && pins[`e${entry.seq}`] === undefined);
  return isTask ? "turn" : "released";
}

/**
 * The view that shows entries verbatim which an earlier cut has summarised, and without shortening what was trimmed:
 * they leave the ledger, so that each pair is either shown or recorded.
 *
 * @param view The view in force.
 * @param entries The log.
 * @param pinned Numbers of the entries that are pinned from now on.
 * @returns The view in force itself, where it shows them so already.
 */
export function withPins(
  view: StoredView,
  entries: readonly Entry[],
  pinned: readonly number[],
): StoredView {
  const whole = wholeAtoms(entries, pinned);
  const shown = new Set(view.pinned);
  const back = whole.filter((seq) => seq < view.cut && !shown.has(seq));
  const trims = view.trims.filter(([seq]) => !pinned.includes(seq));
  if (back.length === 0 && trims.length === view.trims.length) return view;
  return {
    ...view,
    version: view.version + 1,
    pinned: [...new Set([...view.pinned, ...back])].sort((a, b) => a - b),
    trims,
    ledger: withoutEntries(view.ledger, back.flatMap((seq) => entries[seq] ?? [])),
  };
}

/** A ledger without the lines of entries that are shown again. */
function withoutEntries(ledger: readonly LedgerLine[], entries: readonly Entry[]): readonly LedgerLine[] {
  let lines = ledger;
  for (const entry of entries) {
    if (entry.kind === "user") lines = withoutLine(lines, { kind: "user", seq: entry.seq });
    if (entry.kind !== "result") continue;
    const { call: ref, toolName: tool, status } = entry;
    lines = withoutLine(lines, { kind: "pair", seq: entryOfRef(entry.call), ref, tool, status });
  }
  return lines;
}

/** What tools want retained, and how it is. */
export interface Retained {
  /** Entries that stay raw, whole atoms, in log order. */
  readonly kept: readonly number[];
  /** Calls of the newest results of `latest` that do not stay raw with their round: their ledger lines hold them. */
  readonly told: ReadonlySet<string>;
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
): Retained {
  const wanted = new Map(
    tools.flatMap(({ name, retain = "normal" }) => retain === "normal" ? [] : [[name, retain] as const]),
  );
  const kept = new Set<number>();
  const told = new Set<string>();
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
    if (size === null || size > left) {
      if (retain === "latest") told.add(entry.call);
      continue;
    }
    left -= size;
    for (const member of atom) kept.add(member);
  }
  return { kept: [...kept].sort((a, b) => a - b), told };
}
