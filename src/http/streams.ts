/**
 * Events of a turn, put together from where it ran and where it runs.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { eventNumber, type TurnEvent } from "../loop/events.ts";
import { errorEvent } from "../loop/report.ts";
import type { Store } from "../ports.ts";
import { isRetryable } from "./problem.ts";
import type { Following } from "./registry.ts";

/**
 * The events of a turn until another process has taken it over, as from one that stood still for too long. Nothing
 * is said of an end then: the turn goes on there, and clients that come again are told so. `tell` is shown each event
 * on its way: one generator does both, for each costs its share of every delta.
 */
export async function* untilLost(
  events: AsyncGenerator<TurnEvent, void>,
  { isElsewhere, tell = () => {} }: {
    readonly isElsewhere: () => Promise<boolean>;
    readonly tell?: (event: TurnEvent) => void;
  },
): AsyncGenerator<TurnEvent, void> {
  for await (const event of events) {
    // Where the session was deleted, the lease is lost as well, and this is the end.
    if (event.type === "error" && event.code === "lease_lost" && await isElsewhere()) return;
    tell(event);
    yield event;
  }
}

/** Puts what is stored below a number in front of live events. */
export async function* before(
  live: AsyncGenerator<TurnEvent, void>,
  { stored, limit }: {
    readonly stored: () => ReturnType<Store["events"]>;
    readonly limit: number;
  },
): AsyncGenerator<TurnEvent, void> {
  const earlier = (await stored())?.events as readonly TurnEvent[] | undefined;
  for (const event of earlier ?? []) if (eventNumber(event) < limit) yield event;
  yield* live;
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
