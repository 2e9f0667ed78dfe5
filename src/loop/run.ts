/**
 * One turn at work: the only place where the loop lives. It is over 300 lines long because every way out of a turn
 * must close calls and give back the lease in one place.
 *
 * @module
 */
import type { Budget } from "../compaction/budget.ts";
import { isPlausible } from "../tokens/usage.ts";
import { callsOf } from "../compaction/context.ts";
import { prefixName } from "../compaction/prefix.ts";
import { SelvageError } from "../core/errors.ts";
import type { ToolOutput } from "../core/message.ts";
import type {
  AssistantEntry,
  Entry,
  FinishReason,
  ModelRequest,
  ResultEntry,
  Tool,
  Usage,
} from "../ports.ts";
import type { ResumeRequest, TurnPorts, TurnRequest } from "./agent.ts";
import { type Answer, askModel } from "./ask.ts";
import { abortedResult, type Call, openCalls, runCalls } from "./calls.ts";
import { capOf } from "./cap.ts";
import { Compactor } from "./compactor.ts";
import type { TurnEvent, TurnEventBody } from "./events.ts";
import { Journal } from "./journal.ts";
import { budgetOf, schemasOf, storeMeter } from "./measures.ts";
import { retell } from "./left.ts";
import { TurnTelemetry } from "../telemetry/turn.ts";
import { toolsOf } from "./recall.ts";
import { requestOf } from "./request.ts";
import { type OpenedTurn, openTurn, reopenTurn } from "./open.ts";
import { addUsage, callEvent, errorEvent, resultEvent } from "./report.ts";

type TurnEnd = Extract<TurnEventBody, { type: "turn.finished" }>["reason"];

/** Milliseconds for which a turn that is put down waits for tools in hand. */
const HANDS_MS = 3_000;

/** A turn that holds its session's lease. */
export class Turn {
  readonly id: string;
  /** Spans and metrics. */
  readonly telemetry: TurnTelemetry;
  readonly #request: TurnRequest | ResumeRequest;
  readonly #opened: OpenedTurn;
  readonly #journal: Journal;
  readonly #compactor: Compactor;
  /** Ends the turn. */
  readonly #stop = new AbortController();
  /** Ends what can be done again: model calls. Aborted with `#stop`, and to put the turn down unfinished. */
  readonly #halt = new AbortController();
  /** Ends tools. Aborted with `#stop`, and where a turn that is put down has waited for them long enough. */
  readonly #hands = new AbortController();
  readonly #closed = new AbortController();
  readonly #onAbort: () => void;
  readonly #onSuspend: () => void;
  /** Number of the entry that holds this turn's input. */
  #task: number;
  #isCancelled = false;
  /** Calls that clients have been told of. */
  readonly #called: Set<string>;
  /** Number of the next event. */
  #n: number;
  #budget: Budget;
  /** The agent's tools, the built-in one over this session's log among them. */
  readonly #tools: readonly Tool[];
  /** Name of what comes before the messages of each request. */
  readonly #prefix: string;
  #usage: Usage = { inputTokens: 0, outputTokens: 0 };
  #steps = 0;
  #isEnded = false;

  /** Opens a new turn and stores the user's message. */
  static async open(request: TurnRequest, ports: TurnPorts): Promise<Turn> {
    const turn = new Turn(await openTurn(request, ports), { request, ports });
    try {
      const { input, pin, client } = request;
      turn.#begin();
      turn.#task = turn.#opened.context.entries.length;
      await turn.#append({
        kind: "user",
        ...turn.#place(),
        message: { role: "user", content: structuredClone(input) },
        ...(pin === true ? { pinned: true } : {}),
        ...turn.#opened.asked,
        ...(client === undefined ? {} : { client }),
      });
      await turn.#flush();
    } catch (error) {
      await turn.close();
      throw error;
    }
    return turn;
  }

  /** Notes what goes into the log in front of the input. */
  #begin(): void {
    const { entries = [], ...change } = this.#opened.before ?? {};
    this.#journal.change(change);
    for (const entry of entries) this.#journal.entry(entry);
  }

  /** Takes over a turn that its process left; null where it was taken over too often, and is over now. */
  static async reopen(request: ResumeRequest, ports: TurnPorts): Promise<Turn | null> {
    const opened = await reopenTurn(request, ports);
    return opened === null ? null : new Turn(opened, { request, ports });
  }

  private constructor(
    opened: OpenedTurn,
    { request, ports }: { readonly request: TurnRequest | ResumeRequest; readonly ports: TurnPorts },
  ) {
    const { agent, context, meter, budget, clock, key, lease, head, nextEvent, called } = opened;
    this.id = lease.turn;
    const { session, agent: { model: { id: model, dialect } } } = request;
    this.telemetry = new TurnTelemetry({
      turn: lease.turn,
      session,
      agent: lease.agent,
      model,
      dialect,
      takeovers: lease.takeovers,
      clock,
    });
    this.#request = request;
    this.#opened = opened;
    this.#budget = budget;
    this.#tools = toolsOf(agent, () => context.entries);
    this.#prefix = prefixName({ system: agent.system ?? "", tools: schemasOf(agent), model: agent.model.id });
    this.#n = nextEvent;
    this.#called = new Set(called);
    const ours = this.#entries();
    this.#task = ours.find((entry) => entry.kind === "user")?.seq ?? context.entries.length;
    for (const entry of ours) {
      if (entry.kind !== "assistant") continue;
      this.#usage = addUsage(this.#usage, entry.usage);
      this.#steps = entry.step;
    }
    this.#journal = new Journal({
      store: ports.store,
      key,
      lease,
      clock,
      ...(context.view.made === undefined ? {} : { made: context.view.made }),
      // Whose session is deleted, is ended, wherever that was asked for.
      onFailure: (error) => isDeleted(error) ? this.#cancel(error) : this.#stop.abort(error),
      onCancel: () => this.#cancel(new DOMException("The turn was cancelled", "AbortError")),
    });
    this.#compactor = new Compactor({
      context,
      meter,
      budget,
      policy: agent.compaction?.policy ?? "full",
      tools: this.#tools,
      journal: this.#journal,
      clock,
      flag: head.flag ?? null,
      pinned: () => this.#pinned(),
      signal: this.#halt.signal,
      summarizer: agent.summarizer === undefined ? null : {
        model: agent.summarizer,
        graceMs: agent.graceMs ?? 5_000,
        ownRequest: agent.summarizer === agent.model ? (cut) => this.#requestBefore(cut) : null,
      },
    });
    const { signal, suspend } = request;
    this.#stop.signal.addEventListener("abort", () => {
      this.#halt.abort(this.#stop.signal.reason);
      this.#hands.abort(this.#stop.signal.reason);
    });
    this.#onAbort = () => this.#cancel(signal?.reason);
    this.#onSuspend = () => {
      this.#halt.abort(suspend?.reason);
      clock.sleep(HANDS_MS, this.#closed.signal).then(() => this.#hands.abort(suspend?.reason), () => {});
    };
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    suspend?.addEventListener("abort", this.#onSuspend, { once: true });
    if (signal?.aborted) this.#onAbort();
    if (suspend?.aborted) this.#onSuspend();
    const { maxMs = Infinity } = agent;
    if (maxMs < Infinity) {
      const left = (ours[0]?.at ?? clock.now()) + maxMs - clock.now();
      clock.sleep(Math.max(0, left), this.#closed.signal).then(
        () => this.#stop.abort(outOfTime(maxMs)),
        () => {},
      );
    }
  }

  #cancel(reason: unknown): void {
    this.#isCancelled = true;
    this.#stop.abort(reason);
  }

  /** Entries of this turn that are in the log. */
  #entries(): readonly Entry[] {
    return this.#opened.context.entries.filter((entry) => entry.turn === this.id);
  }

  /** Numbers an event and notes it for those who come later. */
  emit(body: TurnEventBody): TurnEvent {
    if (body.type === "tool.call") this.#called.add(body.ref);
    const event = { ...body, id: `${this.id}:${this.#n++}` };
    this.#journal.event(event);
    return event;
  }

  /** Plays the turn to its end. The last event is numbered already: it is stored together with the end. */
  async *run(): AsyncGenerator<TurnEventBody | TurnEvent, void> {
    const { session } = this.#request;
    const { agent, isStarted, lease } = this.#opened;
    if (!isStarted) {
      yield { type: "turn.started", turn: this.id, session, agent: lease.agent, model: agent.model.id };
    }
    let reason: TurnEnd | null;
    try {
      reason = yield* this.#takeUp();
      if (reason === null) {
        yield* this.#compactor.honour();
        reason = yield* this.#loop();
      }
    } catch (error) {
      if (this.#halt.signal.aborted && !this.#stop.signal.aborted) reason = null;
      else {
        reason = this.#isCancelled ? "aborted" : "error";
        // No tool goes on working for a turn that has failed.
        this.#stop.abort(error);
        if (reason === "error") yield errorEvent(this.#stop.signal.reason);
      }
    }
    if (reason === null) return await this.#putDown();
    let finished: TurnEvent | null = null;
    try {
      yield* this.#retell(await this.#abortOpenCalls());
      if (reason !== "aborted" && reason !== "error") yield* this.#compactor.honour();
      finished = this.emit(this.#finishedEvent(reason));
      await this.#flush({ release: true });
    } catch (error) {
      // With its session the turn has ended as it was told to; any other failure is told.
      if (!isDeleted(error)) finished = null;
      if (finished === null && reason !== "error") yield errorEvent(error);
    }
    this.#isEnded = true;
    // The lease is gone, or lost: no heartbeat while the last event waits to be taken.
    this.#journal.close();
    yield finished ?? this.#finishedEvent("error");
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
    if (!this.#isEnded) this.#stop.abort(new DOMException("The client has gone", "AbortError"));
  }

  /** Ends a turn that nobody listens to any more: open calls are closed, the lease is given back. */
  async close(): Promise<void> {
    const { signal, suspend } = this.#request;
    this.#compactor.cancel();
    this.telemetry.end("aborted");
    this.#closed.abort(new DOMException("The turn is closed", "AbortError"));
    signal?.removeEventListener("abort", this.#onAbort);
    suspend?.removeEventListener("abort", this.#onSuspend);
    try {
      if (this.#isEnded) return;
      this.#isEnded = true;
      for (const body of this.#retell(await this.#abortOpenCalls())) this.emit(body);
      this.emit(this.#finishedEvent("aborted"));
      await this.#flush({ release: true });
    } catch {
      // The journal failed, which has been told or has no listener left; the lease then runs out by itself.
    } finally {
      this.#journal.close();
    }
  }

  /**
   * Goes on where the process before stopped: tells what it did and could not tell, runs calls again that may be
   * run twice, and closes the others. Gives the end of a turn that had reached it; a new turn has all before it.
   */
  async *#takeUp(): AsyncGenerator<TurnEventBody, TurnEnd | null> {
    const { told } = this.#opened;
    const ours = this.#entries();
    if (ours.length === 0) {
      throw new SelvageError("turn_lost", "The turn is lost: its process ended before the input was stored");
    }
    const untold = ours.filter((entry): entry is ResultEntry =>
      entry.kind === "result" && !told.has(entry.call)
    );
    yield* this.#retell(untold);
    const last = ours.findLast((entry) => entry.kind === "assistant");
    if (last === undefined) return null;
    const { step, reason } = last;
    const open = openCalls(this.#opened.context.entries).map(({ call }) => call);
    const again = open.filter((call) => this.#isRepeatable(call));
    yield* this.#retell(await this.#abortOpenCalls((call) => !this.#isRepeatable(call)));
    yield* this.#runCalls(step, { calls: again, reason });
    this.#halt.signal.throwIfAborted();
    const hasCalls = callsOf(last).length > 0;
    if (!hasCalls) return reason === "tool-calls" ? "stop" : reason;
    return reason === "content-filter" ? reason : null;
  }

  /** Tells results of calls that clients may not know of: those of the process before, and those never started. */
  #retell(results: readonly ResultEntry[]): Iterable<TurnEventBody> {
    const { context } = this.#opened;
    const shown = (entry: ResultEntry): ToolOutput => context.shownOutput(entry);
    return retell(results, { entries: context.entries, called: this.#called, shown });
  }

  #isRepeatable({ name }: Call): boolean {
    return this.#tools.find((tool) => tool.name === name)?.sideEffect === "none";
  }

  async *#loop(): AsyncGenerator<TurnEventBody, TurnEnd> {
    const { agent: { model, maxSteps = 50, maxTokens = Infinity }, context, meter } = this.#opened;
    for (let step = this.#steps + 1; step <= maxSteps; step++) {
      this.#halt.signal.throwIfAborted();
      const used = this.#usage.inputTokens + this.#usage.outputTokens;
      if (used >= maxTokens) throw outOfTokens(used, maxTokens);
      if (!(yield* this.#compactor.admit())) {
        throw new SelvageError(
          "context_exhausted",
          "Cannot call the model: the context is over its limit and no legal cut makes it smaller; " +
            "the log is intact, start a new session or use a model with a larger window",
        );
      }
      yield { type: "step.started", step };
      const { message, reason, usage } = yield* this.#ask(step);
      this.telemetry.answered({ reason, usage });
      const prefix = context.prefixOf(this.#prefix);
      this.#usage = addUsage(this.#usage, usage);
      const entry: AssistantEntry = {
        kind: "assistant",
        ...this.#place(),
        step,
        message,
        reason,
        model: model.id,
        prefix,
        ...(usage === undefined ? {} : { usage }),
      };
      await this.#append(entry);
      this.#steps = step;
      const limits = {
        bound: context.boundFrom(0),
        window: this.#budget.window,
        maxOutput: this.#budget.maxOutput,
      };
      if (isPlausible(usage, limits)) meter.anchor(usage, context.length);
      else meter.doubt(usage);
      // Barrier: calls are stored before their tools start, so that no effect is without a record.
      await this.#flush();
      yield* this.#compactor.check();
      const calls = callsOf(entry);
      if (calls.length === 0) return reason === "tool-calls" ? "stop" : reason;
      yield* this.#runCalls(step, { calls, reason });
      if (reason === "content-filter") return reason;
      // The write overlaps the next model call; the next barrier waits for it.
      void this.#flush();
    }
    return "max-steps";
  }

  /** Asks the model. A provider that finds the request too long gets one forced compaction and one retry. */
  async *#ask(step: number): AsyncGenerator<TurnEventBody, Answer> {
    const { model } = this.#opened.agent;
    const { signal } = this.#halt;
    for (let isFirst = true;; isFirst = false) {
      let isSilent = true;
      const seq = this.#opened.context.entries.length;
      try {
        const onDelta = (): void => void (isSilent = false);
        return yield* askModel({ model, request: this.#modelRequest() }, { step, seq, signal, onDelta });
      } catch (error) {
        const isTooLong = error instanceof SelvageError && error.code === "context_length_exceeded";
        if (!isTooLong || !isSilent || !isFirst) throw error;
        this.#learnWindow(error.fields["window"]);
        if (!(yield* this.#compactor.refused())) throw error;
      }
    }
  }

  /** A provider that names a smaller window than its model claims is believed, for the rest of the session. */
  #learnWindow(window: unknown): void {
    if (typeof window !== "number" || !(window > 0 && window < this.#budget.window)) return;
    const { agent } = this.#opened;
    try {
      this.#budget = budgetOf(agent, { model: agent.model.id, window });
      this.#compactor.use(this.#budget);
    } catch {
      // A window too small to work in at all: the forced compaction is tried under the old thresholds.
    }
  }

  #modelRequest(): ModelRequest {
    const { agent, asked, context } = this.#opened;
    const { maxOutput } = this.#budget;
    const messages = context.messages(this.#prefix);
    return requestOf({ agent, asked, step: this.#steps + 1, messages, maxOutput });
  }

  /** What the model has been sent before, up to an entry. */
  #requestBefore(cut: number): Omit<ModelRequest, "maxOutput"> {
    const { context } = this.#opened;
    const [at] = context.positionsOf([cut]);
    const { maxOutput: _, settings: __, ...request } = this.#modelRequest();
    return { ...request, messages: context.messages(this.#prefix, at) };
  }

  /** Runs the calls of a step; each result is appended and checked as it lands. */
  async *#runCalls(
    step: number,
    { calls, reason }: { readonly calls: readonly Call[]; readonly reason: FinishReason },
  ): AsyncGenerator<TurnEventBody, void> {
    const { tenant = "local", user, session } = this.#request;
    const { agent, context, meter, clock } = this.#opened;
    const progress = runCalls(calls, {
      agent,
      tools: this.#tools,
      reason,
      context: { session, tenant, ...(user === undefined ? {} : { user }) },
      signal: this.#hands.signal,
      halt: this.#halt.signal,
      clock,
      within: (call, run) => this.telemetry.tool(call, run),
    });
    for await (const made of progress) {
      const { call: { ref, name } } = made;
      if (made.kind === "started") {
        yield callEvent(step, made.call);
        continue;
      }
      const cap = await capOf(made.outcome.output, { open: made.open, context, meter, budget: this.#budget });
      const entry: ResultEntry = {
        kind: "result",
        ...this.#place(),
        step,
        call: ref,
        toolName: name,
        ...made.outcome,
        ...(cap === null ? {} : { cap }),
      };
      await this.#append(entry);
      yield this.#resultEvent(entry);
      yield* this.#compactor.check();
    }
  }

  /** Closes open calls, those of earlier turns too, as aborted. */
  async #abortOpenCalls(isMeant: (call: Call) => boolean = () => true): Promise<readonly ResultEntry[]> {
    const closed: ResultEntry[] = [];
    for (const open of openCalls(this.#opened.context.entries)) {
      if (!isMeant(open.call)) continue;
      const result = abortedResult(open, this.#place());
      await this.#append(result);
      closed.push(result);
    }
    return closed;
  }

  /** Where the next entry of this turn stands. */
  #place(): { readonly seq: number; readonly turn: string; readonly at: number } {
    const { context, clock } = this.#opened;
    return { seq: context.entries.length, turn: this.id, at: clock.now() };
  }

  async #append(entry: Entry): Promise<void> {
    await this.#opened.context.append(entry);
    this.#journal.entry(entry);
  }

  #flush(end: { readonly release?: true; readonly suspend?: true } = {}): Promise<void> {
    const meter = storeMeter(this.#opened.agent, { meter: this.#opened.meter, budget: this.#budget });
    this.#journal.change({ meter, ...end });
    return this.#journal.flush();
  }

  #pinned(): readonly number[] {
    const pinned = this.#opened.context.entries.flatMap((entry) =>
      entry.kind === "user" && entry.pinned === true ? [entry.seq] : []
    );
    return pinned.includes(this.#task) ? pinned : [...pinned, this.#task];
  }

  #resultEvent(entry: ResultEntry): TurnEventBody {
    return resultEvent(entry, this.#opened.context.shownOutput(entry));
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
