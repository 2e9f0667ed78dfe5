/**
 * What can end a turn, or put it down unfinished: one place for all its signals.
 *
 * @module
 */
import type { Clock } from "../ports.ts";
import type { TurnPlace } from "./agent.ts";
import { callLater } from "./later.ts";

/** Milliseconds for which a turn that is put down waits for tools in hand. */
const HANDS_MS = 3_000;

/** The signals of one turn. */
export class TurnSignals {
  readonly #halt = new AbortController();
  readonly #hands = new AbortController();
  readonly #forget: () => void;
  readonly #clock: Clock;
  /** Each takes back what is to be done at a time. */
  readonly #timers: (() => void)[] = [];
  #end: { readonly reason: unknown } | null = null;
  #isCancelled = false;

  /**
   * Listens to the signals of a request until it is closed.
   *
   * @param request `signal` cancels the turn, `suspend` has it put down.
   * @param clock For the time that tools in hand get then.
   */
  constructor({ signal, suspend }: Pick<TurnPlace, "signal" | "suspend">, clock: Clock) {
    this.#clock = clock;
    const onAbort = (): void => this.cancel(signal?.reason);
    const onSuspend = (): void => {
      this.#halt.abort(suspend?.reason);
      const call = (): void => this.#hands.abort(suspend?.reason);
      // Without a clock nobody knows when it is time: now.
      this.#timers.push(callLater(HANDS_MS, { clock, call, fail: call }));
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

  /** Why the turn was ended. */
  get reason(): unknown {
    return this.#end?.reason;
  }

  /** Whether somebody has asked for the end, as opposed to a failure. */
  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Whether the turn is put down unfinished. */
  get isPutDown(): boolean {
    return this.#halt.signal.aborted && this.#end === null;
  }

  /** Ends the turn because somebody has asked for it. */
  cancel(reason: unknown): void {
    this.#isCancelled = true;
    this.fail(reason);
  }

  /** Ends the turn because something failed, or because nobody listens any more. The first reason counts. */
  fail(reason: unknown): void {
    if (this.#end !== null) return;
    this.#end = { reason };
    this.#halt.abort(reason);
    this.#hands.abort(reason);
  }

  /** Ends the turn at a time, in milliseconds since the epoch, unless it is over by then. */
  failAt(time: number, reason: unknown): void {
    const clock = this.#clock;
    const fail = (error: unknown): void => this.fail(error);
    this.#timers.push(callLater(Math.max(0, time - clock.now()), { clock, call: () => fail(reason), fail }));
  }

  /** Listens no longer. */
  close(): void {
    for (const takeBack of this.#timers) takeBack();
    this.#forget();
  }
}
