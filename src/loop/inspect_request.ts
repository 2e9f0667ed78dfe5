/**
 * What a model was shown in a step, made again from the log and the view that was in force then. Requests are not
 * stored: they would take the square of a session.
 *
 * @module
 */
import { Context, type StoredView } from "../compaction/context.ts";
import { prefixName, readPrefix } from "../compaction/prefix.ts";
import { SelvageError } from "../core/errors.ts";
import type {
  AssistantEntry,
  Clock,
  ModelRequest,
  SessionKey,
  SessionState,
  Store,
  Usage,
} from "../ports.ts";
import type { Agent } from "./agent.ts";
import { agentFor, askedIn } from "./asked.ts";
import { branchesOf, branchOf } from "./branches.ts";
import { budgetOf, fixedTokens, measuresOf, schemasOf } from "./measures.ts";
import { readyAgent } from "./ready.ts";
import { requestOf } from "./request.ts";

/** The request of one step. */
export interface InspectedRequest {
  /** The turn. */
  readonly turn: string;
  /** The step, from 1. */
  readonly step: number;
  /** The entry that holds the model's answer to it. */
  readonly answer: string;
  /** The model that answered. */
  readonly model: string;
  /** Number of the view that was in force, 0 for the log itself. */
  readonly view: number;
  /** Tokens of it. */
  readonly tokens: {
    /** By our own counter, system text and tools as an estimate. */
    readonly counted: number;
    readonly billed: Usage | null;
  };
  /** False where system text, tools or model of the agent are not those of then: these are shown as they are now. */
  readonly isExact: boolean;
  /** What each message was made of: `summary`, entries, and results by their calls. */
  readonly refs: readonly (readonly string[])[];
  /** What the model was sent. */
  readonly request: ModelRequest;
}

/** Which step of which turn. */
export interface StepPlace {
  readonly key: SessionKey;
  readonly turn: string;
  /** From 1. */
  readonly step: number;
}

interface FoundStep {
  readonly state: SessionState;
  readonly branch: number;
  readonly entry: AssistantEntry;
}

/** Looks for the answer of a step: in the log in force, then in branches that were left, the latest first. */
async function findStep(store: Store, { key, turn, step }: StepPlace): Promise<FoundStep | null> {
  const now = await store.read(key);
  if (now === null) return null;
  const others = branchesOf(now.head).map((_, branch) => branch).filter((branch) =>
    branch !== branchOf(now.head)
  );
  for (const branch of [branchOf(now.head), ...others.reverse()]) {
    const state = branch === branchOf(now.head) ? now : await store.read(key, { branch });
    const entry = state?.entries.find((found): found is AssistantEntry =>
      found.kind === "assistant" && found.turn === turn && found.step === step
    );
    if (state !== null && entry !== undefined) return { state, branch, entry };
  }
  return null;
}

/**
 * Makes the request of a step again.
 *
 * @param store Where the session is.
 * @param place Session, turn and step; the agent that answered, as it is now; what ends the wait for its tools.
 * @throws SelvageError `step_not_found` where the turn has no answer for such a step, or one from before views had
 *   names.
 */
export async function inspectRequest(
  store: Store,
  { agent, signal, clock, ...place }: StepPlace & {
    readonly agent: Agent;
    readonly signal?: AbortSignal;
    readonly clock?: Clock;
  },
): Promise<InspectedRequest> {
  const { turn, step } = place;
  const found = await findStep(store, place);
  const prefix = found?.entry.prefix === undefined ? null : readPrefix(found.entry.prefix);
  if (found === null || prefix === null) {
    throw new SelvageError(
      "step_not_found",
      `Cannot show the request of step ${step}: turn ${
        JSON.stringify(turn.slice(0, 128))
      } has no such step, ` +
        "or no answer to it yet",
    );
  }
  const { state: { head, entries }, branch, entry } = found;
  const view = prefix.view === 0
    ? null
    : (await store.read(place.key, { branch, view: prefix.view }))?.view as StoredView | null;
  const asked = askedIn(entries, turn);
  const then = agentFor(await readyAgent(agent, { key: place.key, signal, clock }), asked);
  const context = await Context.create(entries.slice(0, entry.seq), { view, ...measuresOf(then) });
  const request = requestOf({
    agent: then,
    asked,
    step,
    messages: context.messages(prefix.before),
    maxOutput: budgetOf(then, head.meter).maxOutput,
  });
  const { system = "", model } = then;
  return {
    turn,
    step,
    answer: `e${entry.seq}`,
    model: entry.model,
    view: prefix.view,
    tokens: {
      counted: fixedTokens(then) + await context.exact(0, context.length),
      billed: entry.usage ?? null,
    },
    isExact: prefixName({ system, tools: schemasOf(then), model }) === prefix.before,
    refs: context.refs(),
    request,
  };
}

/** What differs between two requests. Messages are the same where they are made of the same entries. */
export interface RequestDiff {
  /** The earlier step. */
  readonly from: number;
  /** Messages that both show, to the byte. */
  readonly same: number;
  readonly added: readonly DiffMessage[];
  readonly removed: readonly DiffMessage[];
  readonly changed: readonly {
    readonly refs: readonly string[];
    readonly before: unknown;
    readonly after: unknown;
  }[];
  /** Whether something else than messages differs: system text, tools, settings. */
  readonly frame: boolean;
}

/** A message and what it was made of. */
export interface DiffMessage {
  readonly refs: readonly string[];
  readonly message: unknown;
}

/** Compares the request of a step with that of an earlier one. */
export function diffRequests(before: InspectedRequest, after: InspectedRequest): RequestDiff {
  const byName = ({ refs, request }: InspectedRequest): ReadonlyMap<string, DiffMessage> =>
    new Map(refs.map((ref, at) => [ref[0] ?? "", { refs: ref, message: request.messages[at] }]));
  const [old, now] = [byName(before), byName(after)];
  const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
  const both = [...now].flatMap(([name, message]) => {
    const earlier = old.get(name);
    return earlier === undefined
      ? []
      : [{ before: earlier.message, after: message.message, refs: message.refs }];
  });
  const changed = both.filter((pair) => !isSame(pair.before, pair.after));
  const { messages: _, ...frame } = after.request;
  const { messages: __, ...oldFrame } = before.request;
  return {
    from: before.step,
    same: both.length - changed.length,
    added: [...now].flatMap(([name, message]) => old.has(name) ? [] : [message]),
    removed: [...old].flatMap(([name, message]) => now.has(name) ? [] : [message]),
    changed,
    frame: !isSame(frame, oldFrame),
  };
}
