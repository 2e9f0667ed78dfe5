/**
 * One streaming HTTP exchange in which no wait can outlast an abort or a silence. Private to the adapters.
 *
 * In Deno 2.9.6 the signal given to `fetch` no longer reaches the response body once the `Response` has been
 * garbage collected. So the response is held for as long as the signal can fire, the reader is cancelled by hand,
 * and silence is measured by a timer of our own.
 */
import { SelvageError } from "../core/errors.ts";
import type { Clock } from "../ports.ts";

/** What {@link connect} needs. */
export interface ConnectOptions {
  readonly fetch: typeof globalThis.fetch;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly clock: Clock;
  /** Milliseconds of silence after which the upstream counts as stalled. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
  /** What becomes of a redirect. Default `follow`: it leaves `authorization` behind, but no other header. */
  readonly redirect?: RequestRedirect;
  /** Starts every error message, for example `Cannot get an answer from gpt-5`. */
  readonly action: string;
}

/** A response whose body is read by hand. */
export interface Connection {
  readonly status: number;
  readonly headers: Headers;
  /** The next bytes, null at the end. Throws the signal's reason, `model_stalled` or `model_unreachable`. */
  read(): Promise<Uint8Array | null>;
  /** The body as text, cut off after `maxBytes`. Throws like `read`. */
  readText(maxBytes: number): Promise<string>;
  /** Lets go of the connection and of every listener and timer. */
  close(): void;
}

/** The longest delay that a timer takes, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Sends a POST request and waits for the response headers.
 *
 * @throws The signal's reason; `model_stalled`; `model_unreachable` when no connection came about.
 */
export async function connect(url: URL, options: ConnectOptions): Promise<Connection> {
  const { action, body, clock, fetch, headers, redirect = "follow", signal, stallMs } = options;
  signal.throwIfAborted();
  const request = new AbortController();
  const quiet = new AbortController();
  // One object, so that the abort listener below keeps the response alive together with the reader.
  const held: { response?: Response; reader?: ReadableStreamDefaultReader<Uint8Array> } = {};
  let failure: { readonly error: unknown } | undefined;
  let waitingSince: number | null = null;
  let watching = false;

  function cancelReader(): void {
    // Rejects only where the body has failed already: then there is nothing left to let go of.
    held.reader?.cancel().catch(() => undefined);
  }

  function stop(): void {
    request.abort();
    cancelReader();
  }

  function close(): void {
    signal.removeEventListener("abort", stop);
    quiet.abort();
    cancelReader();
  }

  // One timer for many reads: it looks at its last start when it fires. A slow consumer is not silence, so it
  // goes off duty where nobody waits.
  async function watch(): Promise<void> {
    watching = true;
    try {
      while (waitingSince !== null) {
        const left = waitingSince + stallMs - clock.now();
        if (left <= 0) {
          const found = `found ${stallMs} ms of silence, wanted bytes at least that often`;
          failure = {
            error: new SelvageError("model_stalled", `${action}: ${found}`, { fields: { retryable: true } }),
          };
          return stop();
        }
        await clock.sleep(Math.min(left, MAX_TIMER_MS), quiet.signal);
      }
    } catch (error) {
      // close() ends the sleep; anything else is a clock that failed, which the next read reports.
      if (quiet.signal.aborted) return;
      failure ??= { error };
      stop();
    } finally {
      watching = false;
    }
  }

  async function wait<T>(work: () => Promise<T>): Promise<T> {
    let broken: { readonly cause: unknown } | undefined;
    let value: T | undefined;
    waitingSince = clock.now();
    if (!watching) void watch();
    try {
      value = await work();
    } catch (cause) {
      broken = { cause };
    } finally {
      waitingSince = null;
    }
    // In this order: a cancelled reader looks like the end of the body, and an aborted fetch like a failure.
    if (signal.aborted) throw signal.reason;
    if (failure !== undefined) throw failure.error;
    if (broken !== undefined) {
      // fetch reports the network by TypeErrors; another error (a permission, say) will not go away by itself.
      const retryable = broken.cause instanceof TypeError;
      const message = `${action}: found a connection that failed, wanted one that lasts to the end`;
      throw new SelvageError("model_unreachable", message, { cause: broken.cause, fields: { retryable } });
    }
    return value as T;
  }

  async function read(): Promise<Uint8Array | null> {
    const reader = held.reader;
    if (reader === undefined) return null;
    const chunk = await wait(() => reader.read());
    return chunk.done ? null : chunk.value;
  }

  async function readText(maxBytes: number): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    let room = maxBytes;
    while (room > 0) {
      const bytes = await read();
      if (bytes === null) break;
      text += decoder.decode(bytes.subarray(0, room), { stream: true });
      room -= bytes.length;
    }
    return text + decoder.decode();
  }

  signal.addEventListener("abort", stop, { once: true });
  try {
    const response = await wait(async () => {
      held.response = await fetch(url, { method: "POST", headers, body, redirect, signal: request.signal });
      const reader = held.response.body?.getReader();
      if (reader !== undefined) held.reader = reader;
      return held.response;
    });
    return { status: response.status, headers: response.headers, read, readText, close };
  } catch (error) {
    close();
    throw error;
  }
}
