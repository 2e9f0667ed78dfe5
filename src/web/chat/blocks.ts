/**
 * What a context is made of, as blocks of a strip: the window with what is in it, and the log with what is shown of it.
 *
 * @module
 */
import type { InspectedAtom, InspectedContext } from "../../client/mod.ts";
import { type Block, KIND_NAMES, type StripAtom } from "../base/strip.ts";
import { grouped, plural } from "../../files/words.ts";

/** Places of what is in a window and in no log: in front of the entries. */
export const FIXED = -2;
export const SUMMARY = -1;

function stripAtom({ from, to, kind, open, state }: InspectedAtom, tokens: number): StripAtom {
  return {
    from,
    to,
    kind,
    state: open ? "open" : "closed",
    tokens,
    ...(state === "raw" ? {} : { mark: state }),
  };
}

/** The window from left to right: what is always there, the summary, what is pinned, and the end of the log. */
export function windowAtoms({ atoms, meter, summary }: InspectedContext): readonly StripAtom[] {
  const shown = atoms.filter(({ state }) => state !== "summarised");
  const counted = shown.reduce((sum, atom) => sum + atom.shown, summary?.tokens ?? 0);
  const fixed = Math.max(0, Math.round(meter.tokens - counted));
  return [
    { from: FIXED, to: FIXED + 1, kind: "system", state: "closed", tokens: fixed },
    ...(summary === null
      ? []
      : [{ from: SUMMARY, to: 0, kind: "summary", state: "closed", tokens: summary.tokens } as const]),
    ...shown.map((atom) => stripAtom(atom, atom.shown)),
  ];
}

/** The log from left to right: every original, and how it is shown. */
export function logAtoms({ atoms }: InspectedContext): readonly StripAtom[] {
  return atoms.map((atom) => stripAtom(atom, atom.tokens));
}

const MARKS: Readonly<Record<NonNullable<StripAtom["mark"]>, string>> = {
  pinned: "pinned: it stays, word for word",
  shortened: "its result is shown shortened",
  summarised: "in the summary now; the original is kept",
};

/**
 * Says what a block is.
 *
 * @param block The block.
 * @param hasCut Whether there is a legal cut in front of it.
 * @param holds Says what an entry holds.
 */
export function sayBlock(block: Block, hasCut: boolean, holds: (seq: number) => string): string {
  const { first, end, from, kind, tokens, isOpen, mark } = block;
  const size = `about ${plural(tokens, "token")}`;
  if (end - first === 1 && from === FIXED) return `Instructions and tools, ${size}: always there`;
  if (end - first === 1 && from === SUMMARY) return `Summary, ${size}; Enter opens it`;
  const held = end - first === 1 ? holds(from) : "";
  const words = [
    end - first === 1
      ? `${KIND_NAMES[kind]}, e${from}`
      : `${plural(end - first, "atom")} from e${Math.max(0, from)} on; Enter opens them`,
    ...(held === "" ? [] : [held]),
    size,
    ...(isOpen ? ["open: a call has no result yet"] : []),
    ...(mark === null ? [] : [MARKS[mark]]),
    ...(hasCut ? ["a legal cut in front of it"] : []),
  ];
  return words.join(", ");
}

/** One line of a summary: what it is about, and what it says. */
export interface SummaryLine {
  /** What its original is asked for by; null for the frame. */
  readonly ref: string | null;
  readonly text: string;
}

/** Takes a summary apart into its lines. */
export function summaryLines(text: string): readonly SummaryLine[] {
  return text.split("\n").filter((line) => line.trim() !== "").map((line) => {
    const [, ref, rest] = line.match(/^(e\d+(?:\.\d+|\.\.e\d+)?) (.*)$/) ?? [];
    return ref === undefined ? { ref: null, text: line } : { ref, text: rest ?? "" };
  });
}

/** How full a window is, in a sentence. */
export function sayMeter({ tokens, window, compactAt, stopAt }: InspectedContext["meter"]): string {
  const percent = Math.round(tokens / window * 100);
  const share = percent === 0 ? "under 1" : percent;
  const next = tokens < compactAt
    ? `${grouped(Math.round(compactAt - tokens))} more until a compaction is due`
    : tokens < stopAt
    ? "a compaction is due"
    : "the model is not called before a compaction";
  return `${grouped(Math.round(tokens))} of ${grouped(window)} tokens (${share} %), ${next}`;
}
