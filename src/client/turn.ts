/**
 * One turn as a client has it: its events, each once and in order, over as many connections as it takes.
 *
 * @module
 */
import type { TurnEvent } from "../loop/events.ts";
import type { PendingCall } from "../loop/pause.ts";
import { answersFor, type ClientAnswers, type ClientInput, type ClientTurnRequest } from "./asked.ts";
import { EarlyCancel } from "./early_cancel.ts";
import { ClientError, isRefusal } from "./error.ts";
import { readEvents, requireBegun } from "./events.ts";
import { type ClientTurnResult, SeenTurn } from "./seen.ts";
import { KeptStream } from "./kept.ts";
import { askForTurn, goesOnAlone, type Start, STREAM, type TurnStart } from "./start.ts";
import { newKey, type Transport } from "./transport.ts";
import { Tries } from "./tries.ts";

/** Milliseconds that a turn which is given up may take to say its name, so that it can be cancelled. */
const NAME_MS = 5_000;

/**
 * A turn. It begins when its events are read first, by `for await` or `result()`; a stream that breaks is gone on with
 * behind the last event, also by another `for await`.
 *
 * @example
 * ```ts
 * import { createApp, memoryStore, scripted } from "@selvage/selvage";
 * import { createClient } from "@selvage/selvage/client";
 *
 * const model = scripted({ script: () => ({ text: "Hello." }) });
 * const app = createApp({ agents: { default: { model } }, store: memoryStore() });
 * const client = createClient({ url: "http://127.0.0.1", fetch: async (url, init) => await app.request(url, init) });
 *
 * const turn = client.turn({ session: "s1", input: "Hi" });
 * const { text, reason } = await turn.result();
 * console.log(text, reason, turn.session); // Hello. stop s1
 * ```
 */
export class ClientTurn implements AsyncIterable<TurnEvent> {
  readonly #transport: Transport;
  readonly #start: TurnStart;
  readonly #key: string;
  readonly #seen: SeenTurn;
  #isCancelled = false;
  #isRead = false;
  /** Whether a try of its start was not refused: it may run then, with an answer or without. */
  #mayRun = false;
  readonly #early = new EarlyCancel();
  /** Whether answers were taken for the pause that was seen, and the stream that goes on with them. */
  #goesOn = false;
  readonly #next = new KeptStream();

  /** Makes it; `createClient()` does. */
  constructor(transport: Transport, start: TurnStart) {
    this.#transport = transport;
    this.#start = start;
    this.#key = "turn" in start ? "" : start.request.idempotencyKey ?? newKey();
    this.#seen = new SeenTurn("turn" in start ? { id: start.turn, last: start.after ?? null } : {});
  }

  /** Id of the turn; null before its first event. */
  get id(): string | null {
    return this.#seen.id;
  }

  /** The session; empty before `turn.started` was seen. */
  get session(): string {
    return this.#seen.session;
  }

  /** Id of the last event that was seen: `client.follow()` goes on behind it. */
  get lastEventId(): string | null {
    return this.#seen.last;
  }

  /** The calls that wait, once `turn.paused` was seen. */
  get pending(): readonly PendingCall[] {
    return this.#seen.pending;
  }

  /**
   * The events, from behind the last one that was seen. Left early, the turn is cancelled, unless it waits for answers,
   * `onDisconnect: "continue"` was asked for, or it was started elsewhere.
   *
   * @throws TypeError where they are being read already; ClientError where the turn cannot be started, or found any
   *   more; the reason of the signal.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<TurnEvent, void> {
    if (this.#isRead) throw new TypeError("Cannot read the events of the turn: they are being read already");
    this.#isRead = true;
    const left = new AbortController();
    const { signal } = this.#start.request;
    const onAbort = (): void => left.abort(signal?.reason);
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    let isLeft = true;
    try {
      while (!this.#isCancelled || this.#seen.id !== null) {
        if (this.#seen.end === null || this.#goesOn) yield* this.#connected(left.signal);
        if (this.#goesOn) continue;
        const answers = await answersFor(this.pending, { ...this.#start.request, signal: left.signal });
        if (answers === null) break;
        await this.answer(answers);
      }
      isLeft = false;
    } catch (error) {
      // What was lost on the way may still be found; what its caller has ended is to end.
      isLeft = left.signal.aborted;
      throw error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
      left.abort(new DOMException("The events were left", "AbortError"));
      this.#isRead = false;
      if (goesOnAlone(this.#start)) await this.#next.drop();
      if (isLeft && (signal?.aborted || this.#seen.end === null)) await this.#leave();
    }
  }

  /**
   * Reads the events to the end of the turn, or to where it waits, and says what it came to.
   *
   * @throws ClientError where the turn ended with an error, or as the events do.
   */
  async result(): Promise<ClientTurnResult> {
    if (this.#seen.end?.type !== "turn.finished") {
      for await (const _ of this) { /* Each is taken note of. */ }
    }
    return this.#seen.result();
  }

  /**
   * Ends the turn, wherever it runs, and waits until what it did is stored. One that was never asked for, was refused,
   * or waits for its session does not begin; one whose start got no answer is ended by its key.
   *
   * @returns Whether it ended by that.
   * @throws ClientError.
   */
  async cancel(): Promise<boolean> {
    this.#isCancelled = true;
    if (this.#seen.id === null) {
      if (!this.#mayRun) return true;
      const { turn, cancelled } = await this.#early.ask(this.#transport, this.#key);
      this.#seen.id ??= turn;
      return cancelled;
    }
    return await this.#cancel();
  }

  /**
   * Answers calls that wait. Within a `for await`, at `turn.paused`, the loop goes on with the turn; behind one, the
   * next does. Where nobody reads on, the turn goes on by itself, and no connection is kept for it; one that was asked
   * for with `onDisconnect: "abort"`, or started elsewhere, keeps its own until it is read, cancelled, or its signal
   * aborts: without that it might end.
   *
   * @throws ClientError; `call_not_pending` and `turn_not_paused` where somebody else was first.
   */
  async answer({ results = [], approvals = [] }: ClientAnswers): Promise<void> {
    const taken = await this.#transport.try(`${this.#path}/results`, {
      method: "POST",
      body: { results, approvals, stream: true },
      headers: { ...STREAM, "idempotency-key": newKey() },
      signal: this.#start.request.signal,
    });
    // Of answers in parts the events between them count, too: they are asked for behind the last one seen.
    const isPart = this.#goesOn;
    this.#goesOn = true;
    await this.#next.keep(taken, this.#start.request.signal);
    if (isPart || !this.#isRead && goesOnAlone(this.#start)) await this.#next.drop();
  }

  /**
   * Says something to the turn while it runs: it enters at the next step.
   *
   * @throws ClientError; `turn_over` where it came too late.
   */
  async send(input: ClientInput): Promise<void> {
    await this.#transport.json(`${this.#path}/messages`, {
      method: "POST",
      body: { input },
      headers: { "idempotency-key": newKey() },
      signal: this.#start.request.signal,
    });
  }

  /** What it is started with; one that was started elsewhere has its id. */
  get #asked(): Start {
    return { request: this.#start.request as ClientTurnRequest, key: this.#key };
  }

  get #path(): string {
    if (this.#seen.id !== null) return `/v1/turns/${encodeURIComponent(this.#seen.id)}`;
    throw new TypeError("Cannot reach the turn: it has not begun, wanted its events to be read first");
  }

  async #cancel(maxTries?: number): Promise<boolean> {
    const asked = { method: "POST", ...(maxTries === undefined ? {} : { maxTries }) } as const;
    const answer = this.#transport.json<{ readonly cancelled: boolean }>(`${this.#path}/cancel`, asked);
    return (await answer.finally(() => this.#next.drop())).cancelled;
  }

  /** Cancels a turn whose reader has gone on purpose. */
  async #leave(): Promise<void> {
    if ("turn" in this.#start || this.#seen.id === null) return;
    if (this.#start.request.onDisconnect === "continue" || this.#seen.end?.type === "turn.finished") return;
    try {
      await this.#cancel(3);
    } catch (error) {
      // It has not come as far as to be stored, or ended long ago.
      if (!(error instanceof ClientError && error.status === 404)) throw error;
    }
  }

  /** Events up to an end or a pause, over as many connections as it takes. */
  async *#connected(left: AbortSignal): AsyncGenerator<TurnEvent, void> {
    const tries = new Tries(this.#transport);
    const over = new AbortController();
    const hard = new AbortController();
    const onLeft = (): void => {
      if (this.#isNamed) return hard.abort(left.reason);
      this.#transport.clock.sleep(NAME_MS, over.signal).then(() => hard.abort(left.reason), () => {});
    };
    const { never } = this.#early;
    left.throwIfAborted();
    left.addEventListener("abort", onLeft, { once: true });
    try {
      for (;;) {
        if (this.#isCancelled) this.#seen.id ??= await this.#early.named;
        if (this.#isCancelled && this.#seen.id === null) return;
        try {
          for await (const event of this.#read(AbortSignal.any([hard.signal, never]))) {
            requireBegun(event);
            tries.reset();
            if (event.type === "turn.started") this.#seen.id = event.turn;
            left.throwIfAborted();
            this.#seen.take(event);
            yield event;
            if (event.type === "turn.finished" || this.#goesOn) return;
          }
          // A pause may have been answered by somebody else: only behind the last event it is one.
          if (this.#seen.end !== null) return;
          throw new ClientError("network", "Cannot read the turn: its stream ended before the turn did");
        } catch (error) {
          if (never.aborted) return;
          if (!(error instanceof ClientError)) throw error;
          if (error.code === "stream_lost" && this.#seen.end !== null) return;
          await tries.after(error, AbortSignal.any([left, never])).catch((error) => {
            if (!never.aborted) throw error;
          });
        }
      }
    } finally {
      over.abort();
      left.removeEventListener("abort", onLeft);
    }
  }

  /** Whether it can be cancelled by name, or goes by its connection: else it gets a moment to say what it is called. */
  get #isNamed(): boolean {
    if (this.#seen.id !== null || "turn" in this.#start) return true;
    const { onDisconnect, whenBusy } = this.#start.request;
    return onDisconnect !== undefined || whenBusy === "enqueue";
  }

  /** Events of the stream that comes next, those that were not seen before. */
  async *#read(signal: AbortSignal): AsyncGenerator<TurnEvent, void> {
    const response = await this.#open(signal);
    yield* readEvents(response, { ...this.#transport.reading(signal), after: this.#seen.last });
  }

  /** The stream that comes next. */
  async #open(signal: AbortSignal): Promise<Response> {
    if (this.#goesOn) {
      const next = this.#next.take();
      this.#goesOn = false;
      this.#seen.end = null;
      if (next !== null) return next;
    }
    if (this.#seen.id === null) {
      // A try that is refused says nothing of one before it that got no answer.
      const mayRun = this.#mayRun;
      this.#mayRun = true;
      return await askForTurn(this.#transport, { ...this.#asked, signal }).catch((error) => {
        if (isRefusal(error)) this.#mayRun = mayRun;
        throw error;
      });
    }
    const { last } = this.#seen;
    const response = await this.#transport.ask(`${this.#path}/events`, {
      headers: last === null ? STREAM : { ...STREAM, "last-event-id": last },
      signal,
    });
    if (response.status !== 204) return response;
    await response.body?.cancel();
    throw new ClientError(
      "stream_lost",
      "Cannot go on with the turn: the service has no more of its events, and the last one seen is no end",
      { status: 204, fields: { turn: this.#seen.id, last } },
    );
  }
}
