/** A `fetch` without a network: the test decides on every read of the body. */

/** What {@link fakeFetch} answers with. */
export interface FakeAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** One item a read. */
  readonly reads: readonly (string | Uint8Array)[];
  /** What becomes of the body after the last read; default `close`. */
  readonly end?: "close" | "error" | "hang";
}

/** A `fetch` and what was seen of its use. */
export interface FakeFetch {
  readonly fetch: typeof globalThis.fetch;
  readonly requests: readonly { readonly url: string; readonly headers: Headers; readonly body: string }[];
  /** Bodies that were cancelled before their end. */
  readonly cancelled: number;
}

const encoder = new TextEncoder();

/** Makes a `fetch` that gives the answers one after the other, the last one again and again. */
export function fakeFetch(...answers: readonly [FakeAnswer, ...FakeAnswer[]]): FakeFetch {
  const requests: { url: string; headers: Headers; body: string }[] = [];
  let cancelled = 0;

  function bodyOf({ reads, end = "close" }: FakeAnswer): ReadableStream<Uint8Array> {
    let at = 0;
    return new ReadableStream({
      pull(controller): void | Promise<void> {
        const next = reads[at++];
        if (next !== undefined) controller.enqueue(typeof next === "string" ? encoder.encode(next) : next);
        else if (end === "close") controller.close();
        else if (end === "error") controller.error(new TypeError("error reading a body from connection"));
        else return new Promise(() => {});
      },
      cancel() {
        cancelled++;
      },
    }, { highWaterMark: 0 });
  }

  return {
    requests,
    get cancelled() {
      return cancelled;
    },
    async fetch(input, init) {
      const request = new Request(input instanceof Request ? input : String(input), init);
      requests.push({ url: request.url, headers: request.headers, body: await request.text() });
      const answer = answers[Math.min(requests.length, answers.length) - 1] ?? answers[0];
      const headers = answer.headers ?? { "content-type": "text/event-stream" };
      return new Response(bodyOf(answer), { status: answer.status ?? 200, headers });
    },
  };
}

/** A frame with one choice. */
export function frame(delta: unknown, finish_reason: string | null = null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
}

/** The frame that ends a message, and the end mark. */
export function ending(reason = "stop"): string {
  return `${frame({}, reason)}data: [DONE]\n\n`;
}
