/**
 * The opening of a turn: everything that must hold before anything is stored, and the lease of the session.
 *
 * @module
 */
import { requireWithin } from "../compaction/budget.ts";
import { callsOf } from "../compaction/context.ts";
import type { Clock, Commit, Lease, SessionKey, SessionState, UserEntry } from "../ports.ts";
import { takeLease, whileRunning } from "./acquire.ts";
import type { AnswerRequest, ReadyAgent, ResumeRequest, TurnPlace, TurnPorts, TurnRequest } from "./agent.ts";
import { matchAnswers, type MatchedAnswers } from "./answers.ts";
import { agentFor, type Asked, askedIn, askedOf } from "./asked.ts";
import { systemClock } from "./clock.ts";
import { beginningOf } from "./fork.ts";
import { randomId } from "./ids.ts";
import { withNote } from "./journal.ts";
import { endLeft, type LeftTurn, type StoredTurn, takeOver } from "./left.ts";
import { measured, type MeasuredSession } from "./measured.ts";
import { storeMeter } from "./measures.ts";
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
  /** What a paused turn is gone on with. */
  readonly answers?: MatchedAnswers;
}

/** Times that a turn is taken over from processes that died; after that it is held to be what kills them. */
const MAX_TAKEOVERS = 3;

/**
 * Opens a turn, and stores what the user says together with its lease. Whatever it rejects with, the session is as it
 * was, and free.
 *
 * @param request Agent, session and input.
 * @param ports Store, clock and ids.
 * @throws SelvageError `bad_budget`, `bad_client_tools`, `input_empty`, `input_too_large`, `tools_unavailable`,
 *   `turn_running` or `turn_paused`.
 */
export async function openTurn(request: TurnRequest, ports: TurnPorts): Promise<OpenedTurn> {
  const { input, pin, client } = request;
  // First of all: an input that cannot be copied leaves nothing behind.
  const content = structuredClone(input);
  const asked = askedOf(request);
  if (asked.compaction !== undefined) {
    const { compactionLimits: limits, compaction: own } = request.agent;
    requireWithin(asked.compaction, { limits, own });
  }
  const clock = ports.clock ?? systemClock;
  const key = keyOf(request);
  const { signal } = request;
  const agent = agentFor(await readyAgent(request.agent, { key, signal, clock }), asked);
  const id = ports.newId?.() ?? randomId("t");
  await requireInput(input, agent);
  signal?.throwIfAborted();
  const opened: { session?: MeasuredSession } = {};
  const begin = async (state: SessionState): Promise<Commit> => {
    const begun = await beginningOf(state, { request, store: ports.store, key });
    const session = await measured(agent, begun);
    const { context, meter, budget } = session;
    const pinned = pinnedAtoms(begun.entries, begun.head.pins);
    await requireRoom(input, { agent, limit: budget.maxInput, pinned });
    const entry: UserEntry = {
      kind: "user",
      seq: begun.entries.length,
      turn: id,
      at: clock.now(),
      message: { role: "user", content },
      ...(pin === true ? { pinned: true } : {}),
      ...asked,
      ...(client === undefined ? {} : { client }),
    };
    // What goes into the log in front of the input is stored with it.
    const { entries: history = [], ...change } = begun.before;
    const entries = [...history, entry].map((each) => withNote(each, context.view.made));
    await context.append(entry);
    opened.session = session;
    return { ...change, entries, meter: storeMeter(agent, { meter, budget, before: begun.head.meter }) };
  };
  const { lease } = await takeLease(request, { ports, clock, key, turn: id, begin });
  const { session } = opened;
  if (session === undefined) {
    throw new TypeError(
      "Cannot open the turn: found a store that took the lease and has not asked what is stored with it, wanted " +
        "`acquire` to call `begin`",
    );
  }
  const untold = { nextEvent: 0, isStarted: false, called: new Set<string>(), told: new Set<string>() };
  return { ...session, agent, asked, clock, key, lease, ...untold };
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
