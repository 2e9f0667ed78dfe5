/**
 * Taking a turn up: one that its process left, or that has waited for answers, goes on from what is in its log.
 *
 * @module
 */
import { callsOf } from "../compaction/context.ts";
import { SelvageError } from "../core/errors.ts";
import type { MatchedAnswers } from "./answers.ts";
import type { TurnAtWork } from "./at_work.ts";
import { type Call, openCalls } from "./calls.ts";
import { finished, type Outcome } from "./ends.ts";
import { untoldOf } from "./left.ts";
import { answered } from "./steps.ts";
import { sortCalls } from "./waits.ts";

/**
 * Appends the results that answers make of calls, and what the user says behind them, and stores them with what is
 * left of the pause. Where calls are still to run, what is said is kept there: it comes behind a whole round.
 */
export async function takeAnswers(
  turn: TurnAtWork,
  { answered, said }: Pick<MatchedAnswers, "answered" | "said">,
): Promise<void> {
  for (const [index, { call: { ref, name }, ...outcome }] of answered.entries()) {
    const open = answered.length - index;
    await turn.calls.result(turn.steps, { ref, name, open, outcome: { ...outcome, ms: 0 } });
  }
  if (said !== undefined) turn.pause = { ...turn.pause, said };
  // What comes of it is told with the results, as what was not told yet.
  if (openCalls(turn.log.all).length === 0) await turn.receive([]);
  turn.journal.change({ pause: turn.pause });
  await turn.flush();
}

/**
 * Goes on where the turn stopped before: tells what was done and not told, waits on where calls still do, runs what
 * has not begun, and what may be run twice, and closes the other open calls. Gives the end of a turn that had reached
 * it; a new turn has all before it.
 */
export async function takeUp(turn: TurnAtWork): Promise<Outcome | null> {
  const { told, answers } = turn.opened;
  const { ours, answer } = turn.log;
  if (ours.length === 0) {
    throw new SelvageError("turn_lost", "The turn is lost: its process ended before the input was stored");
  }
  await turn.tellAll(turn.retell(untoldOf(ours, told)));
  if (answer === undefined) return null;
  if (answers !== undefined) await turn.compactor.check();
  if (turn.pause.pending.length > 0) return { kind: "paused", pause: turn.pause };
  const { step, reason } = answer;
  const open = openCalls(turn.log.all).map(({ call }) => call);
  const approved = new Set(turn.pause.approved);
  const isApproved = ({ ref }: Call): boolean => approved.has(ref);
  const mayRun = (call: Call): boolean => turn.unbegun.has(call.ref) || isRepeatable(turn, call);
  const sorted = await sortCalls(
    open.filter((call) => !isApproved(call)),
    turn.calls.options(reason),
  );
  const waiting = new Set(sorted.waiting.map(({ ref }) => ref));
  const isDue = (call: Call): boolean => !waiting.has(call.ref) && mayRun(call);
  const isLost = (call: Call): boolean => !waiting.has(call.ref) && !mayRun(call);
  await turn.tellAll(turn.retell(await turn.log.abortOpenCalls(isLost)));
  const pause = await turn.calls.run(step, { ...sorted, run: open.filter(isDue), reason });
  if (pause !== null) return { kind: "paused", pause };
  if (callsOf(answer).length > 0) return reason === "content-filter" ? finished(reason) : null;
  // Something was said after the answer that would have ended the turn.
  if (ours.at(-1)?.kind === "user") return null;
  return await answered(turn, reason);
}

/** Whether a call that may have run before may run once more. */
function isRepeatable({ tools }: TurnAtWork, { name }: Call): boolean {
  return tools.find((tool) => tool.name === name)?.sideEffect === "none";
}
