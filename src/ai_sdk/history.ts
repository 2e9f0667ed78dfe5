/**
 * A history that is met, and met again: what is long in it from the start, and whether it is still the same.
 *
 * @module
 */
import type { Budget } from "../compaction/budget.ts";
import { viewPrefix } from "../compaction/prefix.ts";
import type { Measures } from "../loop/measures.ts";
import type { Entry } from "../ports.ts";
import { measureOutput } from "../tokens/measure.ts";
import type { ContextMeter } from "../tokens/meter.ts";
import { PREFIX } from "./shown.ts";

/** Signed reasoning from before a view that is found again was made under something else. */
const EARLIER = `${PREFIX}.earlier`;

/** With what a history is met. */
export interface Met {
  /** Entries from before the view that was found again; 0 for none. */
  readonly seen: number;
  /** Number of the view in force. */
  readonly version: number;
  readonly budget: Budget;
  readonly meter: ContextMeter;
  readonly measures: Measures;
}

/**
 * The entries of steps that were done before a loop was followed, as they would be had it been followed then.
 *
 * @param entries The entries.
 * @param met With what they are met.
 */
export function asMet(entries: readonly Entry[], met: Met): Promise<readonly Entry[]> {
  const prefix = viewPrefix(PREFIX, met.version);
  return Promise.all(
    entries.map(async (entry) =>
      entry.kind === "assistant"
        ? { ...entry, prefix: entry.seq < met.seen ? EARLIER : prefix }
        : await capped(entry, met)
    ),
  );
}

/** A result, shortened where no room would ever be enough for it. */
async function capped(entry: Entry, { budget, meter, measures }: Met): Promise<Entry> {
  if (entry.kind !== "result" || entry.cap !== undefined) return entry;
  const most = Math.floor(budget.maxResult / meter.factor);
  if (measureOutput(entry.output, measures.bound) <= most) return entry;
  const size = measureOutput(entry.output, await measures.loadMeasure(), most);
  return size <= most ? entry : { ...entry, cap: most };
}

/** Whether two entries say the same; what the loop itself has noted on one does not count. */
export function isSameEntry(a: Entry, b: Entry | undefined): boolean {
  if (b === undefined || a.kind !== b.kind) return false;
  if (a.kind === "result" && b.kind === "result") {
    return a.call === b.call &&
      (a.output === b.output || JSON.stringify(a.output) === JSON.stringify(b.output));
  }
  if (a.kind === "result" || b.kind === "result") return false;
  return a.message === b.message || JSON.stringify(a.message) === JSON.stringify(b.message);
}
