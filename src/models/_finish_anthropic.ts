/** Why a message has ended, as the loop knows it. Private to the adapters. */
import type { FinishReason } from "../ports.ts";

/** Reads a stop reason; an empty one is none yet. */
export function finishReason(stopReason: string, hasCalls: boolean): FinishReason {
  switch (stopReason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    case "refusal":
      return "content-filter";
    case "pause_turn":
      return hasCalls ? "tool-calls" : "length";
    default:
      // "end_turn", "stop_sequence", "tool_use" and what is yet to come: whether there are calls tells more.
      return hasCalls ? "tool-calls" : "stop";
  }
}
