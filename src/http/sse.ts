/**
 * The SSE response: pull-driven, so that a slow reader slows the loop instead of filling memory, and cancelled
 * with its connection.
 *
 * @module
 */
import { ask, type Asked } from "../loop/iteration.ts";
import { callLater } from "../loop/later.ts";
import type { Clock } from "../ports.ts";

/** Milliseconds of silence after which a comment is sent: below the idle limits of proxies. */
const KEEP_ALIVE_MS = 10_000;

/** Headers of every SSE response; the last two keep proxies from buffering and compressing it. */
const SSE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

const encoder = new TextEncoder();

/** A frame of a protocol whose events have no names: JSON alone. */
export function dataFrame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** The frame behind the last one, by which clients of some protocols know that nothing was cut off. */
export const DONE_FRAME = "data: [DONE]\n\n";

/** Characters after which a write takes no more events. */
const WRITE_CHARS = 16_384;

/**
 * Turns of the microtask queue for which a write waits for one more event: more than it takes from a model to here (four
 * from an adapter of ours, a few more from one that wraps another), so that events of one read of the model come together,
 * and no time at all.
 */
const TURNS = 12;

/** Awaited again and again; anything else would be wrapped each time. */
const NOW = Promise.resolve();

/** What {@link sseStream} needs. */
export interface SseOptions<Event> {
  /** One event as a whole frame, the blank line included. */
  readonly encode: (event: Event) => string;
  readonly clock: Clock;
  /** What is sent behind the last event. */
  readonly last?: () => string;
  /** What is sent in place of the rest where the events fail. Without it the response breaks off. */
  readonly fault?: (error: unknown) => string;
  /** Called once when nothing more is sent: at the end, on a fault, or when the client has gone. */
  readonly onEnd?: () => void;
  /**
   * Called once when nobody reads on before the end: the client has gone, or an event could not be encoded. A read that
   * is under way must end by it.
   */
  readonly onLeave: () => Promise<void>;
}

/**
 * Streams events as frames. What is ready together goes out in one write.
 *
 * @param events The events; returned early when the client goes away.
 * @param options Encoder, clock and what to do on a cancel.
 */
export function sseStream<Event>(
  events: AsyncGenerator<Event, void>,
  { encode, clock, onLeave, last = () => "", fault, onEnd = () => {} }: SseOptions<Event>,
): ReadableStream<Uint8Array> {
  /** Whether an event was asked for that has not come. */
  let isAsked = false;
  /** What has come and was not taken. */
  let come: IteratorResult<Event, void> | null = null;
  let broken: { readonly error: unknown } | null = null;
  let wake = (): void => {};
  let written = clock.now();
  let isClosed = false;
  let takeBack = (): void => {};

  // One timer for the whole stream: it looks at the last write when it fires. A clock that fails costs the comments and
  // nothing else.
  function keepAlive(): void {
    const left = written + KEEP_ALIVE_MS - clock.now();
    if (left <= 0) wake();
    takeBack = callLater(left > 0 ? left : KEEP_ALIVE_MS, { clock, call: keepAlive, fail: () => {} });
  }

  function end(): void {
    if (isClosed) return;
    isClosed = true;
    takeBack();
    onEnd();
  }

  async function leave(): Promise<void> {
    await onLeave();
    await events.return();
  }

  const asked: Asked<Event> = {
    resolve(result) {
      isAsked = false;
      come = result;
      wake();
    },
    reject(error) {
      isAsked = false;
      broken = { error };
      wake();
    },
  };

  /** Has the next event come; says whether it is there. */
  function isThere(): boolean {
    if (!isAsked && come === null && broken === null) {
      isAsked = true;
      ask(events, asked);
    }
    return come !== null || broken !== null;
  }

  /** What has come; null where nothing has. */
  function taken(): IteratorResult<Event, void> | null {
    if (broken !== null) throw broken.error;
    const result = come;
    come = null;
    return result;
  }

  /** Waits for the next event, or for a silence. */
  function arrival(): Promise<void> {
    return isThere() ? NOW : new Promise((resolve) => wake = resolve);
  }

  return new ReadableStream<Uint8Array>({
    start(controller) {
      // Flushes the headers at once: the first event may take a while.
      controller.enqueue(encoder.encode(": selvage\n\n"));
      keepAlive();
    },
    async pull(controller) {
      try {
        let text = "";
        let result: IteratorResult<Event, void> | null;
        let rest = last;
        try {
          await arrival();
          result = taken();
          while (result !== null && result.done !== true) {
            text += encode(result.value);
            if (text.length >= WRITE_CHARS) break;
            // Of an event that has nothing to say the client need not hear.
            if (text === "") await arrival();
            else {
              for (let turn = 0; !isThere() && turn < TURNS; turn++) await NOW;
              // What came before a failure is sent before it.
              if (broken !== null) break;
            }
            result = taken();
          }
        } catch (error) {
          // Not the events have failed, but what is made of them: they are not to wait for a reader that is gone.
          if (broken === null) await leave();
          if (fault === undefined) throw error;
          result = { done: true, value: undefined };
          rest = () => fault(error);
        }
        const isOver = result?.done === true;
        if (isOver) text += rest();
        written = clock.now();
        if (text !== "" || !isOver) {
          controller.enqueue(encoder.encode(text === "" ? ": keep-alive\n\n" : text));
        }
        if (!isOver) return;
        end();
        controller.close();
      } catch (error) {
        end();
        throw error;
      }
    },
    async cancel() {
      try {
        await leave();
      } finally {
        end();
      }
    },
  }, { highWaterMark: 0 });
}

/**
 * The response that streams events to a client.
 *
 * @param following The events, and what is called when the client goes away before their end.
 * @param options Encoder, clock and what to do at the end; further headers.
 */
export function sseResponse<Event>(
  { events, leave }: {
    readonly events: AsyncGenerator<Event, void>;
    readonly leave: () => Promise<void>;
  },
  { headers = {}, ...options }: Omit<SseOptions<Event>, "onLeave"> & {
    readonly headers?: Readonly<Record<string, string>>;
  },
): Response {
  const stream = sseStream(events, { ...options, onLeave: leave });
  return new Response(stream, { headers: { ...SSE_HEADERS, ...headers } });
}
