/**
 * Originals as texts: what a ref of a ledger line stands for, in pages, and where in the log a text is found.
 *
 * @module
 */
import type { Entry } from "../ports.ts";
import { outputText } from "../tokens/measure.ts";
import { textOf } from "./ledger.ts";
import { callAt, callsOf, entryOfRef } from "./render.ts";
import { headOf, tailOf } from "./shorten.ts";

/** What a ref stands for: an entry (`e41`), a call with its result (`e41.0`), or entries (`e3..e17`). */
export type Ref =
  | { readonly kind: "entry"; readonly seq: number }
  | { readonly kind: "call"; readonly seq: number; readonly ref: string }
  | { readonly kind: "range"; readonly from: number; readonly to: number };

/** Reads a ref; null for what is none. */
export function parseRef(text: string): Ref | null {
  const [, from, call, to] = text.match(/^e(\d{1,15})(?:\.(\d{1,9})|\.\.e(\d{1,15}))?$/) ?? [];
  if (from === undefined) return null;
  if (call !== undefined) return { kind: "call", seq: Number(from), ref: `e${Number(from)}.${Number(call)}` };
  if (to === undefined) return { kind: "entry", seq: Number(from) };
  return Number(from) <= Number(to) ? { kind: "range", from: Number(from), to: Number(to) } : null;
}

/** What an assistant said besides calling: reasoning that can be read, and text. */
function saidBy(entry: Extract<Entry, { kind: "assistant" }>): string {
  const { content } = entry.message;
  if (typeof content === "string") return content;
  return content.flatMap((part) => {
    if (part.type === "reasoning") return part.text === "" ? [] : [`reasoning: ${part.text}`];
    if (part.type === "tool-result") return [`result of ${part.toolName}: ${outputText(part.output)}`];
    if (part.type === "tool-call" && part.providerExecuted === true) {
      return [`call of ${part.toolName}: ${JSON.stringify(part.input)}`];
    }
    return [textOf([part])];
  }).filter((text) => text !== "").join("\n");
}

/** One entry as a text with a heading. A result is named after its call. */
function textOfEntry(entry: Entry): string {
  switch (entry.kind) {
    case "user":
      return `e${entry.seq} user:\n${textOf(entry.message.content)}`;
    case "result":
      return `${entry.call} result of ${entry.toolName} (${entry.status}):\n${outputText(entry.output)}`;
    case "assistant":
      return [
        `e${entry.seq} assistant:`,
        ...[saidBy(entry)].filter((said) => said !== ""),
        ...callsOf(entry).map(callText),
      ].join("\n");
    default:
      return entry satisfies never;
  }
}

function callText({ ref, name, input }: ReturnType<typeof callsOf>[number]): string {
  return `${ref} call of ${name}: ${JSON.stringify(input)}`;
}

/** A call and its result; null where there is no such call. */
function textOfCall(entries: readonly Entry[], ref: string): string | null {
  const call = callAt(entries, ref);
  if (call === undefined) return null;
  const seq = entryOfRef(ref);
  const result = entries.find((entry) => entry.seq > seq && entry.kind === "result" && entry.call === ref);
  return `${callText(call)}\n${result === undefined ? "(no result yet)" : textOfEntry(result)}`;
}

/**
 * Writes what a ref stands for: user texts, reasoning, answers and whole results.
 *
 * @param entries The log.
 * @param ref What is asked for.
 * @returns The text; null where the log has no such entry or call.
 */
export function originalText(entries: readonly Entry[], ref: Ref): string | null {
  if (ref.kind === "call") return textOfCall(entries, ref.ref);
  if (ref.kind === "range") {
    const found = entries.slice(ref.from, ref.to + 1);
    return found.length === 0 ? null : found.map(textOfEntry).join("\n\n");
  }
  const entry = entries[ref.seq];
  if (entry === undefined) return null;
  return entry.kind === "result" ? textOfCall(entries, entry.call) : textOfEntry(entry);
}

/** One page of a text, in characters. */
export interface Page {
  readonly text: string;
  readonly offset: number;
  /** One past the last character. */
  readonly end: number;
  readonly total: number;
}

/** Cuts a page out of a text; no surrogate pair is cut in two. */
export function pageOf(
  text: string,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Page {
  const rest = tailOf(text, Math.max(0, text.length - offset));
  const page = headOf(rest, Math.max(limit, 2));
  const start = text.length - rest.length;
  return { text: page, offset: start, end: start + page.length, total: text.length };
}

/** Where a text was found. */
export interface Hit {
  /** Of the entry, or of the call whose result holds it. */
  readonly ref: string;
  /** Character of the ref's text, as {@link originalText} writes it, at which the first one begins. */
  readonly at: number;
  /** How often it is in there. */
  readonly times: number;
  /** What stands around the first one, in one line. */
  readonly text: string;
}

/** Characters that one search looks through. */
const MAX_SEARCHED = 20_000_000;
/** Places that are counted in one ref. */
const MAX_TIMES = 1_000;
/** Characters shown before and behind what was found. */
const BEFORE = 60;
const BEHIND = 140;

/** A text that matches however it is written, each character in its place. */
function folded(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return text.replace(/\p{Lu}/gu, (letter) => {
    const small = letter.toLowerCase();
    return small.length === letter.length ? small : letter;
  });
}

/**
 * Finds the places where words stand, in whatever case; `*` stands for anything within a line. Takes time in
 * proportion to the text, whatever is looked for.
 */
function* placesOf(text: string, words: readonly string[]): Generator<readonly [from: number, to: number]> {
  const [first = "", ...others] = words;
  // The next place of each word from where it was last looked for: nothing is looked through twice.
  const next = others.map(() => -1);
  for (let from = text.indexOf(first); from >= 0;) {
    let to = from + first.length;
    // What is looked for may hold the end of a line itself: the line is that in which the first word ends.
    const newline = text.indexOf("\n", to);
    const end = newline < 0 ? text.length : newline;
    for (const [index, word] of others.entries()) {
      if ((next[index] ?? -1) < to) next[index] = text.indexOf(word, to);
      const at = next[index] ?? -1;
      if (at < 0) return;
      if (at + word.length > end) {
        to = -1;
        break;
      }
      to = at + word.length;
    }
    if (to >= 0) yield [from, to];
    // A later place of the first word that ends in the same line would miss the same words.
    from = text.indexOf(first, to >= 0 ? to : end - first.length + 1);
  }
}

/**
 * Searches originals. A whole call is one place to look in, an entry another.
 *
 * @param entries The log.
 * @param options `search`: a text, in whatever case; `*` stands for anything within a line. `ref`: where to look, by
 *   default everywhere. `skip` leaves entries out.
 * @returns One hit for each ref, or for one ref all its places; `searchedTo` is set where the search stopped early:
 *   the last entry that it has seen.
 */
export function searchOriginals(
  entries: readonly Entry[],
  { search, ref, skip = () => false, most }: {
    readonly search: string;
    readonly ref: Ref | null;
    readonly skip?: (entry: Entry) => boolean;
    /** Hits at which it stops. */
    readonly most: number;
  },
): { readonly hits: readonly Hit[]; readonly searchedTo: number | null } {
  const words = folded(search).split("*").filter((word) => word !== "");
  if (words.length === 0) return { hits: [], searchedTo: null };
  if (ref !== null && ref.kind !== "range") {
    const text = originalText(entries, ref) ?? "";
    const name = ref.kind === "call" ? ref.ref : `e${ref.seq}`;
    const hits: Hit[] = [];
    for (const place of placesOf(folded(text), words)) {
      if (hits.length === most) break;
      hits.push({ ref: name, at: place[0], times: 1, text: around(text, place) });
    }
    return { hits, searchedTo: null };
  }
  const { from, to } = ref ?? { from: 0, to: entries.length - 1 };
  const hits: Hit[] = [];
  let searched = 0;
  for (const entry of entries.slice(from, to + 1)) {
    if (skip(entry)) continue;
    if (searched > MAX_SEARCHED || hits.length === most) return { hits, searchedTo: entry.seq - 1 };
    const text = textOfEntry(entry);
    searched += text.length;
    let times = 0;
    let first: readonly [from: number, to: number] | undefined;
    for (const place of placesOf(folded(text), words)) {
      first ??= place;
      if (++times === MAX_TIMES) break;
    }
    if (first === undefined) continue;
    // A result's text stands behind its call's, where its ref is read.
    const name = entry.kind === "result" ? entry.call : `e${entry.seq}`;
    const shift = entry.kind === "result" ? (textOfCall(entries, name)?.length ?? 0) - text.length : 0;
    hits.push({ ref: name, at: shift + first[0], times, text: around(text, first) });
  }
  return { hits, searchedTo: null };
}

/** The line in which a place stands, as much of it as says where. */
function around(text: string, [from, to]: readonly [from: number, to: number]): string {
  const line = text.lastIndexOf("\n", from - 1) + 1;
  const newline = text.indexOf("\n", to);
  const end = newline < 0 ? text.length : newline;
  const start = Math.max(line, from - BEFORE);
  const stop = Math.min(end, from + BEHIND);
  const shown = headOf(tailOf(text.slice(0, stop), stop - start), stop - start);
  return `${start > line ? "…" : ""}${shown}${stop < end ? "…" : ""}`;
}
