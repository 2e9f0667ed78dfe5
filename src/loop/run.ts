/**
 * One turn, from its opening to its end, whichever way it came about.
 *
 * @module
 */
import { loadTelemetry, type TurnTelemetry } from "../telemetry/telemetry.ts";
import type { AnswerRequest, ResumeRequest, TurnPorts, TurnRequest } from "./agent.ts";
import { TurnAtWork } from "./at_work.ts";
import { close, end, failed, type Outcome } from "./ends.ts";
import type { TurnEvent, TurnEventBody } from "./events.ts";
import { openAnswered, openTurn, reopenTurn } from "./open.ts";
import { playSteps } from "./steps.ts";
import { takeAnswers, takeUp } from "./take_up.ts";

/** A turn that holds its session's lease. */
export class Turn {
  readonly #work: TurnAtWork;

  private constructor(work: TurnAtWork) {
    this.#work = work;
  }

  /** Opens a new turn and stores the user's message. */
  static async open(request: TurnRequest, ports: TurnPorts): Promise<Turn> {
    const telemetry = await loadTelemetry();
    return new Turn(new TurnAtWork(await openTurn(request, ports), { request, ports, telemetry }));
  }

  /** Takes over a turn that its process left; null where it was taken over too often, and is over now. */
  static async reopen(request: ResumeRequest, ports: TurnPorts): Promise<Turn | null> {
    const telemetry = await loadTelemetry();
    const opened = await reopenTurn(request, ports);
    return opened === null ? null : new Turn(new TurnAtWork(opened, { request, ports, telemetry }));
  }

  /** Takes answers to calls of a paused turn, and stores them: all, or none. */
  static async answer(request: AnswerRequest, ports: TurnPorts): Promise<Turn> {
    const { store } = ports;
    const telemetry = await loadTelemetry();
    const opened = await openAnswered(request, ports);
    const work = new TurnAtWork(opened, { request, ports, telemetry });
    try {
      await takeAnswers(work, opened.answers);
    } catch (error) {
      // What could not be stored was not said: the turn waits on. Where not even that can be stored, the lease runs out.
      work.isEnded = true;
      await close(work);
      await store.commit(opened.key, opened.lease, { suspend: true }).catch(() => {});
      throw error;
    }
    return new Turn(work);
  }

  /** Spans and metrics. */
  get telemetry(): TurnTelemetry {
    return this.#work.telemetry;
  }

  /** Numbers an event and notes it for those who come later. */
  emit(body: TurnEventBody): TurnEvent {
    return this.#work.emit(body);
  }

  /** Plays the turn to its end, or to a pause. The last event is numbered already. */
  async *run(): AsyncGenerator<TurnEventBody | TurnEvent, void> {
    const work = this.#work;
    const { isStarted, lease, agent, key } = work.opened;
    if (!isStarted) {
      const { turn } = lease;
      yield { type: "turn.started", turn, session: key.session, agent: lease.agent, model: agent.model.id };
    }
    let outcome: Outcome;
    try {
      outcome = (yield* takeUp(work)) ?? (yield* playSteps(work));
    } catch (error) {
      outcome = yield* failed(work, error);
    }
    yield* end(work, outcome);
  }

  /** Aborts whatever is running, unless the turn has ended. */
  leave(): void {
    if (!this.#work.isEnded) this.#work.signals.fail(new DOMException("The client has gone", "AbortError"));
  }

  /** Ends what has not ended yet. */
  async close(): Promise<void> {
    await close(this.#work);
  }
}
