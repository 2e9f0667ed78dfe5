/**
 * Spans and metrics of one turn: `agent.turn`, in it `agent.step`, in that `agent.tool` and `agent.compact`. Names and
 * numbers only: no text of a message, no argument, no output. Without a provider everything in here is a no-op.
 *
 * @module
 */
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import type { Usage } from "../core/usage.ts";
import { instruments, tracer } from "./instruments.ts";

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

/** What is told of a compaction. */
export interface TracedCompaction {
  readonly phase: "started" | "applied" | "deferred" | "rejected" | "exhausted";
  readonly reason: string;
  readonly method?: string;
  readonly cut?: number;
  readonly distance?: number;
  readonly pairs?: number;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  readonly resolved?: string;
  readonly summary?: string;
  readonly summaryFailure?: string;
}

/** Providers by the names that the semantic conventions have for them. */
const PROVIDERS: Readonly<Record<string, string>> = {
  "openai-chat": "openai",
  "openai-responses": "openai",
};

/** The spans of one turn. Contexts are explicit: what is active is lost across a `yield`. */
export class TurnTelemetry {
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
      "gen_ai.provider.name": PROVIDERS[dialect] ?? dialect,
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
    this.#since = this.#traced.clock.now();
    return context.with(this.#inStep, run);
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
  answered({ model, reason, usage }: {
    readonly model: string;
    readonly reason: string;
    readonly usage?: Usage | undefined;
  }): void {
    const attributes = { ...this.#ofModel, "gen_ai.operation.name": "chat" };
    const { modelDuration } = instruments();
    modelDuration.record((this.#traced.clock.now() - this.#asked) / 1_000, attributes);
    this.#step?.setAttributes({
      "gen_ai.response.finish_reasons": [reason],
      "gen_ai.response.model": model,
    });
    if (usage === undefined) return;
    this.#step?.setAttributes(usageAttributes(usage));
    recordTokens(attributes, usage);
  }

  /** The summarizer was billed for a call. */
  summarized(model: string, usage: Usage): void {
    recordTokens({ "gen_ai.request.model": model, "gen_ai.operation.name": "summarize" }, usage);
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
    const { phase, reason, method, summary } = told;
    // One that waits for its summary has begun already; any other was made since the loop was last asked.
    const span = this.#compacting ?? tracer().startSpan(
      "agent.compact",
      { startTime: this.#since, attributes: { "gen_ai.conversation.id": this.#traced.session } },
      this.#inStep,
    );
    span.setAttributes(compactionAttributes(told));
    if (phase === "started") {
      this.#compacting = span;
      return;
    }
    this.#compacting = null;
    if (phase === "rejected" || phase === "exhausted") fail(span, reason);
    span.end(Math.max(this.#since, this.#traced.clock.now()));
    const { compactions, deferrals } = instruments();
    if (phase === "deferred") deferrals.add(1, { "selvage.compaction.reason": reason });
    else {
      compactions.add(1, {
        "selvage.compaction.phase": phase,
        ...(method === undefined ? {} : { "selvage.compaction.method": method }),
        ...(summary === undefined ? {} : { "selvage.compaction.summary": summary }),
      });
    }
  }

  /** An error was told. */
  error(code: string): void {
    this.#error = code;
  }

  /** The turn has its last event. */
  finish({ reason, usage, steps }: {
    readonly reason: string;
    readonly usage: Usage;
    readonly steps: number;
  }): void {
    this.#turn.setAttributes({ ...usageAttributes(usage), "selvage.steps": steps });
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

/** The context inside a span; without a provider spans are nothing, and a context for each of them is not worth it. */
function inside(outer: Context, span: Span): Context {
  return isSpanContextValid(span.spanContext()) ? trace.setSpan(outer, span) : outer;
}

/** Marks a span as failed, by a code: sentences may hold what a user has said. */
function fail(span: Span, type: string): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function recordTokens(attributes: Attributes, { inputTokens, outputTokens }: Usage): void {
  const { tokens } = instruments();
  tokens.record(inputTokens, { ...attributes, "gen_ai.token.type": "input" });
  tokens.record(outputTokens, { ...attributes, "gen_ai.token.type": "output" });
}

function usageAttributes({ inputTokens, outputTokens, cachedTokens }: Usage): Attributes {
  return {
    "gen_ai.usage.input_tokens": inputTokens,
    "gen_ai.usage.output_tokens": outputTokens,
    ...(cachedTokens === undefined ? {} : { "gen_ai.usage.cache_read.input_tokens": cachedTokens }),
  };
}

function compactionAttributes(told: TracedCompaction): Attributes {
  const { phase, reason, method, cut, distance, pairs, tokensBefore, tokensAfter } = told;
  const { resolved, summary, summaryFailure } = told;
  const all: Readonly<Record<string, string | number | undefined>> = {
    phase,
    reason,
    method,
    cut,
    distance,
    pairs,
    "tokens.before": tokensBefore,
    "tokens.after": tokensAfter,
    resolved,
    summary,
    "summary.failure": summaryFailure,
  };
  const set = Object.entries(all).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [`selvage.compaction.${name}`, value]));
}
