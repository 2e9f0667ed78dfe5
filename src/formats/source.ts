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
 * @throws SyntaxError when the text is no JSON.
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const { parse, rawJSON } = JSON as unknown as SourceJson;
  // Without 16 digits in a row no number loses any; the second parse is slow, and most texts need none.
  if (rawJSON === undefined || !/\d{16}/.test(text)) return value;
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

/** The first place from `at` on that is no white space. */
function skipSpace(text: string, at: number): number {
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at++;
  return at;
}

/** The place behind the string that begins at `at`. */
function skipString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1);; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return end + 1;
  }
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
