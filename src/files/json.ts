/**
 * A transcript in one JSON document, written back in the shape it had.
 *
 * @module
 */
import { cannotRead } from "./text.ts";
import { JsonSplitter, type SplitJson } from "./split.ts";
import { unwrapLines } from "./wrapped.ts";
import { SelvageError } from "../core/errors.ts";
import { type FormatName, isObject } from "../formats/format.ts";
import { hintOf, LIST_NAMES, type ListName } from "../formats/shapes.ts";

/** A transcript as it was read. */
export interface TranscriptFile {
  readonly messages: readonly unknown[];
  /** The format that the name of the list stands for, where the messages do not tell. */
  readonly hint: FormatName | null;
  /** The line that it stands in, where a file has one transcript a line. */
  readonly line: number | null;
  /** What each message was wrapped in, and how many lines without one were left out; such a file is not written. */
  readonly wrapper: { readonly inside: string; readonly skipped: number } | null;
  /** Line of a message, counted from 1, where each has a line of its own. */
  lineOf(at: number): number | null;
  /** Text of a message as it stands in the file. */
  textOf(message: unknown): string;
  /** The whole text with other messages, in the shape that it had. */
  write(messages: readonly unknown[]): Iterable<string>;
}

/** How much of a file is kept. */
export interface Keeping {
  /** False where nothing will be written: the texts of a large file take much room. */
  readonly keepTexts: boolean;
}

/** A mark that some editors put in front of a text. */
export const BOM = "\ufeff";

/**
 * Reads a document.
 *
 * @param file What the file is called.
 * @param chunks The document, part by part.
 * @param options Whether to keep texts; line and column of its beginning where a file has one document a line.
 * @throws SelvageError `unreadable`; RangeError where one message is longer than a string can be.
 */
export async function readJson(
  file: string,
  chunks: AsyncIterable<string> | Iterable<string>,
  { keepTexts, line = null, column = 1 }: Keeping & {
    readonly line?: number | null;
    readonly column?: number;
  },
): Promise<TranscriptFile> {
  const splitter = new JsonSplitter({ keepTexts, from: { line: line ?? 1, column } });
  let hasBom: boolean | null = null;
  let split: SplitJson;
  try {
    for await (const chunk of chunks) {
      if (chunk === "") continue;
      const isFirst = hasBom === null;
      hasBom ??= chunk.startsWith(BOM);
      splitter.push(isFirst && hasBom ? chunk.slice(1) : chunk);
    }
    split = splitter.end();
  } catch (error) {
    if (!(error instanceof SelvageError)) throw error;
    throw cannotRead(file, error.message, line === null ? error.fields : { line });
  }
  const { around, texts, values, lists, frame } = split;
  const name = nameOfList(frame);
  const list = lists.findLast((found) => found.name === name);
  if (list === undefined || name === undefined) {
    throw cannotRead(
      file,
      "found no list of messages, wanted one, or an object with one as messages, input or contents",
      line === null ? {} : { line },
    );
  }
  const { from, to, start } = list;
  const { messages, wrapper } = unwrapLines(values.slice(from, to));
  const own = new Map(
    keepTexts ? values.slice(from, to).map((value, at) => [value, texts[from + at] ?? ""]) : [],
  );
  const places = new Map(messages.map((message, at) => [message, at]));
  const open = around[from] ?? "";
  // What stands around the messages: in front of the first, between two, behind the last.
  const lead = to > from ? open.slice(start) : "";
  const gap = to - from > 1 ? around[from + 1] ?? "," : `,${lead}`;
  const indent = indentOf(lead, own.values());
  const textOf = (message: unknown): string => {
    const known = own.get(message);
    if (known !== undefined) return known;
    return JSON.stringify(message, null, indent.unit).replaceAll("\n", `\n${indent.base}`);
  };
  return {
    messages,
    hint: hintOf(name),
    line,
    wrapper,
    lineOf: () => null,
    textOf,
    *write(written) {
      if (hasBom === true) yield BOM;
      for (let at = 0; at < from; at++) yield (around[at] ?? "") + (texts[at] ?? "");
      yield open.slice(0, start) + lead;
      let before: number | undefined;
      for (const [index, message] of written.entries()) {
        const place = places.get(message);
        // Two that stood side by side stand as they did.
        const isNext = place !== undefined && before !== undefined && place === before + 1;
        if (index > 0) yield isNext && wrapper === null ? around[from + place] ?? gap : gap;
        yield textOf(message);
        before = place;
      }
      yield to > from ? around[to] ?? "" : open.slice(start);
      for (let at = to; at < values.length; at++) yield (texts[at] ?? "") + (around[at + 1] ?? "");
    },
  };
}

/** Name of the first list of messages in a document; null where the document is the list, undefined where it has none. */
export function nameOfList(frame: unknown): ListName | null | undefined {
  if (Array.isArray(frame)) return null;
  if (!isObject(frame) || "role" in frame) return undefined;
  const isList = (name: string): name is ListName =>
    LIST_NAMES.some((known) => known === name) && Array.isArray(frame[name]);
  return Object.keys(frame).find(isList);
}

/** How messages are indented: each line of them by `base`, each level by `unit` more; no unit means one line. */
function indentOf(
  lead: string,
  texts: Iterable<string>,
): { readonly base: string; readonly unit: string } {
  const base = lead.match(/\n([ \t]*)$/)?.[1] ?? "";
  for (const text of texts) {
    const inner = text.slice(0, 200).match(/^[{[]\r?\n([ \t]*)/)?.[1];
    if (inner !== undefined) return { base, unit: inner.startsWith(base) ? inner.slice(base.length) : "" };
  }
  return { base, unit: "" };
}
