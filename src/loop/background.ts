/**
 * One compaction whose summary is being written while tools and model go on.
 *
 * @module
 */
import type { PlannedCompaction } from "../compaction/compact.ts";
import type { Context } from "../compaction/context.ts";
import { maxProse } from "../compaction/fit_ledger.ts";
import { SelvageError } from "../core/errors.ts";
import type { Clock, Model, ModelRequest } from "../ports.ts";
import type { ContextMeter } from "../tokens/meter.ts";
import { summarize, type SummaryAccount } from "./summarizer.ts";

/** Who writes prose, and how long the turn waits where it cannot go on without a compaction. */
export interface SummarizerOptions {
  readonly model: Model;
  /** Milliseconds. */
  readonly graceMs: number;
  /** The turn's own request, of which the summarizer has read the part before the cut; null for another model. */
  readonly ownRequest: ((entries: number) => Omit<ModelRequest, "maxOutput">) | null;
  /** Who pays for it. */
  readonly account?: SummaryAccount;
}

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

/** What {@link startWriting} needs beside what was planned. */
export interface WritingOptions {
  readonly context: Context;
  readonly meter: ContextMeter;
  /** Tokens over which the turn's model is not called, and so not asked for a summary with its own request either. */
  readonly stopAt: number;
  readonly summarizer: SummarizerOptions;
  readonly clock: Clock;
}

/**
 * Sets a summarizer to work on a planned compaction.
 *
 * @param planned What was planned.
 * @param options The context it was planned from, and who writes.
 */
export async function startWriting(
  planned: PlannedCompaction,
  { context, meter, stopAt, summarizer, clock }: WritingOptions,
): Promise<BackgroundCompaction> {
  const { model, ownRequest, account } = summarizer;
  const { cut, removed, reserve, base } = planned;
  const measure = await context.measure();
  const isOwn = ownRequest !== null && await tokensBefore(cut, { context, meter }) <= stopAt;
  const request = {
    removed,
    earlier: base.prose ?? "",
    maxTokens: maxProse(reserve),
    measure,
    ownPrefix: isOwn ? ownRequest(cut) : null,
  };
  return new BackgroundCompaction(
    planned,
    (signal) => summarize(request, { model, clock, signal, ...(account === undefined ? {} : { account }) }),
  );
}

/** Tokens of the turn's own request up to a cut. */
async function tokensBefore(
  cut: number,
  { context, meter }: { readonly context: Context; readonly meter: ContextMeter },
): Promise<number> {
  const [at] = context.positionsOf([cut]);
  return meter.fixed + meter.factor * await context.exact(0, at ?? context.length, meter.floor);
}
