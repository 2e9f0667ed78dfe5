/**
 * One turn, from its opening to its end, whichever way it came about.
 *
 * @module
 */
import { loadTelemetry } from "../telemetry/telemetry.ts";
import type { AnswerRequest, ResumeRequest, TurnPorts, TurnRequest } from "./agent.ts";
import { TurnAtWork } from "./at_work.ts";
import { close, end, failed, type Outcome } from "./ends.ts";
import type { TurnEvent } from "./events.ts";
import { type Give, LEFT } from "./hand_over.ts";
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

  /** Plays the turn to its end, or to a pause. The last event is stored when it is told. */
  async run(give: Give<TurnEvent>): Promise<void> {
    const work = this.#work;
    const { telemetry } = work;
    const { isStarted, lease, agent, key } = work.opened;
    work.listen(give);
    try {
      if (!isStarted) {
        const { turn } = lease;
        const { model: { id: model } } = agent;
        await work.tell({ type: "turn.started", turn, session: key.session, agent: lease.agent, model });
      }
      let outcome: Outcome;
      try {
        outcome = await telemetry.within(() => takeUp(work)) ?? await playSteps(work);
      } catch (error) {
        outcome = await failed(work, error);
      }
      await telemetry.within(() => end(work, outcome));
    } finally {
      this.leave();
      await close(work);
    }
  }

  /** Aborts whatever is running, unless the turn has ended. */
  leave(): void {
    if (!this.#work.isEnded) this.#work.signals.fail(LEFT);
  }
}
