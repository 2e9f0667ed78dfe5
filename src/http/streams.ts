/**
 * Events of a turn, put together from where it ran and where it runs.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { eventNumber, type TurnEvent } from "../loop/events.ts";
import { errorEvent } from "../loop/report.ts";
import { storeFault } from "../loop/store_fault.ts";
import type { Clock, Store } from "../ports.ts";
import { isRetryable } from "./problem.ts";
import type { Following } from "./registry.ts";

/**
 * Says of each event of a turn whether it is to be told here. From the moment on when another process has taken the turn
 * over, as from one that stood still for too long, none is: nothing is said of an end then, since the turn goes on there,
 * and clients that come again are told so.
 *
 * @param options `isElsewhere`: whether the turn goes on in another process; `tell`: shown each event that is told.
 */
export function untilLost(
  { isElsewhere, tell = () => {} }: {
    readonly isElsewhere: () => Promise<boolean>;
    readonly tell?: ((event: TurnEvent) => void) | undefined;
  },
): (event: TurnEvent) => boolean | Promise<boolean> {
  return (event) => {
    // Where the session was deleted, the lease is lost as well, and this is the end.
    if (event.type === "error" && event.code === "lease_lost") return whereLost(event);
    tell(event);
    return true;
  };

  async function whereLost(event: TurnEvent): Promise<boolean> {
    if (await isElsewhere()) return false;
    tell(event);
    return true;
  }
}

/** Milliseconds between two looks for events that are told and not yet stored, which takes a quarter of a second. */
const LOOK_MS = 50;
/** Looks in vain, one after the other, before the store counts as failing: without readers the turn stands still. */
const LOOKS = 100;

/**
 * Puts what is stored in front of live events: from one number to below another. Where the last of it was told here,
 * it may not be stored yet, and is waited for.
 *
 * @throws SelvageError `store_unavailable` where it does not come. Whatever it throws, the live events are left.
 */
export async function* before(
  { events, leave }: Following,
  { from, limit, isTold, stored, clock, signal }: {
    readonly from: number;
    readonly limit: number;
    /** Whether some of it was told here. Numbers of a process that took the turn over leave some out. */
    readonly isTold: boolean;
    readonly stored: (from: number) => ReturnType<Store["events"]>;
    readonly clock: Clock;
    /** Ends the waiting. */
    readonly signal: AbortSignal;
  },
): AsyncGenerator<TurnEvent, void> {
  try {
    let next = from;
    let looks = LOOKS;
    while (next < limit && !signal.aborted) {
      const found = (await stored(next))?.events as readonly TurnEvent[] | undefined;
      if (found === undefined) break;
      for (const event of found) {
        // Events are stored in their order: with this one everything before it is there.
        if (eventNumber(event) >= limit) next = limit;
        if (next === limit) break;
        yield event;
        next = eventNumber(event) + 1;
      }
      if (found.length > 0) {
        looks = LOOKS;
        continue;
      }
      if (!isTold) break;
      if (looks-- === 0) throw storeFault(new Error(`Cannot follow the turn: found no event ${next} stored`));
      await clock.sleep(LOOK_MS, signal).catch(() => {});
    }
    yield* events;
  } catch (error) {
    // Of the live ones nothing may have been read: the turn would wait for it.
    await leave();
    throw error;
  }
}

/**
 * What is told of a turn that could not start after its stream had begun: an error, and an end. Nothing is stored, and
 * there is no turn whose events they could be: they have no ids. Nobody is told of a fault by it.
 */
export function* refusedEvents(error: unknown): Generator<TurnEvent, void> {
  const id = "";
  // A refusal without a stream says by its status whether to try again: this one says the same.
  const said = error instanceof SelvageError ? { retryable: isRetryable(error) } : {};
  yield { ...errorEvent(error, () => {}), ...said, id };
  const usage = { inputTokens: 0, outputTokens: 0 };
  yield { type: "turn.finished", reason: "error", usage, steps: 0, id };
}

/**
 * Reads a turn for a client that waits for one document: there is no stream whose cancel would tell that it has gone,
 * so the signal of its request does, until the document is there.
 */
export async function whileThere<T>(
  clientSignal: AbortSignal,
  { leave }: Following,
  read: () => Promise<T>,
): Promise<T> {
  let gone: Promise<void> | undefined;
  const onGone = (): void => void (gone = leave());
  if (clientSignal.aborted) onGone();
  else clientSignal.addEventListener("abort", onGone, { once: true });
  try {
    return await read();
  } finally {
    clientSignal.removeEventListener("abort", onGone);
    // What the turn did is stored by then.
    await gone;
  }
}
