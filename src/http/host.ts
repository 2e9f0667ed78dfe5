/**
 * The turns of an app: starts them, finds them wherever they run, takes over what another process left, ends them.
 * What clients speak is no concern of this file.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Agent } from "../loop/agent.ts";
import { cancelName } from "../loop/journal.ts";
import { closeLeft } from "../loop/left.ts";
import { sendMessage } from "../loop/mailbox.ts";
import { isPaused } from "../loop/pause.ts";
import { readyAgent } from "../loop/ready.ts";
import { requireInput } from "../loop/room.ts";
import type { Owner, SessionKey, Store } from "../ports.ts";
import { answerPaused } from "./host/answering.ts";
import { forestall } from "./host/cancelling.ts";
import { followStored, followTurn } from "./host/following.ts";
import { agentNamed, type HostParts, requireUp, withStore } from "./host/parts.ts";
import { AFTER_ALL, lastEvent, placeOf, standOf } from "./host/places.ts";
import type { HostAnswer, HostMessage, StartedTurn, StartRequest } from "./host/request.ts";
import { startTurn } from "./host/starting.ts";
import { limitsOf } from "./limits.ts";
import type { Following } from "./registry.ts";

/** Milliseconds for which a cancel that was asked for is known. */
const CANCEL_KNOWN_MS = 3_600_000;

/** A turn by its id, and whose it is. */
interface NamedTurn {
  readonly owner: Owner;
  readonly turn: string;
}

/** The turns of an app. */
export class TurnHost {
  readonly #parts: HostParts;

  /** Makes the host of an app. */
  constructor(parts: HostParts) {
    this.#parts = parts;
    // None waits for a slow reader then.
    parts.drain.signal.addEventListener("abort", () => parts.registry.runAll());
  }

  /** A host of sessions in another store, whose turns count for their callers as those here do. */
  beside(store: Store): TurnHost {
    return new TurnHost(withStore(this.#parts, store));
  }

  /**
   * Starts a turn, or finds the one that an earlier request with the same idempotency key has started.
   *
   * @throws What keeps a turn from starting; `shutting_down`, `unknown_agent`, `idempotency_key_reused`.
   */
  async start(request: StartRequest): Promise<StartedTurn> {
    return this.#noted(request.owner, await startTurn(this.#parts, request));
  }

  /**
   * Answers calls of a paused turn, or finds what an earlier request with the same idempotency key has led to.
   *
   * @returns Null where there is no such turn.
   * @throws What is wrong with the answers: `turn_not_paused`, `call_not_found`, `call_not_pending`, `bad_request`, and
   *   with an input behind them: `turn_paused`, `input_empty`, `input_too_large`; `shutting_down`, `unknown_agent`,
   *   `idempotency_key_reused`.
   */
  async answer(request: HostAnswer): Promise<StartedTurn | null> {
    const started = await answerPaused(this.#parts, request);
    return started && this.#noted(request.owner, started);
  }

  /** Notes the turn of a request for those who tell of it. */
  #noted(owner: Owner, started: StartedTurn): StartedTurn {
    const { turn, session } = started;
    Object.assign(this.#parts.notes.of(owner), { turn, session });
    return started;
  }

  /** Follows a turn from an event on, wherever it runs; null where there is nothing of it, or nothing any more. */
  async follow(wanted: NamedTurn & { readonly from: number }): Promise<Following | null> {
    return await followTurn(this.#parts, wanted);
  }

  /** Says whether a turn is known: one that has ended may have no events any more. */
  async isKnown({ owner, turn }: NamedTurn): Promise<boolean> {
    const { registry, store } = this.#parts;
    return registry.find(owner, turn) !== null || await placeOf(store, { owner, turn }) !== null;
  }

  /** The turn that runs in a session, here or elsewhere; null where none does, or one only waits for answers. */
  async runningTurn(key: SessionKey): Promise<string | null> {
    const here = this.#parts.registry.running(key);
    if (here !== null) return here.id;
    const lease = (await this.#parts.store.read(key))?.head.lease;
    return lease === undefined || isPaused(lease) ? null : lease.turn;
  }

  /**
   * Where a turn is, and the agent that answered in it.
   *
   * @param session Where it is looked for: the id of a turn alone is known for a day.
   * @throws SelvageError `turn_not_found`, `unknown_agent`.
   */
  async agentOf(
    { owner, turn, session }: NamedTurn & { readonly session?: string },
  ): Promise<{ readonly key: SessionKey; readonly agent: Agent }> {
    const { store } = this.#parts;
    const key = session === undefined ? (await placeOf(store, { owner, turn }))?.key : { ...owner, session };
    const head = key === undefined ? undefined : (await store.read(key))?.head;
    if (key === undefined || head === undefined) {
      throw new SelvageError(
        "turn_not_found",
        `Cannot find the turn ${
          JSON.stringify(turn.slice(0, 128))
        }: it was never here, or it ended over a day ago ` +
          "and wants its ?session=",
      );
    }
    return { key, agent: this.agentNamed(head.agent, "show") };
  }

  /** The agent of a name; `action` says what cannot be done without it. Throws `unknown_agent`. */
  agentNamed(name: string, action: string): Agent {
    return agentNamed(this.#parts, { name, action });
  }

  /**
   * Leaves a message for a turn that runs, wherever it does: it enters at the next step.
   *
   * @returns The number of the message; null where there is no such turn.
   * @throws SelvageError `turn_over`, `turn_paused`, `too_many_messages`, `input_empty`, `input_too_large`.
   */
  async send({ owner, turn, input, idempotency, clientSignal }: HostMessage): Promise<number | null> {
    const action = "write to the turn";
    this.requireUp(action);
    const { store, clock } = this.#parts;
    const stand = await standOf(store, { owner, turn });
    if (stand === null) return null;
    const { place: { key }, lease } = stand;
    const over = new SelvageError(
      "turn_over",
      `Cannot send the message: found turn "${turn}" over, wanted one that runs; start a new turn with it`,
      { fields: { turn } },
    );
    if (lease?.turn !== turn) throw over;
    if (isPaused(lease)) {
      throw new SelvageError(
        "turn_paused",
        `Cannot send the message: found turn "${turn}" waiting for answers, wanted them first, or a new turn with ` +
          '"onPaused": "abort"',
        { fields: { turn, pending: lease.pause?.pending } },
      );
    }
    const agent = agentNamed(this.#parts, { name: lease.agent });
    await this.work({ action, clientSignal }, async (signal) => {
      await requireInput(input, await readyAgent(agent, { key, signal, clock }));
    });
    const id = idempotency === undefined ? crypto.randomUUID() : JSON.stringify(idempotency);
    const sent = await sendMessage({ store, owner, turn }, { id, input });
    if (sent === null) throw over;
    return sent;
  }

  /**
   * Ends a turn, wherever it runs, and waits until what it did is stored.
   *
   * @returns Whether it ended by that; null where there is no such turn.
   */
  async cancel({ owner, turn }: NamedTurn): Promise<boolean | null> {
    const { registry, store, clock } = this.#parts;
    // One that pauses at this moment has left its process without an end.
    if (await registry.find(owner, turn)?.cancel("The turn was cancelled")) return true;
    const stand = await standOf(store, { owner, turn });
    if (stand === null) return null;
    const { place, lease } = stand;
    if (lease?.turn !== turn) return false;
    await store.claim(owner, cancelName(turn), { value: true, ttlMs: CANCEL_KNOWN_MS });
    if (lease.expires <= clock.now()) {
      // Nobody runs it: what is to end need not go on first.
      await closeLeft(store, { ...place, clock, takeover: isPaused(lease) ? "paused" : true });
    }
    const { events } = followStored(this.#parts, { ...place, from: AFTER_ALL });
    for await (const _ of events) { /* It has nothing to tell, but ends. */ }
    const last = await lastEvent(store, place);
    return last?.type === "turn.finished" && last.reason === "aborted";
  }

  /**
   * Ends the turn that was asked for under a key, wherever it runs or waits for its session; one that has not begun
   * never will.
   *
   * @returns The turn, null for one of which nothing is stored, and whether it ended by that.
   * @throws SelvageError `rate_limited` for a key that nobody has used, where its caller may start no turn either.
   */
  async cancelKeyed(
    { owner, key }: { readonly owner: Owner; readonly key: string },
  ): Promise<{ readonly turn: string | null; readonly cancelled: boolean }> {
    const turn = await forestall(this.#parts, { owner, key });
    // Nothing is left to be ended of one whose session was deleted meanwhile.
    return { turn, cancelled: turn === null || (await this.cancel({ owner, turn }) ?? false) };
  }

  /** Ends what runs here in a session that is about to go. */
  async endSession(key: SessionKey): Promise<void> {
    await this.#parts.registry.running(key)?.cancel("The session was deleted");
  }

  /**
   * Counts what is no turn, and calls a model all the same, among the turns of a caller; call what it returns at its end.
   *
   * @throws SelvageError `rate_limited` or `too_many_turns`.
   */
  async count(
    owner: Owner,
    { turn, session }: { readonly turn: string; readonly session: string },
  ): Promise<() => Promise<void>> {
    const { quotas, limits } = this.#parts;
    return await quotas.enter(owner, { turn, session, limits: limitsOf(limits, owner) });
  }

  /** Notes a stream, or other work, that is to end before the service does; call what it returns when it has. */
  enter(): () => void {
    return this.#parts.drain.enter();
  }

  /**
   * Does work that is no turn: the service does not end before it, and tells it to stop when it goes down.
   *
   * @param wanted What cannot be done then, and the signal of a client that may go before.
   * @param work Gives up, with the reason of its signal, when that aborts.
   * @throws SelvageError `shutting_down` where it gave up for that; what the work throws.
   */
  async work<T>(
    { action, clientSignal }: { readonly action: string; readonly clientSignal: AbortSignal },
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { signal: down } = this.#parts.drain;
    const exit = this.enter();
    try {
      return await work(AbortSignal.any([clientSignal, down]));
    } catch (error) {
      if (down.aborted && error === down.reason) this.requireUp(action);
      throw error;
    } finally {
      exit();
    }
  }

  /** Throws `shutting_down` once the service goes down; `action` says what cannot be done then. */
  requireUp(action: string): void {
    requireUp(this.#parts, action);
  }
}
