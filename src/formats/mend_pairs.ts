/**
 * Repair of calls and their results: each is answered, by a result that names its tool and stands behind it.
 *
 * @module
 */
import type { Pair } from "../core/record.ts";
import { isHostedApart, isMisnamed } from "./check.ts";
import type { Mending } from "./mending.ts";
import type { Place } from "./pieces.ts";

/** With this begins what answers a call that was cut off, in a repair as in the loop. */
export const ABORTED_TEXT = "Aborted: the call did not finish";

/** Answers calls that nobody will answer any more, and puts results where they belong. */
export function mendPairs(mending: Mending): void {
  // What a person has answered stands in front of what came of it.
  const isApproval = ({ call }: Pair): boolean => mending.places[call]?.piece.approval === true;
  if (mending.reading.format.name === "ai-sdk") {
    for (const pair of mending.pairs) if (isApproval(pair)) mendPlace(mending, pair);
  }
  for (const pair of mending.pairs) {
    const call = mending.places[pair.call];
    if (call === undefined || isApproval(pair)) continue;
    if (pair.state === "abandoned" && call.piece.isTruncated !== true) {
      const interim = mending.places[pair.result ?? -1]?.piece.text ?? "";
      const what = call.piece.isHosted
        ? "Took out the call, which nobody else can answer"
        : "Answered the call";
      mending.report(
        "missing_result",
        call,
        call.piece.isHosted ? what : `${what} with an error: it did not finish`,
      );
      mending.answer(
        call,
        interim === "" ? ABORTED_TEXT : `${ABORTED_TEXT}. Its last interim result: ${interim}`,
      );
    }
    for (const record of mending.results.get(pair.call) ?? []) mendName(mending, { call, record });
    mendPlace(mending, pair);
  }
}

/** A result names the tool of its call. */
function mendName(
  mending: Mending,
  { call, record }: { readonly call: Place; readonly record: number },
): void {
  const { format } = mending.reading;
  const result = mending.places[record];
  const { withName } = format;
  const name = call.piece.name ?? "";
  if (withName === undefined || result === undefined) return;
  if (!isMisnamed(call.piece, result.piece)) return;
  mending.report("mismatched_name", result, `Wrote the tool of its call, ${name}, on the result`);
  mending.edit(result.message, (message) => withName(message, result.piece.part, name));
}

/** A result stands behind its call, with nothing but results between. */
function mendPlace(mending: Mending, pair: Pair): void {
  const call = mending.places[pair.call];
  const result = mending.places[pair.result ?? -1];
  if (call === undefined || result === undefined || pair.state === "abandoned") return;
  const isApart = isHostedApart(mending.reading, { call: call.piece, result });
  if (!isApart && !isMisplaced(mending, pair)) return;
  if (call.piece.isHosted) {
    mending.report(
      "misplaced_result",
      result,
      "Took out the call and its result, and kept the result's text",
    );
    // What the provider ran it answers in the same message: apart, neither half is of any use.
    mending.remove(call);
    mending.remove(result);
    const text = `[selvage: a result apart from its call] ${result.piece.text}`;
    mending.note(result.message + 1, { text, source: result.message });
    return;
  }
  mending.report("misplaced_result", result, `Moved the result behind its call in message ${call.message}`);
  const raw = mending.reading.format.take(mending.edited.at(result.message) ?? {}, result.piece.part);
  mending.remove(result);
  mending.add(call, {
    callId: mending.idOf(call),
    name: call.piece.name ?? "",
    text: isApart ? result.piece.text : "",
    isError: isApart && result.piece.isError === true,
    call: call.piece,
    // The provider's own kind of result is none of a call that the client answers.
    ...(isApart ? {} : { raw }),
  }, result.message);
}

/** Whether anything but results stands between a call and its result (condition C3). */
function isMisplaced(mending: Mending, pair: Pair): boolean {
  const { transcript } = mending.reading;
  const call = transcript.records[pair.call];
  const result = transcript.records[pair.result ?? -1];
  if (call === undefined || result === undefined) return false;
  if (result.message <= call.message) return result.message < call.message;
  if (call.longRunning === true || result.interim === true) return false;
  return (mending.interrupts[result.message] ?? 0) > (mending.interrupts[call.message + 1] ?? 0);
}
