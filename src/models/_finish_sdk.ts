/** How an AI SDK stream says that it has ended, and what it cost. Private to the adapters. */
import { isObject, type JsonObject } from "../formats/format.ts";
import type { FinishReason, Usage } from "../ports.ts";
import { textOf } from "./_json.ts";

/** Why a stream has ended: in the interface's words, and in the provider's own. */
export interface Ending {
  readonly unified: string;
  readonly raw: string;
}

/** Reads a `finish` part; null where the provider has not said that the answer is whole. */
export function readEnding({ finishReason }: JsonObject): Ending | null {
  // Version 2 has the one word only.
  const isPair = isObject(finishReason);
  const raw = isPair ? textOf(finishReason.raw) : "";
  const unified = textOf(isPair ? finishReason.unified : finishReason);
  const isUnsaid = unified === "" || unified === "unknown" || unified === "other" && isPair && raw === "";
  return isUnsaid || unified === "interrupted" ? null : { unified, raw };
}

/** The reason as the loop knows it. */
export function finishReason({ raw, unified }: Ending, hasCalls: boolean): FinishReason {
  if (unified === "length" || unified === "content-filter") return unified;
  // The answer waits for a provider that is asked to go on with it: it is not whole.
  if (raw === "pause_turn" && !hasCalls) return "length";
  return hasCalls ? "tool-calls" : "stop";
}

/** Reads the bill. Totals lie one level down since version 3 of the interface. */
export function usageOf(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const { cachedInputTokens, inputTokens, outputTokens } = usage;
  const input = isObject(inputTokens) ? inputTokens.total : inputTokens;
  const output = isObject(outputTokens) ? outputTokens.total : outputTokens;
  const cached = isObject(inputTokens) ? inputTokens.cacheRead : cachedInputTokens;
  // A bill without input is none.
  if (typeof input !== "number" || input === 0) return undefined;
  return {
    inputTokens: input,
    outputTokens: typeof output === "number" ? output : 0,
    ...(typeof cached === "number" ? { cachedTokens: cached } : {}),
  };
}
