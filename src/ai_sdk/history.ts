/**
 * A history that is met, and met again: what is long in it from the start, and whether it is still the same.
 *
 * @module
 */
import type { Budget } from "../compaction/budget.ts";
import type { Entry } from "../ports.ts";
import { measureOutput, type TextMeasure } from "../tokens/measure.ts";
import type { ContextMeter } from "../tokens/meter.ts";

/** A result of an earlier step, shortened where no room would ever be enough for it. */
export async function capped(
  entry: Entry,
  { budget, meter, measures }: {
    readonly budget: Budget;
    readonly meter: ContextMeter;
    readonly measures: { readonly bound: TextMeasure; readonly loadMeasure: () => Promise<TextMeasure> };
  },
): Promise<Entry> {
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
