/**
 * One turn at work: the only place where the loop lives. Every way out of a turn closes its calls, or leaves them to
 * wait, and gives back the lease, in one place; that is why it is over 300 lines long.
 *
 * @module
 */
import { callsOf } from "../compaction/context.ts";
import { SelvageError } from "../core/errors.ts";
import type {
  AssistantEntry,
  FinishReason,
  Pause,
  ResultEntry,
  Said,
  Tool,
  Usage,
  UserEntry,
} from "../ports.ts";
import { TurnTelemetry } from "../telemetry/turn.ts";
import { isPlausible } from "../tokens/usage.ts";
import type { AnswerRequest, ResumeRequest, TurnPlace, TurnPorts, TurnRequest } from "./agent.ts";
import type { MatchedAnswers } from "./answers.ts";
import { Asking } from "./asking.ts";
import { type Call, openCalls } from "./calls.ts";
import { Compactor } from "./compactor.ts";
import type { TurnEvent, TurnEventBody } from "./events.ts";
import { Journal } from "./journal.ts";
import { retell, untoldOf } from "./left.ts";
import { Mailbox } from "./mailbox.ts";
import { storeMeter } from "./measures.ts";
import { openAnswered, type OpenedTurn, openTurn, reopenTurn } from "./open.ts";
import { PAUSED_KNOWN_MS, pausedName, pendingCalls } from "./pause.ts";
import { toolsOf } from "./recall.ts";
import { addUsage, errorEvent } from "./report.ts";
import { TurnSignals } from "./signals.ts";
import { StepCalls } from "./step.ts";
import { TurnLog } from "./turn_log.ts";
import { sortCalls } from "./waits.ts";

type TurnEnd = Extract<TurnEventBody, { type: "turn.finished" }>["reason"];

/** How a run comes to its end: the turn is over, waits for answers, or is left for another process. */
type Outcome =
  | { readonly kind: "finished"; readonly reason: TurnEnd }
  | { readonly kind: "paused"; readonly pause: Pause }
  | { readonly kind: "left" };

const finished = (reason: TurnEnd): Outcome => ({ kind: "finished", reason });

/** A turn that holds its session's lease. */
export class Turn {
  readonly id: string;
  /** Spans and metrics. */
  readonly telemetry: TurnTelemetry;
  readonly #session: string;
  readonly #opened: OpenedTurn;
  readonly #ports: TurnPorts;
  readonly #signals: TurnSignals;
  readonly #journal: Journal;
  readonly #log: TurnLog;
  readonly #asking: Asking;
  readonly #compactor: Compactor;
  readonly #mailbox: Mailbox;
  readonly #step: StepCalls;
  /** The agent's tools, those of the client and the built-in one over this session's log among them. */
  readonly #tools: readonly Tool[];
  /** Calls that clients have been told of. */
  readonly #called: Set<string>;
  /** Number of the next event. */
  #n: number;
  #pause: Pause;
  #usage: Usage = { inputTokens: 0, outputTokens: 0 };
  #steps = 0;
  #isEnded = false;

  /** Opens a new turn and stores the user's message. */
  static async open(request: TurnRequest, ports: TurnPorts): Promise<Turn> {
    const opened = await openTurn(request, ports);
    const turn = new Turn(opened, { request, ports });
    try {
      const { input, pin, client } = request;
      // What goes into the log in front of the input is stored with it.
      const { entries = [], ...change } = opened.before ?? {};
      turn.#journal.change(change);
      for (const entry of entries) turn.#journal.entry(entry);
      await turn.#log.append({
        kind: "user",
        ...turn.#log.place(),
        message: { role: "user", content: structuredClone(input) },
        ...(pin === true ? { pinned: true } : {}),
        ...opened.asked,
        ...(client === undefined ? {} : { client }),
      });
      await turn.#flush();
    } catch (error) {
      await turn.close();
      throw error;
    }
    return turn;
  }

  /** Takes over a turn that its process left; null where it was taken over too often, and is over now. */
  static async reopen(request: ResumeRequest, ports: TurnPorts): Promise<Turn | null> {
    const opened = await reopenTurn(request, ports);
    return opened === null ? null : new Turn(opened, { request, ports });
  }

  /** Takes answers to calls of a paused turn, and stores them: all, or none. */
  static async answer(request: AnswerRequest, ports: TurnPorts): Promise<Turn> {
    const opened = await openAnswered(request, ports);
    const turn = new Turn(opened, { request, ports });
    try {
      if (opened.answers !== undefined) await turn.#take(opened.answers);
    } catch (error) {
      // What could not be stored was not said: the turn waits on. Where not even that can be stored, the lease runs out.
      turn.#isEnded = true;
      await turn.close();
      await ports.store.commit(opened.key, opened.lease, { suspend: true }).catch(() => {});
      throw error;
    }
    return turn;
  }

  private constructor(
    opened: OpenedTurn,
    { request, ports }: { readonly request: TurnPlace; readonly ports: TurnPorts },
  ) {
    const { agent, context, meter, budget, clock, key, lease, head, nextEvent, called, answers } = opened;
    this.id = lease.turn;
    this.#session = request.session;
    const { model: { id: model, dialect } } = agent;
    this.telemetry = new TurnTelemetry({
      turn: lease.turn,
      session: request.session,
      agent: lease.agent,
      model,
      dialect,
      takeovers: lease.takeovers,
      clock,
    });
    this.#opened = opened;
    this.#tools = toolsOf(agent, () => context.entries);
    this.#ports = ports;
    this.#n = nextEvent;
    this.#called = new Set(called);
    this.#pause = answers?.pause ?? lease.pause ?? { pending: [], approved: [] };
    this.#signals = new TurnSignals(request, clock);
    const { maxMs = Infinity } = agent;
    // The time that a turn waits for answers is not its own: it begins anew with them.
    const began = lease.pause === undefined
      ? context.entries.find(({ turn }) => turn === this.id)?.at
      : undefined;
    if (maxMs < Infinity) this.#signals.failAt((began ?? clock.now()) + maxMs, outOfTime(maxMs));
    this.#journal = new Journal({
      store: ports.store,
      key,
      lease,
      clock,
      ...(context.view.made === undefined ? {} : { made: context.view.made }),
      // Whose session is deleted, is ended, wherever that was asked for.
      onFailure: (error) => isDeleted(error) ? this.#signals.cancel(error) : this.#signals.fail(error),
      onCancel: () => this.#signals.cancel(new DOMException("The turn was cancelled", "AbortError")),
    });
    this.#log = new TurnLog({ turn: lease.turn, context, pins: head.pins, journal: this.#journal, clock });
    this.#mailbox = new Mailbox({ store: ports.store, owner: key, turn: lease.turn }, context.entries);
    this.#asking = new Asking({ agent, asked: opened.asked, context, budget });
    this.#compactor = new Compactor({
      context,
      meter,
      budget,
      policy: agent.compaction?.policy ?? "full",
      tools: this.#tools,
      journal: this.#journal,
      clock,
      flag: head.flag ?? null,
      pinned: () => this.#log.pinned,
      signal: this.#signals.halt,
      summarizer: agent.summarizer === undefined ? null : {
        model: agent.summarizer,
        graceMs: agent.graceMs ?? 5_000,
        ownRequest: agent.summarizer === agent.model ? (cut) => this.#asking.requestBefore(cut) : null,
      },
    });
    this.#step = new StepCalls({
      opened,
      tools: this.#tools,
      asking: this.#asking,
      compactor: this.#compactor,
      log: this.#log,
      signals: this.#signals,
      telemetry: this.telemetry,
      isCalled: (ref) => this.#called.has(ref),
    });
    for (const entry of this.#log.ours) {
      if (entry.kind !== "assistant") continue;
      this.#usage = addUsage(this.#usage, entry.usage);
      this.#steps = entry.step;
    }
  }

  /** Numbers an event and notes it for those who come later. */
  emit(body: TurnEventBody): TurnEvent {
    if (body.type === "tool.call") this.#called.add(body.ref);
    const event = { ...body, id: `${this.id}:${this.#n++}` };
    this.#journal.event(event);
    return event;
  }

  /** Plays the turn to its end, or to a pause. The last event is numbered already: it is stored together with the end. */
  async *run(): AsyncGenerator<TurnEventBody | TurnEvent, void> {
    const { isStarted, lease, agent } = this.#opened;
    if (!isStarted) {
      const { id: turn } = this;
      yield { type: "turn.started", turn, session: this.#session, agent: lease.agent, model: agent.model.id };
    }
    let outcome: Outcome;
    try {
      outcome = yield* this.#play();
    } catch (error) {
      if (this.#signals.isPutDown) outcome = { kind: "left" };
      else {
        outcome = finished(this.#signals.isCancelled ? "aborted" : "error");
        // No tool goes on working for a turn that has failed.
        this.#signals.fail(error);
        if (!this.#signals.isCancelled) yield errorEvent(this.#signals.stop.reason);
      }
    }
    if (outcome.kind === "left") return await this.#putDown();
    let last: TurnEvent | null = null;
    try {
      last = yield* outcome.kind === "paused" ? this.#rest(outcome.pause) : this.#finish(outcome.reason);
    } catch (error) {
      // With its session the turn has ended as it was told to; any other failure is told.
      if (isDeleted(error)) last = this.emit(this.#finishedEvent("aborted"));
      else if (outcome.kind === "paused" || outcome.reason !== "error") yield errorEvent(error);
    }
    this.#isEnded = true;
    // The lease is gone, or lost: no heartbeat while the last event waits to be taken.
    this.#journal.close();
    yield last ?? this.#finishedEvent("error");
  }

  async *#play(): AsyncGenerator<TurnEventBody, Outcome> {
    const outcome = yield* this.#takeUp();
    if (outcome !== null) return outcome;
    yield* this.#compactor.honour();
    return yield* this.#loop();
  }

  /** Ends the turn: the last event and the end of the lease are stored together. */
  async *#finish(reason: TurnEnd): AsyncGenerator<TurnEventBody, TurnEvent> {
    yield* this.#retell(await this.#log.abortOpenCalls());
    // What came in too late to be answered stays in the log, for the next turn.
    yield* await this.#receive(await this.#mailbox.drain());
    if (reason !== "aborted" && reason !== "error") yield* this.#compactor.honour();
    const event = this.emit(this.#finishedEvent(reason));
    await this.#flush({ release: true });
    return event;
  }

  /** Leaves calls to wait: the last event and the pause are stored together, and the lease rests. */
  async *#rest(pause: Pause): AsyncGenerator<TurnEventBody, TurnEvent> {
    const { lease: { agent, turn }, key } = this.#opened;
    yield* this.#compactor.settle();
    const value = { session: key.session, agent };
    await this.#ports.store.claim(key, pausedName(turn), { value, ttlMs: PAUSED_KNOWN_MS });
    const event = this.emit({
      type: "turn.paused",
      reason: pause.pending.some(({ reason }) => reason === "approval") ? "approval" : "tool",
      pending: pendingCalls(pause.pending, this.#log.all),
      usage: this.#usage,
      steps: this.#steps,
    });
    this.#journal.change({ pause });
    await this.#flush({ suspend: true });
    return event;
  }

  #finishedEvent(reason: TurnEnd): TurnEventBody {
    return { type: "turn.finished", reason, usage: this.#usage, steps: this.#steps };
  }

  /** Stores what there is and gives the lease up: whoever meets the turn goes on with it. */
  async #putDown(): Promise<void> {
    this.#isEnded = true;
    this.telemetry.end("suspended");
    try {
      await this.#flush({ suspend: true });
    } finally {
      this.#journal.close();
    }
  }

  /** Aborts whatever is running, unless the turn has ended. */
  leave(): void {
    if (!this.#isEnded) this.#signals.fail(new DOMException("The client has gone", "AbortError"));
  }

  /** Ends a turn that nobody listens to any more: open calls are closed, the lease is given back. */
  async close(): Promise<void> {
    this.#compactor.cancel();
    this.telemetry.end("aborted");
    this.#signals.close();
    try {
      if (this.#isEnded) return;
      this.#isEnded = true;
      for (const body of this.#retell(await this.#log.abortOpenCalls())) this.emit(body);
      for (const body of await this.#receive(await this.#mailbox.drain())) this.emit(body);
      this.emit(this.#finishedEvent("aborted"));
      await this.#flush({ release: true });
    } catch {
      // The journal failed, which has been told or has no listener left; the lease then runs out by itself.
    } finally {
      this.#journal.close();
    }
  }

  /**
   * Appends the results that answers make of calls, and what the user says behind them, and stores them with what is
   * left of the pause. Where calls are still to run, what is said is kept there: it comes behind a whole round.
   */
  async #take({ answered, said }: MatchedAnswers): Promise<void> {
    const step = this.#steps;
    for (const [index, { call: { ref, name }, ...outcome }] of answered.entries()) {
      await this.#step.result(step, {
        ref,
        name,
        open: answered.length - index,
        outcome: { ...outcome, ms: 0 },
      });
    }
    if (said !== undefined) this.#pause = { ...this.#pause, said };
    // What comes of it is told with the results, as what was not told yet.
    if (openCalls(this.#log.all).length === 0) await this.#receive([]);
    this.#journal.change({ pause: this.#pause });
    await this.#flush();
  }

  /**
   * Goes on where the turn stopped before: tells what was done and not told, waits on where calls still do, runs what
   * was allowed, and what may be run twice, and closes the other open calls. Gives the end of a turn that had reached
   * it; a new turn has all before it.
   */
  async *#takeUp(): AsyncGenerator<TurnEventBody, Outcome | null> {
    const { told, answers } = this.#opened;
    const { ours } = this.#log;
    if (ours.length === 0) {
      throw new SelvageError("turn_lost", "The turn is lost: its process ended before the input was stored");
    }
    yield* this.#retell(untoldOf(ours, told));
    const last = ours.findLast((entry) => entry.kind === "assistant");
    if (last === undefined) return null;
    if (answers !== undefined) yield* this.#compactor.check();
    if (this.#pause.pending.length > 0) return { kind: "paused", pause: this.#pause };
    const { step, reason } = last;
    const open = openCalls(this.#log.all).map(({ call }) => call);
    const { approved } = this.#pause;
    // What was only just allowed has never run; of what was allowed before, nobody knows.
    const mayRun = (call: Call): boolean =>
      answers !== undefined ? approved.includes(call.ref) : this.#isRepeatable(call);
    const known = open.filter(({ ref }) => approved.includes(ref));
    const sorted = await sortCalls(
      open.filter((call) => !known.includes(call)),
      this.#step.callOptions(reason),
    );
    const run = [...known, ...sorted.run].filter(mayRun).toSorted((a, b) =>
      open.indexOf(a) - open.indexOf(b)
    );
    const waiting = sorted.waiting.map(({ ref }) => ref);
    yield* this.#retell(
      await this.#log.abortOpenCalls((call) =>
        !waiting.includes(call.ref) && !run.some(({ ref }) => ref === call.ref)
      ),
    );
    const pause = yield* this.#step.run(step, { ...sorted, run, reason });
    if (pause !== null) return { kind: "paused", pause };
    this.#signals.halt.throwIfAborted();
    const hasCalls = callsOf(last).length > 0;
    if (hasCalls) return reason === "content-filter" ? finished(reason) : null;
    // Something was said after the answer that would have ended the turn.
    if (ours.at(-1)?.kind === "user") return null;
    return yield* this.#answered(reason);
  }

  /** The model has answered, and asks for nothing more: the end, unless something was said meanwhile. */
  async *#answered(reason: FinishReason): AsyncGenerator<TurnEventBody, Outcome | null> {
    const received = await this.#mailbox.close();
    yield* await this.#receive(received);
    return received.length > 0 ? null : finished(reason === "tool-calls" ? "stop" : reason);
  }

  /** Appends what the user has said while the turn ran, first what came with answers; no call is open. */
  async #receive(
    received: readonly (Said & { readonly mail?: number })[],
  ): Promise<readonly TurnEventBody[]> {
    const told: TurnEventBody[] = [];
    const { said, ...pause } = this.#pause;
    if (said !== undefined) {
      this.#pause = pause;
      this.#journal.change({ pause });
    }
    for (const { input, ...rest } of [...(said === undefined ? [] : [said]), ...received]) {
      const place = this.#log.place();
      await this.#log.append({ kind: "user", ...place, message: { role: "user", content: input }, ...rest });
      told.push({ type: "user.message", ref: `e${place.seq}`, input });
    }
    return told;
  }

  /** Tells what clients may not know of: what the process before has stored, and results of calls never started. */
  #retell(untold: readonly (ResultEntry | UserEntry)[]): Iterable<TurnEventBody> {
    const { context } = this.#opened;
    const shown = (entry: ResultEntry) => context.shownOutput(entry);
    return retell(untold, { entries: context.entries, called: this.#called, shown });
  }

  #isRepeatable({ name }: Call): boolean {
    return this.#tools.find((tool) => tool.name === name)?.sideEffect === "none";
  }

  async *#loop(): AsyncGenerator<TurnEventBody, Outcome> {
    const { context, meter, agent: { model, maxSteps = 50, maxTokens = Infinity } } = this.#opened;
    for (let step = this.#steps + 1; step <= maxSteps; step++) {
      this.#signals.halt.throwIfAborted();
      const used = this.#usage.inputTokens + this.#usage.outputTokens;
      if (used >= maxTokens) throw outOfTokens(used, maxTokens);
      // Nobody knows of a turn before its first step.
      if (step > 1) yield* await this.#receive(await this.#mailbox.take());
      if (!(yield* this.#compactor.admit())) {
        throw new SelvageError(
          "context_exhausted",
          "Cannot call the model: the context is over its limit and no legal cut makes it smaller; " +
            "the log is intact, start a new session or use a model with a larger window",
        );
      }
      yield { type: "step.started", step };
      const { message, reason, usage, model: answeredBy } = yield* this.#asking.ask(step, {
        signal: this.#signals.halt,
        compactor: this.#compactor,
      });
      this.telemetry.answered({ reason, usage });
      this.#usage = addUsage(this.#usage, usage);
      const entry: AssistantEntry = {
        kind: "assistant",
        ...this.#log.place(),
        step,
        message,
        reason,
        model: answeredBy ?? model.id,
        prefix: this.#asking.prefix,
        ...(usage === undefined ? {} : { usage }),
      };
      await this.#log.append(entry);
      this.#steps = step;
      const { window, maxOutput } = this.#asking.budget;
      const limits = { bound: context.boundFrom(0), window, maxOutput };
      if (isPlausible(usage, limits)) meter.anchor(usage, context.length);
      else meter.doubt(usage);
      // Barrier: calls are stored before their tools start, so that no effect is without a record.
      await this.#flush();
      yield* this.#compactor.check();
      const calls = callsOf(entry);
      if (calls.length === 0) {
        const outcome = yield* this.#answered(reason);
        if (outcome !== null) return outcome;
        continue;
      }
      const sorted = await sortCalls(calls, this.#step.callOptions(reason));
      const pause = yield* this.#step.run(step, { ...sorted, reason });
      if (pause !== null) return { kind: "paused", pause };
      if (reason === "content-filter") return finished(reason);
      // The write overlaps the next model call; the next barrier waits for it.
      void this.#flush();
    }
    return finished("max-steps");
  }

  #flush(end: { readonly release?: true; readonly suspend?: true } = {}): Promise<void> {
    const { agent, meter } = this.#opened;
    this.#journal.change({ meter: storeMeter(agent, { meter, budget: this.#asking.budget }), ...end });
    return this.#journal.flush();
  }
}

function outOfTokens(used: number, limit: number): SelvageError {
  return new SelvageError(
    "turn_out_of_tokens",
    `Cannot go on with the turn: found ${used} tokens used, wanted at most ${limit}; what was done is stored`,
  );
}

function outOfTime(limitMs: number): SelvageError {
  return new SelvageError(
    "turn_out_of_time",
    `Cannot go on with the turn: it took longer than ${limitMs / 1_000} s; what was done is stored`,
  );
}

function isDeleted(error: unknown): boolean {
  return error instanceof SelvageError && error.code === "lease_lost" && error.fields["isDeleted"] === true;
}
