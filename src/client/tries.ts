/**
 * How often something is tried, and how long is waited in between.
 *
 * @module
 */
import type { Clock } from "../ports.ts";
import { ClientError } from "./error.ts";

/** Milliseconds before the second try, doubled with each one, and the most. */
const BACKOFF_MS = { first: 250, most: 10_000 } as const;

/** Milliseconds that a service may ask to wait; where it asks for more, whoever called is told. */
const MAX_WAIT_MS = 60_000;

/** Statuses that may be another one in a moment: of the service, and of what stands before it. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** What {@link Tries} are made over. */
export interface TriesOf {
  readonly clock: Clock;
  readonly random: () => number;
  /** Tries in a row that may come to nothing. */
  readonly maxTries: number;
}

/** A counter of tries that came to nothing, and the wait between them. */
export class Tries {
  readonly #of: TriesOf;
  readonly #most: number;
  #failed = 0;

  /** Makes it; `most` tries in a row may come to nothing. */
  constructor(of: TriesOf, most: number = of.maxTries) {
    this.#of = of;
    this.#most = most;
  }

  /** What was tried has led somewhere. */
  reset(): void {
    this.#failed = 0;
  }

  /**
   * Waits before the next try.
   *
   * @throws The error, where it does not pass or there were too many.
   */
  async after(error: ClientError, signal: AbortSignal | undefined): Promise<void> {
    const { clock, random } = this.#of;
    const tries = ++this.#failed;
    const wait = waitOf(error);
    if (wait === null || tries >= this.#most || wait > MAX_WAIT_MS) {
      const { code, message, status, fields, cause } = error;
      throw tries === 1 ? error : new ClientError(code, message, { status, fields, cause, tries });
    }
    const backoff = Math.min(BACKOFF_MS.most, BACKOFF_MS.first * 2 ** (tries - 1));
    // What the service asks for is the least; the jitter comes on top, so that not all come at once.
    await clock.sleep(wait + backoff * (0.5 + random() / 2), signal);
  }
}

/** Milliseconds that have to pass before an error may be another answer; null where it stays. */
function waitOf({ code, status, fields }: ClientError): number | null {
  if (code === "network" || code === "stalled") return 0;
  if (!PASSING.has(status)) return null;
  const { retryAfterMs } = fields;
  return typeof retryAfterMs === "number" ? retryAfterMs : 0;
}
