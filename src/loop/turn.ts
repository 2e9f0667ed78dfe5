/**
 * The turn: the only place where the loop lives. An async generator of events; every protocol encodes it.
 *
 * @module
 */
import { computeBudget } from "../compaction/budget.ts";
import { callsOf, Context, type StoredView } from "../compaction/context.ts";
import { SelvageError } from "../core/errors.ts";
import type { Message, ToolOutput } from "../core/message.ts";
import type {
  AssistantEntry,
  Clock,
  Entry,
  FinishReason,
  Lease,
  ModelEvent,
  ModelRequest,
  ResultEntry,
  SessionKey,
  SessionState,
  Usage,
} from "../ports.ts";
import {
  boundTokens,
  measureOutput,
  measurePart,
  measureText,
  outputText,
  type TextMeasure,
} from "../tokens/measure.ts";
import { ContextMeter, type MeterState } from "../tokens/meter.ts";
import { abortable } from "./abortable.ts";
import type { Agent, TurnPorts, TurnRequest } from "./agent.ts";
import { systemClock } from "./clock.ts";
import { Compactor } from "./compactor.ts";
import type { TurnEvent, TurnEventBody } from "./events.ts";
import { Journal, LEASE_TTL_MS } from "./journal.ts";
import { fixedTokens, loadMeasure, schemasOf } from "./measures.ts";
import { ABORTED, type CallOutcome, runCall } from "./tools.ts";

type TurnEnd = Extract<TurnEventBody, { type: "turn.finished" }>["reason"];
type Finish = Extract<ModelEvent, { type: "finish" }>;
type Call = ReturnType<typeof callsOf>[number];

/** Milliseconds between two looks at a lease that somebody else holds. */
const LEASE_POLL_MS = 250;

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
  let n = 0;
  try {
    for await (const event of turn.run()) yield { ...event, id: `${turn.id}:${n++}` };
  } finally {
    await turn.close();
  }
}

function inputTokens(input: TurnRequest["input"], measure: TextMeasure): number {
  if (typeof input === "string") return measureText(input, measure);
  return input.reduce((total, part) => total + measurePart(part, measure), 0);
}

function isEmptyInput(input: TurnRequest["input"]): boolean {
  if (typeof input === "string") return input.trim() === "";
  return !input.some((part) => part.type === "file" || part.text.trim() !== "");
}

/** Takes the lease; waits out one that is still alive, as that of a crashed process is for a while. */
async function acquire(
  request: TurnRequest,
  options: {
    readonly ports: TurnPorts;
    readonly clock: Clock;
    readonly key: SessionKey;
    readonly turn: string;
  },
): Promise<SessionState & { readonly lease: Lease }> {
  const { clock, key, turn, ports } = options;
  const until = clock.now() + LEASE_TTL_MS + LEASE_POLL_MS;
  for (;;) {
    try {
      return await ports.store.acquire(key, {
        agent: request.agentName ?? "default",
        owner: turn,
        turn,
        ttlMs: LEASE_TTL_MS,
      });
    } catch (error) {
      if (!(error instanceof SelvageError && error.code === "turn_running") || clock.now() >= until) {
        throw error;
      }
      await clock.sleep(LEASE_POLL_MS, request.signal);
    }
  }
}

/** Calls of the log that have no result. */
function openCalls(
  entries: readonly Entry[],
): readonly { readonly entry: AssistantEntry; readonly call: Call }[] {
  const answered = new Set(entries.flatMap((entry) => entry.kind === "result" ? [entry.call] : []));
  return entries.flatMap((entry) =>
    entry.kind === "assistant"
      ? callsOf(entry).filter((call) => !answered.has(call.ref)).map((call) => ({ entry, call }))
      : []
  );
}

class Turn {
  readonly id: string;
  readonly #request: TurnRequest;
  readonly #agent: Agent;
  readonly #clock: Clock;
  readonly #context: Context;
  readonly #meter: ContextMeter;
  readonly #budget: ReturnType<typeof computeBudget>;
  readonly #journal: Journal;
  readonly #compactor: Compactor;
  readonly #stop = new AbortController();
  readonly #onAbort: () => void;
  readonly #task: number;
  #usage: Usage = { inputTokens: 0, outputTokens: 0 };
  #steps = 0;
  #isEnded = false;

  static async open(request: TurnRequest, ports: TurnPorts): Promise<Turn> {
    const { agent } = request;
    const clock = ports.clock ?? systemClock;
    const id = ports.newId?.() ?? `t_${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`;
    const budget = computeBudget(agent.model, {
      fixed: fixedTokens(agent),
      ...(agent.compaction === undefined ? {} : { settings: agent.compaction }),
    });
    if (isEmptyInput(request.input)) {
      throw new SelvageError(
        "input_empty",
        "Cannot start the turn: found an empty input, wanted text or a file",
      );
    }
    // Before anything is stored: a message that no compaction could make room for would brick the session.
    if (inputTokens(request.input, boundTokens) > budget.maxInput) {
      const tokens = inputTokens(request.input, await loadMeasure());
      if (tokens > budget.maxInput) {
        throw new SelvageError(
          "input_too_large",
          `Cannot start the turn: found an input of ${tokens} tokens, wanted at most ${budget.maxInput}`,
          { fields: { tokens, limit: budget.maxInput } },
        );
      }
    }
    const key: SessionKey = {
      tenant: request.tenant ?? "local",
      ...(request.user === undefined ? {} : { user: request.user }),
      session: request.session,
    };
    request.signal?.throwIfAborted();
    const state = await acquire(request, { ports, clock, key, turn: id });
    const context = await Context.create(state.entries, {
      view: state.view as StoredView | null,
      loadMeasure,
    });
    const turn = new Turn({ id, request, ports, clock, key, state, context, budget });
    try {
      await turn.#begin();
    } catch (error) {
      await turn.close();
      throw error;
    }
    return turn;
  }

  private constructor(parts: {
    readonly id: string;
    readonly request: TurnRequest;
    readonly ports: TurnPorts;
    readonly clock: Clock;
    readonly key: SessionKey;
    readonly state: SessionState & { readonly lease: Lease };
    readonly context: Context;
    readonly budget: ReturnType<typeof computeBudget>;
  }) {
    const { request, clock, context, budget } = parts;
    this.id = parts.id;
    this.#request = request;
    this.#agent = request.agent;
    this.#clock = clock;
    this.#context = context;
    this.#budget = budget;
    this.#task = context.entries.length + openCalls(context.entries).length;
    const stored = parts.state.head.meter as
      | { readonly model: string; readonly state: MeterState }
      | undefined;
    this.#meter = new ContextMeter({
      factor: this.#agent.model.tokenFactor ?? 1,
      fixed: budget.window - budget.maxOutput - budget.usable,
      // Another model bills otherwise: what one has taught is no anchor for the next.
      ...(stored !== undefined && stored.model === this.#agent.model.id ? { state: stored.state } : {}),
    });
    this.#journal = new Journal({
      store: parts.ports.store,
      key: parts.key,
      lease: parts.state.lease,
      clock,
      onFailure: (error) => this.#stop.abort(error),
    });
    this.#compactor = new Compactor({
      context,
      meter: this.#meter,
      budget,
      policy: this.#agent.compaction?.policy ?? "full",
      tools: this.#agent.tools ?? [],
      journal: this.#journal,
      clock,
      flag: parts.state.head.flag ?? null,
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
      seq: this.#context.entries.length,
      turn: this.id,
      at: this.#clock.now(),
      message: { role: "user", content: input },
      ...(pin === true ? { pinned: true } : {}),
    });
    await this.#flush();
  }

  async *run(): AsyncGenerator<TurnEventBody, void> {
    const { agentName = "default", session } = this.#request;
    yield { type: "turn.started", turn: this.id, session, agent: agentName, model: this.#agent.model.id };
    let reason: TurnEnd;
    try {
      yield* this.#compactor.honour();
      reason = yield* this.#loop();
    } catch (error) {
      reason = this.#isCancelled() ? "aborted" : "error";
      if (reason === "error") yield errorEvent(this.#stop.signal.aborted ? this.#stop.signal.reason : error);
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
    yield { type: "turn.finished", reason, usage: this.#usage, steps: this.#steps };
  }

  /** Ends a turn that nobody listens to any more: open calls are closed, the lease is given back. */
  async close(): Promise<void> {
    this.#request.signal?.removeEventListener("abort", this.#onAbort);
    try {
      if (this.#isEnded) return;
      this.#isEnded = true;
      this.#stop.abort(new DOMException("The client has gone", "AbortError"));
      await this.#abortOpenCalls();
      await this.#flush(true);
    } catch {
      // The journal failed, which has been told or has no listener left; the lease then runs out by itself.
    } finally {
      this.#journal.close();
    }
  }

  async *#loop(): AsyncGenerator<TurnEventBody, TurnEnd> {
    const maxSteps = this.#agent.maxSteps ?? 50;
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
      const finish = yield* this.#callModel(step);
      const entry: AssistantEntry = {
        kind: "assistant",
        seq: this.#context.entries.length,
        turn: this.id,
        at: this.#clock.now(),
        step,
        message: finish.message,
        reason: finish.reason,
        model: this.#agent.model.id,
        ...(finish.usage === undefined ? {} : { usage: finish.usage }),
      };
      await this.#append(entry);
      this.#meter.anchor(finish.usage, this.#context.length);
      // Barrier: calls are stored before their tools start, so that no effect is without a record.
      await this.#flush();
      yield* this.#compactor.check();
      const calls = callsOf(entry);
      if (calls.length === 0) return finish.reason === "tool-calls" ? "stop" : finish.reason;
      yield* this.#runCalls(step, { calls, reason: finish.reason });
      if (finish.reason === "content-filter") return finish.reason;
      // The write overlaps the next model call; the next barrier waits for it.
      void this.#flush();
    }
    return "max-steps";
  }

  /** Streams one answer. A provider that finds the request too long gets one forced compaction and one retry. */
  async *#callModel(step: number): AsyncGenerator<TurnEventBody, Finish> {
    for (let attempt = 1;; attempt++) {
      let isSilent = true;
      try {
        const { signal } = this.#stop;
        for await (const event of abortable(this.#agent.model.stream(this.#modelRequest(), signal), signal)) {
          if (event.type === "finish") {
            this.#usage = addUsage(this.#usage, event.usage);
            return event;
          }
          isSilent = false;
          if (event.type === "tool.input.delta") {
            const { type, call, name, delta } = event;
            yield { type, step, call, ref: `e${this.#context.entries.length}.${call}`, name, delta };
          } else yield { type: event.type, step, text: event.text };
        }
        this.#stop.signal.throwIfAborted();
        throw new SelvageError(
          "model_stream_cut",
          "Cannot finish the step: the model's stream ended in the middle",
        );
      } catch (error) {
        const isTooLong = error instanceof SelvageError && error.code === "context_length_exceeded";
        if (!isTooLong || !isSilent || attempt > 1) throw error;
        if (!(yield* this.#compactor.force("context_length_exceeded"))) throw error;
      }
    }
  }

  #modelRequest(): ModelRequest {
    const messages: readonly Message[] = this.#context.messages();
    return {
      system: this.#agent.system ?? "",
      messages,
      tools: schemasOf(this.#agent),
      maxOutput: this.#budget.maxOutput,
    };
  }

  /** Runs the calls of a step, a bounded number at a time; each result is appended and checked as it lands. */
  async *#runCalls(
    step: number,
    { calls, reason }: { readonly calls: readonly Call[]; readonly reason: FinishReason },
  ): AsyncGenerator<TurnEventBody, void> {
    const running = new Map<number, Promise<{ readonly index: number; readonly outcome: CallOutcome }>>();
    const limit = this.#agent.toolConcurrency ?? 8;
    let started = 0;
    let open = calls.length;
    while (open > 0) {
      for (; started < calls.length && running.size < limit; started++) {
        const index = started;
        const call = calls[index];
        if (call === undefined) break;
        yield { type: "tool.call", step, call: index, ref: call.ref, name: call.name, input: call.input };
        running.set(index, this.#run(call, reason).then((outcome) => ({ index, outcome })));
      }
      const { index, outcome } = await Promise.race(running.values());
      running.delete(index);
      const call = calls[index];
      if (call === undefined) continue;
      const cap = await this.#cap(outcome.output, open--);
      const entry: ResultEntry = {
        kind: "result",
        seq: this.#context.entries.length,
        turn: this.id,
        at: this.#clock.now(),
        step,
        call: call.ref,
        toolName: call.name,
        ...outcome,
        ...(cap === null ? {} : { cap }),
      };
      await this.#append(entry);
      yield this.#resultEvent(entry);
      yield* this.#compactor.check();
    }
  }

  #run(call: Call, reason: FinishReason): Promise<CallOutcome> {
    // Arguments that the output limit cut off are never run, even where they can be made to parse.
    if (reason === "length") {
      const value =
        "Not executed: the answer was cut off at the output limit, so the arguments may be incomplete. " +
        "Make the call again with shorter arguments";
      return Promise.resolve({ status: "error", output: { type: "error-text", value }, ms: 0 });
    }
    const { tenant = "local", user, session } = this.#request;
    return runCall(call, {
      tools: this.#agent.tools ?? [],
      context: { session, tenant, ...(user === undefined ? {} : { user }) },
      signal: this.#stop.signal,
      clock: this.#clock,
      timeoutMs: this.#agent.toolTimeoutMs ?? 60_000,
    });
  }

  /** Cap at append: what a result may take of the room that is left, or null where it fits. */
  async #cap(output: ToolOutput, open: number): Promise<number | null> {
    const { factor } = this.#meter;
    const { maxResult, stopAt } = this.#budget;
    const share = async (read: () => Promise<number>): Promise<number> =>
      Math.floor(Math.min(maxResult, Math.max(0, stopAt - await read()) / open) / factor);
    const bound = measureOutput(output, boundTokens);
    const cheap = await share(async () => (await this.#meter.read(this.#context, stopAt)).tokens);
    if (bound <= cheap) return null;
    const limit = Math.max(200, await share(() => this.#meter.estimate(this.#context)));
    if (bound <= limit) return null;
    const text = outputText(output);
    if (text.length <= limit * 128 && measureOutput(output, await this.#context.measure()) <= limit) {
      return null;
    }
    return limit;
  }

  async #abortOpenCalls(): Promise<readonly ResultEntry[]> {
    const closed: ResultEntry[] = [];
    for (const { entry, call } of openCalls(this.#context.entries)) {
      const result: ResultEntry = {
        kind: "result",
        seq: this.#context.entries.length,
        turn: entry.turn,
        at: this.#clock.now(),
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

  async #append(entry: Entry): Promise<void> {
    await this.#context.append(entry);
    this.#journal.entry(entry);
  }

  #flush(release = false): Promise<void> {
    const meter = { model: this.#agent.model.id, state: this.#meter.state };
    this.#journal.change({ meter, ...(release ? { release } : {}) });
    return this.#journal.flush();
  }

  #pinned(): readonly number[] {
    const pinned = this.#context.entries.flatMap((entry) =>
      entry.kind === "user" && entry.pinned === true ? [entry.seq] : []
    );
    return pinned.includes(this.#task) ? pinned : [...pinned, this.#task];
  }

  /** Whether the turn was ended from outside, not by a failure of its own. */
  #isCancelled(): boolean {
    return this.#request.signal?.aborted === true || (this.#stop.signal.aborted && this.#isEnded);
  }

  #resultEvent(entry: ResultEntry): TurnEventBody {
    const shown = this.#context.shownOutput(entry);
    return {
      type: "tool.result",
      step: entry.step,
      call: Number(entry.call.slice(entry.call.indexOf(".") + 1)),
      ref: entry.call,
      name: entry.toolName,
      status: entry.status,
      output: shown.type === "json" || shown.type === "error-json" ? shown.value : outputText(shown),
      shortened: shown !== entry.output,
      ms: entry.ms,
    };
  }
}

function addUsage(sum: Usage, usage: Usage | undefined): Usage {
  if (usage === undefined) return sum;
  const cached = (sum.cachedTokens ?? 0) + (usage.cachedTokens ?? 0);
  return {
    inputTokens: sum.inputTokens + usage.inputTokens,
    outputTokens: sum.outputTokens + usage.outputTokens,
    ...(cached > 0 ? { cachedTokens: cached } : {}),
  };
}

/** An error as a client may see it: our own sentences pass, anything else is `internal`. */
function errorEvent(error: unknown): TurnEventBody {
  if (error instanceof SelvageError) {
    return {
      type: "error",
      code: error.code,
      message: error.message,
      retryable: error.fields["retryable"] === true,
    };
  }
  console.error(error);
  return { type: "error", code: "internal", message: "The turn failed inside the service", retryable: true };
}
