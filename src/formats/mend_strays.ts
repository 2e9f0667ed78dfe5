/**
 * Repair of results that answer nothing: orphans, and second results of a call.
 *
 * @module
 */
import type { Pair } from "../core/record.ts";
import { APPROVAL, type Piece } from "./format.ts";
import type { Mending } from "./mending.ts";
import type { Place } from "./pieces.ts";

/** What stands in front of the text of a result that answers nothing, where it stands as a user's. */
export function strayMark(name: string, isSecond: boolean): string {
  return isSecond
    ? `[selvage: a second result of ${name || "a call"}]`
    : `[selvage: a result without its call${name ? ` (${name})` : ""}]`;
}

/** Results that answer nothing leave their place; their text stays, as a user text after the round. */
export function mendStrays(mending: Mending): void {
  const { transcript, early } = mending.reading;
  // Each of them is a fault of the core, in the same order.
  const codes = transcript.faults.map(({ code }) => code).filter((code) =>
    code === "orphan_result" || code === "duplicate_result"
  ).values();
  const answered = new Map<string, Piece>();
  const nameOf = ({ callId, name }: Piece): string => callId ? callId.replace(APPROVAL, "") : name ?? "";
  const open = mending.pairs.filter((pair) => pair.state === "in_flight");
  let next = 0;
  /** Of the open calls so far, the last one that nobody promised to answer, and the last that somebody did. */
  let fresh: Pair | undefined;
  let promised: Pair | undefined;
  for (const [record, place] of mending.places.entries()) {
    for (; (mending.places[open[next]?.call ?? -1]?.message ?? Infinity) <= place.message; next++) {
      if (isPromised(mending, open[next])) promised = open[next];
      else fresh = open[next];
    }
    const { piece } = place;
    if (piece.kind !== "tool_result") continue;
    const key = `${piece.callId ? "#" : "@"}${piece.callId || piece.name || ""}`;
    if (transcript.pairOfResult(record) !== null) {
      answered.set(key, piece);
      continue;
    }
    const code = codes.next().value ?? "orphan_result";
    const isSecond = code === "duplicate_result";
    if (early.has(record)) continue;
    mending.remove(place);
    const files = piece.files ?? 0;
    const first = isSecond ? answered.get(key) : undefined;
    const isSame = first !== undefined && first.text === piece.text && files === 0;
    const name = nameOf(piece);
    if (isSame || (piece.text === "" && files === 0)) {
      mending.report(
        code,
        place,
        `Took out the result: it ${isSame ? "says what the first one says" : "is empty"}`,
      );
      continue;
    }
    const lost = files > 0 ? [`[${files === 1 ? "a file" : `${files} files`} left out]`] : [];
    const text = [strayMark(name, isSecond), ...(piece.text === "" ? [] : [piece.text]), ...lost].join(" ");
    mending.report(code, place, "Took out the result, and kept its text as a user text after the round");
    // Behind the round; but nothing may come between an open call and the result that is still on its way.
    const at = openRound(mending, { place, fresh, promised }) ?? mending.roundEnds[place.message] ??
      place.message + 1;
    mending.note(at, { text, source: place.message });
  }
}

/** Whether an open call may be passed over: somebody will answer it all the same. */
function isPromised({ reading }: Mending, open: Pair | undefined): boolean {
  const call = reading.transcript.records[open?.call ?? -1];
  return call?.inFlight === true || call?.longRunning === true || typeof open?.result === "number";
}

/** Where the round of an open call begins that a text at a place would come into, or pass over. */
function openRound(
  mending: Mending,
  { place, fresh, promised }: {
    readonly place: Place;
    readonly fresh: Pair | undefined;
    readonly promised: Pair | undefined;
  },
): number | null {
  const { records } = mending.reading.transcript;
  const call = records[(fresh ?? promised)?.call ?? -1];
  if (call === undefined) return null;
  const isInRound = mending.interrupts[place.message] === mending.interrupts[call.message + 1];
  return fresh !== undefined || isInRound ? mending.starts[call.message] ?? null : null;
}
