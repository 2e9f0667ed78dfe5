/**
 * What can end a turn, or put it down unfinished: one place for all its signals.
 *
 * @module
 */
import type { Clock } from "../ports.ts";
import type { TurnPlace } from "./agent.ts";

/** Milliseconds for which a turn that is put down waits for tools in hand. */
const HANDS_MS = 3_000;

/** One for all: an exception with its stack costs as much as a commit. */
const CLOSED = new DOMException("The turn is closed", "AbortError");

/** The signals of one turn. */
export class TurnSignals {
  readonly #stop = new AbortController();
  readonly #halt = new AbortController();
  readonly #hands = new AbortController();
  readonly #closed = new AbortController();
  readonly #forget: () => void;
  readonly #clock: Clock;
  #isCancelled = false;

  /**
   * Listens to the signals of a request until it is closed.
   *
   * @param request `signal` cancels the turn, `suspend` has it put down.
   * @param clock For the time that tools in hand get then.
   */
  constructor({ signal, suspend }: Pick<TurnPlace, "signal" | "suspend">, clock: Clock) {
    this.#clock = clock;
    this.#stop.signal.addEventListener("abort", () => {
      this.#halt.abort(this.#stop.signal.reason);
      this.#hands.abort(this.#stop.signal.reason);
    });
    const onAbort = (): void => this.cancel(signal?.reason);
    const onSuspend = (): void => {
      this.#halt.abort(suspend?.reason);
      clock.sleep(HANDS_MS, this.#closed.signal).then(() => this.#hands.abort(suspend?.reason), () => {});
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    suspend?.addEventListener("abort", onSuspend, { once: true });
    this.#forget = () => {
      signal?.removeEventListener("abort", onAbort);
      suspend?.removeEventListener("abort", onSuspend);
    };
    if (signal?.aborted) onAbort();
    if (suspend?.aborted) onSuspend();
  }

  /** Ends what can be done again: model calls. Aborted when the turn ends, and to put it down unfinished. */
  get halt(): AbortSignal {
    return this.#halt.signal;
  }

  /** Ends tools. Aborted when the turn ends, and where one that is put down has waited for them long enough. */
  get hands(): AbortSignal {
    return this.#hands.signal;
  }

  /** Ends the turn. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** Whether somebody has asked for the end, as opposed to a failure. */
  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Whether the turn is put down unfinished. */
  get isPutDown(): boolean {
    return this.#halt.signal.aborted && !this.#stop.signal.aborted;
  }

  /** Ends the turn because somebody has asked for it. */
  cancel(reason: unknown): void {
    this.#isCancelled = true;
    this.#stop.abort(reason);
  }

  /** Ends the turn because something failed, or because nobody listens any more. */
  fail(reason: unknown): void {
    this.#stop.abort(reason);
  }

  /** Ends the turn at a time, in milliseconds since the epoch, unless it is over by then. */
  failAt(time: number, reason: unknown): void {
    const left = Math.max(0, time - this.#clock.now());
    this.#clock.sleep(left, this.#closed.signal).then(() => this.fail(reason), () => {});
  }

  /** Listens no longer. */
  close(): void {
    this.#closed.abort(CLOSED);
    this.#forget();
  }
}
