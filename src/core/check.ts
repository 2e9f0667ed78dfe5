/**
 * The checker: what is wrong with a transcript, by code and condition.
 *
 * @module
 */
import type { Violation } from "./record.ts";
import type { Transcript } from "./transcript.ts";

/**
 * Checks the pairing conditions C1 to C3. Calls in flight are no violation: somebody will answer them.
 *
 * @param transcript A parsed transcript.
 * @returns Violations in order of their messages; empty where there is nothing wrong.
 *
 * @example
 * ```ts
 * import { checkTranscript, parseTranscript } from "@selvage/selvage/core";
 *
 * const transcript = parseTranscript([
 *   { kind: "user", message: 0, tokens: 4 },
 *   { kind: "tool_result", message: 1, tokens: 50, callId: "a" },
 * ]);
 * console.log(checkTranscript(transcript)[0]?.code); // orphan_result
 * ```
 */
export function checkTranscript(transcript: Transcript): readonly Violation[] {
  const violations: Violation[] = [...transcript.faults];
  for (const pair of transcript.pairs) {
    if (pair.state !== "abandoned") continue;
    const call = transcript.records[pair.call];
    if (call === undefined || call.approval === true) continue;
    violations.push({
      code: "missing_result",
      condition: "C1",
      at: call.message,
      callId: call.callId ?? null,
      message: `The call ${call.callId ?? call.name ?? "without an id"} is passed over without a result`,
    });
  }
  return violations.sort((a, b) => a.at - b.at);
}
