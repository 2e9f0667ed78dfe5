/** What the doubles of all services do alike: serve answers frame by frame, break them, count who leaves. */

/** What goes wrong with one request, whatever the protocol. A number counts frames sent before it does. */
export type StreamFault =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  /** The socket is closed in the middle of the body. */
  | { readonly cutAfter: number }
  /** A frame that is no JSON, then the end. */
  | { readonly garbageAfter: number }
  /** Silence, until the client leaves or the double is disposed of. */
  | { readonly hangAfter: number }
  /** An error in the stream, then the end. */
  | { readonly errorFrameAfter: number }
  /** The whole answer without the frame that ends it. */
  | { readonly noDone: true };

/** One answer on its way, in frames without their ending. */
export interface Answer {
  readonly frames: readonly string[];
  readonly end: "close" | "cut" | "hang";
}

/** What every double has. */
export interface AnyDouble extends AsyncDisposable {
  /** Base URL, as clients of the service take it. */
  readonly url: string;
  /** Bodies of all requests, refused ones included. */
  readonly requests: readonly Readonly<Record<string, unknown>>[];
  /** What was refused and the real service would refuse as well. */
  readonly violations: readonly string[];
  /** Answers being streamed. */
  readonly open: number;
  /** Resolves once `count` clients in all have left before the end of their answer. */
  untilLeft(count: number): Promise<void>;
}

/** A server of answers. */
export interface DoubleServer extends Pick<AnyDouble, "open" | "untilLeft">, AsyncDisposable {
  /** Its URL, without a path. */
  readonly origin: string;
  /** Streams an answer. */
  stream(answer: Answer): Response;
}

/** Settings of {@link serveDouble}. */
export interface ServeOptions {
  /** Default 0: a free one. */
  readonly port?: number | undefined;
  readonly contentType?: string;
  /** What ends a frame. */
  readonly frameEnd?: string;
}

const encoder = new TextEncoder();

// Frames a write: a real network delivers them now one by one, now in a burst.
const BURSTS = [1, 1, 3, 1, 2];

/** Starts a server on loopback. It listens when this returns. */
export function serveDouble(
  handle: (request: Request) => Response | Promise<Response>,
  { port = 0, contentType = "text/event-stream; charset=utf-8", frameEnd = "\n\n" }: ServeOptions,
): DoubleServer {
  const streams = new Set<() => void>();
  let left = 0;
  let leaving = Promise.withResolvers<void>();

  function stream({ frames, end }: Answer): Response {
    let at = 0;
    let burst = 0;
    let endHang = (): void => {};
    let finish = (): void => {};
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        finish = () => {
          if (!streams.delete(finish)) return;
          controller.close();
          endHang();
        };
        streams.add(finish);
      },
      pull(controller) {
        const size = BURSTS[burst++ % BURSTS.length] ?? 1;
        const part = frames.slice(at, at + size);
        at += part.length;
        if (part.length > 0) {
          controller.enqueue(encoder.encode(part.map((frame) => frame + frameEnd).join("")));
        }
        if (part.length > 0 && (at < frames.length || end !== "close")) return;
        if (end === "hang") return new Promise((resolve) => endHang = resolve);
        if (end === "close") return finish();
        streams.delete(finish);
        // Deno.serve prints this and resets the connection.
        controller.error("double: the answer is cut here, as the test asked for");
      },
      cancel() {
        streams.delete(finish);
        endHang();
        left++;
        leaving.resolve();
        leaving = Promise.withResolvers();
      },
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { "content-type": contentType, "cache-control": "no-cache" } });
  }

  const server = Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, handle);
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    stream,
    get open() {
      return streams.size;
    },
    async untilLeft(count) {
      while (left < count) await leaving.promise;
    },
    async [Symbol.asyncDispose]() {
      for (const finish of [...streams]) finish();
      await server.shutdown();
    },
  };
}

/** The answer that a fault leaves of its frames. */
export function breakAnswer(
  frames: readonly string[],
  fault: StreamFault | undefined,
  { garbage, error }: { readonly garbage: string; readonly error: string },
): Answer {
  if (fault === undefined || "status" in fault) return { frames, end: "close" };
  if ("noDone" in fault) return { frames: frames.slice(0, -1), end: "close" };
  if ("cutAfter" in fault) return { frames: frames.slice(0, fault.cutAfter), end: "cut" };
  if ("hangAfter" in fault) return { frames: frames.slice(0, fault.hangAfter), end: "hang" };
  const [count, last] = "garbageAfter" in fault
    ? [fault.garbageAfter, garbage]
    : [fault.errorFrameAfter, error];
  return { frames: [...frames.slice(0, count), last], end: "close" };
}

/** The response of a fault that is a status; undefined for any other. */
export function statusResponse(fault: StreamFault | undefined, body: unknown): Response | undefined {
  if (fault === undefined || !("status" in fault)) return undefined;
  const text = typeof fault.body === "string" ? fault.body : JSON.stringify(fault.body ?? body);
  return new Response(text, { status: fault.status, headers: fault.headers ?? {} });
}

/** Words with the space before them. */
export function words(text = ""): readonly string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

/** At least three pieces of at most 16 characters, cut between characters. */
export function shreds(text: string): readonly string[] {
  const characters = [...text];
  const count = Math.max(3, Math.ceil(characters.length / 16));
  const size = Math.ceil(characters.length / count);
  return Array.from(
    { length: count },
    (_, index) => characters.slice(index * size, (index + 1) * size).join(""),
  );
}
