/**
 * A turn at work: its parts, put together, and what it has come to so far. It is taken up (`take_up`), plays its steps
 * (`steps`), and comes to an end (`ends`); whoever does that has everything from here.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type {
  Commit,
  ModelFallback,
  Pause,
  ResultEntry,
  Said,
  Store,
  Tool,
  Usage,
  UserEntry,
} from "../ports.ts";
import type { Telemetry, TurnTelemetry } from "../telemetry/telemetry.ts";
import type { TurnPlace, TurnPorts } from "./agent.ts";
import { Asking } from "./asking.ts";
import { openCalls } from "./calls.ts";
import { Compactor } from "./compactor.ts";
import type { TurnEvent, TurnEventBody } from "./events.ts";
import type { Give } from "./hand_over.ts";
import { isDeleted, Journal } from "./journal.ts";
import { retell } from "./left.ts";
import { Mailbox } from "./mailbox.ts";
import { storeMeter } from "./measures.ts";
import { isDelta, observe } from "./observe.ts";
import type { OpenedTurn } from "./open.ts";
import { toolsOf } from "./recall.ts";
import { addUsage, billedFor, reportFault, tokensOf } from "./report.ts";
import { TurnSignals } from "./signals.ts";
import { StepCalls } from "./step.ts";
import { saidEntry, TurnLog } from "./turn_log.ts";

/** A turn that holds its session's lease. */
export class TurnAtWork {
  readonly opened: OpenedTurn;
  readonly store: Store;
  /** Tells the operator of an error. */
  readonly report: (error: unknown) => void;
  /** Tells the operator of a model that was passed over. */
  readonly onFallback: (fallback: ModelFallback) => void;
  /** Spans and metrics. */
  readonly telemetry: TurnTelemetry;
  /** The agent's tools, those of the client and the built-in one over this session's log among them. */
  readonly tools: readonly Tool[];
  readonly signals: TurnSignals;
  readonly journal: Journal;
  readonly log: TurnLog;
  readonly mailbox: Mailbox;
  readonly asking: Asking;
  readonly compactor: Compactor;
  readonly calls: StepCalls;
  /** Sums over the model calls of the turn. */
  usage: Usage;
  /** The last step that the model has answered. */
  steps: number;
  /** Calls that wait, and what persons and the user have said to them. */
  pause: Pause;
  /** Calls of which it is known that they have not begun. Of others without a result nobody knows. */
  readonly unbegun: Set<string>;
  /** Whether the end has been told, or need not be. */
  isEnded = false;
  /** Calls that clients have been told of. */
  readonly #called: Set<string>;
  /** Number of the next event. */
  #n: number;
  #give: Give<TurnEvent> | null = null;

  /**
   * Tells whoever follows the turn, and waits until he asks for more: the turn stands still meanwhile. What is numbered
   * already was noted before.
   */
  readonly tell = (told: TurnEventBody | TurnEvent): Promise<void> => {
    const event = "id" in told ? told : this.emit(told);
    if (this.#give === null) return Promise.resolve();
    if (isDelta(event)) return this.#give(event);
    observe(this.telemetry, event);
    return this.#give(event).then(() => this.telemetry.goesOn());
  };

  /**
   * Puts a turn to work.
   *
   * @param opened What it starts with.
   * @param options What can end it, where it is stored, and who listens.
   */
  constructor(
    opened: OpenedTurn,
    { request, ports: { store, onError = reportFault, onFallback = () => {} }, telemetry }: {
      readonly request: Pick<TurnPlace, "signal" | "suspend">;
      readonly ports: TurnPorts;
      readonly telemetry: Telemetry;
    },
  ) {
    const { agent, context, meter, budget, clock, key, lease, head, nextEvent, called, answers } = opened;
    const { model, compaction, summarizer, graceMs = 5_000, maxMs = Infinity, maxTokens = Infinity } = agent;
    this.opened = opened;
    this.store = store;
    this.report = onError;
    this.onFallback = onFallback;
    this.telemetry = telemetry.traceTurn({
      turn: lease.turn,
      session: key.session,
      agent: lease.agent,
      model: model.id,
      dialect: model.dialect,
      takeovers: lease.takeovers,
      clock,
    });
    this.tools = toolsOf(agent, () => context.entries);
    this.#n = nextEvent;
    this.#called = new Set(called);
    this.pause = answers?.pause ?? lease.pause ?? { pending: [], approved: [] };
    this.unbegun = new Set(unbegunIn(opened));
    this.signals = new TurnSignals(request, clock);
    // The time that a turn waits for answers is not its own: it begins anew with them.
    const began = lease.pause === undefined
      ? context.entries.find(({ turn }) => turn === lease.turn)?.at
      : undefined;
    if (maxMs < Infinity) this.signals.failAt((began ?? clock.now()) + maxMs, outOfTime(maxMs));
    this.journal = new Journal({
      store,
      key,
      lease,
      clock,
      ...(context.view.made === undefined ? {} : { made: context.view.made }),
      // Whose session is deleted, is ended, wherever that was asked for.
      onFailure: (error) => isDeleted(error) ? this.signals.cancel(error) : this.signals.fail(error),
      onCancel: () => this.signals.cancel(new DOMException("The turn was cancelled", "AbortError")),
    });
    this.log = new TurnLog({ turn: lease.turn, context, pins: head.pins, journal: this.journal, clock });
    this.mailbox = new Mailbox({ store, owner: key, turn: lease.turn }, context.entries);
    this.asking = new Asking({ agent, asked: opened.asked, context, budget });
    this.compactor = new Compactor({
      context,
      meter,
      budget,
      policy: compaction?.policy ?? "full",
      tools: this.tools,
      journal: this.journal,
      clock,
      flag: head.flag ?? null,
      pinned: () => this.log.pinned,
      signal: this.signals.halt,
      tell: this.tell,
      summarizer: summarizer === undefined ? null : {
        model: summarizer,
        graceMs,
        ownRequest: summarizer === model ? (cut) => this.asking.requestBefore(cut) : null,
        account: {
          hasLeft: () => tokensOf(this.usage) < maxTokens,
          billed: (usage, answered) => {
            this.usage = addUsage(this.usage, usage);
            telemetry.countSummary({ asked: summarizer.id, answered }, usage);
          },
          onFallback,
        },
      },
    });
    this.calls = new StepCalls(this);
    this.usage = billedFor(context.entries, lease.turn);
    this.steps = this.log.answer?.step ?? 0;
  }

  /** Id of the turn. */
  get id(): string {
    return this.opened.lease.turn;
  }

  /** Whether clients have been told of a call. */
  isCalled(ref: string): boolean {
    return this.#called.has(ref);
  }

  /** Numbers an event and notes it for those who come later. */
  emit(body: TurnEventBody): TurnEvent {
    if (body.type === "tool.call") this.#called.add(body.ref);
    const event = { ...body, id: `${this.id}:${this.#n++}` };
    this.journal.event(event);
    return event;
  }

  /** Hands events to whoever follows the turn; to nobody by null. */
  listen(give: Give<TurnEvent> | null): void {
    this.#give = give;
  }

  /** Tells one after the other. */
  async tellAll(all: Iterable<TurnEventBody>): Promise<void> {
    for (const event of all) await this.tell(event);
  }

  /** Stores what there is: behind everything flushed before, and with what the meter knows. */
  flush(end: Pick<Commit, "release" | "suspend" | "settled"> = {}): Promise<void> {
    const { agent, meter, head: { meter: before } } = this.opened;
    const { budget } = this.asking;
    this.journal.change({ meter: storeMeter(agent, { meter, budget, before }), ...end });
    return this.journal.flush();
  }

  /** Appends what the user has said while the turn ran, first what came with answers; no call is open. */
  async receive(
    received: readonly (Said & { readonly mail?: number })[],
  ): Promise<readonly TurnEventBody[]> {
    const { said, ...pause } = this.pause;
    if (said !== undefined) {
      this.pause = pause;
      this.journal.change({ pause });
    }
    const told: TurnEventBody[] = [];
    for (const message of [...(said === undefined ? [] : [said]), ...received]) {
      const entry = saidEntry(message, this.log.place());
      await this.log.append(entry);
      told.push(...this.retell([entry]));
    }
    return told;
  }

  /** Tells what clients may not know of: what the process before has stored, and results of calls never started. */
  retell(untold: readonly (ResultEntry | UserEntry)[]): Iterable<TurnEventBody> {
    const { context } = this.opened;
    const shown = (entry: ResultEntry) => context.shownOutput(entry);
    return retell(untold, { entries: context.entries, called: this.#called, shown });
  }
}

/** Calls of a turn that goes on which the processes before have not begun. */
function unbegunIn({ answers, lease, context }: OpenedTurn): readonly string[] {
  // Nothing that was allowed runs before the last answer is in.
  if (answers !== undefined) return answers.pause.approved;
  if (lease.settled !== lease.epoch - 1) return [];
  return openCalls(context.entries).map(({ call }) => call.ref);
}

function outOfTime(limitMs: number): SelvageError {
  return new SelvageError(
    "turn_out_of_time",
    `Cannot go on with the turn: it took longer than ${limitMs / 1_000} s; what was done is stored`,
  );
}
