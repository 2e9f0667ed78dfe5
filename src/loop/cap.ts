/**
 * The cap at append: what one result may take of the room that is left. No selector can help afterwards.
 *
 * @module
 */
import type { Budget } from "../compaction/budget.ts";
import type { Context } from "../compaction/context.ts";
import { TRIM_FLOOR } from "../core/cut.ts";
import type { ToolOutput } from "../core/message.ts";
import { measureOutput } from "../tokens/measure.ts";
import type { ContextMeter } from "../tokens/meter.ts";

/** What {@link capOf} looks at. */
export interface CapOptions {
  /** Calls of the step that have no result yet, this one included. */
  readonly open: number;
  readonly context: Context;
  readonly meter: ContextMeter;
  readonly budget: Budget;
}

/**
 * Says to how many tokens an output is to be shortened, as `measureOutput` counts them; null where it is shown whole.
 *
 * @param output The output.
 * @param options The context it comes into, and with how many others it shares the room.
 */
export async function capOf(
  output: ToolOutput,
  { open, context, meter, budget: { maxResult, stopAt } }: CapOptions,
): Promise<number | null> {
  const share = (used: number): number =>
    Math.floor(Math.min(maxResult, Math.max(0, stopAt - used) / open) / meter.factor);
  // From the cheap to the exact: most outputs are small, and need no tokenizer.
  const bound = measureOutput(output, context.bound);
  if (bound <= share((await meter.read(context, stopAt)).tokens)) return null;
  const limit = Math.max(TRIM_FLOOR, share(await meter.estimate(context)));
  if (bound <= limit) return null;
  const { floor } = meter;
  const measure = await context.measure();
  if (floor * bound <= limit) return measureOutput(output, measure, limit) <= limit ? null : limit;
  // A cap is in tokens of the counter itself: what is shown must not change with what bills have taught.
  return Math.floor(limit * Math.min(1, measureOutput(output, measure) / (floor * bound)));
}
