/**
 * Turns of clients that keep their history themselves and send it whole each time. Each turn has a session in memory,
 * which goes with it: in a store every request would leave the whole history behind, and nobody would ever ask for it.
 * One that waits for its client's tools stays for a while, so that what the service's own tools gave is there when it
 * goes on; where it is gone, the history that the client sends is enough to go on from.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { AnswerRequest, CallAnswer, TurnRequest } from "../loop/agent.ts";
import { askedOf } from "../loop/asked.ts";
import { systemClock } from "../loop/clock.ts";
import type { TurnEvent } from "../loop/events.ts";
import { billedFor } from "../loop/report.ts";
import type { Clock, SessionKey, Store, Usage } from "../ports.ts";
import { memoryStore } from "../store/memory.ts";
import { HistoryViews, leaveTurn, readHistory, type SentHistory } from "./history.ts";
import type { TurnHost } from "./host.ts";
import type { HostRequest, StartedTurn } from "./host/request.ts";
import type { AppOptions } from "./options.ts";

/** Milliseconds for which a session stays that somebody may come back to. */
const KEPT_MS = 3_600_000;
/** Characters of histories that stay at the same time; the oldest go first. */
const KEPT_CHARS = 64 * 1024 * 1024;
/** Why a call that waits for a person is refused. */
const NOBODY = "there is nobody who could be asked here";

/** A turn with the history that it goes on from. */
export interface StatelessRequest extends HostRequest {
  readonly agentName: string;
  /** The history, oldest first. */
  readonly messages: readonly Message[];
  /** Characters of it, more or less: what it costs to keep. */
  readonly size: number;
  readonly asked: Pick<TurnRequest, "settings" | "clientTools">;
}

/** Results for calls of a turn that waits, and what the user says behind them. */
export interface StatelessAnswer extends HostRequest, Pick<AnswerRequest, "input"> {
  readonly turn: string;
  readonly results: readonly CallAnswer[];
}

/** What a session was made of. */
interface Origin {
  readonly key: SessionKey;
  readonly size: number;
  readonly agentName: string;
  readonly history: SentHistory;
  /** Whether the same request may come again. */
  readonly isKept: boolean;
}

/** A session that somebody may come back to. */
interface Kept {
  readonly origin: Origin;
  readonly until: number;
}

/** The stateless turns of an app. */
export class StatelessTurns {
  readonly #clock: Clock;
  readonly #store: Store;
  readonly #host: TurnHost;
  readonly #views: HistoryViews;
  /** By turn, the oldest first. */
  readonly #kept = new Map<string, Kept>();
  /** Characters of the histories among them. */
  #keptChars = 0;

  /** Makes them of an app's options, whose store remembers compactions, and the host of its sessions. */
  constructor(options: AppOptions, host: TurnHost) {
    this.#clock = options.clock ?? systemClock;
    this.#store = memoryStore({ clock: this.#clock });
    this.#host = host.beside(this.#store);
    this.#views = new HistoryViews(options.store);
  }

  /**
   * Starts a turn, or finds the one that a request with the same idempotency key has started in this process.
   *
   * @throws What keeps a turn from starting; `bad_request` for messages in which nobody asks for anything.
   */
  async start(request: StatelessRequest): Promise<StartedTurn> {
    const { agentName, asked, clientSignal, idempotency, owner, size } = request;
    const history = readHistory(request.messages);
    const { input, imported: { system: instructions } } = history;
    const { entries, view } = await this.#views.find(owner, agentName, history);
    const all = { ...asked, instructions };
    const prepare = async ({ turn, session }: { readonly turn: string; readonly session: string }) => {
      const key = { ...owner, session };
      await leaveTurn(this.#store, entries, { key, agent: agentName, turn, asked: askedOf(all), view });
    };
    const started = await this.#host.start({
      owner,
      agentName,
      input,
      ...all,
      onDisconnect: "abort",
      clientSignal,
      ...(input === null ? { prepare } : { history: { entries, view } }),
      ...(idempotency === undefined ? {} : { idempotency }),
    });
    if (started.isReplay) return started;
    const key = { ...owner, session: started.session };
    const origin = { key, size, agentName, history, isKept: idempotency !== undefined };
    return this.#settling(started, { origin, request });
  }

  /**
   * Goes on with a turn that waits for results; null where it does not wait in this process any more.
   *
   * @throws What is wrong with the results.
   */
  async answer(
    { owner, turn, ...request }: StatelessAnswer,
  ): Promise<{ readonly started: StartedTurn; readonly billed: Usage } | null> {
    const kept = this.#kept.get(turn);
    if (kept === undefined) return null;
    const { origin } = kept;
    const state = await this.#store.read({ ...owner, session: origin.key.session });
    if (state === null) return null;
    const billed = billedFor(state.entries, turn);
    let started: StartedTurn | null;
    try {
      started = await this.#host.answer({ owner, turn, ...request });
    } catch (error) {
      // Answered before, or given up by a new message: the history tells as much as the client knows.
      if (
        error instanceof SelvageError && /^(turn_not_paused|call_not_pending|turn_paused)$/.test(error.code)
      ) {
        return null;
      }
      throw error;
    }
    if (started === null) return null;
    if (started.isReplay) return { started, billed };
    this.#drop(turn);
    const isKept = origin.isKept || request.idempotency !== undefined;
    const going = this.#settling(started, { origin: { ...origin, isKept }, request: { owner, ...request } });
    return { started: going, billed };
  }

  /** Has the session cleared away once nobody reads its turn any more. */
  #settling(
    started: StartedTurn,
    { origin, request }: { readonly origin: Origin; readonly request: HostRequest },
  ): StartedTurn {
    const { turn } = started;
    let current: StartedTurn | null = started;
    let isSettled = false;
    const settle = async (): Promise<void> => {
      if (isSettled) return;
      isSettled = true;
      await this.#settle(turn, origin);
    };
    /** The events; a call that waits for a person is refused, for there is no way to ask one. */
    const events = async function* (this: StatelessTurns): AsyncGenerator<TurnEvent, void> {
      try {
        while (current !== null) {
          let refs: readonly string[] = [];
          for await (const event of current.events) {
            refs = event.type === "turn.paused" ? approvalsOf(event) : [];
            if (refs.length === 0) yield event;
          }
          if (refs.length === 0) return;
          const approvals = refs.map((ref) => ({ ref, approved: false, reason: NOBODY }));
          const { clientSignal, owner } = request;
          current = await this.#host.answer({ owner, turn, approvals, clientSignal });
        }
      } finally {
        await settle();
      }
    }.bind(this);
    return {
      ...started,
      events: events(),
      leave: async () => {
        await current?.leave();
        await settle();
      },
    };
  }

  async #settle(turn: string, origin: Origin): Promise<void> {
    const { key, agentName: agent, history } = origin;
    const state = await this.#store.read(key);
    if (state !== null) await this.#views.remember(key, { agent, history, state });
    const isWaiting = state?.head.lease !== undefined;
    if (isWaiting || origin.isKept) this.#keep(turn, { origin, until: this.#clock.now() + KEPT_MS });
    else await this.#store.delete(key);
    await this.#forget();
  }

  #keep(turn: string, kept: Kept): void {
    this.#drop(turn);
    this.#kept.set(turn, kept);
    this.#keptChars += kept.origin.size;
  }

  #drop(turn: string): void {
    this.#keptChars -= this.#kept.get(turn)?.origin.size ?? 0;
    this.#kept.delete(turn);
  }

  /** Lets go of what is too old, or too much. */
  async #forget(): Promise<void> {
    const now = this.#clock.now();
    for (const [turn, { origin: { key }, until }] of this.#kept) {
      if (until > now && this.#keptChars <= KEPT_CHARS) break;
      this.#drop(turn);
      await this.#host.endSession(key);
      await this.#store.delete(key);
    }
  }
}

function approvalsOf({ pending }: Extract<TurnEvent, { type: "turn.paused" }>): readonly string[] {
  return pending.flatMap(({ ref, reason }) => reason === "approval" ? [ref] : []);
}
