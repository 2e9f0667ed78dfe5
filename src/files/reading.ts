/**
 * The messages of a file, read as a transcript.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Reading, ReadOptions } from "../formats/read.ts";
import { readByPlace } from "../formats/shapes.ts";
import type { TranscriptFile } from "./json.ts";

/**
 * Reads the messages of a file.
 *
 * @param found The messages, and where they stand.
 * @param options How they are read; without a format, the name of their list may tell it.
 * @throws SelvageError as the reading does; the `line` is named where a message has one.
 */
export function readFound(found: TranscriptFile, options: ReadOptions): Reading {
  const { messages, hint } = found;
  try {
    return readByPlace(messages, { ...(hint === null ? {} : { format: hint }), ...options });
  } catch (error) {
    if (!(error instanceof SelvageError)) throw error;
    const { at } = error.fields;
    const line = found.line ?? (typeof at === "number" ? found.lineOf(at) : null);
    if (line === null) throw error;
    throw new SelvageError(error.code, `${error.message} (line ${line})`, {
      cause: error,
      fields: { ...error.fields, line },
    });
  }
}
