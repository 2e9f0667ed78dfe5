/**
 * The SSE response: pull-driven, so that a slow reader slows the loop instead of filling memory, and cancelled
 * with its connection.
 *
 * @module
 */
import type { Clock } from "../ports.ts";

/** Milliseconds of silence after which a comment is sent: below the idle limits of proxies. */
const KEEP_ALIVE_MS = 10_000;

/** Headers of every SSE response; the last two keep proxies from buffering and compressing it. */
export const SSE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

const encoder = new TextEncoder();

/** What {@link sseStream} needs. */
export interface SseOptions<Event> {
  /** One event as a whole frame, the blank line included. */
  readonly encode: (event: Event) => string;
  readonly clock: Clock;
  /** Called once when nothing more is sent: at the end, on a fault, or when the client has gone. */
  readonly onEnd?: () => void;
  /** Called once when the client goes away before the end; a read that is under way must end by it. */
  readonly onLeave: () => Promise<void>;
}

/**
 * Streams events as frames.
 *
 * @param events The events; returned early when the client goes away.
 * @param options Encoder, clock and what to do on a cancel.
 */
export function sseStream<Event>(
  events: AsyncGenerator<Event, void>,
  { encode, clock, onLeave, onEnd = () => {} }: SseOptions<Event>,
): ReadableStream<Uint8Array> {
  let pending: Promise<IteratorResult<Event, void>> | null = null;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      // Flushes the headers at once: the first event may take a while.
      controller.enqueue(encoder.encode(": selvage\n\n"));
    },
    async pull(controller) {
      pending ??= events.next();
      const quiet = new AbortController();
      const silence = clock.sleep(KEEP_ALIVE_MS, quiet.signal).then(() => null, () => null);
      let result: IteratorResult<Event, void> | null;
      try {
        result = await Promise.race([pending, silence]);
      } catch (error) {
        onEnd();
        throw error;
      } finally {
        quiet.abort();
      }
      if (result === null) return controller.enqueue(encoder.encode(": keep-alive\n\n"));
      pending = null;
      if (result.done === true) {
        onEnd();
        return controller.close();
      }
      controller.enqueue(encoder.encode(encode(result.value)));
    },
    async cancel() {
      try {
        await onLeave();
        await events.return();
      } finally {
        onEnd();
      }
    },
  }, { highWaterMark: 0 });
}
