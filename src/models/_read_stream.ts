/** An event stream read to its end. Private to the adapters. */
import { createParser } from "eventsource-parser";
import { SelvageError } from "../core/errors.ts";
import type { ModelEvent } from "../ports.ts";
import type { Assembler } from "./_assembler.ts";
import { badResponse, type ErrorContext, refusal, streamCut } from "./_errors.ts";
import type { Connection } from "./_http.ts";
import { parseRetryAfter } from "./_retry.ts";
import { Utf8Stream } from "./_utf8.ts";
import { readOut } from "./_wait.ts";

/** The most bytes of an error body that are read. */
const MAX_ERROR_BYTES = 64 * 1_024;

/** The most characters of one unfinished frame that are held. */
const MAX_FRAME_CHARS = 16 * 1_024 * 1_024;

/**
 * The most bytes without a part of the answer: as many as a few frames of the longest kind. A server that sends them as
 * fast as they are read is never waited for, so no clock would end it.
 */
const MAX_IDLE_BYTES = 4 * MAX_FRAME_CHARS;

/** Milliseconds for what is not needed, but may come: the bill and the end mark of an answer, the words of a refusal. */
const REST_MS = 3_000;

/** Throws unless the response can be an event stream. */
export async function requireStream(
  connection: Connection,
  { context, now }: { readonly context: ErrorContext; readonly now: number },
): Promise<void> {
  const { headers, status } = connection;
  const mediaType = (headers.get("content-type") ?? "").split(";")[0]?.trim().slice(0, 60) ?? "";
  const isRefused = status < 200 || status >= 300;
  // A wrong or missing type is common and harmless; these two are never a stream.
  if (!isRefused && !/json|html/i.test(mediaType)) return;
  let body = "";
  if (isRefused) connection.within(REST_MS);
  try {
    body = await connection.readText(MAX_ERROR_BYTES);
  } catch (error) {
    // Of a refusal the status says enough; the rest of its body may be lost. An abort is no SelvageError.
    if (!(error instanceof SelvageError)) throw error;
  }
  if (!isRefused) throw badResponse(`a body of type ${mediaType}`, { ...context, body });
  throw refusal(status, body, { ...context, retryAfterMs: parseRetryAfter(headers.get("retry-after"), now) });
}

/** What one network read after the other has brought of an answer. */
export interface StreamReader {
  /**
   * The events of the next read that has any; null when the answer is complete.
   *
   * @throws What the provider said instead; `model_stream_cut` when the stream ends before the answer does.
   */
  next(): Promise<readonly ModelEvent[] | null>;
}

/** Reads an answer from its stream. */
export function readStream(connection: Connection, answer: Assembler, context: ErrorContext): StreamReader {
  const decoder = new Utf8Stream();
  let isStream = false;
  let received = 0;
  let idle = 0;
  let cut = false;
  // Whether the next look at an answer that is whole gives the rest its time.
  let isToHurry = true;
  const parser = createParser({
    maxBufferSize: MAX_FRAME_CHARS,
    onComment: () => {
      isStream = true;
    },
    onEvent: ({ data, event }) => {
      isStream = true;
      answer.accept(data, { event, cut });
    },
    onError: ({ type }) => {
      // Unknown fields are to be ignored, says the standard of event streams.
      if (type === "max-buffer-size-exceeded") answer.failure ??= badResponse("a frame without end", context);
    },
  });

  async function next(): Promise<readonly ModelEvent[] | null> {
    for (;;) {
      if (answer.failure !== undefined) throw answer.failure;
      if (answer.done || cut) break;
      if (answer.complete && isToHurry) {
        isToHurry = false;
        connection.within(REST_MS);
      }
      let bytes: Uint8Array | null;
      try {
        bytes = await connection.read();
      } catch (error) {
        bytes = endedBy(error, { answer, context });
      }
      received += bytes?.length ?? 0;
      idle += bytes?.length ?? 0;
      cut = bytes === null;
      // Not every server ends its last frame: the blank line in its place costs nothing.
      parser.feed(bytes === null ? `${decoder.decode()}\n\n` : decoder.decode(bytes));
      const events = answer.drain();
      if (events.length > 0) {
        idle = 0;
        // Some servers say with each frame that it is the last one: what comes after it counts anew.
        isToHurry = true;
        connection.progress();
        return events;
      }
      if (idle > MAX_IDLE_BYTES && !answer.complete) {
        answer.failure ??= badResponse(`${idle} bytes without a part of the answer`, context);
      }
    }
    if (answer.complete) {
      const isRead = cut || received >= Number(connection.headers.get("content-length") ?? Infinity);
      if (!isRead) await readOut(async () => await connection.read() === null, connection);
      return null;
    }
    if (received > 0 && !isStream) throw badResponse("a body that is no event stream", context);
    throw streamCut(context);
  }

  return { next };
}

/** What a read that failed leaves of an answer: null where it is whole without what was still to come. */
function endedBy(
  error: unknown,
  { answer, context }: { readonly answer: Assembler; readonly context: ErrorContext },
): null {
  if (!(error instanceof SelvageError)) throw error;
  // The provider has said that the answer is whole: only the end mark is missing, or the usage.
  if (answer.complete) return null;
  throw answer.begun && error.code === "model_unreachable" ? streamCut(context, error.cause) : error;
}
