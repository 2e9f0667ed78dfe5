/**
 * The turns of an app: starts them, finds them wherever they run, takes over what another process left, ends them.
 * What clients speak is no concern of this file. It is over 300 lines long because starting, answering, following and
 * ending a turn must agree on where it is, and who runs it.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Agent, AnswerRequest, TurnRequest } from "../loop/agent.ts";
import { systemClock } from "../loop/clock.ts";
import { eventNumber, type TurnEvent } from "../loop/events.ts";
import { randomId } from "../loop/ids.ts";
import { cancelName } from "../loop/journal.ts";
import { closeLeft, wasTaken } from "../loop/left.ts";
import { sendMessage } from "../loop/mailbox.ts";
import { isPaused, pausedName } from "../loop/pause.ts";
import { readyAgent } from "../loop/ready.ts";
import { requireInput } from "../loop/room.ts";
import { answerTurn, resumeTurn, runTurn } from "../loop/turn.ts";
import type { Clock, Lease, OnDisconnect, Owner, SessionKey, Store } from "../ports.ts";
import { Drain } from "./drain.ts";
import { claimKey, type IdempotencyKey } from "./idempotency.ts";
import { type Limits, type LimitsOf, limitsOf, withLimits } from "./limits.ts";
import type { AppOptions } from "./options.ts";
import { type Log, tellTurn } from "./log.ts";
import type { Notes } from "./notes.ts";
import { Quotas } from "./quotas.ts";
import { type FollowedTurn, type Following, TurnRegistry } from "./registry.ts";
import { replay, type StoredTurnPlace } from "./replay.ts";
import { before, untilLost } from "./streams.ts";

/** Milliseconds for which a cancel that was asked for is known. */
const CANCEL_KNOWN_MS = 3_600_000;
/** Milliseconds for which a turn is looked for that a twin of its request may have started, and between two looks. */
const TWIN_MS = 500;
const TWIN_LOOK_MS = 50;
/** Characters of a turn's id. */
const MAX_ID = 256;
/** More than any event's number. */
const AFTER_ALL = Number.MAX_SAFE_INTEGER;

/** Whose request it is, and what it is to be told by again. */
interface HostRequest {
  readonly owner: Owner;
  /** Aborts when the client has gone before the response began. */
  readonly clientSignal: AbortSignal;
  /** Makes a second request with the same key the same one. */
  readonly idempotency?: IdempotencyKey;
}

/** What a turn is started with. */
export interface StartRequest extends
  HostRequest,
  Pick<
    TurnRequest,
    | "pin"
    | "instructions"
    | "settings"
    | "fork"
    | "history"
    | "client"
    | "compaction"
    | "begin"
    | "clientTools"
    | "onPaused"
    | "whenBusy"
  > {
  /** Null where `prepare` leaves a turn in the session that goes on. */
  readonly input: TurnRequest["input"] | null;
  /** Puts into the session what the turn is to find there; not called for a turn that was started before. */
  readonly prepare?: (place: { readonly turn: string; readonly session: string }) => Promise<void>;
  readonly agentName: string;
  /** Default: a new session. */
  readonly session?: string;
  readonly onDisconnect: OnDisconnect;
}

/** Answers to calls of a paused turn. */
export interface HostAnswer
  extends HostRequest, Pick<AnswerRequest, "turn" | "results" | "approvals" | "input" | "client"> {}

/** A turn that was started, or found by its idempotency key. */
export interface StartedTurn extends Following {
  readonly turn: string;
  readonly session: string;
  /** Name of the agent and id of its model, where the events do not begin with the turn. */
  readonly agent?: string;
  readonly model?: string;
  /** Whether an earlier request had started it. */
  readonly isReplay: boolean;
}

/** The turns of an app. */
export class TurnHost {
  readonly #agents: Readonly<Record<string, Agent>>;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #drain: Drain;
  readonly #newId: (kind: "turn" | "session") => string;
  readonly #registry = new TurnRegistry();
  /** Turns with an idempotency key that are about to begin here. */
  readonly #starting = new Map<string, Promise<StartedTurn>>();
  readonly #limits: LimitsOf | undefined;
  #quotas: Quotas;
  readonly #notes: Notes;
  readonly #log: Log | undefined;
  readonly #hasContent: boolean;
  readonly #options: AppOptions;

  /** Makes the host of an app. */
  constructor(options: AppOptions, notes: Notes) {
    this.#limits = options.limits;
    this.#notes = notes;
    this.#log = options.log;
    this.#hasContent = options.logContent === true;
    this.#options = options;
    this.#agents = options.agents;
    this.#store = options.store;
    this.#clock = options.clock ?? systemClock;
    this.#quotas = new Quotas({ store: this.#store, clock: this.#clock, notes });
    this.#drain = options.drain ?? new Drain();
    this.#newId = options.newId ?? ((kind) => randomId(kind === "turn" ? "t" : "s"));
    // None waits for a slow reader then.
    this.#drain.signal.addEventListener("abort", () => this.#registry.runAll());
  }

  /** A host of sessions in another store, whose turns count for their callers as those here do. */
  beside(store: Store): TurnHost {
    const host = new TurnHost({ ...this.#options, store }, this.#notes);
    host.#quotas = this.#quotas;
    return host;
  }

  /**
   * Starts a turn, or finds the one that an earlier request with the same idempotency key has started.
   *
   * @throws What keeps a turn from starting; `shutting_down`, `unknown_agent`, `idempotency_key_reused`.
   */
  async start(request: StartRequest): Promise<StartedTurn> {
    const started = await this.#start(request);
    const { turn, session } = started;
    Object.assign(this.#notes.of(request.owner), { turn, session });
    return started;
  }

  async #start(request: StartRequest): Promise<StartedTurn> {
    const { owner, idempotency } = request;
    this.requireUp("start");
    const agent = this.#agent(request.agentName);
    const ours = { session: request.session ?? this.#newId("session"), turn: this.#newId("turn") };
    if (idempotency === undefined) return await this.#begin(agent, { ...request, ...ours });
    for (let attempt = 0;; attempt++) {
      const { turn, session } = await claimKey(this.#store, { owner, idempotency, attempt, value: ours });
      const key = { ...owner, session };
      if (turn !== ours.turn && await this.#isStillborn({ turn, key })) continue;
      const found = await this.follow(owner, turn, 0);
      if (found !== null) return { ...found, turn, session, isReplay: true };
      // The same request, sent twice at a time: one of the two starts the turn, and alone is counted.
      const twin = this.#starting.get(turn);
      await twin?.catch(() => {});
      const started = twin === undefined ? null : await this.follow(owner, turn, 0);
      if (started !== null) return { ...started, turn, session, isReplay: true };
      const begun = this.#begin(agent, { ...request, turn, session });
      this.#starting.set(turn, begun);
      try {
        return await begun;
      } catch (error) {
        const same = await this.#same(error, { owner, turn, isFirst: turn === ours.turn });
        if (same === null) throw error;
        return { ...same, turn, session, isReplay: true };
      } finally {
        if (this.#starting.get(turn) === begun) this.#starting.delete(turn);
      }
    }
  }

  /** The turn that a twin of a request has started, where that is what kept this one from starting it. */
  async #same(
    error: unknown,
    { owner, turn, isFirst }: { readonly owner: Owner; readonly turn: string; readonly isFirst: boolean },
  ): Promise<Following | null> {
    if (!(error instanceof SelvageError)) return null;
    if (/^turn_(running|exists)$/.test(error.code) && error.fields["turn"] === turn) {
      return await this.follow(owner, turn, 0);
    }
    if (!/^(rate_limited|too_many_turns)$/.test(error.code)) return null;
    // A twin in another process may have been counted, and be about to begin.
    for (let waited = 0;; waited += TWIN_LOOK_MS) {
      const found = await this.follow(owner, turn, 0);
      if (found !== null || isFirst || waited >= TWIN_MS) return found;
      await this.#clock.sleep(TWIN_LOOK_MS);
    }
  }

  /** Whether a turn got its name and nothing else: it was refused, or its process died before the input was stored. */
  async #isStillborn({ turn, key }: StoredTurnPlace): Promise<boolean> {
    if (this.#registry.find(key, turn) !== null || await this.#place(key, turn) === null) return false;
    const stored = await this.#store.events(key, turn, 0);
    if ((stored?.events.length ?? 0) > 0) return false;
    const lease = stored?.lease;
    if (lease?.turn === turn && lease.expires > this.#clock.now()) return false;
    const state = await this.#store.read(key);
    return !(state?.entries.some((entry) => entry.turn === turn) ?? false);
  }

  /** Follows a turn from an event on, wherever it runs; null where there is nothing of it, or nothing any more. */
  async follow(owner: Owner, turn: string, from: number): Promise<Following | null> {
    const local = this.#registry.find(owner, turn);
    if (local !== null && from >= local.first) return local.follow(from);
    const place = await this.#place(owner, turn);
    if (place === null) return null;
    const stored = await this.#store.events(place.key, turn, from);
    if (stored === null) return null;
    const { events, lease } = stored;
    // One that waits for answers has nothing more to tell until they come.
    const isWaiting = isPaused(lease) && (lease?.expires ?? 0) <= this.#clock.now();
    const isOver = events.length === 0 && (lease?.turn !== turn || isWaiting);
    return isOver ? null : this.#replay(place, from);
  }

  /**
   * Where a turn is, and the agent that answered in it.
   *
   * @param session Where it is looked for: the id of a turn alone is known for a day.
   * @throws SelvageError `turn_not_found`, `unknown_agent`.
   */
  async agentOf(
    owner: Owner,
    { turn, session }: { readonly turn: string; readonly session?: string },
  ): Promise<{ readonly key: SessionKey; readonly agent: Agent }> {
    const key = session === undefined ? (await this.#place(owner, turn))?.key : { ...owner, session };
    const head = key === undefined ? undefined : (await this.#store.read(key))?.head;
    if (key === undefined || head === undefined) {
      throw new SelvageError(
        "turn_not_found",
        `Cannot find the turn ${
          JSON.stringify(turn.slice(0, 128))
        }: it was never here, or it ended over a day ago ` +
          "and wants its ?session=",
      );
    }
    return { key, agent: this.#agent(head.agent, "show") };
  }

  /** The agent of a name; `action` says what cannot be done without it. Throws `unknown_agent`. */
  agentNamed(name: string, action: string): Agent {
    return this.#agent(name, action);
  }

  /** Notes a stream that is to end before the service does; call what it returns when it has. */
  enter(): () => void {
    return this.#drain.enter();
  }

  /** Says whether a turn is known: one that has ended may have no events any more. */
  async isKnown(owner: Owner, turn: string): Promise<boolean> {
    return this.#registry.find(owner, turn) !== null || await this.#place(owner, turn) !== null;
  }

  /**
   * Leaves a message for a turn that runs, wherever it does: it enters at the next step.
   *
   * @returns The number of the message; null where there is no such turn.
   * @throws SelvageError `turn_over`, `turn_paused`, `too_many_messages`, `input_empty`, `input_too_large`.
   */
  async send(
    { owner, turn, input, idempotency }: Pick<StartRequest, "owner" | "idempotency"> & {
      readonly turn: string;
      readonly input: TurnRequest["input"];
    },
  ): Promise<number | null> {
    this.requireUp("write to");
    const place = await this.#place(owner, turn);
    const stored = place && await this.#store.events(place.key, turn, AFTER_ALL);
    if (place === null || stored === null) return null;
    const { lease } = stored;
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
    await requireInput(
      input,
      await readyAgent(this.#agent(lease.agent), { key: place.key, clock: this.#clock }),
    );
    const id = idempotency === undefined ? crypto.randomUUID() : JSON.stringify(idempotency);
    const sent = await sendMessage({ store: this.#store, owner, turn }, { id, input });
    if (sent === null) throw over;
    return sent;
  }

  /**
   * Ends a turn, wherever it runs, and waits until what it did is stored.
   *
   * @returns Whether it ended by that; null where there is no such turn.
   */
  async cancel(owner: Owner, turn: string): Promise<boolean | null> {
    const local = this.#registry.find(owner, turn);
    // One that pauses at this moment has left its process without an end.
    if (await local?.cancel("The turn was cancelled")) return true;
    const place = await this.#place(owner, turn);
    const stored = place && await this.#store.events(place.key, turn, AFTER_ALL);
    if (place === null || stored === null) return null;
    if (stored.lease?.turn !== turn) return false;
    await this.#store.claim(owner, cancelName(turn), { value: true, ttlMs: CANCEL_KNOWN_MS });
    if (stored.lease.expires <= this.#clock.now()) {
      // Nobody runs it: what is to end need not go on first.
      const left = { key: place.key, clock: this.#clock, turn };
      await closeLeft(this.#store, isPaused(stored.lease) ? { ...left, takeover: "paused" } : left);
    }
    for await (const _ of this.#replay(place, AFTER_ALL).events) { /* It has nothing to tell, but ends. */ }
    const last = await this.#lastEvent(place);
    return last?.type === "turn.finished" && last.reason === "aborted";
  }

  async #lastEvent({ turn, key }: StoredTurnPlace): Promise<TurnEvent | null> {
    let last: TurnEvent | null = null;
    for (;;) {
      const from = last === null ? 0 : eventNumber(last) + 1;
      const event = (await this.#store.events(key, turn, from))?.events.at(-1) as TurnEvent | undefined;
      if (event === undefined) return last;
      last = event;
    }
  }

  /** The turn that runs in a session, here or elsewhere; null where none does, or one only waits for answers. */
  async runningTurn(key: SessionKey): Promise<string | null> {
    const here = this.#registry.running(key);
    if (here !== null) return here.id;
    const lease = (await this.#store.read(key))?.head.lease;
    return lease === undefined || isPaused(lease) ? null : lease.turn;
  }

  /** Ends what runs here in a session that is about to go. */
  async endSession(key: SessionKey): Promise<void> {
    await this.#registry.running(key)?.cancel("The session was deleted");
  }

  /** Goes on with a turn that has no reader any more, left by its process: it is to end all the same. */
  async #revive(key: SessionKey, turn: string): Promise<void> {
    const lease = (await this.#store.events(key, turn, AFTER_ALL))?.lease;
    if (lease?.turn !== turn || lease.expires > this.#clock.now()) return;
    // No process may have its agent any more: the session is not to wait for one.
    if (!this.#has(lease.agent)) return await closeLeft(this.#store, { key, clock: this.#clock, turn });
    try {
      (await this.#resume({ turn, key }, lease)).run();
    } catch (error) {
      if (!wasTaken(error)) throw error;
    }
  }

  async #begin(
    agent: Agent,
    request: StartRequest & { readonly turn: string; readonly session: string },
  ): Promise<StartedTurn> {
    const { owner, turn, session, onDisconnect, clientSignal, prepare, idempotency: _, ...asked } = request;
    const { input } = asked;
    const key = { ...owner, session };
    const limits = limitsOf(this.#limits, owner);
    const stop = new AbortController();
    const signals = { signal: stop.signal, suspend: this.#drain.signal };
    const place = { ...key, agent: withLimits(agent, limits), ...signals };
    const ports = { store: this.#store, clock: this.#clock, newId: () => turn };
    const events = (): AsyncGenerator<TurnEvent, void> =>
      input === null
        ? resumeTurn({ ...place, turn }, ports)
        : runTurn({ ...asked, ...place, input, onDisconnect }, ports);
    const { id } = this.#notes.of(owner);
    const tell = { ...(input === null ? {} : { input }), ...(id === undefined ? {} : { request: id }) };
    const add = async (onEnd: () => Promise<void>): Promise<FollowedTurn> => {
      await prepare?.({ turn, session });
      return await this.#add({ turn, key, stop, onDisconnect, events, onEnd, tell }, async (error) => {
        if (error.code !== "turn_interrupted") return false;
        await this.#revive(key, String(error.fields["turn"]));
        return true;
      });
    };
    const counted = () => this.#counted(owner, { turn, session, limits, add });
    const started = await untilBegun(counted, { clientSignal, stop, onDisconnect });
    return { ...started.follow(0), turn, session, isReplay: false };
  }

  /** Adds a turn that counts among those of its caller for as long as it runs here. */
  async #counted(
    owner: Owner,
    { add, ...counted }: {
      readonly turn: string;
      readonly session: string;
      readonly limits: Limits;
      readonly add: (onEnd: () => Promise<void>) => Promise<FollowedTurn>;
    },
  ): Promise<FollowedTurn> {
    const leave = await this.#quotas.enter(owner, counted);
    let isStarted = false;
    try {
      const started = await add(async () => {
        if (isStarted) await leave();
      });
      isStarted = true;
      if (started.isDone) await leave();
      return started;
    } catch (error) {
      await leave();
      // What was waited for is of no interest any more then.
      this.requireUp("start");
      throw error;
    }
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
    const { owner, turn } = request;
    this.requireUp("answer");
    const place = await this.#place(owner, turn);
    const stored = place && await this.#store.events(place.key, turn, AFTER_ALL);
    if (place === null || stored === null) return null;
    const again = await this.#answered(request, place);
    if (again !== null) return again;
    try {
      return await this.#answer(request, { place, lease: stored.lease });
    } catch (error) {
      // The same request, sent twice at a time: the other one was first.
      const found = await this.#answered(request, place);
      if (found !== null) return found;
      throw error;
    }
  }

  /** What the same request has led to before. */
  async #answered(
    { owner, turn, idempotency }: HostAnswer,
    { key: { session } }: StoredTurnPlace,
  ): Promise<StartedTurn | null> {
    const known = idempotency && await claimKey(this.#store, { owner, idempotency, value: undefined });
    const found = known === undefined ? null : await this.follow(owner, turn, known.from ?? 0);
    return found === null ? null : { ...found, turn, session, isReplay: true };
  }

  async #answer(
    { owner, turn, clientSignal, idempotency, ...answers }: HostAnswer,
    { place: { key }, lease }: { readonly place: StoredTurnPlace; readonly lease: Lease | null },
  ): Promise<StartedTurn> {
    const { session } = key;
    // Whether it is this turn that waits, is seen when its lease is taken; the agent is needed before.
    const agentName = lease?.agent ?? "default";
    // A turn that goes on is none that starts, but it runs.
    const { turnsPerMinute: _, ...limits } = limitsOf(this.#limits, owner);
    const agent = withLimits(this.#agent(agentName), limits);
    const onDisconnect = lease?.onDisconnect ?? "abort";
    const stop = new AbortController();
    const accept = async (from: number): Promise<void> => {
      if (idempotency === undefined) return;
      await claimKey(this.#store, { owner, idempotency, value: { turn, session, from } });
    };
    const events = (): AsyncGenerator<TurnEvent, void> =>
      answerTurn({
        ...key,
        agent,
        turn,
        ...answers,
        accept,
        signal: stop.signal,
        suspend: this.#drain.signal,
      }, {
        store: this.#store,
        clock: this.#clock,
      });
    const add = (onEnd: () => Promise<void>) => this.#add({ turn, key, stop, onDisconnect, events, onEnd });
    const counted = () => this.#counted(owner, { turn, session, limits, add });
    const started = await untilBegun(counted, { clientSignal, stop, onDisconnect });
    const { first } = started;
    return {
      ...started.follow(first),
      turn,
      session,
      agent: agentName,
      model: agent.model.id,
      isReplay: false,
    };
  }

  #resume({ turn, key }: StoredTurnPlace, { agent, onDisconnect }: Lease): Promise<FollowedTurn> {
    this.requireUp("take over");
    const stop = new AbortController();
    const events = (): AsyncGenerator<TurnEvent, void> =>
      resumeTurn({
        agent: withLimits(this.#agent(agent), limitsOf(this.#limits, key)),
        turn,
        ...key,
        signal: stop.signal,
        suspend: this.#drain.signal,
      }, { store: this.#store, clock: this.#clock });
    return this.#add({ turn, key, stop, onDisconnect, events });
  }

  /** Adds a turn to those that run here; `isMended` may do something about what kept it from starting. */
  async #add(
    { turn, key, stop, onDisconnect, events, onEnd: onTurnEnd = () => Promise.resolve(), tell = {} }: {
      readonly turn: string;
      readonly key: SessionKey;
      readonly stop: AbortController;
      readonly onDisconnect: OnDisconnect;
      readonly events: () => AsyncGenerator<TurnEvent, void>;
      readonly onEnd?: () => Promise<void>;
      readonly tell?: { readonly request?: string; readonly input?: unknown };
    },
    isMended: (error: SelvageError) => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<FollowedTurn> {
    for (;;) {
      const exit = this.#drain.enter();
      const onEnd = (): void => {
        // What cannot be counted now is found out when somebody is turned away by it.
        void onTurnEnd().catch((error) => console.error("Cannot count a turn out:", error)).finally(exit);
      };
      try {
        const played = untilLost(
          events(),
          async () => await this.#store.events(key, turn, AFTER_ALL) !== null,
        );
        const options = { clock: this.#clock, key, hasContent: this.#hasContent, ...tell };
        const told = this.#log === undefined ? played : tellTurn(played, { log: this.#log, ...options });
        return await this.#registry.add({ id: turn, key, events: told, stop, onDisconnect, onEnd });
      } catch (error) {
        if (!(error instanceof SelvageError) || !await isMended(error)) throw error;
      }
    }
  }

  #replay(place: StoredTurnPlace, from: number): Following {
    const stop = new AbortController();
    let local: Following | null = null;
    const events = replay(place, {
      store: this.#store,
      clock: this.#clock,
      from,
      signal: AbortSignal.any([stop.signal, this.#drain.signal]),
      takeOver: async (lease, next) => {
        // Another process may have the agent: the stream ends, and the client comes again there.
        if (!this.#has(lease.agent)) return null;
        const turn = await this.#resume(place, lease);
        local = turn.follow(next);
        // What the process before has stored since the last look comes first; its numbers are lower.
        return before(local.events, {
          stored: () => this.#store.events(place.key, place.turn, next),
          limit: turn.first,
        });
      },
    });
    return {
      events,
      leave: async () => {
        stop.abort(new DOMException("The client has gone", "AbortError"));
        await local?.leave();
      },
    };
  }

  async #place(owner: Owner, turn: string): Promise<StoredTurnPlace | null> {
    // Longer than any id of ours, and than some stores can look for.
    if (turn.length > MAX_ID) return null;
    const found = (await this.#store.claim(owner, `turn/${turn}`) ??
      await this.#store.claim(owner, pausedName(turn))) as { readonly session: string } | undefined;
    return found === undefined ? null : { turn, key: { ...owner, session: found.session } };
  }

  #has(agent: string): boolean {
    return Object.hasOwn(this.#agents, agent);
  }

  #agent(name: string, action = "start"): Agent {
    const agent = this.#has(name) ? this.#agents[name] : undefined;
    if (agent !== undefined) return agent;
    const names = Object.keys(this.#agents).join(", ");
    throw new SelvageError(
      "unknown_agent",
      `Cannot ${action} the turn: found no agent ${JSON.stringify(name)}, wanted one of ${names}`,
    );
  }

  /** Throws `shutting_down` once the service goes down; `action` says what cannot be done with the turn then. */
  requireUp(action: string): void {
    if (!this.#drain.signal.aborted) return;
    throw new SelvageError(
      "shutting_down",
      `Cannot ${action} the turn: the service is going down, try again in a moment`,
    );
  }
}

/**
 * Waits until a turn has begun; a client that goes before ends it. A request's signal also aborts after a success, so it
 * counts only until the response has begun; from then on the stream's own cancel does. A turn that is to go on without
 * its client does so from the first moment on.
 */
async function untilBegun<T>(
  add: () => Promise<T>,
  { clientSignal, stop, onDisconnect }: {
    readonly clientSignal: AbortSignal;
    readonly stop: AbortController;
    readonly onDisconnect: OnDisconnect;
  },
): Promise<T> {
  const onGone = (): void => stop.abort(new DOMException("The client has gone", "AbortError"));
  if (onDisconnect === "abort") clientSignal.addEventListener("abort", onGone, { once: true });
  try {
    return await add();
  } finally {
    clientSignal.removeEventListener("abort", onGone);
  }
}
