/**
 * Transcripts in files: read as JSON or line by line, written back in the shape they had.
 *
 * @module
 */
import { createReadStream } from "node:fs";
import process from "node:process";
import { SelvageError } from "./core/errors.ts";
import { type FormatName, isObject } from "./formats/format.ts";
import { elementSpans, fieldStart, parseExact } from "./formats/source.ts";

/** A transcript as it was read. */
export interface TranscriptFile {
  readonly messages: readonly unknown[];
  /** The format that the name of the list stands for, where the messages do not tell. */
  readonly hint: FormatName | null;
  /** Line of a message, counted from 1, where each has a line of its own. */
  lineOf(at: number): number | null;
  /** Text of a message as it stands in the file. */
  textOf(message: unknown): string;
  /** The whole file with other messages, in the shape that it had. */
  write(messages: readonly unknown[]): Iterable<string>;
}

/** Fields of an object that may hold the messages, and what their names tell of the format. */
const LISTS = { messages: null, input: "openai-responses", contents: "gemini" } as const;

const BOM = "\ufeff";

function cannotRead(
  file: string,
  what: string,
  fields: Readonly<Record<string, unknown>> = {},
): SelvageError {
  return new SelvageError("unreadable", `Cannot read ${titleOf(file)}: ${what}`, { fields });
}

/** What a file is called in a sentence. */
export function titleOf(file: string): string {
  return file === "-" ? "standard input" : file;
}

/** The lines of a file, each with what ends it. No more than a line of it is held at once. */
async function* readLines(file: string): AsyncGenerator<string> {
  // Text with broken bytes could not be written back as it was.
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let line: string[] = [];
  function* split(text: string): Generator<string> {
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      yield [...line, text.slice(from, end + 1)].join("");
      line = [];
      from = end + 1;
    }
    if (from < text.length) line.push(text.slice(from));
  }
  const chunks: AsyncIterable<Uint8Array> = file === "-" ? process.stdin : createReadStream(file);
  try {
    for await (const chunk of chunks) yield* split(decoder.decode(chunk, { stream: true }));
    yield* split(decoder.decode());
  } catch (error) {
    if (error instanceof TypeError && /decod|utf-?8|encoded data/i.test(error.message)) {
      throw cannotRead(file, "found bytes that are no UTF-8");
    }
    throw error;
  }
  if (line.length > 0) yield line.join("");
}

/** The name of the list in an object that holds messages, null in any other object. */
function listName(value: unknown): keyof typeof LISTS | null {
  if (typeof value !== "object" || value === null || "role" in value) return null;
  const found = Object.entries(value).find(([name, list]) =>
    Object.hasOwn(LISTS, name) && Array.isArray(list)
  );
  return found === undefined ? null : found[0] as keyof typeof LISTS;
}

/** Whether the first line of a file is a whole message, so that each line is one. */
function isMessageLine(line: string): boolean {
  try {
    return listName(JSON.parse(line)) === null;
  } catch {
    return false;
  }
}

/**
 * Reads a transcript.
 *
 * @param file A path, or `-` for standard input.
 * @param options `keepTexts: false` where nothing will be written: the lines of a large file take much room.
 * @throws SelvageError `unreadable`, with the `line` where each message has its own; errors of the file system.
 */
export async function readTranscriptFile(
  file: string,
  { keepTexts = true }: { readonly keepTexts?: boolean } = {},
): Promise<TranscriptFile> {
  const lines = readLines(file);
  let head = "";
  let first = "";
  let skipped = 0;
  for await (const line of untilText(lines)) {
    head += line;
    first = line.trim();
    skipped++;
  }
  if (first === "") throw cannotRead(file, "found nothing in it, wanted messages");
  const isLines = first.startsWith("{") && (/\.(jsonl|ndjson)$/i.test(file) || isMessageLine(first));
  if (isLines) return await readJsonLines(file, { first: head, skipped: skipped - 1, lines, keepTexts });
  const rest: string[] = [head];
  for await (const line of lines) rest.push(line);
  try {
    return readJson(file, rest.join(""));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw cannotRead(file, "found too much for one JSON text, wanted JSONL: one message a line");
  }
}

/** Lines up to the first one that is not blank; the others are left for later. */
async function* untilText(lines: AsyncGenerator<string>): AsyncGenerator<string> {
  for (;;) {
    const { done, value } = await lines.next();
    if (done === true) return;
    yield value;
    if (value.trim() !== "") return;
  }
}

async function readJsonLines(
  file: string,
  { first, skipped, lines, keepTexts }: {
    readonly first: string;
    readonly skipped: number;
    readonly lines: AsyncGenerator<string>;
    readonly keepTexts: boolean;
  },
): Promise<TranscriptFile> {
  const messages: unknown[] = [];
  const texts = new Map<unknown, string>();
  const numbers: number[] = [];
  let number = skipped;
  let isClosed = true;
  function take(line: string): void {
    number++;
    isClosed = line.endsWith("\n");
    const text = line.trim();
    if (text === "") return;
    let message: unknown;
    try {
      message = parseExact(text);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw cannotRead(file, `line ${number}: ${error.message}`, { line: number });
    }
    if (!isObject(message)) {
      throw cannotRead(file, `line ${number}: found no JSON object, wanted a message`, { line: number });
    }
    messages.push(message);
    numbers.push(number);
    if (keepTexts) texts.set(message, text);
  }
  take(first);
  for await (const line of lines) take(line);
  const end = first.endsWith("\r\n") ? "\r\n" : "\n";
  const textOf = (message: unknown): string => texts.get(message) ?? JSON.stringify(message);
  return {
    messages,
    hint: null,
    lineOf: (at) => numbers[at] ?? null,
    textOf,
    *write(written) {
      if (first.startsWith(BOM)) yield BOM;
      for (const [index, message] of written.entries()) {
        yield textOf(message) + (index < written.length - 1 || isClosed ? end : "");
      }
    },
  };
}

function readJson(file: string, text: string): TranscriptFile {
  const body = text.startsWith(BOM) ? text.slice(1) : text;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw cannotRead(file, error.message);
  }
  const name = Array.isArray(value) ? null : listName(value);
  if (!Array.isArray(value) && name === null) {
    throw cannotRead(
      file,
      "found no list of messages, wanted one, or an object with one as messages, input or contents",
    );
  }
  const start = name === null ? body.indexOf("[") : fieldStart(body, name) ?? 0;
  const spans = elementSpans(body, start);
  const texts = new Map<unknown, string>();
  const messages = spans.map(({ from, to }) => {
    const source = body.slice(from, to);
    const message = parseExact(source);
    texts.set(message, source);
    return message;
  });
  const [one, two] = spans;
  const last = spans.at(-1);
  // What stands around the messages: in front of the first, between two, behind the last.
  const lead = one === undefined ? "" : body.slice(start + 1, one.from);
  const gap = one === undefined || two === undefined ? `,${lead}` : body.slice(one.to, two.from);
  const close = last === undefined ? start + 1 : body.indexOf("]", last.to);
  const tail = last === undefined ? "" : body.slice(last.to, close);
  const indent = indentOf(lead, spans.map(({ from, to }) => body.slice(from, to)));
  const textOf = (message: unknown): string => {
    const known = texts.get(message);
    if (known !== undefined) return known;
    return JSON.stringify(message, null, indent.unit).replaceAll("\n", `\n${indent.base}`);
  };
  return {
    messages,
    hint: name === null ? null : LISTS[name],
    lineOf: () => null,
    textOf,
    *write(written) {
      yield (text.startsWith(BOM) ? BOM : "") + body.slice(0, start + 1) + lead;
      for (const [index, message] of written.entries()) yield (index > 0 ? gap : "") + textOf(message);
      yield tail + body.slice(close);
    },
  };
}

/** How messages are indented: each line of them by `base`, each level by `unit` more; no unit means one line. */
function indentOf(
  lead: string,
  texts: readonly string[],
): { readonly base: string; readonly unit: string } {
  const base = lead.match(/\n([ \t]*)$/)?.[1] ?? "";
  const inner = texts.map((text) => text.match(/^[{[]\r?\n([ \t]*)/)?.[1]).find((found) =>
    found !== undefined
  );
  return { base, unit: inner?.startsWith(base) === true ? inner.slice(base.length) : "" };
}
