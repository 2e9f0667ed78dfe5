/**
 * Turns that their process left unfinished: what clients were told of them, and how they end where nobody goes on
 * with them.
 *
 * @module
 */
import type { AssistantEntry, Clock, Lease, ResultEntry, SessionKey, SessionState, Store } from "../ports.ts";
import { openCalls } from "./calls.ts";
import { eventNumber, type TurnEvent, type TurnEventBody } from "./events.ts";
import { addUsage, resultEvent } from "./report.ts";
import { ABORTED } from "./tools.ts";

/**
 * The numbers of a turn's events begin at a multiple of this after each takeover: what the process before sent and
 * could not store keeps its numbers to itself.
 */
const NUMBERS_PER_RUN = 1_000_000;

/** What the store knows of the events of a turn. */
export interface StoredTurn {
  /** Number of the first event that is to come. */
  readonly nextEvent: number;
  /** Whether clients have been told of the start. */
  readonly isStarted: boolean;
  /** Calls whose results clients have been told. */
  readonly told: ReadonlySet<string>;
}

/** Reads what clients of a turn were told that is to be taken over. */
export async function storedTurn(
  store: Store,
  { key, turn }: { readonly key: SessionKey; readonly turn: string },
): Promise<StoredTurn> {
  const told = new Set<string>();
  let next = 0;
  for (;;) {
    const events = (await store.events(key, turn, next))?.events as readonly TurnEvent[] | undefined;
    const last = events?.at(-1);
    if (events === undefined || last === undefined) break;
    for (const event of events) if (event.type === "tool.result") told.add(event.ref);
    next = eventNumber(last) + 1;
  }
  const run = Math.ceil(next / NUMBERS_PER_RUN);
  return { nextEvent: Math.max(1, run) * NUMBERS_PER_RUN, isStarted: next > 0, told };
}

/**
 * Ends a turn that was taken over, and gives its lease back: open calls are closed as aborted.
 *
 * @param left The session under the lease of the turn, and what clients know of it.
 * @param reason `error` for a turn that was taken over too often.
 */
export async function endLeft(
  { store, clock, key, leased, stored }: {
    readonly store: Store;
    readonly clock: Clock;
    readonly key: SessionKey;
    readonly leased: SessionState & { readonly lease: Lease };
    readonly stored: StoredTurn;
  },
  reason: "aborted" | "error",
): Promise<void> {
  const { lease, entries, head } = leased;
  const { turn } = lease;
  const closed = openCalls(entries).map(({ entry, call }, index): ResultEntry => ({
    kind: "result",
    seq: head.length + index,
    turn: entry.turn,
    at: clock.now(),
    step: entry.step,
    call: call.ref,
    toolName: call.name,
    status: "aborted",
    output: ABORTED,
    ms: 0,
  }));
  const answers = entries.filter((entry): entry is AssistantEntry =>
    entry.kind === "assistant" && entry.turn === turn
  );
  const usage = answers.reduce((sum, answer) => addUsage(sum, answer.usage), {
    inputTokens: 0,
    outputTokens: 0,
  });
  const bodies: TurnEventBody[] = closed.map((entry) => resultEvent(entry, entry.output));
  if (reason === "error") {
    const message = `The turn is lost: the processes that ran it ended ${lease.takeovers} times`;
    bodies.push({ type: "error", code: "turn_lost", message, retryable: false });
  }
  bodies.push({ type: "turn.finished", reason, usage, steps: answers.at(-1)?.step ?? 0 });
  const events = bodies.map((body, index): TurnEvent => ({
    ...body,
    id: `${turn}:${stored.nextEvent + index}`,
  }));
  await store.commit(key, lease, {
    ...(closed.length > 0 ? { entries: closed } : {}),
    events,
    release: true,
  });
}
