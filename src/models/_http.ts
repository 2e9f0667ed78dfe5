/**
 * One streaming HTTP exchange in which no wait can outlast an abort or a silence. Private to the adapters.
 *
 * In Deno 2.9.6 the signal given to `fetch` no longer reaches the response body once the `Response` has been
 * garbage collected. So the response is held for as long as the signal can fire, the reader is cancelled by hand,
 * and silence is measured by a timer of our own.
 */
import type { Clock } from "../ports.ts";
import { giveBack } from "./_bytes.ts";
import { type ErrorContext, unreachable } from "./_errors.ts";
import { Utf8Stream } from "./_utf8.ts";
import { watched } from "./_wait.ts";

/** What {@link connect} needs. */
export interface ConnectOptions {
  readonly fetch: typeof globalThis.fetch;
  readonly headers: Readonly<Record<string, string>>;
  /** Its memory is given back once it was sent. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly clock: Clock;
  /** Milliseconds of silence after which the upstream counts as stalled. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
  /** What errors start with and never show. */
  readonly context: ErrorContext;
}

/** A response whose body is read by hand. */
export interface Connection {
  readonly status: number;
  readonly headers: Headers;
  /**
   * The next bytes, good until the next read; null at the end. Throws the signal's reason, `model_stalled` or
   * `model_unreachable`.
   */
  read(): Promise<Uint8Array | null>;
  /** Something of the answer has come. What only keeps the connection alive is waited for ten silences long. */
  progress(): void;
  /** From now on the rest of the body may take so many milliseconds, whatever was said before: `model_stalled`. */
  within(ms: number): void;
  /** The body as text, cut off after `maxBytes`. Throws like `read`. */
  readText(maxBytes: number): Promise<string>;
  /** Lets go of the connection and of every listener and timer. */
  close(): void;
}

/**
 * Bytes of the memory that a body is read into: a few words' worth, which is what a slow model sends at a time and what
 * each open stream holds; and as many as a TLS record can have from the first read on that had no room to spare.
 */
const FIRST_BYTES = 2_048;
const READ_BYTES = 16_384;

/** Memory of bodies that were read to their end, for the next ones; more than these are not worth keeping. */
const spare: ArrayBuffer[] = [];
const MAX_SPARE = 16;

/** A body while it is read. */
interface BodyReader {
  /** The next bytes, good until the next read; null at the end. */
  read(): Promise<Uint8Array | null>;
  cancel(): Promise<void>;
}

/** Reads a body into one piece of memory again and again: new memory for each delta costs more than the rest of it. */
function readerOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): BodyReader {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    // No stream of bytes: it comes from a `fetch` of somebody's own.
    const plain = body.getReader();
    return {
      async read() {
        const { value = null } = await plain.read();
        if (value === null || value instanceof Uint8Array) return value;
        throw new TypeError(`The body gave ${typeof value}, wanted bytes`);
      },
      cancel: () => plain.cancel(),
    };
  }
  // None once the body has ended: it is somebody else's then.
  let memory: ArrayBuffer | null = new ArrayBuffer(FIRST_BYTES);
  let isFull = false;
  function taken({ done, value }: ReadableStreamReadResult<Uint8Array<ArrayBuffer>>): Uint8Array | null {
    // The memory went away with the read, and comes back with its bytes.
    memory = value?.buffer ?? null;
    isFull = value?.byteLength === memory?.byteLength;
    if (!done) return value;
    if (memory?.byteLength === READ_BYTES && spare.length < MAX_SPARE) spare.push(memory);
    memory = null;
    return null;
  }
  return {
    read() {
      if (memory === null) return Promise.resolve(null);
      if (isFull && memory.byteLength < READ_BYTES) memory = spare.pop() ?? new ArrayBuffer(READ_BYTES);
      return reader.read(new Uint8Array(memory)).then(taken);
    },
    cancel: () => reader.cancel(),
  };
}

/** It copies a body as it is called, as the standard of `fetch` has it. One that somebody has written may hold on to it. */
const PLATFORM_FETCH = globalThis.fetch;

/**
 * Sends a POST request and waits for the response headers.
 *
 * @throws The signal's reason; `model_stalled`; `model_unreachable` when no connection came about.
 */
export async function connect(url: string, options: ConnectOptions): Promise<Connection> {
  const { body, clock, context, fetch, signal, stallMs } = options;
  signal.throwIfAborted();
  const request = new AbortController();
  const sent = fetch === PLATFORM_FETCH ? body : body.slice();
  // One object, so that the abort listener below keeps the response alive together with the reader.
  const held: { response?: Response; reader?: BodyReader } = {};
  // A `fetch` of somebody's own may know no signal.
  const stopped = Promise.withResolvers<never>();
  // Nobody may be waiting when it comes.
  stopped.promise.catch(() => undefined);

  function cancelReader(): void {
    // Rejects only where the body has failed already: then there is nothing left to let go of.
    held.reader?.cancel().catch(() => undefined);
  }

  function stop(): void {
    request.abort();
    stopped.reject(request.signal.reason);
    cancelReader();
  }

  const watch = watched({
    context,
    clock,
    signal,
    stallMs,
    stop,
    broken: (cause) => unreachable(cause, { context }),
  });

  function close(): void {
    watch.close();
    cancelReader();
  }

  function read(): Promise<Uint8Array | null> {
    return held.reader === undefined ? Promise.resolve(null) : watch.wait(held.reader.read);
  }

  async function send(): Promise<Response> {
    const { headers } = options;
    // No redirect is followed: of the headers that tell who asks `fetch` would leave only `authorization` behind, and
    // what was said goes nowhere that was not named.
    const init: RequestInit = {
      method: "POST",
      headers,
      body: sent,
      redirect: "manual",
      signal: request.signal,
    };
    const response = await fetch(url, init);
    held.response = response;
    if (response.body !== null) held.reader = readerOf(response.body);
    // It came too late.
    if (request.signal.aborted) cancelReader();
    return response;
  }

  async function readText(maxBytes: number): Promise<string> {
    const decoder = new Utf8Stream();
    let text = "";
    let room = maxBytes;
    while (room > 0) {
      const bytes = await read();
      if (bytes === null) break;
      text += decoder.decode(bytes.subarray(0, room));
      room -= bytes.length;
    }
    return text + decoder.decode();
  }

  try {
    const response = await watch.wait(() => Promise.race([send(), stopped.promise]));
    const { headers, status } = response;
    const { progress, within } = watch;
    return { status, headers, read, progress, within, readText, close };
  } catch (error) {
    close();
    throw error;
  } finally {
    // It was sent, or never will be.
    giveBack(body);
  }
}
