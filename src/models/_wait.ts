/** Waiting for a provider such that neither an abort nor a silence can be outlasted. Private to the adapters. */
import { SelvageError } from "../core/errors.ts";
import { Breath, DELTAS } from "../loop/breath.ts";
import { callLater } from "../loop/later.ts";
import type { Clock } from "../ports.ts";
import { type ErrorContext, stalled } from "./_errors.ts";

/** What {@link watched} needs. */
export interface WatchOptions {
  readonly clock: Clock;
  /** Milliseconds of silence after which the provider counts as stalled. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
  /** What errors start with and never show. */
  readonly context: ErrorContext;
  /** Ends whatever is waited for: called when the signal aborts, and after a silence. */
  readonly stop: () => void;
  /** What to throw where the work itself fails. */
  readonly broken: (cause: unknown) => unknown;
}

/** Waits for pieces of work, one at a time. */
export interface Watch {
  /** Resolves with the work. Throws the signal's reason, `model_stalled`, or what became of the work's own failure. */
  wait<T>(work: () => Promise<T>): Promise<T>;
  /** Something of the answer has come: what is sent to keep the connection alive may go on for as long again. */
  progress(): void;
  /** From now on everything together may take so many milliseconds, whatever was said before. */
  within(ms: number): void;
  /** Lets go of the signal and of every timer. */
  close(): void;
}

/** Milliseconds for the end of a stream after its end mark: about what it takes to open a new connection. */
const END_MS = 50;

/**
 * How many silences in a row may be filled with what is no part of an answer. Gateways and slow models send comments
 * while there is nothing to tell, for minutes; one that does nothing else would hold a turn for ever.
 */
const MAX_FILLED = 10;

/** The longest delay that a timer takes, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits for the end of a stream of which nothing more is wanted, for a moment: it is on its way, and the connection then
 * serves the next request, which otherwise has to open one of its own.
 *
 * @param isAtEnd Reads on under the watch; true at the end.
 * @param watch Whose time it is.
 */
export async function readOut(
  isAtEnd: () => Promise<boolean>,
  { within }: Pick<Watch, "within">,
): Promise<void> {
  within(END_MS);
  const breath = new Breath(DELTAS);
  try {
    while (!await isAtEnd()) {
      if (breath.isDue()) await breath.pause();
    }
  } catch (error) {
    // An abort is none.
    if (!(error instanceof SelvageError)) throw error;
  }
}

/** Begins to watch a signal; the time counts only while something is waited for. */
export function watched(options: WatchOptions): Watch {
  const { broken, clock, context, signal, stallMs, stop } = options;
  let failure: { readonly error: unknown } | undefined;
  let waitingSince: number | null = null;
  /** Milliseconds waited since the last progress, without the wait under way: a slow consumer is not the provider. */
  let waited = 0;
  /** Each takes a timer back: the one that measures silence, where it is on duty, and that of the end. */
  let takeBack: (() => void) | null = null;
  let takeBackEnd: () => void = () => {};

  function fail(error: unknown): void {
    failure ??= { error };
    stop();
  }

  const after = (ms: number, call: () => void): () => void => callLater(ms, { clock, call, fail });

  // One timer for many waits: it looks at its last start when it fires. A slow consumer is not silence, so it goes
  // off duty where nobody waits.
  function look(): void {
    takeBack = null;
    if (waitingSince === null) return;
    const silent = clock.now() - waitingSince;
    const left = Math.min(stallMs - silent, MAX_FILLED * stallMs - waited - silent);
    if (silent >= stallMs) {
      fail(stalled(`${stallMs} ms of silence, wanted bytes at least that often`, context));
    } else if (left <= 0) {
      fail(stalled(`${waited + silent} ms without a part of the answer, wanted one`, context));
    } else takeBack = after(Math.min(left, MAX_TIMER_MS), look);
  }

  function within(ms: number): void {
    takeBackEnd();
    takeBackEnd = after(
      ms,
      () => fail(stalled(`no end within ${ms} ms of the whole answer, wanted one`, context)),
    );
  }

  /** The wait is over. In this order: a cancelled reader looks like the end of the body, an aborted fetch like a failure. */
  function over(): void {
    if (waitingSince !== null) waited += clock.now() - waitingSince;
    waitingSince = null;
    if (signal.aborted) throw signal.reason;
    if (failure !== undefined) throw failure.error;
  }

  function ended<T>(value: T): T {
    over();
    return value;
  }

  function failed(cause: unknown): never {
    over();
    throw broken(cause);
  }

  // Without a function that waits: it stands in the way of every delta.
  function wait<T>(work: () => Promise<T>): Promise<T> {
    waitingSince = clock.now();
    if (takeBack === null) look();
    let done: Promise<T>;
    try {
      // A reader that somebody else has written may give what is no promise.
      done = Promise.resolve(work());
    } catch (cause) {
      done = Promise.reject(cause);
    }
    return done.then<T>(ended, failed);
  }

  function progress(): void {
    waited = 0;
  }

  function close(): void {
    signal.removeEventListener("abort", stop);
    takeBack?.();
    takeBackEnd();
  }

  signal.addEventListener("abort", stop, { once: true });
  return { wait, progress, within, close };
}
