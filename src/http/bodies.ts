/**
 * Bodies of requests while they are held: how much memory they may take together, and how long they may take to come.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { callLater } from "../loop/later.ts";
import type { Clock } from "../ports.ts";

/** Milliseconds without a byte after which a body is given up. */
const STALL_MS = 10_000;

/** Milliseconds after which it is given up, however busily it drips. */
const TOTAL_MS = 120_000;

/** Bytes that are set aside for a body whose length nobody has told, again and again as it grows. */
const STEP = 65_536;

/** The bodies of an app. */
export class Bodies {
  readonly #clock: Clock;
  readonly #maxBytes: number;
  #held = 0;

  /**
   * Makes it.
   *
   * @param clock What time is measured by.
   * @param maxBytes Bytes that all of them may take together.
   */
  constructor(clock: Clock, maxBytes: number) {
    this.#clock = clock;
    this.#maxBytes = maxBytes;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held;
  }

  /**
   * Reads the body of a request and runs what needs it; after that it counts no more.
   *
   * @param request The request.
   * @param options Bytes that it may have, and what is done with it.
   * @throws SelvageError `body_too_large`, `service_full`, `body_stalled`, `body_cut_off`.
   */
  async use<T>(
    request: Request,
    { maxSize, work }: {
      readonly maxSize: number;
      readonly work: (bytes: Uint8Array<ArrayBuffer>) => Promise<T>;
    },
  ): Promise<T> {
    const told = lengthOf(request);
    if (told > maxSize) throw tooLarge(maxSize);
    const share = new Share((bytes) => this.#reserve(bytes));
    try {
      // All of what is told at once: two bodies that each wait for the other's half would never come.
      share.grow(told);
      return await work(
        request.body === null ? new Uint8Array() : await this.#read(request.body, maxSize, share),
      );
    } finally {
      this.#held -= share.bytes;
    }
  }

  #reserve(bytes: number): void {
    if (this.#held + bytes > this.#maxBytes) {
      throw new SelvageError(
        "service_full",
        "Cannot read the body: the service holds as many bodies as it has room for, try again in a moment",
      );
    }
    this.#held += bytes;
  }

  async #read(
    body: ReadableStream<Uint8Array>,
    maxSize: number,
    share: Share,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const reader = body.getReader();
    const begun = this.#clock.now();
    let last = begun;
    const { late, close } = this.#watch(() => Math.min(last + STALL_MS, begun + TOTAL_MS));
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      for (;;) {
        const result = await Promise.race([reader.read().catch(refuseCutOff), late]);
        if (result.done) break;
        last = this.#clock.now();
        size += result.value.length;
        if (size > maxSize) throw tooLarge(maxSize);
        if (size > share.bytes) {
          share.grow(Math.max(size - share.bytes, Math.min(STEP, maxSize - share.bytes)));
        }
        chunks.push(result.value);
      }
    } catch (error) {
      // What is still to come is not waited for.
      void reader.cancel().catch(() => {});
      throw error;
    } finally {
      close();
    }
    const bytes = new Uint8Array(size);
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return bytes;
  }

  /** `late` rejects when the time has passed that `due` tells, which may move on meanwhile; never, once it is closed. */
  #watch(due: () => number): { readonly late: Promise<never>; readonly close: () => void } {
    const clock = this.#clock;
    const { promise: late, reject } = Promise.withResolvers<never>();
    let takeBack = (): void => {};
    const look = (): void => {
      const left = due() - clock.now();
      if (left > 0) {
        takeBack = callLater(left, { clock, call: look, fail: reject });
        return;
      }
      reject(
        new SelvageError(
          "body_stalled",
          "Cannot read the body: it came too slowly, wanted something of it every ten seconds and all in two minutes",
        ),
      );
    };
    look();
    return { late, close: () => takeBack() };
  }
}

/** The length of a body that is told; 0 where none is, as for what is no length. */
function lengthOf({ headers }: Request): number {
  const told = headers.get("content-length") ?? "";
  return !headers.has("transfer-encoding") && /^\d{1,15}$/.test(told) ? Number(told) : 0;
}

/** What one body has set aside. */
class Share {
  readonly #reserve: (bytes: number) => void;
  bytes = 0;

  constructor(reserve: (bytes: number) => void) {
    this.#reserve = reserve;
  }

  grow(bytes: number): void {
    this.#reserve(bytes);
    this.bytes += bytes;
  }
}

function refuseCutOff(cause: unknown): never {
  throw new SelvageError(
    "body_cut_off",
    "Cannot read the body: the connection broke off in the middle of it",
    { cause },
  );
}

function tooLarge(limit: number): SelvageError {
  return new SelvageError(
    "body_too_large",
    `Cannot read the body: found more than ${limit} bytes, wanted at most that`,
    { fields: { limit } },
  );
}
