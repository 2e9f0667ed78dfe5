/**
 * The text of files, part by part, wherever their bytes come from.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";

/** Characters up to which a first line is looked at as a whole. */
const MAX_SNIFF = 2 ** 26;

/** What a file is called in a sentence. */
export function titleOf(file: string): string {
  return file === "-" ? "standard input" : file;
}

/** The error of a file that cannot be read. */
export function cannotRead(
  file: string,
  what: string,
  fields: Readonly<Record<string, unknown>> = {},
): SelvageError {
  return new SelvageError("unreadable", `Cannot read ${titleOf(file)}: ${what}`, { fields });
}

/**
 * The text of bytes, part by part.
 *
 * @param file What the file is called.
 * @param chunks Its bytes.
 * @throws SelvageError `unreadable` where they are no UTF-8: broken text could not be written back as it was.
 */
export async function* decodeText(file: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw cannotRead(file, "found bytes that are no UTF-8");
    }
  };
  for await (const chunk of chunks) yield decode(chunk);
  yield decode();
}

/** The lines of a text, each with what ends it. No more than a line of it is held at once. */
export async function* splitLines(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let line: string[] = [];
  for await (const text of chunks) {
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      yield [...line, text.slice(from, end + 1)].join("");
      line = [];
      from = end + 1;
    }
    if (from < text.length) line.push(text.slice(from));
  }
  if (line.length > 0) yield line.join("");
}

/** Joins small chunks, so that not each message is a write, or a part of a file, of its own. */
export function* inBlocks(chunks: Iterable<string>): Generator<string> {
  let block: string[] = [];
  let size = 0;
  for (const chunk of chunks) {
    block.push(chunk);
    size += chunk.length;
    if (size < 65_536) continue;
    yield block.join("");
    block = [];
    size = 0;
  }
  if (size > 0) yield block.join("");
}

/** The beginning of a text, and the text from its beginning on. */
export class Sniffed {
  readonly #read: string[] = [];
  readonly #rest: AsyncGenerator<string>;
  #isEnded = false;

  constructor(chunks: AsyncGenerator<string>) {
    this.#rest = chunks;
  }

  /** The first line that is not blank, null where it is too long to be looked at. */
  async firstLine(): Promise<string | null> {
    let length = 0;
    while (!this.#isEnded) {
      const text = await this.#more();
      const from = length > 0 ? 0 : text.search(/\S/);
      if (from < 0) continue;
      length += text.length;
      if (text.indexOf("\n", from) >= 0) break;
      if (length > MAX_SNIFF) return null;
    }
    return this.#read.join("").trimStart().split("\n", 1)[0]?.trim() ?? "";
  }

  /** Whether there is anything behind the first line. */
  async hasMore(): Promise<boolean> {
    const text = this.#read.join("").trimStart();
    const end = text.indexOf("\n");
    if (end >= 0 && /\S/.test(text.slice(end))) return true;
    while (!this.#isEnded) if (/\S/.test(await this.#more())) return true;
    return false;
  }

  async *all(): AsyncGenerator<string> {
    yield* this.#read;
    if (!this.#isEnded) yield* this.#rest;
  }

  async #more(): Promise<string> {
    const { done, value } = await this.#rest.next();
    if (done === true) this.#isEnded = true;
    else this.#read.push(value);
    return value ?? "";
  }
}
