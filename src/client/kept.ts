/**
 * The stream that a turn goes on with behind answers, until somebody reads it.
 *
 * @module
 */

/** Holds one stream at the most: nothing is left open that nobody will read. */
export class KeptStream {
  #response: Response | null = null;
  #unhear = (): void => {};

  /** Keeps a stream in place of what was kept; the signal lets it go. */
  async keep(response: Response, signal: AbortSignal | undefined): Promise<void> {
    await this.drop();
    this.#response = response;
    const onAbort = (): void => void this.drop();
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#unhear = () => signal?.removeEventListener("abort", onAbort);
    if (signal?.aborted) await this.drop();
  }

  /** Gives the stream to who reads it; null where there is none. */
  take(): Response | null {
    const response = this.#response;
    this.#unhear();
    this.#response = null;
    return response;
  }

  /** Lets it go, where there is one. */
  async drop(): Promise<void> {
    // One that has broken off is gone as well.
    await this.take()?.body?.cancel().catch(() => {});
  }
}
