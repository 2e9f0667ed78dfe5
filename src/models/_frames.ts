/** Frames of an answer, parsed: most deltas differ in one string only. Private to the adapters. */

/** A string that no provider sends. */
const MARK = "\u{f8ff}selvage\u{f8ff}";

/**
 * Frames in a row that were parsed from which on such a place is looked for, and up to which: of a few frames none is
 * worth it, and where four looks have found none there is none.
 */
const FIRST = 8;
const LAST = 12;

/** Where one string of a frame stands. */
interface Place {
  readonly frame: unknown;
  readonly holder: Record<string, unknown>;
  readonly name: string;
  /** The JSON up to the string, its quote included, and the JSON from its closing quote on. */
  readonly before: string;
  readonly after: string;
}

/**
 * Parses frames. One that says the same as the one before it but for one string is that one, with the string in its
 * place: parsing it would be a third of what a burst of deltas costs.
 */
export class Frames {
  #last = "";
  #place: Place | null = null;
  /** Frames parsed since the last one that was not. */
  #parsed = 0;

  /**
   * The value that a frame's JSON stands for, good until the next frame: nothing of it is to be kept but texts.
   *
   * @throws SyntaxError where it is no JSON.
   */
  parse(data: string): unknown {
    const text = this.#place === null ? null : textAt(this.#place, data);
    if (this.#place !== null && text !== null) {
      this.#parsed = 0;
      this.#place.holder[this.#place.name] = text;
      return this.#place.frame;
    }
    const frame: unknown = JSON.parse(data);
    if (++this.#parsed > FIRST && this.#parsed <= LAST) {
      this.#place = placeIn(this.#last, data) ?? this.#place;
    }
    this.#last = data;
    return frame;
  }
}

/** The string at a place of a frame in which all else is the same; null where it is another. */
function textAt({ before, after }: Place, data: string): string | null {
  const end = data.length - after.length;
  // Slices are compared in one go, `startsWith` goes by characters.
  if (end < before.length || data.slice(0, before.length) !== before || data.slice(end) !== after) {
    return null;
  }
  try {
    // Parsed, though most need not be: a slice would hold on to the read that it came with.
    return JSON.parse(`"${data.slice(before.length, end)}"`);
  } catch {
    // It ends in the middle, and more follows.
    return null;
  }
}

/** The one string in which two frames differ; null where it is none, or more than one. */
function placeIn(one: string, other: string): Place | null {
  const shorter = Math.min(one.length, other.length);
  let start = 0;
  while (start < shorter && one[start] === other[start]) start++;
  let same = 0;
  while (same < shorter - start && one[one.length - 1 - same] === other[other.length - 1 - same]) same++;
  const open = other.lastIndexOf('"', start - 1);
  const close = other.indexOf('"', other.length - same);
  if (open < 0 || close < 0) return null;
  const [before, after] = [other.slice(0, open + 1), other.slice(close)];
  try {
    const frame: unknown = JSON.parse(before + MARK + after);
    const holder = holderOf(frame);
    return holder === null ? null : { frame, ...holder, before, after };
  } catch {
    return null;
  }
}

/** The object that holds the mark, and under which name; null where none does. */
function holderOf(value: unknown): Pick<Place, "holder" | "name"> | null {
  if (typeof value !== "object" || value === null) return null;
  const holder = value as Record<string, unknown>;
  for (const [name, inner] of Object.entries(holder)) {
    if (inner === MARK) return { holder, name };
    const found = holderOf(inner);
    if (found !== null) return found;
  }
  return null;
}
