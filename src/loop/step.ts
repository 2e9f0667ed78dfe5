/**
 * The calls of one step: those that are run here, and those that wait.
 *
 * @module
 */
import type { FinishReason, Pause, ResultEntry, Tool } from "../ports.ts";
import type { TurnTelemetry } from "../telemetry/telemetry.ts";
import type { Asking } from "./asking.ts";
import { Breath } from "./breath.ts";
import { type CallsOptions, runCalls } from "./calls.ts";
import { capOf } from "./cap.ts";
import type { Compactor } from "./compactor.ts";
import type { TurnEventBody } from "./events.ts";
import type { OpenedTurn } from "./open.ts";
import { pendingCalls } from "./pause.ts";
import { callEvent, progressEvent, resultEvent } from "./report.ts";
import type { TurnSignals } from "./signals.ts";
import type { TurnLog } from "./turn_log.ts";
import type { SortedCalls } from "./waits.ts";

/** The turn whose calls they are. */
export interface StepTurn {
  readonly opened: OpenedTurn;
  readonly tools: readonly Tool[];
  readonly asking: Asking;
  readonly compactor: Compactor;
  readonly log: TurnLog;
  readonly signals: TurnSignals;
  readonly telemetry: TurnTelemetry;
  /** What persons have said to calls, where any waited. */
  readonly pause: Pause;
  /** Calls that have not begun. */
  readonly unbegun: Set<string>;
  /** Whether clients have been told of a call. */
  isCalled(ref: string): boolean;
  /** Tells whoever follows the turn. */
  readonly tell: (event: TurnEventBody) => Promise<void>;
}

/** The calls of an answer, sorted, and why the answer ended. */
type AnswerCalls = SortedCalls & { readonly reason: FinishReason };

/** Runs the calls of a turn's steps. */
export class StepCalls {
  readonly #turn: StepTurn;

  constructor(turn: StepTurn) {
    this.#turn = turn;
  }

  /** Runs the calls of a step that can be run; a pause where others wait. */
  async run(step: number, { waiting, ...here }: AnswerCalls): Promise<Pause | null> {
    // They wait from now on; clients may begin with them while the others run.
    for (const call of pendingCalls(waiting, this.#turn.log.all)) {
      if (!this.#turn.isCalled(call.ref)) await this.#turn.tell(callEvent(step, call));
    }
    await this.#runCalls(step, here);
    // What a turn that is put down has not begun is left to who takes it up, also behind the last step.
    this.#turn.signals.halt.throwIfAborted();
    if (waiting.length === 0) return null;
    return { pending: waiting, approved: [] };
  }

  /** How the calls of an answer are judged and run. */
  options(reason: FinishReason): CallsOptions {
    const { agent, clock, context: { entries }, key: { tenant, user, session } } = this.#turn.opened;
    const answer = entries.findLast(({ kind }) => kind === "assistant")?.seq ?? 0;
    const context = {
      session,
      tenant,
      ...(user === undefined ? {} : { user }),
      messages: () => this.#turn.asking.requestBefore(answer).messages,
    };
    return { agent, tools: this.#turn.tools, reason, context, signal: this.#turn.signals.hands, clock };
  }

  /** Runs calls of a step; each result is appended and checked as it lands. */
  async #runCalls(step: number, { run, refused, reason }: Omit<AnswerCalls, "waiting">): Promise<void> {
    const progress = runCalls(run, {
      ...this.options(reason),
      isHalted: () => this.#turn.signals.isPutDown,
      refused,
      within: (call, run) => {
        this.#turn.unbegun.delete(call.ref);
        return this.#turn.telemetry.tool(call, run);
      },
    });
    const breath = new Breath();
    for await (const made of progress) {
      if (made.kind === "started") {
        await this.#turn.tell(callEvent(step, made.call));
        continue;
      }
      if (made.kind === "progress") {
        await this.#turn.tell(progressEvent(step, made));
        continue;
      }
      const entry = await this.result(step, { ...made.call, open: made.open, outcome: made.outcome });
      await this.#turn.tell(resultEvent(entry, this.#turn.opened.context.shownOutput(entry)));
      await this.#turn.compactor.check();
      await breath.take();
    }
  }

  /** Appends the result of a call, with its cap. `open` counts the calls that share the room, this one included. */
  async result(
    step: number,
    { ref, name, open, outcome }: {
      readonly ref: string;
      readonly name: string;
      readonly open: number;
      readonly outcome: Pick<ResultEntry, "status" | "output" | "ms">;
    },
  ): Promise<ResultEntry> {
    const { context, meter } = this.#turn.opened;
    const approval = this.#turn.pause.approvals?.[ref];
    const cap = await capOf(outcome.output, { open, context, meter, budget: this.#turn.asking.budget });
    const entry: ResultEntry = {
      kind: "result",
      ...this.#turn.log.place(),
      step,
      call: ref,
      toolName: name,
      ...outcome,
      ...(cap === null ? {} : { cap }),
      ...(approval === undefined ? {} : { approval }),
    };
    await this.#turn.log.append(entry);
    return entry;
  }
}
