/**
 * Checks a transcript in its own format: pairing and the rules of the dialect.
 *
 * @module
 */
import { checkTranscript } from "../core/check.ts";
import type { Violation, ViolationCode } from "../core/record.ts";
import { APPROVAL, type Piece } from "./format.ts";
import type { Reading } from "./read.ts";

/** A call that has no result, and why. */
export interface OpenCall {
  /** Message index. */
  readonly at: number;
  /** Index among the calls of its message. */
  readonly call: number;
  /** Its id, where it has one. */
  readonly callId: string | null;
  /** Name of the tool, where it has one. */
  readonly name: string | null;
  /** Whether somebody will answer it. */
  readonly state: "in_flight" | "abandoned";
}

function dialectViolation(code: ViolationCode, at: number, message: string): Violation {
  return { code, condition: "dialect", at, callId: null, message };
}

/** Whether something else stands before a result that answers a call. */
function hasLateResults(pieces: readonly Piece[]): boolean {
  const other = pieces.findIndex((piece) => piece.kind !== "tool_result");
  return other >= 0 && pieces.slice(other).some((piece) => piece.kind === "tool_result");
}

/**
 * Checks a transcript.
 *
 * @param reading The transcript as it was read.
 * @returns Violations in order of their messages: conditions C1 to C3, and what the format's provider refuses.
 *
 * @example
 * ```ts
 * import { checkMessages, readTranscript } from "@selvage/selvage/core";
 *
 * const reading = readTranscript([{ role: "user", content: "" }], { format: "anthropic" });
 * console.log(checkMessages(reading).map((violation) => violation.code)); // ["empty_text"]
 * ```
 */
export function checkMessages(reading: Reading): readonly Violation[] {
  const { format, messages, pieces, transcript } = reading;
  // Approvals are no calls: where they stand, and how often, is nobody's rule.
  const violations = checkTranscript(transcript).filter(({ code, callId }) =>
    code === "orphan_result" || callId?.startsWith(APPROVAL) !== true
  );
  if (format.rules.resultsFirst) {
    for (const [at, message] of pieces.entries()) {
      if (message.some((piece) => piece.kind === "assistant" || piece.kind === "tool_use")) continue;
      if (!hasLateResults(message)) continue;
      violations.push(
        dialectViolation("results_not_first", at, `Message ${at} has something in front of its results`),
      );
    }
  }
  for (const [at, message] of pieces.entries()) {
    const isEmpty = message.some((piece) =>
      piece.kind !== "tool_result" &&
      (piece.isBlank === true ||
        (format.rules.noEmptyText && piece.isText === true && piece.text.trim() === ""))
    );
    if (isEmpty) violations.push(dialectViolation("empty_text", at, `Message ${at} has an empty text`));
  }
  if (format.rules.firstFromUser) {
    const first = pieces.findIndex((message) => !message.every((piece) => piece.kind === "system"));
    if (messages[first]?.["role"] === "assistant") {
      violations.push(
        dialectViolation("first_not_user", first, `Message ${first} is the first one and not from the user`),
      );
    }
  }
  return violations.sort((a, b) => a.at - b.at);
}

/** Calls without a result, in order. Approvals are no calls. */
export function openCalls({ transcript }: Reading): readonly OpenCall[] {
  const seen = new Map<number, number>();
  return transcript.pairs.flatMap((pair): OpenCall[] => {
    const call = transcript.records[pair.call];
    if (call === undefined || call.approval === true) return [];
    const index = seen.get(call.message) ?? 0;
    seen.set(call.message, index + 1);
    if (pair.state === "answered") return [];
    return [{
      at: call.message,
      call: index,
      callId: call.callId ?? null,
      name: call.name ?? null,
      state: pair.state,
    }];
  });
}
