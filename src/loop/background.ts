/**
 * One compaction whose summary is being written while tools and model go on.
 *
 * @module
 */
import type { PlannedCompaction } from "../compaction/compact.ts";
import { SelvageError } from "../core/errors.ts";
import type { Clock } from "../ports.ts";

/** What came of the writing: prose, or why there is none. */
export type Writing =
  | { readonly kind: "prose"; readonly prose: string }
  | { readonly kind: "none"; readonly reason: string };

/** A planned compaction with its summarizer at work. */
export class BackgroundCompaction {
  readonly planned: PlannedCompaction;
  readonly #stop = new AbortController();
  readonly #done: Promise<Writing>;
  #writing: Writing | null = null;

  /**
   * Sets a summarizer to work.
   *
   * @param planned What was planned.
   * @param write Writes the prose; whatever it throws leaves the ledger alone.
   */
  constructor(planned: PlannedCompaction, write: (signal: AbortSignal) => Promise<string>) {
    this.planned = planned;
    this.#done = writingOf(write(this.#stop.signal)).then((writing) => this.#writing ??= writing);
  }

  /** Whether the summarizer has come to an end. */
  get isDone(): boolean {
    return this.#writing !== null;
  }

  /** Waits for the summarizer, but no longer than `ms` milliseconds or until the signal aborts, and ends it then. */
  async finish(
    ms: number,
    { clock, signal }: { readonly clock: Clock; readonly signal?: AbortSignal },
  ): Promise<Writing> {
    if (this.#writing !== null) return this.#writing;
    if (ms > 0) {
      const stop = new AbortController();
      const either = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
      await Promise.race([this.#done, clock.sleep(ms, either).catch(() => {})]);
      stop.abort();
    }
    if (this.#writing === null) this.cancel("summary_late");
    return this.#writing ?? { kind: "none", reason: "summary_late" };
  }

  /** Ends the summarizer: its work is wanted no longer. */
  cancel(reason: string): void {
    this.#writing ??= { kind: "none", reason };
    this.#stop.abort(new SelvageError(reason, "The summary is not waited for any longer"));
  }
}

/** What comes of a summarizer's work; why there is no prose, is said by the code of what it threw. */
export async function writingOf(work: Promise<string>): Promise<Writing> {
  try {
    return { kind: "prose", prose: await work };
  } catch (error) {
    return { kind: "none", reason: error instanceof SelvageError ? error.code : "summary_failed" };
  }
}
