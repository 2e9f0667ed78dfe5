/**
 * The loop: steps, each a call of the model and the calls that it asks for, until the model asks for nothing more.
 *
 * @module
 */
import { callsOf } from "../compaction/context.ts";
import { SelvageError } from "../core/errors.ts";
import type { AssistantEntry, FinishReason, Model, Usage } from "../ports.ts";
import { isPlausible } from "../tokens/usage.ts";
import type { Answer } from "./ask.ts";
import type { TurnAtWork } from "./at_work.ts";
import { finished, type Outcome } from "./ends.ts";
import { addUsage, tokensOf } from "./report.ts";
import { sortCalls } from "./waits.ts";

/** Plays the steps of a turn from the next one on, to its end or to a pause. */
export async function playSteps(turn: TurnAtWork): Promise<Outcome> {
  const { maxSteps = 50 } = turn.opened.agent;
  await turn.compactor.honour();
  for (let step = turn.steps + 1; step <= maxSteps; step++) {
    // What is done before a step has begun is done inside the one in hand.
    await turn.telemetry.within(() => beginStep(turn, step));
    const outcome = await turn.telemetry.within(() => playStep(turn, step));
    if (outcome !== null) return outcome;
  }
  return finished("max-steps");
}

/** Makes room for a step, and tells that it has begun. */
async function beginStep(turn: TurnAtWork, step: number): Promise<void> {
  const { maxTokens = Infinity } = turn.opened.agent;
  turn.signals.halt.throwIfAborted();
  requireTokens(turn, maxTokens);
  // Nobody knows of a turn before its first step.
  if (step > 1) await turn.tellAll(await turn.receive(await turn.mailbox.take()));
  if (!(await turn.compactor.admit())) throw exhausted();
  const started = turn.emit({ type: "step.started", step });
  // Results are stored along with what begins behind them, while the model works; the next barrier waits for it.
  if (step > 1) void turn.flush();
  await turn.tell(started);
}

/** Asks the model, and runs the calls that it asks for. Null where the turn goes on with another step. */
async function playStep(turn: TurnAtWork, step: number): Promise<Outcome | null> {
  const { compactor, onFallback, signals: { halt: signal }, tell } = turn;
  const answer = await turn.asking.ask(step, { signal, compactor, onFallback, tell });
  const entry = await keep(turn, { step, answer });
  const { reason } = answer;
  const calls = callsOf(entry);
  for (const { ref } of calls) turn.unbegun.add(ref);
  // Barrier: calls are stored before their tools start, so that no effect is without a record. An answer that asks
  // for none is stored with what comes next, mostly the end of the turn.
  if (calls.length > 0) await turn.flush();
  await compactor.check();
  if (calls.length === 0) return await answered(turn, reason);
  const sorted = await sortCalls(calls, turn.calls.options(reason));
  const pause = await turn.calls.run(step, { ...sorted, reason });
  if (pause !== null) return { kind: "paused", pause };
  return reason === "content-filter" ? finished(reason) : null;
}

/** The model has answered, and asks for nothing more: the end, unless something was said meanwhile. */
export async function answered(turn: TurnAtWork, reason: FinishReason): Promise<Outcome | null> {
  const received = await turn.mailbox.close();
  await turn.tellAll(await turn.receive(received));
  return received.length > 0 ? null : finished(reason === "tool-calls" ? "stop" : reason);
}

/** Appends what the model has answered, and tells the meter and the telemetry what was billed for it. */
async function keep(
  turn: TurnAtWork,
  { step, answer: { message, reason, usage, model, tokenFactor, dialect } }: {
    readonly step: number;
    readonly answer: Answer;
  },
): Promise<AssistantEntry> {
  const { agent, context, meter } = turn.opened;
  turn.telemetry.answered({ reason, usage, model: model ?? agent.model.id, dialect });
  turn.usage = addUsage(turn.usage, usage);
  const entry: AssistantEntry = {
    kind: "assistant",
    ...turn.log.place(),
    step,
    message,
    reason,
    model: model ?? agent.model.id,
    prefix: turn.asking.prefix,
    ...(usage === undefined ? {} : { usage }),
  };
  await turn.log.append(entry);
  turn.steps = step;
  const { window, maxOutput } = turn.asking.budget;
  const limits = { bound: context.boundFrom(0), window, maxOutput };
  if (isPlausible(usage, limits)) {
    meter.anchor(inTokensOf(agent.model, { usage, tokenFactor }), context.length);
  } else meter.doubt(usage);
  return entry;
}

/** A bill in the tokens of the model that was asked: one that stands for several is measured as the dearest of them. */
function inTokensOf(
  { tokenFactor: asked = 1 }: Model,
  { usage, tokenFactor: billed = asked }: { readonly usage: Usage; readonly tokenFactor: number | undefined },
): Usage {
  if (asked === billed) return usage;
  const scale = asked / billed;
  return { inputTokens: usage.inputTokens * scale, outputTokens: usage.outputTokens * scale };
}

function requireTokens({ usage }: TurnAtWork, limit: number): void {
  const used = tokensOf(usage);
  if (used >= limit) {
    throw new SelvageError(
      "turn_out_of_tokens",
      `Cannot go on with the turn: found ${used} tokens used, wanted at most ${limit}; what was done is stored`,
    );
  }
}

function exhausted(): SelvageError {
  return new SelvageError(
    "context_exhausted",
    "Cannot call the model: the context is over its limit and no legal cut makes it smaller; " +
      "the log is intact: the next turn may find more that can go, or use a model with a larger window",
  );
}
