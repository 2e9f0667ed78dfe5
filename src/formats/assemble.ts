/**
 * The end of a repair: its edits applied, message by message.
 *
 * @module
 */
import type { JsonObject } from "./format.ts";
import type { Added, Mending, Note, Source } from "./mending.ts";
import { hasLateResults, isRest } from "./pieces.ts";

/** A message that was made, and where it comes from. */
export interface Made extends Source {
  readonly message: JsonObject;
}

/** Makes the messages of a repair, each with what it was made of. */
export function assemble(mending: Mending): readonly Made[] {
  const { format, pieces } = mending.reading;
  const messages = mending.edited.settle();
  const out: Made[] = [];
  // Results wait here until the messages that answer the same round have passed.
  let pending: readonly Added[] = [];
  let call = -1;
  const settle = (): void => {
    if (pending.length > 0) {
      const before = out.length > call + 1 ? out.pop() ?? null : null;
      const source = spanOf(before === null ? pending : [before, ...pending]);
      const written = format.addResults(before?.message ?? null, pending.map(({ result }) => result));
      out.push(...written.map((message) => ({ message, ...source })));
    }
    pending = [];
  };
  const say = (notes: readonly Note[]): void => {
    const message = format.userText(notes.map(({ text }) => text).join("\n"));
    out.push({ message, ...spanOf(notes.map(({ source }) => ({ from: source, to: source + 1 }))) });
  };
  for (const [at, edited] of messages.entries()) {
    const message = finish(mending, { at, edited });
    if (message !== null && !mending.joins(at) && !answersRound(mending, at)) settle();
    const notes = mending.notes.get(at);
    if (notes !== undefined) {
      settle();
      say(notes);
    }
    if (message !== null) out.push({ message, from: at, to: at + 1 });
    // What is said behind the results of a round ends it.
    const isEnd = answersRound(mending, at) &&
      pieces[at]?.some(({ kind }) => kind !== "tool_result") === true;
    if (isEnd) settle();
    const added = mending.added.get(at);
    if (added === undefined) continue;
    // Calls of one message are answered behind the last of them.
    if (!mending.joins(at)) settle();
    pending = [...pending, ...added];
    call = out.length - 1;
  }
  settle();
  const notes = mending.notes.get(messages.length);
  if (notes !== undefined) say(notes);
  return out;
}

/** A message with its parts removed and, where its format wants it, its results in front. */
function finish(
  mending: Mending,
  { at, edited }: { readonly at: number; readonly edited: JsonObject },
): JsonObject | null {
  const { format, pieces } = mending.reading;
  const gone = mending.removed.get(at) ?? new Set();
  const message = gone.size > 0 ? format.without(edited, [...gone]) : edited;
  if (message === null || !format.rules.resultsFirst) return message;
  const left = (pieces[at] ?? []).filter((piece) => !gone.has(piece.part));
  if (!hasLateResults(left)) return message;
  const late = left.find((piece) => piece.kind === "tool_result");
  if (late !== undefined) {
    mending.report(
      "results_not_first",
      { message: at, piece: late },
      "Moved the results to the front of the message",
    );
  }
  const order = [...left.keys()].sort((a, b) =>
    Number(left[a]?.kind !== "tool_result") - Number(left[b]?.kind !== "tool_result") || a - b
  );
  return format.reorder(message, order);
}

/** Whether a message holds results that are where they belong. */
function answersRound(mending: Mending, at: number): boolean {
  const gone = mending.removed.get(at);
  const pieces = mending.reading.pieces[at] ?? [];
  return isRest(pieces) &&
    pieces.some(({ kind, part }) => kind === "tool_result" && gone?.has(part) !== true);
}

/** Where messages of the input are to be found in the output: in a message of their own, else in one they share. */
export function placesIn(made: readonly Made[]): ReadonlyMap<number, number> {
  const places = new Map<number, number>();
  const shared = new Map<number, number>();
  for (const [index, { from, to }] of made.entries()) {
    if (to === from + 1) places.set(from, places.get(from) ?? index);
    else shared.set(from, index).set(to - 1, index);
  }
  return new Map([...shared, ...places]);
}

/** All that some messages were made of. */
function spanOf(sources: readonly Source[]): Source {
  return sources.reduce((all, { from, to }) => ({
    from: Math.min(all.from, from),
    to: Math.max(all.to, to),
  }));
}
