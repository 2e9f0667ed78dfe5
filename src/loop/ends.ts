/**
 * The ways to the end of a turn. Each closes its calls, or leaves them to wait, stores that together with the last
 * event, and gives back the lease.
 *
 * @module
 */
import type { Pause } from "../ports.ts";
import type { TurnAtWork } from "./at_work.ts";
import { openCalls } from "./calls.ts";
import type { TurnEnd, TurnEvent, TurnEventBody } from "./events.ts";
import { LEFT } from "./hand_over.ts";
import { isDeleted } from "./journal.ts";
import { PAUSED_KNOWN_MS, pausedName, pendingCalls } from "./pause.ts";
import { answeredBy, errorEvent } from "./report.ts";

/** What a run comes to: the turn is over, waits for answers, or is left for another process. */
export type Outcome =
  | { readonly kind: "finished"; readonly reason: TurnEnd }
  | { readonly kind: "paused"; readonly pause: Pause }
  | { readonly kind: "left" };

/** The outcome of a turn that is over. */
export function finished(reason: TurnEnd): Outcome {
  return { kind: "finished", reason };
}

/** What comes of a turn in which something was thrown. */
export async function failed(turn: TurnAtWork, error: unknown): Promise<Outcome> {
  const { report, signals } = turn;
  // Also where its abort has made something else of it: nobody is there to be told.
  if (error === LEFT || signals.reason === LEFT) throw LEFT;
  if (signals.isPutDown) return { kind: "left" };
  const { isCancelled } = signals;
  // No tool goes on working for a turn that has failed.
  signals.fail(error);
  if (!isCancelled) await turn.tell(errorEvent(signals.reason, report));
  return finished(isCancelled ? "aborted" : "error");
}

/** Ends a turn. The last event is numbered already: it is stored together with the end. */
export async function end(turn: TurnAtWork, outcome: Outcome): Promise<void> {
  if (outcome.kind === "left") return await putDown(turn);
  let last: TurnEvent | null = null;
  try {
    last = await (outcome.kind === "paused" ? rest(turn, outcome.pause) : finish(turn, outcome.reason));
  } catch (error) {
    if (error === LEFT) throw error;
    // With its session the turn has ended as it was told to; any other failure is told.
    if (isDeleted(error)) last = turn.emit(finishedEvent(turn, "aborted"));
    else if (outcome.kind === "paused" || outcome.reason !== "error") {
      await turn.tell(errorEvent(error, turn.report));
    }
  }
  turn.isEnded = true;
  // The lease is gone, or lost: no heartbeat while the last event waits to be taken.
  turn.journal.close();
  await turn.tell(last ?? finishedEvent(turn, "error"));
}

/** Closes what is open, and stores the last event with the end of the lease. */
async function finish(turn: TurnAtWork, reason: TurnEnd): Promise<TurnEvent> {
  await closeAll(turn);
  if (reason !== "aborted" && reason !== "error") await turn.compactor.honour();
  return await release(turn, reason);
}

/** Leaves calls to wait: the last event and the pause are stored together, and the lease rests. */
async function rest(turn: TurnAtWork, pause: Pause): Promise<TurnEvent> {
  const { lease: { agent }, key } = turn.opened;
  await turn.compactor.settle();
  const value = { session: key.session, agent };
  await turn.store.claim(key, pausedName(turn.id), { value, ttlMs: PAUSED_KNOWN_MS });
  const event = turn.emit({
    type: "turn.paused",
    reason: pause.pending.some(({ reason }) => reason === "approval") ? "approval" : "tool",
    pending: pendingCalls(pause.pending, turn.log.all),
    usage: turn.usage,
    steps: turn.steps,
    ...answeredBy(turn.log.answer),
  });
  turn.journal.change({ pause });
  await turn.flush({ suspend: true });
  return event;
}

/** Stores what there is and gives the lease up: whoever meets the turn goes on with it, and runs what has not begun. */
async function putDown(turn: TurnAtWork): Promise<void> {
  turn.isEnded = true;
  turn.telemetry.end("suspended");
  try {
    const settled = openCalls(turn.log.all).every(({ call }) => turn.unbegun.has(call.ref));
    await turn.flush({ suspend: true, settled });
  } finally {
    turn.journal.close();
  }
}

/** Ends a turn that nobody listens to any more, unless it has ended: open calls are closed, the lease is given back. */
export async function close(turn: TurnAtWork): Promise<void> {
  turn.compactor.cancel();
  turn.telemetry.end("aborted");
  turn.signals.close();
  try {
    if (turn.isEnded) return;
    turn.isEnded = true;
    turn.listen(null);
    await closeAll(turn);
    await release(turn, "aborted");
  } catch {
    // The journal failed, which has been told or has no listener left; the lease then runs out by itself.
  } finally {
    turn.journal.close();
  }
}

/** Closes open calls, and takes in what came too late to be answered: it stays in the log, for the next turn. */
async function closeAll(turn: TurnAtWork): Promise<void> {
  await turn.tellAll(turn.retell(await turn.log.abortOpenCalls()));
  await turn.tellAll(await turn.receive(await turn.mailbox.drain()));
}

async function release(turn: TurnAtWork, reason: TurnEnd): Promise<TurnEvent> {
  const event = turn.emit(finishedEvent(turn, reason));
  await turn.flush({ release: true });
  return event;
}

function finishedEvent({ usage, steps, log }: TurnAtWork, reason: TurnEnd): TurnEventBody {
  return { type: "turn.finished", reason, usage, steps, ...answeredBy(log.answer) };
}
