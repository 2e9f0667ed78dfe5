/**
 * The text of files, part by part, and what errors of the file system mean.
 *
 * @module
 */
import { createReadStream } from "node:fs";
import { isAbsolute } from "node:path";
import process from "node:process";
import { SelvageError } from "./core/errors.ts";

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

/** What errors of the file system mean; null where an error is no such one. */
export function explainFault(error: unknown, file: string): string | null {
  const { code } = error as { readonly code?: unknown };
  switch (code) {
    case "ENOENT":
      return isAbsolute(file) ? "there is no such file" : `there is no such file in ${process.cwd()}`;
    case "EISDIR":
      return "it is a folder, wanted a file";
    case "EACCES":
    case "EPERM":
      return "the system does not allow it";
    case "ENOTDIR":
      return "a part of its path is no folder";
    case "ENOSPC":
      return "there is no room left";
    case "EROFS":
      return "its file system takes no writes";
    default:
      return null;
  }
}

/** The text of a file, part by part. */
export async function* readText(file: string): AsyncGenerator<string> {
  // Text with broken bytes could not be written back as it was.
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const chunks: AsyncIterable<Uint8Array> = file === "-" ? process.stdin : createReadStream(file);
  try {
    for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (error) {
    if (error instanceof TypeError && /decod|utf-?8|encoded data/i.test(error.message)) {
      throw cannotRead(file, "found bytes that are no UTF-8");
    }
    const fault = explainFault(error, file);
    if (fault !== null) throw cannotRead(file, fault);
    throw error;
  }
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
