/**
 * A session as its agent's next request would find it: what the model is shown, how it is counted, and the marks that
 * it is held against.
 *
 * @module
 */
import type { Budget } from "../compaction/budget.ts";
import { Context, type StoredView } from "../compaction/context.ts";
import type { SessionHead, SessionState } from "../ports.ts";
import type { ContextMeter } from "../tokens/meter.ts";
import type { ReadyAgent } from "./agent.ts";
import { budgetOf, measuresOf, restoreMeter } from "./measures.ts";

/** A session that was read, and its measures. */
export interface MeasuredSession {
  readonly head: SessionHead;
  readonly context: Context;
  readonly meter: ContextMeter;
  readonly budget: Budget;
}

/**
 * Makes the context of a stored session, with its meter and its thresholds.
 *
 * @param agent Whose window and tools apply.
 * @param state The session as stored.
 * @throws SelvageError `bad_budget`.
 */
export async function measured(
  agent: ReadyAgent,
  { head, entries, view }: SessionState,
): Promise<MeasuredSession> {
  const budget = budgetOf(agent, head.meter);
  const context = await Context.create(entries, { view: view as StoredView | null, ...measuresOf(agent) });
  return { head, context, meter: restoreMeter({ agent, budget }, head.meter), budget };
}
