/**
 * Where a text stops being JSON. Engines tell it each in words of its own, some without a place, and the place is one
 * in the text that they were given: a line of a file, or a part of it.
 *
 * @module
 */

/** What is wrong with a text that claims to be JSON. */
export interface JsonFault {
  /** Where; the length of the text where it ends in the middle. */
  readonly at: number;
  readonly found: string;
  readonly wanted: string;
}

/** A place in a file, both counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** What may come next, by what is wanted there. */
const WANTED = {
  value: "a value",
  firstValue: 'a value or "]"',
  name: "a name in quotes",
  firstName: 'a name in quotes or "}"',
  colon: '":"',
  more: "a comma or the bracket that closes what is open",
  end: "nothing behind the value",
};

const SCALAR = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;
/** What may still become a number. */
const BEGUN_NUMBER = /^-?\d*\.?\d*(?:[eE][+-]?)?$/;
const ESCAPE = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/;
const BEGUN_ESCAPE = /^\\(?:u[0-9a-fA-F]{0,3})?$/;

/**
 * Finds out where a text stops being JSON, in one pass and without a stack of its own.
 *
 * @param text The text.
 * @returns The first thing that is wrong, null where nothing is.
 */
export function findFault(text: string): JsonFault | null {
  const closers: string[] = [];
  let next: keyof typeof WANTED = "value";
  const behindValue = (): "more" | "end" => closers.length > 0 ? "more" : "end";
  for (let at = behindSpace(text, 0);; at = behindSpace(text, at)) {
    const char = text[at];
    if (char === undefined && next === "end") return null;
    const isValue: boolean = next === "value" || next === "firstValue";
    const isName: boolean = next === "name" || next === "firstName";
    const mayClose: boolean = next === "more" || next === "firstValue" || next === "firstName";
    if (mayClose && char !== undefined && char === closers.at(-1)) {
      closers.pop();
      at++;
      next = behindValue();
    } else if (next === "more" && char === ",") {
      at++;
      next = closers.at(-1) === "}" ? "name" : "value";
    } else if (next === "colon" && char === ":") {
      at++;
      next = "value";
    } else if (char === '"' && (isValue || isName)) {
      const end = endOfString(text, at);
      if (typeof end !== "number") return end;
      at = end;
      next = isName ? "colon" : behindValue();
    } else if (isValue && (char === "{" || char === "[")) {
      closers.push(char === "{" ? "}" : "]");
      at++;
      next = char === "{" ? "firstName" : "firstValue";
    } else {
      const word = isValue ? wordAt(text, at) : "";
      if (!SCALAR.test(word)) return faultAt(text, isBegun(word, text, at) ? text.length : at, WANTED[next]);
      at += word.length;
      next = behindValue();
    }
  }
}

/** Where a place in a text is in its file, of which the text begins at `from`. */
export function placeIn(text: string, at: number, from: Place): Place {
  let { line, column } = from;
  let begin = 0;
  for (let end = text.indexOf("\n"); end >= 0 && end < at; end = text.indexOf("\n", begin)) {
    line++;
    column = 1;
    begin = end + 1;
  }
  return { line, column: column + at - begin };
}

function faultAt(text: string, at: number, wanted: string): JsonFault {
  const char = text[at];
  const found = char === undefined
    ? "the end"
    : char === '"'
    ? "text in quotes"
    : char === "\n" || char === "\r"
    ? "the end of the line"
    : JSON.stringify(char);
  return { at, found, wanted };
}

function behindSpace(text: string, at: number): number {
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at++;
  return at;
}

/** The place behind the string that begins at `at`, or what is wrong in it. */
function endOfString(text: string, at: number): number | JsonFault {
  // A quote, a backslash, or what has to be escaped: all in front of the space.
  const mark = /["\\]|[^ -\uffff]/g;
  mark.lastIndex = at + 1;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    if (found[0] === '"') return mark.lastIndex;
    const rest = text.slice(found.index, found.index + 6);
    const escape = rest.match(ESCAPE)?.[0];
    if (escape !== undefined) {
      mark.lastIndex = found.index + escape.length;
      continue;
    }
    if (found.index + rest.length === text.length && BEGUN_ESCAPE.test(rest)) break;
    return faultAt(
      text,
      found.index,
      found[0] === "\\" ? "an escape of JSON" : "the quote that ends the text",
    );
  }
  return faultAt(text, text.length, "the quote that ends the text");
}

function wordAt(text: string, at: number): string {
  const word = /[-+.\w]*/y;
  word.lastIndex = at;
  return word.exec(text)?.[0] ?? "";
}

/** Whether the text ends within a word that could have become a value. */
function isBegun(word: string, text: string, at: number): boolean {
  return at + word.length === text.length &&
    (BEGUN_NUMBER.test(word) || ["true", "false", "null"].some((whole) => whole.startsWith(word)));
}
