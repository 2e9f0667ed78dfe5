/**
 * The `fetch` of an MCP connection: an answer has a bounded size, ends with its signal, and comes from the server that
 * was asked. The headers of a request are for that one alone.
 *
 * @module
 */

/** Bytes of the answer to one request: more would be held in memory whole. */
const MAX_ANSWER = 16 * 1024 * 1024;

/** Redirects that are followed, one after another. */
const MAX_REDIRECTS = 5;

/**
 * Makes it.
 *
 * @param maxBytes Bytes of the answer to one request. A stream that the server has to itself has no bound.
 */
export function mcpFetch(
  maxBytes = MAX_ANSWER,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    const response = await askedWithin(new URL(url), init);
    if (response.body === null || !response.ok) return response;
    const limit = init.method === "POST" ? maxBytes : Infinity;
    const body = watched(response.body, { limit, signal: init.signal ?? null });
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };
}

/**
 * Follows redirects on one server only: `fetch` itself would take the headers, which tell who asks, to any other.
 * Another path is common (`/mcp` to `/mcp/`), and so is TLS for who asked without.
 */
async function askedWithin(url: URL, init: RequestInit): Promise<Response> {
  for (let hops = 0;; hops++) {
    const response = await fetch(url, { ...init, redirect: "manual" });
    // Of the others a POST comes out as a GET, which asks for something else.
    const isSame = response.status === 307 || response.status === 308;
    const to = isSame ? URL.parse(response.headers.get("location") ?? "", url) : null;
    if (to === null) return response;
    await response.body?.cancel();
    const isHere = to.origin === url.origin ||
      (url.protocol === "http:" && to.protocol === "https:" && to.hostname === url.hostname);
    // No URL: what is said here may come to the model.
    if (!isHere) {
      throw new Error("the server redirects to another one, wanted an answer or the address of that one");
    }
    if (hops === MAX_REDIRECTS) throw new Error("the server redirects again and again, wanted an answer");
    url = to;
  }
}

/** A body that fails once it is too long, and is cancelled by its signal: see `models/_http`. */
function watched(
  body: ReadableStream<Uint8Array>,
  { limit, signal }: { readonly limit: number; readonly signal: AbortSignal | null },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let read = 0;
  const onAbort = (): void => void reader.cancel(signal?.reason).catch(() => {});
  const end = (): void => signal?.removeEventListener("abort", onAbort);
  signal?.addEventListener("abort", onAbort, { once: true });
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (signal?.aborted) throw signal.reason;
        if (done) {
          end();
          return controller.close();
        }
        read += value.length;
        if (read > limit) throw new RangeError(`The answer has more than ${limit} bytes`);
        controller.enqueue(value);
      } catch (error) {
        end();
        void reader.cancel(error).catch(() => {});
        throw error;
      }
    },
    async cancel(reason) {
      end();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
