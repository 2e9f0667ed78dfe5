/**
 * The `fetch` of an MCP connection: an answer has a bounded size, and ends with its signal.
 *
 * @module
 */

/** Bytes of the answer to one request: more would be held in memory whole. */
const MAX_ANSWER = 16 * 1024 * 1024;

/**
 * Makes it.
 *
 * @param maxBytes Bytes of the answer to one request. A stream that the server has to itself has no bound.
 */
export function mcpFetch(
  maxBytes = MAX_ANSWER,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    const response = await fetch(url, init);
    if (response.body === null || !response.ok) return response;
    const limit = init.method === "POST" ? maxBytes : Infinity;
    const body = watched(response.body, { limit, signal: init.signal ?? null });
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };
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
