/**
 * Transcripts in files: read as JSON or line by line, written back in the shape they had.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { isObject } from "../formats/format.ts";
import { LIST_NAMES } from "../formats/shapes.ts";
import { parseExact } from "../formats/source.ts";
import { findFault } from "./fault.ts";
import { BOM, type Keeping, nameOfList, readJson, type TranscriptFile } from "./json.ts";
import { cannotRead, Sniffed, splitLines } from "./text.ts";
import { unwrapLines } from "./wrapped.ts";

export type { TranscriptFile } from "./json.ts";

/** What a file holds: one transcript, or one a line. */
export interface OpenedFile {
  readonly transcripts: readonly TranscriptFile[];
  /** The whole file with other messages in each transcript. */
  write(written: readonly (readonly unknown[])[]): Iterable<string>;
}

const TOO_LONG = "found more than 536,870,888 characters in one message, which is more than a text can have";

/** What the first line of a file tells of the file. */
async function shapeOf(file: string, text: Sniffed): Promise<"empty" | "json" | "lines" | "requests"> {
  const line = await text.firstLine();
  const isNamedLines = /\.(jsonl|ndjson)$/i.test(file);
  if (line === "") return "empty";
  if (line === null) return isNamedLines ? "lines" : "json";
  if (!/^[[{]/.test(line)) return "json";
  let value: unknown;
  try {
    value = parseExact(line);
  } catch {
    return isNamedLines && line.startsWith("{") ? "lines" : "json";
  }
  // An object without a role that has messages, if not as a list, is a request in which something is wrong.
  const isRequest = nameOfList(value) !== undefined ||
    isObject(value) && !("role" in value) && LIST_NAMES.some((name) => Object.hasOwn(value, name));
  if (!isRequest) return "lines";
  return await text.hasMore() ? "requests" : "json";
}

/**
 * Reads a file.
 *
 * @param file What it is called: its ending may tell what it holds.
 * @param options Its text, part by part; `keepTexts: false` where nothing will be written.
 * @throws SelvageError `unreadable`, with the `line` where one is to blame; errors of the text's source.
 */
export async function readTranscriptFile(
  file: string,
  { chunks, keepTexts }: Keeping & { readonly chunks: AsyncGenerator<string> },
): Promise<OpenedFile> {
  const text = new Sniffed(chunks);
  try {
    const shape = await shapeOf(file, text);
    switch (shape) {
      case "empty":
        throw cannotRead(file, "found nothing in it, wanted messages");
      case "lines":
        return onlyOne(await readJsonLines(file, text, { keepTexts }));
      case "requests":
        return await readRequests(file, text, { keepTexts });
      case "json":
        return onlyOne(await readJson(file, text.all(), { keepTexts }));
      default:
        return shape satisfies never;
    }
  } catch (error) {
    if (!(error instanceof RangeError) || !/string length/i.test(error.message)) throw error;
    throw cannotRead(file, TOO_LONG);
  }
}

function onlyOne(transcript: TranscriptFile): OpenedFile {
  return { transcripts: [transcript], write: ([messages = []]) => transcript.write(messages) };
}

/** The error of a line that is no JSON, in a file that has lines behind it. */
function noJson(file: string, text: string, { line, column, cause }: {
  readonly line: number;
  readonly column: number;
  readonly cause: SyntaxError;
}): SelvageError {
  const fault = findFault(text);
  const what = fault === null
    ? `line ${line}: ${cause.message}`
    : `line ${line}, column ${column + fault.at}: found ${fault.found}, wanted ${fault.wanted}`;
  return cannotRead(file, what, { line });
}

/** The error of the last line with a text that is no JSON: a process that dies leaves such a one. */
function lastOf(file: string, { error, text, line }: BrokenLine): SelvageError {
  if (findFault(text)?.at !== text.length) return error;
  return cannotRead(
    file,
    `found that line ${line}, the last one, ends in the middle, wanted it finished or removed`,
    { line },
  );
}

/** A line that is no JSON; what is said of it depends on whether it is the last one. */
interface BrokenLine {
  readonly error: SelvageError;
  readonly text: string;
  readonly line: number;
}

async function readJsonLines(file: string, source: Sniffed, { keepTexts }: Keeping): Promise<TranscriptFile> {
  const found: unknown[] = [];
  const texts = new Map<unknown, string>();
  const numbers: number[] = [];
  let number = 0;
  let end: string | null = null;
  let isClosed = true;
  let hasBom = false;
  let broken: BrokenLine | null = null;
  for await (const line of splitLines(source.all())) {
    if (number++ === 0) hasBom = line.startsWith(BOM);
    isClosed = line.endsWith("\n");
    const text = line.trim();
    if (text === "") continue;
    if (broken !== null) throw broken.error;
    end ??= line.endsWith("\r\n") ? "\r\n" : "\n";
    let message: unknown;
    try {
      message = parseExact(text);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const column = line.indexOf(text) + 1;
      broken = { error: noJson(file, text, { line: number, column, cause: error }), text, line: number };
      continue;
    }
    if (!isObject(message)) {
      throw cannotRead(file, `line ${number}: found no JSON object, wanted a message`, { line: number });
    }
    found.push(message);
    numbers.push(number);
    if (keepTexts) texts.set(message, text);
  }
  if (broken !== null) throw lastOf(file, broken);
  const { messages, wrapper, places } = unwrapLines(found);
  const textOf = (message: unknown): string => texts.get(message) ?? JSON.stringify(message);
  return {
    messages,
    hint: null,
    line: null,
    wrapper,
    lineOf: (at) => numbers[places?.[at] ?? at] ?? null,
    textOf,
    *write(written) {
      if (hasBom) yield BOM;
      for (const [index, message] of written.entries()) {
        yield textOf(message) + (index < written.length - 1 || isClosed ? end : "");
      }
    },
  };
}

/** One transcript a line. */
async function readRequests(file: string, source: Sniffed, { keepTexts }: Keeping): Promise<OpenedFile> {
  const transcripts: TranscriptFile[] = [];
  /** What stands in front of each, the last one behind all. */
  const around: string[] = [""];
  let number = 0;
  let broken: BrokenLine | null = null;
  for await (const line of splitLines(source.all())) {
    number++;
    const text = line.trim();
    if (text === "") {
      around.push((around.pop() ?? "") + line);
      continue;
    }
    if (broken !== null) throw broken.error;
    const at = line.indexOf(text);
    around.push((around.pop() ?? "") + line.slice(0, at));
    try {
      transcripts.push(await readJson(file, [text], { keepTexts, line: number, column: at + 1 }));
    } catch (error) {
      if (!(error instanceof SelvageError)) throw error;
      broken = { error, text, line: number };
    }
    around.push(line.slice(at + text.length));
  }
  if (broken !== null) throw lastOf(file, broken);
  return {
    transcripts,
    *write(written) {
      for (const [index, transcript] of transcripts.entries()) {
        yield around[index] ?? "";
        yield* transcript.write(written[index] ?? transcript.messages);
      }
      yield around.at(-1) ?? "";
    },
  };
}
