/**
 * JSON text as it was written. What `JSON.parse` gives is not always what was there: 1.0 becomes 1, integers over
 * 2^53 lose digits, keys that are numbers change places, the second of two equal keys wins. So a message that
 * nobody edits is written with its own text, and one that is edited keeps at least the value of its numbers.
 *
 * @module
 */

/** Where a value stands in its text: from its first character up to, not including, the one behind it. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Levels to which a text may be nested that is parsed at all. What reads the values refuses far less, and names the
 * field; behind this the parsing alone would take seconds and gigabytes.
 */
export const MAX_LEVELS = 10_000;

/** What is nested too deeply in a text. */
export interface DeepText {
  /** The text up to there, made whole: an empty list in place of what is too deep, and all that is open closed. */
  readonly begin: string;
  /** Whether all brackets of the text are closed; where they are not, it breaks off. */
  readonly isClosed: boolean;
}

/** How deep and how wide a text is. */
export interface TextShape {
  /** What is nested too deeply; null where nothing is. */
  readonly deep: DeepText | null;
  /** Its commas and opening brackets, those in strings left out: about as many as its values. */
  readonly marks: number;
}

/**
 * Finds out how deep and how wide a text is, before anything is parsed: in one pass, with memory for so many levels as
 * it may have and no more.
 *
 * @param text JSON text, or what claims to be.
 * @param levels Levels that it may have, 1 or more.
 */
export function shapeOf(text: string, levels: number): TextShape {
  const closers: string[] = [];
  let depth = 0;
  let marks = 0;
  let begin: string | null = null;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      at = endOfString(text, at);
    } else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      if (depth < levels) closers[depth] = unit === OPEN_LIST ? "]" : "}";
      else begin ??= `${text.slice(0, at)}[]${closers.toReversed().join("")}`;
      depth++;
      marks++;
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) {
      depth = Math.max(0, depth - 1);
    } else if (unit === COMMA) {
      marks++;
    }
  }
  return { deep: begin === null ? null : { begin, isClosed: depth === 0 }, marks };
}

/** What is nested too deeply in a text, as {@link shapeOf} finds it. */
export function findDeep(text: string, levels: number): DeepText | null {
  return shapeOf(text, levels).deep;
}

const [QUOTE, COMMA] = [0x22, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The place of the quote that ends the string which begins at `at`; the end of the text where none does. */
function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

/** Numbers with their source text: newer than the types of the library. */
interface SourceJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON?(source: string): unknown;
}

/**
 * Parses JSON so that long numbers keep their digits: `JSON.stringify` writes them as they were.
 *
 * @param text JSON text.
 * @returns The value. A number that would not come back as it is written is an object of `JSON.rawJSON`.
 * @throws SyntaxError when the text is no JSON, or nested more than {@link MAX_LEVELS} levels deep.
 */
export function parseExact(text: string): unknown {
  if (findDeep(text, MAX_LEVELS) !== null) {
    throw new SyntaxError(`found JSON nested more than ${MAX_LEVELS} levels deep, wanted at most that`);
  }
  return parseScanned(text);
}

/** As {@link parseExact}, of a text whose depth is known already. */
export function parseScanned(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const { parse, rawJSON } = JSON as unknown as SourceJson;
  // The second parse is slow, and most texts need none.
  if (rawJSON === undefined || !hasLongNumber(text)) return value;
  try {
    return parse(text, (_, found, { source }) => {
      return typeof found === "number" && source !== undefined && String(found) !== source
        ? rawJSON(source)
        : found;
    });
  } catch (error) {
    // The reviver calls itself for each level; what is nested that deeply is refused later on anyway.
    if (error instanceof RangeError) return value;
    throw error;
  }
}

/** Whether numbers in a text may lose digits when it is parsed: without 16 of them in a row none does. */
export function hasLongNumber(text: string): boolean {
  return /\d{16}/.test(text);
}

/** The first place from `at` on that is no white space. */
function skipSpace(text: string, at: number): number {
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at++;
  return at;
}

/** The place behind the string that begins at `at`. */
function skipString(text: string, at: number): number {
  return endOfString(text, at) + 1;
}

/** The place behind the value that begins at `at`. */
function skipValue(text: string, at: number): number {
  const next = text[at] === "[" || text[at] === "{" || text[at] === '"' ? /["[\]{}]/g : /[\s,\]}]|$/g;
  next.lastIndex = at;
  let depth = 0;
  for (let found = next.exec(text); found !== null; found = next.exec(text)) {
    if (found[0] === '"') next.lastIndex = skipString(text, found.index);
    else if (found[0] === "[" || found[0] === "{") depth++;
    else if (depth > 0) depth--;
    else return found.index;
    if (depth === 0) return next.lastIndex;
  }
  return text.length;
}

/**
 * Finds the elements of a list.
 *
 * @param text Text that `JSON.parse` has accepted.
 * @param at Where the list begins.
 */
export function elementSpans(text: string, at: number): readonly Span[] {
  const spans: Span[] = [];
  let from = skipSpace(text, at + 1);
  while (text[from] !== "]") {
    const to = skipValue(text, from);
    spans.push({ from, to });
    const behind = skipSpace(text, to);
    from = text[behind] === "," ? skipSpace(text, behind + 1) : behind;
  }
  return spans;
}

/**
 * Finds the value of a field of an object, the last one where the field is there twice.
 *
 * @param text Text of an object that `JSON.parse` has accepted.
 * @param name Name of the field.
 * @returns Where the value begins, or null where there is no such field.
 */
export function fieldStart(text: string, name: string): number | null {
  let start: number | null = null;
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text[at] === '"') {
    const end = skipString(text, at);
    const value = skipSpace(text, skipSpace(text, end) + 1);
    if (JSON.parse(text.slice(at, end)) === name) start = value;
    const behind = skipSpace(text, skipValue(text, value));
    at = text[behind] === "," ? skipSpace(text, behind + 1) : behind;
  }
  return start;
}

/**
 * Writes a list of messages: those that came in and were not edited with the text they came in.
 *
 * @param messages The messages.
 * @param texts Text of each message that came in.
 */
export function jsonList(messages: readonly unknown[], texts: ReadonlyMap<unknown, string>): string {
  return `[${messages.map((message) => texts.get(message) ?? JSON.stringify(message)).join(",")}]`;
}
