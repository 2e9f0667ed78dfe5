/**
 * Views: what a model is shown, over a log that is never edited. A view is made of indexes only; compaction
 * makes a new view of the same log, and a rejected one leaves the old view in force.
 *
 * @module
 */
import { pinnedMessages } from "./cut.ts";
import { IllegalCompactionCut } from "./errors.ts";
import type { Transcript } from "./transcript.ts";

/** What a model is shown of a log. Indexes count messages of the log. */
export interface View {
  /** 0 for the log itself, one more with every compaction. */
  readonly version: number;
  /** First message that is shown raw; everything before it is summarised. */
  readonly cut: number;
  /** Messages that stay verbatim. Those before the cut are shown in log order, after the summary. */
  readonly pinned: readonly number[];
}

/** The view that shows the whole log. */
export const WHOLE_LOG: View = { version: 0, cut: 0, pinned: [] };

/**
 * Lists the messages of a view, in the order in which they are shown: pinned ones before the cut, then the tail.
 *
 * @param view The view.
 * @param length Number of messages in the log.
 *
 * @example
 * ```ts
 * import { viewMessages } from "@selvage/selvage/core";
 *
 * console.log(viewMessages({ version: 1, cut: 4, pinned: [0] }, 6)); // [0, 4, 5]
 * ```
 */
export function viewMessages(view: View, length: number): readonly number[] {
  const shown = [...new Set(view.pinned)].filter((message) => message < view.cut).sort((a, b) => a - b);
  for (let message = view.cut; message < length; message++) shown.push(message);
  return shown;
}

/**
 * Makes the next view by cutting.
 *
 * @param view The view in force.
 * @param transcript The transcript as that view shows it: `from` messages of summary and pins, then the tail.
 * @param cut Where to cut: `at` indexes messages of the transcript, `from` is its first raw message, `pinned`
 *   names the messages of the log that stay verbatim.
 * @throws IllegalCompactionCut when the cut would sever a pair, or lies before the cut in force.
 *
 * @example
 * ```ts
 * import { cutView, parseTranscript, WHOLE_LOG } from "@selvage/selvage/core";
 *
 * const log = parseTranscript([
 *   { kind: "user", message: 0, tokens: 4 },
 *   { kind: "assistant", message: 1, tokens: 4 },
 * ]);
 * console.log(cutView(WHOLE_LOG, log, { at: 1, from: 0, pinned: [0] }).version); // 1
 * ```
 */
export function cutView(
  view: View,
  transcript: Transcript,
  { at, from, pinned }: { readonly at: number; readonly from: number; readonly pinned: readonly number[] },
): View {
  if (at < from || !transcript.isLegalCut(at)) {
    const { before, after } = nearestLegalCuts(transcript, Math.max(at, from - 1));
    throw new IllegalCompactionCut(at, { before: before !== null && before < from ? null : before, after });
  }
  // C1 and C2: a pin keeps its whole atom. Shown are the pins in front of the tail, then the tail itself; what an
  // earlier cut has summarised cannot be pinned any more.
  const length = view.cut + transcript.messages - from;
  const shown = viewMessages(view, length);
  const head = from - shown.filter((message) => message < view.cut).length;
  const positions = pinned.map((message) => shown.indexOf(message)).filter((index) => index >= 0);
  const whole = pinnedMessages(transcript, positions.map((index) => index + head))
    .flatMap((message) => shown[message - head] ?? []);
  const toCome = pinned.filter((message) => message >= length);
  return { version: view.version + 1, cut: view.cut + at - from, pinned: [...whole, ...toCome] };
}

/**
 * The legal cuts around a position, null where there is none.
 *
 * @example
 * ```ts
 * import { nearestLegalCuts, parseTranscript } from "@selvage/selvage/core";
 *
 * const transcript = parseTranscript([
 *   { kind: "user", message: 0, tokens: 10 },
 *   { kind: "tool_use", message: 1, callId: "c1", name: "read", tokens: 20 },
 *   { kind: "tool_result", message: 2, callId: "c1", tokens: 900 },
 *   { kind: "user", message: 3, tokens: 10 },
 * ]);
 * console.log(nearestLegalCuts(transcript, 2)); // { before: 1, after: 3 }
 * ```
 */
export function nearestLegalCuts(
  transcript: Transcript,
  at: number,
): { readonly before: number | null; readonly after: number | null } {
  const cuts = transcript.legalCuts;
  return {
    before: cuts.findLast((cut) => cut < at) ?? null,
    after: cuts.find((cut) => cut > at) ?? null,
  };
}
