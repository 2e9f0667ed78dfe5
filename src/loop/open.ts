/**
 * The opening of a turn: everything that must hold before anything is stored, and the lease of the session.
 *
 * @module
 */
import type { Budget } from "../compaction/budget.ts";
import { Context, type StoredView } from "../compaction/context.ts";
import { SelvageError } from "../core/errors.ts";
import type { Clock, Entry, Lease, SessionHead, SessionKey, SessionState } from "../ports.ts";
import { measurePart, MESSAGE_OVERHEAD, type TextMeasure } from "../tokens/measure.ts";
import type { ContextMeter } from "../tokens/meter.ts";
import type { TurnPorts, TurnRequest } from "./agent.ts";
import { systemClock } from "./clock.ts";
import { LEASE_TTL_MS } from "./journal.ts";
import { budgetOf, type Measures, measuresOf, restoreMeter } from "./measures.ts";

/** What a turn starts with. */
export interface OpenedTurn {
  readonly id: string;
  readonly clock: Clock;
  readonly key: SessionKey;
  readonly head: SessionHead;
  readonly lease: Lease;
  readonly context: Context;
  readonly meter: ContextMeter;
  readonly budget: Budget;
}

type Input = TurnRequest["input"];

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
  const { agent, input } = request;
  const clock = ports.clock ?? systemClock;
  const id = ports.newId?.() ?? `t_${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`;
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
  const key: SessionKey = {
    tenant: request.tenant ?? "local",
    ...(request.user === undefined ? {} : { user: request.user }),
    session: request.session,
  };
  request.signal?.throwIfAborted();
  const { head, lease, entries, view } = await acquire(request, { ports, clock, key, turn: id });
  try {
    const budget = budgetOf(agent, head.meter);
    await requireRoom([...pinnedInputs(entries), input], { limit: budget.maxInput, factor, measures });
    const context = await Context.create(entries, { view: view as StoredView | null, ...measures });
    const meter = restoreMeter({ agent, budget }, head.meter);
    return { id, clock, key, head, lease, context, meter, budget };
  } catch (error) {
    // Where not even this works, the lease runs out by itself: the first error is the one to tell.
    await ports.store.commit(key, lease, { release: true }).catch(() => {});
    throw error;
  }
}

function isEmptyInput(input: Input): boolean {
  if (typeof input === "string") return input.trim() === "";
  return !input.some((part) => part.type === "file" || part.text.trim() !== "");
}

function inputTokens(input: Input, measure: TextMeasure): number {
  const parts = typeof input === "string" ? [{ type: "text" as const, text: input }] : input;
  return parts.reduce((total, part) => total + measurePart(part, measure), MESSAGE_OVERHEAD);
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

/** Takes the lease; waits out one that is still alive, as that of a crashed process is for a while. */
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
      });
    } catch (error) {
      if (!(error instanceof SelvageError && error.code === "turn_running") || clock.now() >= until) {
        throw error;
      }
      await clock.sleep(LEASE_POLL_MS, request.signal);
    }
  }
}
