/**
 * The body of a response, read so that it always comes to an end.
 *
 * @module
 */
import type { Clock } from "../ports.ts";
import { ClientError } from "./error.ts";

/** Characters of an answer that is no stream: pages of sessions stay far below. */
const MAX_TEXT = 256 * 1024 * 1024;

/** What {@link readText} needs. */
export interface ReadOptions {
  /** What time is measured by. */
  readonly clock: Clock;
  /** Milliseconds without a byte after which the body is given up. */
  readonly stallMs: number;
  /** Ends the reading; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Gives the text of a body, piece by piece. Left early it cancels the body.
 *
 * @throws ClientError `stalled` or `network`; the reason of the signal.
 */
export async function* readText(
  { body }: Response,
  { clock, stallMs, signal }: ReadOptions,
): AsyncGenerator<string, void> {
  if (body === null) return;
  const reader = body.getReader();
  const done = new AbortController();
  // Who takes its time with what came is not waited for.
  let waitsSince: number | null = null;
  let isStalled = false;
  // A cancelled reader gives what is waited for an end: no race, whose reactions would pile up on one promise; and
  // not every runtime ends a body by the signal of its request.
  const stop = (): void => void reader.cancel().catch(() => {});
  const watch = async (): Promise<void> => {
    let left = stallMs;
    while (left > 0) {
      await clock.sleep(left, done.signal);
      left = waitsSince === null ? stallMs : waitsSince + stallMs - clock.now();
    }
    isStalled = true;
    stop();
  };
  // It ends with the reading, by rejecting.
  watch().catch(() => {});
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  // In Deno 2.9.6 one that takes a byte order mark away does so in front of later reads as well, where it is text.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let isFirst = true;
  try {
    for (;;) {
      waitsSince = clock.now();
      const { value, done: isOver } = await reader.read().catch((cause) => {
        signal?.throwIfAborted();
        throw new ClientError("network", "Cannot read the answer: the connection broke off in it", { cause });
      });
      signal?.throwIfAborted();
      if (isStalled) {
        throw new ClientError("stalled", `Cannot read the answer: nothing came for ${stallMs} ms`);
      }
      waitsSince = null;
      if (isOver) break;
      const text = decoder.decode(value, { stream: true });
      if (text === "") continue;
      yield isFirst && text.startsWith("\ufeff") ? text.slice(1) : text;
      isFirst = false;
    }
    const rest = decoder.decode();
    if (rest !== "") yield rest;
  } finally {
    done.abort();
    signal?.removeEventListener("abort", stop);
    stop();
  }
}

/**
 * The whole text of a body.
 *
 * @throws ClientError `bad_answer` for one of over 256 Mi characters; else as {@link readText}.
 */
export async function wholeText(response: Response, options: ReadOptions): Promise<string> {
  const text = await startOfText(response, { ...options, maxLength: MAX_TEXT + 1 });
  if (text.length <= MAX_TEXT) return text;
  throw new ClientError(
    "bad_answer",
    `Cannot read the answer: found over ${MAX_TEXT} characters, wanted less`,
  );
}

/** The text of a body as far as it is wanted; the rest is left. Throws like {@link readText}. */
export async function startOfText(
  response: Response,
  { maxLength, ...options }: ReadOptions & { readonly maxLength: number },
): Promise<string> {
  let text = "";
  for await (const piece of readText(response, options)) {
    text += piece;
    if (text.length >= maxLength) break;
  }
  return text;
}
