/**
 * The turn: the only place where the loop lives. An async generator of events; every protocol encodes it. It is
 * over 300 lines long because every way out of a turn must close calls and give back the lease in one place.
 *
 * @module
 */
import type { Budget } from "../compaction/budget.ts";
import { isPlausible } from "../tokens/usage.ts";
import { callsOf } from "../compaction/context.ts";
import { SelvageError } from "../core/errors.ts";
import type { AssistantEntry, Entry, FinishReason, ModelRequest, ResultEntry, Usage } from "../ports.ts";
import type { TurnPorts, TurnRequest } from "./agent.ts";
import { type Answer, askModel } from "./ask.ts";
import { type Call, openCalls, runCalls } from "./calls.ts";
import { capOf } from "./cap.ts";
import { Compactor } from "./compactor.ts";
import type { TurnEvent, TurnEventBody } from "./events.ts";
import { Journal } from "./journal.ts";
import { budgetOf, schemasOf, storeMeter } from "./measures.ts";
import { type OpenedTurn, openTurn } from "./open.ts";
import { addUsage, errorEvent, resultEvent } from "./report.ts";
import { ABORTED } from "./tools.ts";

type TurnEnd = Extract<TurnEventBody, { type: "turn.finished" }>["reason"];

/**
 * Runs one turn: from a user message to the assistant's final answer.
 *
 * @param request Agent, session and input.
 * @param ports Store and clock.
 * @returns The events of the turn, `turn.started` first and `turn.finished` last. Leaving the iteration early
 *   cancels the turn. The first `next()` rejects with a `SelvageError` when the turn cannot start:
 *   `turn_running`, `input_empty`, `input_too_large`, `bad_budget`; nothing is stored then.
 *
 * @example
 * ```ts
 * import { memoryStore, runTurn, scripted } from "@selvage/selvage";
 *
 * const agent = { model: scripted({ script: () => ({ text: "Hello." }) }) };
 * for await (const event of runTurn({ agent, session: "s1", input: "Hi" }, { store: memoryStore() })) {
 *   if (event.type === "text.delta") console.log(event.text);
 * }
 * ```
 */
export async function* runTurn(request: TurnRequest, ports: TurnPorts): AsyncGenerator<TurnEvent, void> {
  const turn = await Turn.open(request, ports);
  const events = turn.run();
  try {
    let n = 0;
    for (let next = await events.next(); next.done !== true; next = await events.next()) {
      yield { ...next.value, id: `${turn.id}:${n++}` };
    }
  } finally {
    // First the abort, then the unwinding: a model that hangs would hold a listener who has gone.
    turn.leave();
    try {
      await events.return();
    } finally {
      await turn.close();
    }
  }
}

class Turn {
  readonly id: string;
  readonly #request: TurnRequest;
  readonly #opened: OpenedTurn;
  readonly #journal: Journal;
  readonly #compactor: Compactor;
  readonly #stop = new AbortController();
  readonly #onAbort: () => void;
  /** Number of the entry that holds this turn's input. */
  readonly #task: number;
  #budget: Budget;
  #usage: Usage = { inputTokens: 0, outputTokens: 0 };
  #steps = 0;
  #isEnded = false;

  static async open(request: TurnRequest, ports: TurnPorts): Promise<Turn> {
    const turn = new Turn(await openTurn(request, ports), { request, ports });
    try {
      await turn.#begin();
    } catch (error) {
      await turn.close();
      throw error;
    }
    return turn;
  }

  private constructor(
    opened: OpenedTurn,
    { request, ports }: { readonly request: TurnRequest; readonly ports: TurnPorts },
  ) {
    const { context, meter, budget, clock, key, lease, head } = opened;
    const { agent } = request;
    this.id = opened.id;
    this.#request = request;
    this.#opened = opened;
    this.#budget = budget;
    this.#task = context.entries.length + openCalls(context.entries).length;
    this.#journal = new Journal({
      store: ports.store,
      key,
      lease,
      clock,
      onFailure: (error) => this.#stop.abort(error),
    });
    this.#compactor = new Compactor({
      context,
      meter,
      budget,
      policy: agent.compaction?.policy ?? "full",
      tools: agent.tools ?? [],
      journal: this.#journal,
      clock,
      flag: head.flag ?? null,
      pinned: () => this.#pinned(),
    });
    this.#onAbort = () => this.#stop.abort(request.signal?.reason);
    request.signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (request.signal?.aborted) this.#onAbort();
  }

  /** Closes what a crashed turn left open, and stores the user's message. */
  async #begin(): Promise<void> {
    await this.#abortOpenCalls();
    const { input, pin } = this.#request;
    await this.#append({
      kind: "user",
      ...this.#place(),
      message: { role: "user", content: structuredClone(input) },
      ...(pin === true ? { pinned: true } : {}),
    });
    await this.#flush();
  }

  async *run(): AsyncGenerator<TurnEventBody, void> {
    const { agent, agentName = "default", session, signal } = this.#request;
    yield { type: "turn.started", turn: this.id, session, agent: agentName, model: agent.model.id };
    let reason: TurnEnd;
    try {
      yield* this.#compactor.honour();
      reason = yield* this.#loop();
    } catch (error) {
      reason = signal?.aborted === true ? "aborted" : "error";
      // No tool goes on working for a turn that has failed.
      this.#stop.abort(error);
      if (reason === "error") yield errorEvent(this.#stop.signal.reason);
    }
    try {
      for (const entry of await this.#abortOpenCalls()) yield this.#resultEvent(entry);
      if (reason !== "aborted" && reason !== "error") yield* this.#compactor.honour();
      await this.#flush(true);
    } catch (error) {
      if (reason !== "error") yield errorEvent(error);
      reason = "error";
    }
    this.#isEnded = true;
    // The lease is gone, or lost: no heartbeat while the last event waits to be taken.
    this.#journal.close();
    yield { type: "turn.finished", reason, usage: this.#usage, steps: this.#steps };
  }

  /** Aborts whatever is running, unless the turn has ended. */
  leave(): void {
    if (!this.#isEnded) this.#stop.abort(new DOMException("The client has gone", "AbortError"));
  }

  /** Ends a turn that nobody listens to any more: open calls are closed, the lease is given back. */
  async close(): Promise<void> {
    this.#request.signal?.removeEventListener("abort", this.#onAbort);
    try {
      if (this.#isEnded) return;
      this.#isEnded = true;
      await this.#abortOpenCalls();
      await this.#flush(true);
    } catch {
      // The journal failed, which has been told or has no listener left; the lease then runs out by itself.
    } finally {
      this.#journal.close();
    }
  }

  async *#loop(): AsyncGenerator<TurnEventBody, TurnEnd> {
    const { agent: { model, maxSteps = 50 } } = this.#request;
    const { context, meter } = this.#opened;
    for (let step = 1; step <= maxSteps; step++) {
      this.#stop.signal.throwIfAborted();
      if (!(yield* this.#compactor.admit())) {
        throw new SelvageError(
          "context_exhausted",
          "Cannot call the model: the context is over its limit and no legal cut makes it smaller; " +
            "the log is intact, start a new session or use a model with a larger window",
        );
      }
      this.#steps = step;
      yield { type: "step.started", step };
      const { message, reason, usage } = yield* this.#ask(step);
      this.#usage = addUsage(this.#usage, usage);
      const entry: AssistantEntry = {
        kind: "assistant",
        ...this.#place(),
        step,
        message,
        reason,
        model: model.id,
        ...(usage === undefined ? {} : { usage }),
      };
      await this.#append(entry);
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
    const { model } = this.#request.agent;
    const { signal } = this.#stop;
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
    const { agent } = this.#request;
    try {
      this.#budget = budgetOf(agent, { model: agent.model.id, window });
      this.#compactor.use(this.#budget);
    } catch {
      // A window too small to work in at all: the forced compaction is tried under the old thresholds.
    }
  }

  #modelRequest(): ModelRequest {
    const { agent } = this.#request;
    const { context } = this.#opened;
    const budget = this.#budget;
    return {
      system: agent.system ?? "",
      messages: context.messages(),
      tools: schemasOf(agent),
      maxOutput: budget.maxOutput,
    };
  }

  /** Runs the calls of a step; each result is appended and checked as it lands. */
  async *#runCalls(
    step: number,
    { calls, reason }: { readonly calls: readonly Call[]; readonly reason: FinishReason },
  ): AsyncGenerator<TurnEventBody, void> {
    const { agent, tenant = "local", user, session } = this.#request;
    const { context, meter, clock } = this.#opened;
    const progress = runCalls(calls, {
      agent,
      reason,
      context: { session, tenant, ...(user === undefined ? {} : { user }) },
      signal: this.#stop.signal,
      clock,
    });
    for await (const made of progress) {
      const { index, call: { ref, name, input } } = made;
      if (made.kind === "started") {
        yield { type: "tool.call", step, call: index, ref, name, input };
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

  async #abortOpenCalls(): Promise<readonly ResultEntry[]> {
    const closed: ResultEntry[] = [];
    for (const { entry, call } of openCalls(this.#opened.context.entries)) {
      const result: ResultEntry = {
        kind: "result",
        ...this.#place(),
        turn: entry.turn,
        step: entry.step,
        call: call.ref,
        toolName: call.name,
        status: "aborted",
        output: ABORTED,
        ms: 0,
      };
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

  #flush(release = false): Promise<void> {
    const meter = storeMeter(this.#request.agent, { meter: this.#opened.meter, budget: this.#budget });
    this.#journal.change({ meter, ...(release ? { release } : {}) });
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
