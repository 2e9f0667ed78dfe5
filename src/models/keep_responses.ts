/**
 * A `fetch` whose responses can be aborted for as long as they are read.
 *
 * @module
 */

/**
 * Wraps the `fetch` that a provider's package gets.
 *
 * In Deno 2.9.6 an abort signal no longer reaches the body of a response once the `Response` has been garbage
 * collected, and packages for the AI SDK let go of it while they read. Here it is kept for as long as the signal is:
 * give requests signals of their own, as {@link aiSdk} does. Redirects are not followed: they would carry the key to
 * another place.
 *
 * @param fetch What to wrap; by default the global one, looked up with each request.
 * @returns A function to be given as the `fetch` of a provider.
 *
 * @example
 * ```ts
 * import { keepResponses } from "@selvage/selvage/models";
 *
 * // createAnthropic({ apiKey, fetch: keepResponses() })
 * const fetch = keepResponses(() => Promise.resolve(new Response("hello")));
 * console.log(await (await fetch("http://127.0.0.1:1/")).text());
 * ```
 */
export function keepResponses(fetch?: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await (fetch ?? globalThis.fetch)(input, { redirect: "manual", ...init });
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    if (signal?.aborted) {
      // A `fetch` that knows no signal answers all the same, and nobody would read it.
      response.body?.cancel().catch(() => undefined);
      throw signal.reason;
    }
    const held = { response };
    // The listener is what keeps it: a signal holds its listeners.
    signal?.addEventListener("abort", () => void held.response, { once: true });
    return response;
  };
}
