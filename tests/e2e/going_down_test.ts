/** What clients of a real process see while it goes down. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { startServer } from "../support/server.ts";
import { readFrames } from "../support/sse.ts";

/** One connection, without what a real client would do about its end. */
class Wire implements Disposable {
  readonly #conn: Deno.TcpConn;

  constructor(conn: Deno.TcpConn) {
    this.#conn = conn;
  }

  static async open(url: string): Promise<Wire> {
    const { hostname, port } = new URL(url);
    return new Wire(await Deno.connect({ hostname, port: Number(port) }));
  }

  async send(text: string): Promise<void> {
    await this.#conn.write(new TextEncoder().encode(text));
  }

  /** All that comes until the text ends with this, or the connection with nothing more. */
  async read(end?: string): Promise<string> {
    const decoder = new TextDecoder();
    const bytes = new Uint8Array(4_096);
    let text = "";
    while (end === undefined || !text.endsWith(end)) {
      const read = await this.#conn.read(bytes);
      if (read === null) return text;
      text += decoder.decode(bytes.subarray(0, read), { stream: true });
    }
    return text;
  }

  [Symbol.dispose](): void {
    this.#conn.close();
  }
}

Deno.test("after SIGTERM nobody connects any more, idle connections end, and a request in hand gets its 503", async () => {
  await using server = await startServer({ SELVAGE_KV: ":memory:" });
  using idle = await Wire.open(server.url);
  await idle.send("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
  match(await idle.read('{"status":"ok"}'), /^HTTP\/1\.1 200 /);
  const body = JSON.stringify({ input: "Hi", stream: false });
  using inHand = await Wire.open(server.url);
  await inHand.send(
    `POST /v1/turns HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 9)}`,
  );
  const started = await fetch(`${server.url}/v1/turns`, {
    method: "POST",
    body: JSON.stringify({ input: "Audit the archive" }),
  });
  const events: unknown[] = [];
  for await (const { event } of readFrames(started)) {
    if (events.push(event) !== 1) continue;
    server.kill("SIGTERM");
    // It ends at once, without an answer: what a proxy sends over another one has not begun here.
    equal(await idle.read(), "");
    // In the moment before the listener is gone one may still get in, and ends like the one above.
    await rejects(async () => {
      for (;;) (await Wire.open(server.url))[Symbol.dispose]();
    }, Deno.errors.ConnectionRefused);
    // Its body was still coming.
    const answer = await inHand.read();
    match(answer, /^HTTP\/1\.1 503 /);
    match(answer, /^retry-after: 1\r$/im);
    equal(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))).code, "shutting_down");
  }
  ok(!events.includes("turn.finished"), "the turn goes on elsewhere");
  const { code, signal } = await server.status;
  deepEqual([code, signal], [0, null]);
});
