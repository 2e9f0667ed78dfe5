/** An upstream whose every byte, pause and disconnect a test decides on. */

/** One request with the connection it came on. */
export interface RawExchange {
  /** Request number, from 1. */
  readonly number: number;
  /** The request line and the headers. */
  readonly head: string;
  readonly body: string;
  /** Resolves once the client has closed its side. */
  readonly closed: Promise<void>;
  /** Writes text or bytes as they are. */
  write(data: string | Uint8Array): Promise<void>;
}

/** A running upstream. */
export interface RawUpstream extends AsyncDisposable {
  /** Base URL, up to `/v1`. */
  readonly url: string;
  /** Requests seen so far. */
  readonly count: number;
}

const encoder = new TextEncoder();

/** A status line and headers, for a body that ends with the connection. */
export function rawHead(status = "200 OK", contentType = "text/event-stream", more = ""): string {
  return `HTTP/1.1 ${status}\r\ncontent-type: ${contentType}\r\n${more}connection: close\r\n\r\n`;
}

/**
 * Starts an upstream on a free loopback port.
 *
 * @param respond Answers one request; the connection is closed when it returns.
 */
export function startRaw(respond: (exchange: RawExchange) => Promise<void> | void): RawUpstream {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const work: Promise<void>[] = [];
  let count = 0;

  function hangUp(conn: Deno.Conn): void {
    if (open.delete(conn)) conn.close();
  }

  async function serve(conn: Deno.Conn): Promise<void> {
    const { head, body } = await readRequest(conn);
    const closed = drain(conn);
    const write = async (data: string | Uint8Array): Promise<void> => {
      const bytes = typeof data === "string" ? encoder.encode(data) : data;
      for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
    };
    await respond({ number: ++count, head, body, closed, write });
    hangUp(conn);
    await closed;
  }

  async function accept(): Promise<void> {
    for await (const conn of listener) {
      open.add(conn);
      // A write into a connection that the client has closed is an outcome here, not a fault.
      work.push(serve(conn).catch(() => hangUp(conn)));
    }
  }

  const accepting = accept();
  return {
    url: `http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}/v1`,
    get count() {
      return count;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const conn of open) hangUp(conn);
      await accepting;
      await Promise.all(work);
    },
  };
}

async function readRequest(conn: Deno.Conn): Promise<{ readonly head: string; readonly body: string }> {
  const decoder = new TextDecoder("latin1");
  const buffer = new Uint8Array(65_536);
  let text = "";
  for (;;) {
    const end = text.indexOf("\r\n\r\n");
    const head = text.slice(0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (end >= 0 && text.length >= end + 4 + length) return { head, body: text.slice(end + 4) };
    const size = await conn.read(buffer);
    if (size === null) throw new Error("Cannot read the request: found the end of it, wanted the rest");
    text += decoder.decode(buffer.subarray(0, size), { stream: true });
  }
}

/** Resolves when the other side is gone, in whichever way. */
async function drain(conn: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(1_024);
  try {
    while (await conn.read(buffer) !== null);
  } catch {
    // Reset, or closed by ourselves: gone as well.
  }
}
