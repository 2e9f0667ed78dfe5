/**
 * The opening of a turn: everything that must hold before anything is stored, and the lease of the session.
 *
 * @module
 */
import { requireWithin } from "../compaction/budget.ts";
import { callsOf } from "../compaction/context.ts";
import type { Clock, Lease, SessionKey, SessionState, Store } from "../ports.ts";
import { takeLease, whileRunning } from "./acquire.ts";
import type { AnswerRequest, ReadyAgent, ResumeRequest, TurnPlace, TurnPorts, TurnRequest } from "./agent.ts";
import { matchAnswers, type MatchedAnswers } from "./answers.ts";
import { agentFor, type Asked, askedIn, askedOf } from "./asked.ts";
import { systemClock } from "./clock.ts";
import { type Beginning, beginningOf } from "./fork.ts";
import { randomId } from "./ids.ts";
import { endLeft, type LeftTurn, type StoredTurn, takeOver } from "./left.ts";
import { measured, type MeasuredSession } from "./measured.ts";
import { readyAgent } from "./ready.ts";
import { pinnedAtoms, requireInput, requireRoom } from "./room.ts";

/** What a turn starts with. */
export interface OpenedTurn extends StoredTurn, MeasuredSession {
  /** The agent as this turn has it. */
  readonly agent: ReadyAgent;
  readonly asked: Asked;
  readonly clock: Clock;
  readonly key: SessionKey;
  readonly lease: Lease;
  /** What is to be stored with the input of a new turn. */
  readonly before?: Beginning["before"];
  /** What a paused turn is gone on with. */
  readonly answers?: MatchedAnswers;
}

/** Times that a turn is taken over from processes that died; after that it is held to be what kills them. */
const MAX_TAKEOVERS = 3;

/**
 * Opens a turn. Whatever it rejects with, the session is as it was, and free.
 *
 * @param request Agent, session and input.
 * @param ports Store, clock and ids.
 * @throws SelvageError `bad_budget`, `bad_client_tools`, `input_empty`, `input_too_large`, `tools_unavailable`,
 *   `turn_running` or `turn_paused`.
 */
export async function openTurn(request: TurnRequest, ports: TurnPorts): Promise<OpenedTurn> {
  const { input } = request;
  const asked = askedOf(request);
  if (asked.compaction !== undefined) {
    requireWithin(asked.compaction, { limits: request.agent.compactionLimits });
  }
  const clock = ports.clock ?? systemClock;
  const key = keyOf(request);
  const { signal } = request;
  const agent = agentFor(await readyAgent(request.agent, { key, signal, clock }), asked);
  const id = ports.newId?.() ?? randomId("t");
  await requireInput(input, agent);
  signal?.throwIfAborted();
  const leased = await takeLease(request, { ports, clock, key, turn: id });
  const { lease } = leased;
  try {
    const begun = await beginningOf(leased, { request, store: ports.store, key });
    const session = await measured(agent, begun);
    const pinned = pinnedAtoms(begun.entries, begun.head.pins);
    await requireRoom(input, { agent, limit: session.budget.maxInput, pinned });
    const untold = { nextEvent: 0, isStarted: false, called: new Set<string>(), told: new Set<string>() };
    return { ...session, agent, asked, clock, key, lease, before: begun.before, ...untold };
  } catch (error) {
    // Where not even this works, the lease runs out by itself: the first error is the one to tell.
    await leaveAsFound(ports.store, { key, leased, clock }).catch(() => {});
    throw error;
  }
}

/** Frees a session; one that was made for the turn goes with it, unless somebody else has come by then. */
async function leaveAsFound(
  store: Store,
  { key, leased: { head, lease }, clock }: {
    readonly key: SessionKey;
    readonly leased: SessionState & { readonly lease: Lease };
    readonly clock: Clock;
  },
): Promise<void> {
  await store.commit(key, lease, { release: true });
  // The first lease of all made it.
  if (lease.epoch === 1 && head.length === 0) await store.delete(key, { unusedSince: clock.now() + 1 });
}

/**
 * Opens a turn again that its process left.
 *
 * @param request Agent, session and turn.
 * @param ports Store and clock.
 * @returns Null where the turn has cost too many processes: it is over then.
 * @throws SelvageError `turn_running` where its process lives, `turn_over` where it was not left.
 */
export async function reopenTurn(request: ResumeRequest, ports: TurnPorts): Promise<OpenedTurn | null> {
  const { turn, signal } = request;
  const { store, clock = systemClock } = ports;
  const key = keyOf(request);
  // Before the lease: nobody keeps it alive while tools are waited for.
  const agent = await readyAgent(request.agent, { key, signal, clock });
  const left = await takeOver(store, { key, turn });
  if (left.leased.lease.takeovers > MAX_TAKEOVERS) {
    await endLeft(store, { ...left, key, clock, reason: "error" });
    return null;
  }
  return await reopened(agent, { left, key, clock });
}

/**
 * Opens a turn again that waits for answers, where those at hand fit. If they do not, it goes on waiting.
 *
 * @param request Agent, session, turn and answers.
 * @param ports Store and clock.
 * @throws SelvageError `turn_not_paused` where it does not wait, `call_not_found` or `call_not_pending` where one of
 *   its calls does not; `turn_paused`, `input_empty`, `input_too_large` where the input cannot come behind them.
 */
export async function openAnswered(
  request: AnswerRequest,
  ports: TurnPorts,
): Promise<OpenedTurn & { readonly answers: MatchedAnswers }> {
  const { turn, signal } = request;
  const { store, clock = systemClock } = ports;
  const key = keyOf(request);
  const agent = await readyAgent(request.agent, { key, signal, clock });
  const { input } = request;
  if (input !== undefined) await requireInput(input, agent);
  // An answer to another call may be being taken in: this one comes next.
  const take = () => takeOver(store, { key, turn, takeover: "paused" });
  const left = await whileRunning(take, { clock, signals: [signal] });
  const { lease, entries } = left.leased;
  try {
    const refs = new Set(
      entries.flatMap((entry) => entry.turn === turn ? callsOf(entry).map(({ ref }) => ref) : []),
    );
    const pause = lease.pause ?? { pending: [], approved: [] };
    const answers = matchAnswers(request, { pause, isCall: (ref) => refs.has(ref) });
    const opened = await reopened(agent, { left, key, clock });
    if (input !== undefined) {
      const pinned = pinnedAtoms(entries, left.leased.head.pins);
      await requireRoom(input, { agent: opened.agent, limit: opened.budget.maxInput, pinned });
    }
    await request.accept?.(left.stored.nextEvent);
    return { ...opened, answers };
  } catch (error) {
    // Where not even this works, the lease runs out by itself, and the turn waits on.
    await store.commit(key, lease, { suspend: true }).catch(() => {});
    throw error;
  }
}

async function reopened(
  given: ReadyAgent,
  { left: { leased, stored }, key, clock }: {
    readonly left: LeftTurn;
    readonly key: SessionKey;
    readonly clock: Clock;
  },
): Promise<OpenedTurn> {
  const { lease, entries } = leased;
  const asked = askedIn(entries, lease.turn);
  const agent = agentFor(given, asked);
  return { ...await measured(agent, leased), agent, asked, clock, key, lease, ...stored };
}

function keyOf({ tenant = "local", user, session }: TurnPlace): SessionKey {
  return { tenant, ...(user === undefined ? {} : { user }), session };
}
