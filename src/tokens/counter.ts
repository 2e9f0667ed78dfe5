import { countPiece, readVocabulary } from "./_bpe.ts";

/** The public vocabularies that can be counted with. */
export type Encoding = "o200k_base" | "cl100k_base";

/** Counts the tokens of text in one {@linkcode Encoding}; it never throws and keeps no text. */
export interface TokenCounter {
  /** The vocabulary it counts with. */
  readonly encoding: Encoding;
  /** The UTF-8 length of `text` in bytes. No text has more tokens, since every token has at least one byte. */
  bound(text: string): number;
  /**
   * The number of tokens of `text`, special tokens being ordinary text. With a `limit` in tokens it may stop as
   * soon as the count is greater, and then returns some number greater than `limit`.
   *
   * Exact up to 65,536 UTF-16 units. Longer text is counted in windows, cut where no token can lie across; if
   * one has no such place, as in a megabyte of base64, a cut may shift the sum by a few tokens.
   */
  count(text: string, limit?: number): number;
}

// A window bounds scratch memory, the delay until a limit is seen, and V8's regular expression stack, which
// overflows on about 4.2 million Han letters in a row.
const WINDOW = 65536;
const SEARCHED = 8192;

// No piece of either pattern goes on after a line feed (but with "/"), nor over a space between ASCII words.
const LAST_NEUTRAL_CUT = /^.*(?:\n(?=[^\s/])|[A-Za-z0-9](?= [A-Za-z]))/s;

function windowEnd(text: string, from: number): number {
  const to = from + WINDOW;
  if (to >= text.length) return text.length;
  const neutral = LAST_NEUTRAL_CUT.exec(text.slice(to - SEARCHED, to));
  if (neutral) return to - SEARCHED + neutral[0].length;
  return (text.charCodeAt(to - 1) & 0xfc00) === 0xd800 ? to - 1 : to; // never inside a surrogate pair
}

/**
 * Returns the length in bytes of `text` in UTF-8, without encoding it. A lone surrogate is 3, as its
 * replacement character is.
 *
 * @param text any string
 * @param start where to begin, in UTF-16 units: a part is not copied to be measured
 * @param end where to stop; neither may lie inside a surrogate pair
 * @example
 * ```ts
 * import { loadCounter } from "@selvage/selvage";
 *
 * const { bound } = await loadCounter(); // is this function, for whole texts
 * if (bound("naïve") !== 6) throw new Error("wanted 6");
 * ```
 */
export function utf8Length(text: string, start = 0, end = text.length): number {
  let bytes = end - start;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) bytes += code < 0x800 ? 1 : 2;
    // A pair is two units and four bytes, so the low half adds nothing.
    if ((code & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i++;
  }
  return bytes;
}

const RANKS = {
  o200k_base: () => import("js-tiktoken/ranks/o200k_base"),
  cl100k_base: () => import("js-tiktoken/ranks/cl100k_base"),
};

async function createCounter(encoding: Encoding): Promise<TokenCounter> {
  if (!Object.hasOwn(RANKS, encoding)) {
    throw new RangeError(`Load a counter: found "${encoding}", wanted ${Object.keys(RANKS).join(" or ")}`);
  }
  const { default: { pat_str, bpe_ranks } } = await RANKS[encoding]();
  const vocabulary = readVocabulary(bpe_ranks);
  const splitter = new RegExp(pat_str, "gu");
  const encoder = new TextEncoder();
  function count(text: string, limit = Infinity): number {
    const bytes = new Uint8Array(3 * Math.min(text.length, WINDOW));
    let tokens = 0; // compared so that a limit of NaN is no limit
    for (let from = 0, to = 0; from < text.length && !(tokens > limit); from = to) {
      to = windowEnd(text, from);
      const window = text.slice(from, to);
      encoder.encodeInto(window, bytes);
      splitter.lastIndex = 0;
      for (let unit = 0, byte = 0; unit < window.length && !(tokens > limit); unit = splitter.lastIndex) {
        splitter.test(window); // always true: pieces follow each other without a gap
        const start = byte;
        byte += utf8Length(window, unit, splitter.lastIndex);
        tokens += countPiece(vocabulary, bytes, start, byte);
      }
    }
    " ".search(splitter); // else RegExp.input holds the text until some other match
    return tokens;
  }
  return { encoding, bound: (text) => utf8Length(text), count };
}

const loads = new Map<Encoding, Promise<TokenCounter>>();

/**
 * Whether the rank data of an encoding is loaded or being loaded: for tests.
 *
 * @internal
 */
export function isLoaded(encoding: Encoding): boolean {
  return loads.has(encoding);
}

/**
 * Loads the counter of an encoding. Its rank data (1 to 2.3 MB) is imported on the first call and shared by
 * all later ones in this isolate; after a failure the next call tries again.
 *
 * @param encoding the vocabulary, `o200k_base` if left out
 * @returns a synchronous counter
 * @throws {RangeError} (as a rejection) for an unknown encoding; whatever the import throws, if it fails
 * @example
 * ```ts
 * import { loadCounter } from "@selvage/selvage";
 *
 * const { count, bound } = await loadCounter("o200k_base");
 * const text = "The selvage keeps the cloth from unravelling.";
 * if (count(text) > bound(text)) throw new Error("a token has at least one byte");
 * if (count(text, 3) <= 3) throw new Error("this text has more than 3 tokens");
 * ```
 */
export async function loadCounter(encoding: Encoding = "o200k_base"): Promise<TokenCounter> {
  const load = loads.get(encoding) ?? createCounter(encoding);
  loads.set(encoding, load);
  load.catch(() => loads.delete(encoding));
  return await load;
}
