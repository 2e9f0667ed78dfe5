/**
 * What a turn says of results, errors and bills.
 *
 * @module
 */
import { indexOfRef } from "../compaction/render.ts";
import { SelvageError } from "../core/errors.ts";
import type { ToolOutput } from "../core/message.ts";
import type { AssistantEntry, Entry, ResultEntry, Usage } from "../ports.ts";
import { outputText } from "../tokens/measure.ts";
import { billOf } from "../tokens/usage.ts";
import type { TurnEventBody } from "./events.ts";
import { isFault } from "./store_fault.ts";

/**
 * A result as an event.
 *
 * @param entry The result as stored.
 * @param shown Its output as the model is shown it.
 */
export function resultEvent(entry: ResultEntry, shown: ToolOutput): TurnEventBody {
  return {
    type: "tool.result",
    step: entry.step,
    call: indexOfRef(entry.call),
    ref: entry.call,
    name: entry.toolName,
    status: entry.status,
    output: isRaw(shown) ? shown.value : outputText(shown),
    shortened: shown !== entry.output,
    ...(entry.output.type === "execution-denied" ? { denied: true } : {}),
    ms: entry.ms,
  };
}

/** Whether an output is told as it is: JSON, or text and files in parts. */
function isRaw(
  output: ToolOutput,
): output is Extract<ToolOutput, { type: "json" | "error-json" | "content" }> {
  return output.type === "json" || output.type === "error-json" || output.type === "content";
}

/**
 * A call that starts, as an event.
 *
 * @param step Step of the turn.
 * @param call The call of the log.
 */
export function callEvent(
  step: number,
  { ref, name, input }: { readonly ref: string; readonly name: string; readonly input: unknown },
): TurnEventBody {
  return { type: "tool.call", step, call: indexOfRef(ref), ref, name, input };
}

/**
 * Progress of a call, as an event.
 *
 * @param step Step of the turn.
 * @param progress The call of the log, and what its tool has yielded.
 */
export function progressEvent(
  step: number,
  { call: { ref, name }, data }: {
    readonly call: { readonly ref: string; readonly name: string };
    readonly data: unknown;
  },
): TurnEventBody {
  return { type: "tool.progress", step, call: indexOfRef(ref), ref, name, data };
}

/** Tells the operator of a fault of the service, where nobody else does. */
export function reportFault(error: unknown): void {
  if (isFault(error)) console.error(error);
}

/** An error as a client may see it: our own sentences pass, anything else is `internal`. Whole it is reported only. */
export function errorEvent(error: unknown, report = reportFault): TurnEventBody {
  report(error);
  if (error instanceof SelvageError) {
    return {
      type: "error",
      code: error.code,
      message: error.message,
      retryable: error.fields["retryable"] === true,
    };
  }
  return { type: "error", code: "internal", message: "The turn failed inside the service", retryable: true };
}

/** The model that gave an answer, as a field of the events that end a turn; none where there is no answer. */
export function answeredBy(answer: AssistantEntry | undefined): { readonly model?: string } {
  return answer === undefined ? {} : { model: answer.model };
}

/** Adds the bill of one call to a sum; one that cannot be true is none, also where it was stored by an earlier version. */
export function addUsage(sum: Usage, usage: Usage | undefined): Usage {
  const bill = billOf(usage);
  if (bill === undefined) return sum;
  const cached = (sum.cachedTokens ?? 0) + (bill.cachedTokens ?? 0);
  return {
    inputTokens: sum.inputTokens + bill.inputTokens,
    outputTokens: sum.outputTokens + bill.outputTokens,
    ...(cached > 0 ? { cachedTokens: cached } : {}),
  };
}

/** All tokens of a bill. */
export function tokensOf({ inputTokens, outputTokens }: Usage): number {
  return inputTokens + outputTokens;
}

/** What the model calls of a turn have cost so far. */
export function billedFor(entries: readonly Entry[], turn: string): Usage {
  return entries.reduce<Usage>(
    (sum, entry) => entry.kind === "assistant" && entry.turn === turn ? addUsage(sum, entry.usage) : sum,
    { inputTokens: 0, outputTokens: 0 },
  );
}
