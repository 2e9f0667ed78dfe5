/**
 * Telling facts of a text, found by rule: what somebody who goes on with the work would have to look up again.
 *
 * @module
 */
import { headOf, tailOf } from "./shorten.ts";

/** Kinds of facts, those that cost most to find again first. */
export const FACT_KINDS = ["rule", "error", "url", "hash", "id", "path"] as const;
/** What sort of fact a text is. */
export type FactKind = typeof FACT_KINDS[number];

/** One fact. */
export interface Fact {
  readonly kind: FactKind;
  readonly text: string;
}

/** Characters of a line that tells of an error, and of a sentence that binds. */
const ERROR_LINE = 120;
const SENTENCE = 240;
/** Characters to each side of a word in which its line is looked for, and words that are looked at. */
const AROUND = 400;
const WORDS = 500;

// Every repetition is bounded and none can begin inside of what another has read: the time is linear in the text.
const TOKENS: readonly (readonly [FactKind, RegExp])[] = [
  ["url", /\bhttps?:\/\/[^\s"'`<>()\\\]}]{4,200}/g],
  ["path", /(?<![\w/.:@-])(?:~|\.{1,2})?\/?(?:[\w@.-]{1,80}\/){1,20}[\w@-]{1,80}\.\w{1,8}\b/g],
  ["hash", /\b(?=[0-9a-f]{0,63}\d)(?=[0-9a-f]{0,63}[a-f])[0-9a-f]{7,64}\b/g],
  [
    "id",
    /\b(?:[A-Z]{2,10}-\d{1,6}|(?=[A-Z0-9]{0,9}\d)(?=[A-Z0-9]{0,9}[A-Z])[A-Z0-9]{6,10}|[a-z]{1,20}_[a-z]{1,20}_\d{2,8})\b/g,
  ],
];
const ERROR = /\b(?:error|exception|failed|failure|traceback|panic|fatal|cannot|not found|denied)\b/gi;
const RULE =
  /\b(?:must(?:n['’]t)?|never|always|do not|don['’]t|only|should(?: not|n['’]t)|make sure|without|avoid)\b/gi;

/** The lines, or sentences, in which a word stands, each once and no longer than anybody reads. */
function around(
  text: string,
  word: RegExp,
  { ends, most, length }: { readonly ends: RegExp; readonly most: number; readonly length: number },
): readonly string[] {
  const found = new Set<string>();
  let done = 0;
  let words = 0;
  for (const { index, 0: said } of text.matchAll(word)) {
    if (index < done) continue;
    const before = text.slice(Math.max(0, index - AROUND), index);
    const start = [...before.matchAll(ends)].at(-1);
    const rest = text.slice(index, index + AROUND);
    const end = rest.search(new RegExp(ends.source));
    done = index + (end < 0 ? rest.length : end);
    const head = (start === undefined ? before : before.slice(start.index + start[0].length)).trimStart();
    // What is shown of a long one has the word in it.
    const lead = head.length + said.length > length ? tailOf(head, length / 2) : head;
    found.add(headOf((lead + text.slice(index, done)).trim(), length));
    if (found.size >= most || ++words >= WORDS) break;
  }
  return [...found];
}

/** The first lines of a text that tell of errors. */
export function errorLines(text: string, most: number): readonly string[] {
  return around(text, ERROR, { ends: /\n/g, most, length: ERROR_LINE });
}

/** The sentences of what a user says that bind: what must, may only, or must never be. A dot in a name ends none. */
export function ruleSentences(text: string, most: number): readonly string[] {
  return around(text, RULE, { ends: /[.!?](?=\s|$)|\n/g, most, length: SENTENCE });
}

/** Addresses, paths, hashes and ids in a text, each once, as they come; a part of another one is none. */
export function tokensIn(text: string): readonly Fact[] {
  const found = new Map<string, Fact>();
  let rest = text;
  for (const [kind, rule] of TOKENS) {
    rest = rest.replace(rule, (text) => {
      if (!found.has(text)) found.set(text, { kind, text });
      return " ";
    });
  }
  return [...found.values()];
}

/** Says of what kind a fact is that was read back. */
export function kindOf(text: string): FactKind {
  const [only] = tokensIn(text);
  if (only !== undefined && only.text === text) return only.kind;
  return errorLines(text, 1).length > 0 ? "error" : "rule";
}
