/**
 * Turns that their process left unfinished: what clients were told of them, and how they end where nobody goes on
 * with them.
 *
 * @module
 */
import { callFinder } from "../compaction/render.ts";
import { cappedOutput } from "../compaction/shorten.ts";
import { SelvageError } from "../core/errors.ts";
import type { ToolOutput } from "../core/message.ts";
import type {
  Clock,
  Entry,
  Lease,
  LeasedSession,
  ResultEntry,
  SessionKey,
  Store,
  UserEntry,
} from "../ports.ts";
import { boundTokens } from "../tokens/measure.ts";
import { abortedResult, openCalls } from "./calls.ts";
import { eventNumber, type TurnEvent, type TurnEventBody } from "./events.ts";
import { Mailbox } from "./mailbox.ts";
import { LEASE_TTL_MS } from "./journal.ts";
import { answeredBy, billedFor, callEvent, resultEvent } from "./report.ts";
import { saidEntry } from "./turn_log.ts";

/**
 * The numbers of a turn's events begin anew after each takeover, at the epoch of the lease times this: what an
 * earlier process sent and could not store, whichever one it was, keeps its numbers to itself.
 */
const NUMBERS_PER_EPOCH = 1_000_000;

/** What the store knows of the events of a turn. */
export interface StoredTurn {
  /** Number of the first event that is to come. */
  readonly nextEvent: number;
  /** Whether clients have been told of the start. */
  readonly isStarted: boolean;
  /** Calls that clients have been told of. */
  readonly called: ReadonlySet<string>;
  /** Calls whose results clients have been told, and entries of what the user said while the turn ran. */
  readonly told: ReadonlySet<string>;
}

/** A turn that was taken over: the session under its lease, and what clients know of it. */
export interface LeftTurn {
  readonly leased: LeasedSession;
  readonly stored: StoredTurn;
}

/** A turn that is to be taken over. */
export interface LeftPlace {
  readonly key: SessionKey;
  readonly turn: string;
  /** `paused` for one that waits for answers; by default one that its process left. */
  readonly takeover?: true | "paused";
}

/**
 * Takes the lease of a turn over that its process left, or that waits for answers.
 *
 * @throws SelvageError `turn_running` where the process lives, `turn_over` where the turn was not left, `turn_paused`
 *   and `turn_not_paused` where it waits, or does not.
 */
export async function takeOver(
  store: Store,
  { key, turn, takeover = true }: LeftPlace,
): Promise<LeftTurn> {
  // The agent is that of the lease: a takeover does not change it.
  const request = { agent: "", owner: crypto.randomUUID(), turn, ttlMs: LEASE_TTL_MS, takeover };
  const leased = await store.acquire(key, request);
  return { leased, stored: await storedTurn(store, { key, lease: leased.lease }) };
}

/** Says whether a turn could not be taken over, or ended, because somebody else was first. */
export function wasTaken(error: unknown): boolean {
  return error instanceof SelvageError &&
    /^(turn_running|turn_over|turn_paused|turn_not_paused|lease_lost)$/.test(error.code);
}

/** Reads what clients of a turn were told that was taken over. */
async function storedTurn(
  store: Store,
  { key, lease: { turn, epoch } }: { readonly key: SessionKey; readonly lease: Lease },
): Promise<StoredTurn> {
  const called = new Set<string>();
  const told = new Set<string>();
  let next = 0;
  for (;;) {
    const events = (await store.events(key, turn, next))?.events as readonly TurnEvent[] | undefined;
    const last = events?.at(-1);
    if (events === undefined || last === undefined) break;
    for (const event of events) {
      if (event.type === "tool.call") called.add(event.ref);
      if (event.type === "tool.result" || event.type === "user.message") told.add(event.ref);
    }
    next = eventNumber(last) + 1;
  }
  const nextEvent = Math.max(epoch, Math.ceil(next / NUMBERS_PER_EPOCH)) * NUMBERS_PER_EPOCH;
  return { nextEvent, isStarted: next > 0, called, told };
}

/**
 * What clients may not have been told of a turn that was left: results, and what the user said behind its input.
 *
 * @param ours Entries of the turn.
 * @param told What they were told.
 */
export function untoldOf(
  ours: readonly Entry[],
  told: ReadonlySet<string>,
): readonly (ResultEntry | UserEntry)[] {
  const input = ours.find(({ kind }) => kind === "user");
  return ours.filter((entry): entry is ResultEntry | UserEntry =>
    entry.kind === "result"
      ? !told.has(entry.call)
      : entry.kind === "user" && entry !== input && !told.has(`e${entry.seq}`)
  );
}

/**
 * Tells results of a turn that was left, and what was said to it. The process before may have ended between storing a
 * call and storing that clients were told of it: nobody is told a result of a call that he does not know.
 *
 * @param untold The entries.
 * @param options `entries`: the log; `called`: calls that clients know; `shown`: an output as the model is shown it.
 */
export function* retell(
  untold: readonly (ResultEntry | UserEntry)[],
  { entries, called, shown }: {
    readonly entries: readonly Entry[];
    readonly called: ReadonlySet<string>;
    readonly shown: (entry: ResultEntry) => ToolOutput;
  },
): Generator<TurnEventBody, void> {
  const find = callFinder(entries);
  for (const entry of untold) {
    if (entry.kind === "user") {
      yield { type: "user.message", ref: `e${entry.seq}`, input: entry.message.content };
      continue;
    }
    const call = called.has(entry.call) ? undefined : find(entry.call);
    if (call !== undefined) yield callEvent(entry.step, call);
    yield resultEvent(entry, shown(entry));
  }
}

/**
 * Ends a turn that was taken over, and gives its lease back: open calls are closed as aborted.
 *
 * @param store The store.
 * @param left What was taken over, whose it is, the clock, and the end: `error` for a turn that was taken over too often.
 */
export async function endLeft(
  store: Store,
  { leased, stored, key, clock, reason }: LeftTurn & {
    readonly key: SessionKey;
    readonly clock: Clock;
    readonly reason: "aborted" | "error";
  },
): Promise<void> {
  const { lease, entries, head } = leased;
  const { turn } = lease;
  const at = clock.now();
  const closed = openCalls(entries).map((open, index) =>
    abortedResult(open, { seq: head.length + index, at })
  );
  const received = await new Mailbox({ store, owner: key, turn }, entries).drain();
  const kept = lease.pause?.said;
  const said = [...(kept === undefined ? [] : [kept]), ...received].map((message, index) =>
    saidEntry(message, { seq: head.length + closed.length + index, turn, at })
  );
  const ours = entries.filter((entry) => entry.turn === turn);
  const answer = ours.findLast((entry) => entry.kind === "assistant");
  const untold = untoldOf(ours, stored.told);
  const { called } = stored;
  // Without the tokenizer: never longer than the model would be shown it.
  const shown = (entry: ResultEntry): ToolOutput => cappedOutput(entry, boundTokens);
  const bodies = [...retell([...untold, ...closed, ...said], { entries, called, shown })];
  if (reason === "error") {
    const message = `The turn is lost: the processes that ran it ended ${lease.takeovers} times`;
    bodies.push({ type: "error", code: "turn_lost", message, retryable: false });
  }
  bodies.push({
    type: "turn.finished",
    reason,
    usage: billedFor(ours, turn),
    steps: answer?.step ?? 0,
    ...answeredBy(answer),
  });
  const events = bodies.map((body, index): TurnEvent => ({
    ...body,
    id: `${turn}:${stored.nextEvent + index}`,
  }));
  await store.commit(key, lease, {
    ...(closed.length + said.length > 0 ? { entries: [...closed, ...said] } : {}),
    events,
    release: true,
  });
}

/** Closes a turn that nobody came back for, or can go on with: one that its process left, or that waits for answers. */
export async function closeLeft(
  store: Store,
  { clock, onClosed, ...place }: LeftPlace & {
    readonly clock: Clock;
    readonly onClosed?: ((turn: string) => void) | undefined;
  },
): Promise<void> {
  try {
    const { key, turn } = place;
    await endLeft(store, { ...await takeOver(store, place), key, clock, reason: "aborted" });
    onClosed?.(turn);
  } catch (error) {
    // Somebody else was first: the next look at the session tells what came of it.
    if (!wasTaken(error)) throw error;
  }
}
