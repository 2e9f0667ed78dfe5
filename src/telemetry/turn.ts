/**
 * Spans and metrics of one turn: `agent.turn`, in it `agent.step`, in that `agent.tool` and `agent.compact`. Names and
 * numbers only: no text of a message, no argument, no output. Loaded by `telemetry.ts`.
 *
 * @module
 */
import { type Attributes, type Context, context, type Span, SpanKind } from "@opentelemetry/api";
import type { Usage } from "../core/usage.ts";
import { startCompaction, tellCompaction, type TracedCompaction } from "./compaction.ts";
import { instruments, tracer } from "./instruments.ts";
import { fail, inside, recordTokens } from "./spans.ts";

/** Which turn it is. */
export interface TracedTurn {
  readonly turn: string;
  readonly session: string;
  /** Name of the agent. */
  readonly agent: string;
  /** Id of the model. */
  readonly model: string;
  /** Rules that the model's provider lays on a transcript; tells the provider. */
  readonly dialect: string;
  /** Times that the turn was taken over. */
  readonly takeovers: number;
  /** Milliseconds since the epoch. */
  readonly clock: { now(): number };
}

/** Providers by the names that the semantic conventions have for them. */
const PROVIDERS: Readonly<Record<string, string>> = {
  "openai-chat": "openai",
  "openai-responses": "openai",
};

function providerOf(dialect: string): string {
  return PROVIDERS[dialect] ?? dialect;
}

/** The spans of one turn. Contexts are explicit: what is active is lost across a `yield`. */
export class TurnSpans {
  readonly #traced: TracedTurn;
  readonly #started: number;
  readonly #turn: Span;
  readonly #inTurn: Context;
  readonly #ofModel: Attributes;
  #step: Span | null = null;
  #inStep: Context;
  #asked = 0;
  /** When the generator was last asked for an event that may cost something. */
  #since: number;
  /** A compaction whose summary is being written. */
  #compacting: Span | null = null;
  #error: string | null = null;
  #isOver = false;

  /** Starts the span of a turn, inside whatever is active here. */
  constructor(traced: TracedTurn) {
    const { turn, session, agent, model, dialect, takeovers, clock } = traced;
    this.#traced = traced;
    this.#started = this.#since = clock.now();
    this.#ofModel = {
      "gen_ai.provider.name": providerOf(dialect),
      "gen_ai.request.model": model,
    };
    this.#turn = tracer().startSpan("agent.turn", {
      kind: SpanKind.INTERNAL,
      attributes: {
        ...this.#ofModel,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent,
        "gen_ai.conversation.id": session,
        "selvage.turn.id": turn,
        ...(takeovers > 0 ? { "selvage.takeovers": takeovers } : {}),
      },
    });
    this.#inTurn = this.#inStep = inside(context.active(), this.#turn);
  }

  /** Runs something inside the step in hand, so that spans it starts become its children. */
  within<Result>(run: () => Result): Result {
    return context.with(this.#inStep, run);
  }

  /** The turn goes on behind an event that was taken. */
  goesOn(): void {
    this.#since = this.#traced.clock.now();
  }

  /** A step begins, and with it a call of the model. */
  step(step: number): void {
    this.#step?.end();
    this.#asked = this.#traced.clock.now();
    this.#step = tracer().startSpan("agent.step", {
      attributes: {
        ...this.#ofModel,
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": this.#traced.session,
        "selvage.turn.id": this.#traced.turn,
        "selvage.step": step,
      },
    }, this.#inTurn);
    this.#inStep = inside(this.#inTurn, this.#step);
    instruments().steps.add(1, this.#ofModel);
  }

  /** The model has answered. */
  answered({ model, dialect = this.#traced.dialect, reason, usage }: {
    readonly model: string;
    /** Of the model that answered. Default: of the one that was asked. */
    readonly dialect?: string | undefined;
    readonly reason: string;
    readonly usage?: Usage | undefined;
  }): void {
    const answered = { "gen_ai.provider.name": providerOf(dialect), "gen_ai.response.model": model };
    const attributes = { ...this.#ofModel, ...answered, "gen_ai.operation.name": "chat" };
    const { modelDuration } = instruments();
    modelDuration.record((this.#traced.clock.now() - this.#asked) / 1_000, attributes);
    this.#step?.setAttributes({ "gen_ai.response.finish_reasons": [reason], ...answered });
    if (usage === undefined) return;
    this.#step?.setAttributes(usageAttributes(usage));
    recordTokens(attributes, usage);
  }

  /** Runs one call of a tool in a span of its own. */
  async tool<Outcome extends { readonly status: string; readonly ms: number }>(
    { ref, name }: { readonly ref: string; readonly name: string },
    run: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const span = tracer().startSpan("agent.tool", {
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": ref,
        "gen_ai.conversation.id": this.#traced.session,
        "selvage.turn.id": this.#traced.turn,
      },
    }, this.#inStep);
    try {
      const outcome = await context.with(inside(this.#inStep, span), run);
      const { status, ms } = outcome;
      span.setAttribute("selvage.tool.status", status);
      if (status !== "ok") fail(span, status === "error" ? "tool_error" : status);
      instruments().toolDuration.record(ms / 1_000, {
        "gen_ai.tool.name": name,
        "selvage.tool.status": status,
      });
      return outcome;
    } finally {
      span.end();
    }
  }

  /** Something became of a compaction. */
  compaction(told: TracedCompaction): void {
    // One that waits for its summary has begun already; any other was made since the loop was last asked.
    const span = this.#compacting ?? startCompaction(this.#traced.session, {
      startTime: this.#since,
      within: this.#inStep,
    });
    tellCompaction(span, told);
    this.#compacting = told.phase === "started" ? span : null;
    if (told.phase !== "started") span.end(Math.max(this.#since, this.#traced.clock.now()));
  }

  /** An error was told. */
  error(code: string): void {
    this.#error = code;
  }

  /** The turn has its last event. */
  finish({ reason, usage, steps, model }: {
    readonly reason: string;
    readonly usage: Usage;
    readonly steps: number;
    readonly model?: string;
  }): void {
    this.#turn.setAttributes({
      ...usageAttributes(usage),
      "selvage.steps": steps,
      ...(model === undefined ? {} : { "gen_ai.response.model": model }),
    });
    this.#end(reason);
  }

  /** Ends what has not ended yet, of a turn without a last event. */
  end(reason: "aborted" | "suspended"): void {
    this.#end(reason);
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#compacting?.end();
    this.#step?.end();
    this.#turn.setAttribute("selvage.turn.reason", reason);
    if (this.#error !== null) fail(this.#turn, this.#error);
    this.#turn.end();
    const attributes = {
      ...this.#ofModel,
      "selvage.turn.reason": reason,
      ...(this.#error === null ? {} : { "error.type": this.#error }),
    };
    const { turns, turnDuration } = instruments();
    turns.add(1, attributes);
    turnDuration.record((this.#traced.clock.now() - this.#started) / 1_000, attributes);
  }
}

function usageAttributes({ inputTokens, outputTokens, cachedTokens }: Usage): Attributes {
  return {
    "gen_ai.usage.input_tokens": inputTokens,
    "gen_ai.usage.output_tokens": outputTokens,
    ...(cachedTokens === undefined ? {} : { "gen_ai.usage.cache_read.input_tokens": cachedTokens }),
  };
}
