/**
 * The opening of a turn: everything that must hold before anything is stored, and the lease of the session.
 *
 * @module
 */
import { type Budget, requireWithin } from "../compaction/budget.ts";
import { Context, type StoredView } from "../compaction/context.ts";
import { SelvageError } from "../core/errors.ts";
import type { Clock, Entry, Lease, SessionHead, SessionKey, SessionState, UserEntry } from "../ports.ts";
import { measurePart, MESSAGE_OVERHEAD, type TextMeasure } from "../tokens/measure.ts";
import type { ContextMeter } from "../tokens/meter.ts";
import type { Agent, ResumeRequest, TurnPlace, TurnPorts, TurnRequest } from "./agent.ts";
import { agentFor, type Asked, askedOf } from "./asked.ts";
import { systemClock } from "./clock.ts";
import { type Beginning, beginningOf } from "./fork.ts";
import { randomId } from "./ids.ts";
import { LEASE_TTL_MS } from "./journal.ts";
import { closeLeft, endLeft, type StoredTurn, takeOver } from "./left.ts";
import { budgetOf, type Measures, measuresOf, restoreMeter } from "./measures.ts";

/** What a turn starts with. */
export interface OpenedTurn extends StoredTurn {
  /** The agent as this turn has it. */
  readonly agent: Agent;
  readonly asked: Asked;
  readonly clock: Clock;
  readonly key: SessionKey;
  readonly head: SessionHead;
  readonly lease: Lease;
  readonly context: Context;
  readonly meter: ContextMeter;
  readonly budget: Budget;
  /** What is to be stored with the input of a new turn. */
  readonly before?: Beginning["before"];
}

type Input = TurnRequest["input"];

/** Times that a turn is taken over from processes that died; after that it is held to be what kills them. */
const MAX_TAKEOVERS = 3;

/** Milliseconds between two looks at a lease that somebody else holds. */
const LEASE_POLL_MS = 250;

/**
 * Opens a turn. Whatever it rejects with, the session is as it was, and free.
 *
 * @param request Agent, session and input.
 * @param ports Store, clock and ids.
 * @throws SelvageError `bad_budget`, `input_empty`, `input_too_large` or `turn_running`.
 */
export async function openTurn(request: TurnRequest, ports: TurnPorts): Promise<OpenedTurn> {
  const { input } = request;
  const asked = askedOf(request);
  if (asked.compaction !== undefined) requireWithin(asked.compaction, request.agent.compactionLimits);
  const agent = agentFor(request.agent, asked);
  const clock = ports.clock ?? systemClock;
  const id = ports.newId?.() ?? randomId("t");
  const first = budgetOf(agent);
  if (isEmptyInput(input)) {
    throw new SelvageError(
      "input_empty",
      "Cannot start the turn: found an empty input, wanted text or a file",
    );
  }
  const factor = agent.model.tokenFactor ?? 1;
  const measures = measuresOf(agent);
  await requireRoom([input], { limit: first.maxInput, factor, measures });
  const key = keyOf(request);
  request.signal?.throwIfAborted();
  const leased = await acquire(request, { ports, clock, key, turn: id });
  const { lease } = leased;
  try {
    const begun = await beginningOf(leased, { request, store: ports.store, key });
    const { head, entries } = begun;
    const budget = budgetOf(agent, head.meter);
    await requireRoom([...pinnedInputs(entries), input], { limit: budget.maxInput, factor, measures });
    const opened = await measured(agent, { ...begun, budget });
    const untold = { nextEvent: 0, isStarted: false, called: new Set<string>(), told: new Set<string>() };
    return { ...opened, agent, asked, clock, key, head, lease, budget, before: begun.before, ...untold };
  } catch (error) {
    // Where not even this works, the lease runs out by itself: the first error is the one to tell.
    await ports.store.commit(key, lease, { release: true }).catch(() => {});
    throw error;
  }
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
  const { turn } = request;
  const { store, clock = systemClock } = ports;
  const key = keyOf(request);
  const left = await takeOver(store, { key, turn });
  const { leased, stored } = left;
  const { head, lease } = leased;
  if (lease.takeovers > MAX_TAKEOVERS) {
    await endLeft(store, { ...left, key, clock, reason: "error" });
    return null;
  }
  const asked = askedOf(inputOf(leased.entries, turn) ?? {});
  const agent = agentFor(request.agent, asked);
  const budget = budgetOf(agent, head.meter);
  const opened = await measured(agent, { ...leased, budget });
  return { ...opened, agent, asked, clock, key, head, lease, budget, ...stored };
}

function keyOf({ tenant = "local", user, session }: TurnPlace): SessionKey {
  return { tenant, ...(user === undefined ? {} : { user }), session };
}

async function measured(
  agent: TurnPlace["agent"],
  { head, entries, view, budget }: SessionState & { readonly budget: Budget },
): Promise<{ readonly context: Context; readonly meter: ContextMeter }> {
  const context = await Context.create(entries, { view: view as StoredView | null, ...measuresOf(agent) });
  return { context, meter: restoreMeter({ agent, budget }, head.meter) };
}

function isEmptyInput(input: Input): boolean {
  if (typeof input === "string") return input.trim() === "";
  return !input.some((part) => part.type === "file" || part.text.trim() !== "");
}

function inputTokens(input: Input, measure: TextMeasure): number {
  const parts = typeof input === "string" ? [{ type: "text" as const, text: input }] : input;
  return parts.reduce((total, part) => total + measurePart(part, measure), MESSAGE_OVERHEAD);
}

/** The entry that holds what a turn was asked. */
export function inputOf(entries: readonly Entry[], turn: string): UserEntry | undefined {
  return entries.filter((entry) => entry.kind === "user").find((entry) => entry.turn === turn);
}

function pinnedInputs(entries: readonly Entry[]): readonly Input[] {
  return entries.flatMap((entry) =>
    entry.kind === "user" && entry.pinned === true ? [entry.message.content] : []
  );
}

/** Refuses messages for which no compaction could make room: stored, they would brick the session. */
async function requireRoom(
  inputs: readonly Input[],
  { limit, factor, measures }: {
    readonly limit: number;
    readonly factor: number;
    readonly measures: Measures;
  },
): Promise<void> {
  const count = (measure: TextMeasure): number =>
    Math.ceil(factor * inputs.reduce((total, input) => total + inputTokens(input, measure), 0));
  if (count(measures.bound) <= limit) return;
  const tokens = count(await measures.loadMeasure());
  if (tokens <= limit) return;
  const pinned = inputs.length === 1 ? "" : `, the ${inputs.length - 1} pinned before it included`;
  throw new SelvageError(
    "input_too_large",
    `Cannot start the turn: found an input of ${tokens} tokens${pinned}, wanted at most ${limit}`,
    { fields: { tokens, limit } },
  );
}

/**
 * Takes the lease; waits out one that is still alive, as that of a crashed process is for a while. What another
 * turn left unfinished is closed first, unless that turn is to go on.
 */
async function acquire(
  request: TurnRequest,
  { ports, clock, key, turn }: {
    readonly ports: TurnPorts;
    readonly clock: Clock;
    readonly key: SessionKey;
    readonly turn: string;
  },
): Promise<SessionState & { readonly lease: Lease }> {
  const until = clock.now() + LEASE_TTL_MS + LEASE_POLL_MS;
  for (;;) {
    try {
      return await ports.store.acquire(key, {
        agent: request.agentName ?? "default",
        owner: turn,
        turn,
        ttlMs: LEASE_TTL_MS,
        ...(request.onDisconnect === undefined ? {} : { onDisconnect: request.onDisconnect }),
      });
    } catch (error) {
      const left = interruptedTurn(error);
      if (left !== null) {
        await closeLeft(ports.store, { key, clock, turn: left });
        continue;
      }
      const isRunning = error instanceof SelvageError && error.code === "turn_running";
      // The same turn, asked for twice at a time, is not waited for: whoever asks follows it.
      if (!isRunning || error.fields["turn"] === turn || clock.now() >= until) throw error;
      await clock.sleep(LEASE_POLL_MS, request.signal);
    }
  }
}

/** The turn that stands in the way, left by its process, where it is not one that goes on without readers. */
function interruptedTurn(error: unknown): string | null {
  if (!(error instanceof SelvageError) || error.code !== "turn_interrupted") return null;
  const { turn, onDisconnect } = error.fields;
  return onDisconnect === "abort" && typeof turn === "string" ? turn : null;
}
