/**
 * What a ledger line says of long things: both ends of a text, the arguments of a call, the outcome of a result.
 *
 * @module
 */
import { counted } from "../core/counted.ts";
import type { ToolCallPart } from "../core/message.ts";
import { errorLines, FACT_KINDS, ruleSentences, tokensIn } from "./facts.ts";
import { headOf, tailOf } from "./shorten.ts";

/** Characters to which paths, commands, queries, texts of users and the like are kept. */
export const LONG = 400;
const SHORT = 120;
/** Strings inside of nested arguments. */
const INNER = 60;
/** JSON of one nested argument. */
const NESTED = 800;
const MAX_DEPTH = 6;
/** All arguments of a call, or a result kept verbatim: one line must not push those of others out of the ledger. */
export const ALTOGETHER = 2_000;

/** Last words of argument names whose strings are kept to {@link LONG} characters whatever the tool says. */
const VERBATIM = new Set(
  ("path file filename filepath dir directory folder cwd cmd command query q pattern regex glob url uri id")
    .split(" "),
);

/** A 32-bit FNV-1a hash as 8 hex digits: tells long strings apart, protects nothing. */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/**
 * Keeps both ends of a long text, its length and its hash: enough to recognise it, never enough to fake it.
 *
 * @param text The text.
 * @param most Characters up to which it is kept whole.
 */
export function clip(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = headOf(text, Math.floor(most * 0.6));
  const tail = tailOf(text, Math.floor(most * 0.25));
  return `${head}…${tail} (${text.length} characters, #${shortHash(text)})`;
}

/** A text without what {@link clip} says of one that it shortened. */
export function withoutMarks(text: string): string {
  return text.replace(/\(\d{1,12} characters, #[0-9a-f]{8}\)/g, "");
}

/** Whether an argument is one that a later reader needs to the letter: by the tool's word, or by its name. */
function isVerbatim(name: string, wanted: readonly string[]): boolean {
  if (wanted.includes(name)) return true;
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z]+/);
  const last = words.findLast((word) => word !== "") ?? "";
  return VERBATIM.has(last) || VERBATIM.has(last.replace(/s$/, ""));
}

/** A number kept as its own text, since a double could not hold it. */
function isRawNumber(value: object): boolean {
  const { isRawJSON } = JSON as unknown as { readonly isRawJSON?: (value: unknown) => boolean };
  return isRawJSON?.(value) === true;
}

/** A nested argument with its strings clipped; what lies deeper than anybody reads is clipped as JSON text. */
function shrink(
  value: unknown,
  at: { readonly name: string; readonly depth: number },
  wanted: readonly string[],
): unknown {
  if (typeof value === "string") return clip(value, isVerbatim(at.name, wanted) ? LONG : INNER);
  if (typeof value !== "object" || value === null || isRawNumber(value)) return value;
  if (at.depth >= MAX_DEPTH) return clip(JSON.stringify(value), INNER);
  const depth = at.depth + 1;
  if (Array.isArray(value)) return value.map((item) => shrink(item, { name: at.name, depth }, wanted));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, shrink(inner, { name, depth }, wanted)]),
  );
}

function renderField(name: string, value: unknown, wanted: readonly string[]): string {
  if (typeof value === "string") return JSON.stringify(clip(value, isVerbatim(name, wanted) ? LONG : SHORT));
  const whole = JSON.stringify(value) ?? "null";
  if (whole.length <= (isVerbatim(name, wanted) ? LONG : SHORT)) return whole;
  const shrunk = JSON.stringify(shrink(value, { name, depth: 0 }, wanted));
  return shrunk.length <= NESTED ? shrunk : JSON.stringify(clip(shrunk, NESTED));
}

/**
 * Writes the arguments of a call as JSON text: scalars verbatim, long strings clipped (condition C4).
 *
 * @param call The call.
 * @param verbatim Names of arguments that are kept to 400 characters in any case.
 */
export function renderArgs(call: Pick<ToolCallPart, "input">, verbatim: readonly string[]): string {
  const { input } = call;
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return JSON.stringify(clip(JSON.stringify(input) ?? "null", LONG));
  }
  const shown: string[] = [];
  let room = ALTOGETHER;
  let left = 0;
  for (const [name, value] of Object.entries(input)) {
    const key = JSON.stringify(clip(name, SHORT));
    const whole = renderField(name, value, verbatim);
    const brief = (): string =>
      JSON.stringify(clip(typeof value === "string" ? value : JSON.stringify(value), INNER));
    const field = `${key}:${key.length + whole.length <= room ? whole : brief()}`;
    if (field.length > room) left++;
    else shown.push(field);
    room -= Math.min(field.length, room);
  }
  return `{${shown.join(",")}${left > 0 ? `,"…":"${left} more arguments"` : ""}}`;
}

// Runs of spaces are bounded: a text of nothing else must not take the square of its length.
const EXIT =
  /\b(?:exit(?:ed)?(?:[ _-]?(?:with|code|status))*|return[ _-]?code)["']?[ \t]{0,3}[ :=][ \t]{0,3}-?\d+/gi;
const COUNT =
  /\b\d+ (?:pass(?:ed|ing)|fail(?:ed|ing|ures?)|errors?|warnings?|tests?|skipped|(?:files? )?changed|insertions?|deletions?|match(?:es)?|hits?)\b/gi;

/** Facts of one kind, and of all kinds, in a digest. */
const OF_A_KIND = 3;
const SEEN = 160;
/** Characters in which they are looked for. */
const LOOKED = 65_536;

/** What a digest names of a text beside its ends: its first addresses, hashes, ids and paths. */
function seenIn(text: string, shown: string): readonly string[] {
  const facts = tokensIn(headOf(text, LOOKED)).filter(({ text }) => !shown.includes(text));
  let room = SEEN;
  return FACT_KINDS.flatMap((kind) => facts.filter((fact) => fact.kind === kind).slice(0, OF_A_KIND))
    .flatMap(({ text }) => (room -= text.length + 2) >= 0 ? [text] : []);
}

/**
 * Says in a line what a result says: all of it when it is short, else its ends, the first line that tells of an
 * error, its size, its exit codes and counts (the last of them: totals come at the end), and what it names.
 *
 * @param text The text of the result.
 */
export function digestOf(text: string): string {
  if (text.length <= 160) return text;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const counts = [
    ...new Set([...(text.match(EXIT) ?? []).slice(-2), ...[...new Set(text.match(COUNT) ?? [])].slice(-4)]),
  ];
  const first = clip(lines[0] ?? "", 90);
  const last = lines.length > 1 ? clip(lines.at(-1) ?? "", 90) : "";
  const errors = errorLines(text, 1).filter((line) => !first.includes(line) && !last.includes(line));
  const ends = [first, ...errors, ...(last === "" ? [] : [last])].join(" … ");
  const size = `${counted(lines.length, "line")}, ${text.length} characters`;
  const seen = seenIn(text, ends);
  const notes = [size, ...(counts.length > 0 ? [counts.join(", ")] : [])];
  return `${ends} (${notes.join("; ")}${seen.length > 0 ? `; names ${seen.join(", ")}` : ""})`;
}

/** Sentences that bind, of one message of a user. */
export const RULES = 12;

/**
 * Says what a user said: all of a short text, of a long one both ends, and the sentences between that bind.
 *
 * @param text The text of the message.
 * @param options `most`: characters up to which it is kept whole, and of its ends; `rules`: the most such sentences.
 */
export function saidBy(text: string, { most = LONG, rules = RULES } = {}): string {
  if (text.length <= most) return text;
  const ends = clip(text, most);
  const binding = ruleSentences(text, rules).filter((sentence) => !ends.includes(sentence));
  return [ends, ...binding].join("\n");
}

/** The first sentence of an answer. */
export function firstSentence(text: string): string {
  const sentence = text.trim().match(/^[\s\S]*?[.!?](?=\s|$)/)?.[0] ?? text.trim();
  return clip(sentence, 200);
}
