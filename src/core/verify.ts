/**
 * Verification: a compaction counts only after its result has been parsed again from scratch and every promise
 * has been seen to hold. Idempotence is verified, not assumed.
 *
 * @module
 */
import { checkTranscript } from "./check.ts";
import { type CutPolicy, pinnedMessages, selectCut } from "./cut.ts";
import type { Pair, TranscriptRecord } from "./record.ts";
import type { Transcript } from "./transcript.ts";

/** What {@link verify} compares. */
export interface VerifyInput {
  /** The transcript as it was shown when the cut was selected. */
  readonly before: Transcript;
  /** The transcript as it will be shown, parsed from scratch. Its tail is the tail of `before`. */
  readonly after: Transcript;
  /** First message of `before` that stays raw. */
  readonly at: number;
  /** First message of `after` that is raw: the summary and pinned messages lie before it. */
  readonly from: number;
  /** The policy that selected the cut. */
  readonly policy: CutPolicy;
  /** Positions in `after` of the messages that the policy pins. */
  readonly pinned: readonly number[];
  /** Share of its tokens that the context must lose. Default {@link MIN_PROGRESS}. */
  readonly minProgress?: number;
  /** Says whether the summary records the pair of a call, given its record index in `before`. */
  readonly records: (call: number) => boolean;
}

/** A promise that a compaction would break. */
export interface Rejection {
  /** Stable code. */
  readonly code: "invalid" | "pair_changed" | "pair_unrecorded" | "not_smaller" | "not_idempotent";
  /** The condition that would break. */
  readonly condition: "C1" | "C2" | "C3" | "C4" | "C5" | "dialect" | "progress";
  /** A sentence for people. */
  readonly message: string;
}

/** Share of its tokens that a compaction must save to be worth a new prefix. */
export const MIN_PROGRESS = 0.1;

/**
 * Verifies a compaction before it is used.
 *
 * @param input The transcripts before and after, the cut and the policy.
 * @returns What would break, empty where the new view may be used.
 *
 * @example
 * ```ts
 * import { parseTranscript, verify } from "@selvage/selvage/core";
 *
 * const before = parseTranscript([
 *   { kind: "user", message: 0, tokens: 900 },
 *   { kind: "assistant", message: 1, tokens: 200 },
 * ]);
 * const after = parseTranscript([
 *   { kind: "summary", message: 0, tokens: 90 },
 *   { kind: "assistant", message: 1, tokens: 200 },
 * ]);
 * const policy = { budget: 400, reserve: 100 };
 * console.log(verify({ before, after, at: 1, from: 1, policy, pinned: [], records: () => true })); // []
 * ```
 */
export function verify(input: VerifyInput): readonly Rejection[] {
  const { before, after, at, from, policy } = input;
  const rejections: Rejection[] = checkTranscript(after).map(({ condition, message }) => ({
    code: "invalid",
    condition,
    message,
  }));
  if (!before.isLegalCut(at)) {
    rejections.push({
      code: "invalid",
      condition: "C2",
      message: `The cut at message ${at} is not a legal one`,
    });
  }
  // Positions count from the tail, and among the pinned messages in front of it: there alone nothing may move.
  const pins = pinnedMessages(before, policy.pinned ?? []).filter((message) => message < at);
  const was = (message: number): string => message >= at ? `t${message - at}` : `p${pins.indexOf(message)}`;
  const shown = [...input.pinned].filter((message) => message < from).sort((x, y) => x - y);
  const is = (message: number): string =>
    message >= from ? `t${message - from}` : `p${shown.indexOf(message)}`;
  const pinned = new Set(pins);
  const kept: string[] = [];
  for (const pair of before.pairs) {
    const call = before.records[pair.call];
    const message = call?.message ?? 0;
    if (message >= at || pinned.has(message)) kept.push(signature(before, { pair, position: was }));
    else if (pair.state === "in_flight") {
      // Its result is still to come, and would find no call.
      const sentence = `The cut leaves the call ${nameOf(call)} in flight behind`;
      rejections.push({ code: "invalid", condition: "C2", message: sentence });
    } else if (call?.approval !== true && !input.records(pair.call)) {
      // C4: what leaves the raw transcript is recorded as a pair, with its arguments, or it does not leave.
      const sentence = `The summary does not record the call ${nameOf(call)}`;
      rejections.push({ code: "pair_unrecorded", condition: "C4", message: sentence });
    }
  }
  const now = after.pairs.map((pair) => signature(after, { pair, position: is }));
  const hasTail = after.messages - from === before.messages - at;
  if (!hasTail || kept.join() !== now.join()) {
    rejections.push({
      code: "pair_changed",
      condition: "C1",
      message: `The kept messages hold ${kept.length} pairs before and ${now.length} after, or others`,
    });
  }
  const progress = input.minProgress ?? MIN_PROGRESS;
  if (after.tokens > before.tokens * (1 - progress)) {
    rejections.push({
      code: "not_smaller",
      condition: "progress",
      message: `The context would have ${after.tokens} tokens after ${before.tokens}, wanted ${
        progress * 100
      } % less`,
    });
  }
  const again = selectCut(after, { ...policy, force: false, from, pinned: input.pinned });
  // A forced cut may stay over its budget; then the next plan must find no other cut either.
  if (again.kind !== "nothing" && !(policy.force === true && again.kind === "defer")) {
    rejections.push({
      code: "not_idempotent",
      condition: "C5",
      message: `A second compaction would answer "${again.kind}", wanted "nothing"`,
    });
  }
  return rejections;
}

function nameOf(call: TranscriptRecord | undefined): string {
  return call?.callId || call?.name || "without an id";
}

/** A pair as far as a compaction may not change it: its id, and where its call and its result stand. */
function signature(
  transcript: Transcript,
  { pair, position }: { readonly pair: Pair; readonly position: (message: number) => string },
): string {
  const call = transcript.records[pair.call];
  const result = pair.result === null ? undefined : transcript.records[pair.result];
  const at = result === undefined ? "" : position(result.message);
  return `${position(call?.message ?? 0)}:${call?.callId ?? ""}>${at}`;
}
