/**
 * When compaction is tried, and what becomes of a deferral. The check runs inside the tool-execution step;
 * a set flag stops no check but those among the open calls of its own step, and the ceiling never waits for anybody.
 *
 * Over 300 lines: one class, whose checks, attempts and flag depend on each other.
 *
 * @module
 */
import {
  applyCompaction,
  type Compaction,
  planCompaction,
  type PlannedCompaction,
} from "../compaction/compact.ts";
import type { Budget } from "../compaction/budget.ts";
import { callsOf, type Context } from "../compaction/context.ts";
import type { Clock, SessionHead, Tool } from "../ports.ts";
import type { ContextMeter, MeterReading } from "../tokens/meter.ts";
import {
  type BackgroundCompaction,
  startWriting,
  type SummarizerOptions,
  type Writing,
} from "./background.ts";
import { type AppliedEvent, noteOf, type TurnEventBody } from "./events.ts";
import type { Journal } from "./journal.ts";

/** The stored deferral. */
export type Flag = NonNullable<SessionHead["flag"]>;

/** What a {@link Compactor} works on. */
export interface CompactorOptions {
  readonly context: Context;
  readonly meter: ContextMeter;
  readonly budget: Budget;
  readonly policy: "full" | "backward";
  readonly tools: readonly Tool[];
  readonly journal: Pick<Journal, "change" | "flush">;
  readonly clock: Clock;
  readonly flag: Flag | null;
  /** Entries that stay verbatim. */
  readonly pinned: () => readonly number[];
  /** Ends the wait for a summarizer: the turn is over, or put down. Default: its grace alone does. */
  readonly signal?: AbortSignal;
  /** Writes prose beside the ledger, while the turn goes on; null for none. */
  readonly summarizer: SummarizerOptions | null;
  /** Tells whoever follows the turn. */
  readonly tell: (event: TurnEventBody) => Promise<void>;
}

/** Checks thresholds, compacts, and keeps the flag. */
export class Compactor {
  readonly #options: CompactorOptions;
  readonly #tell: CompactorOptions["tell"];
  #budget: Budget;
  #flag: Flag | null;
  /** The last attempt that changed nothing: it is not repeated before something is appended, unless with more force. */
  #failed = { length: -1, strength: -1 };
  /** Whether an attempt of the step in hand came to nothing. More results only make more of what no cut can take away. */
  #isBarred = false;
  /** Entries that were looked at for open calls, and how many of those the last answer has. */
  #looked: number;
  #open = 0;
  /** At most one at a time. */
  #background: BackgroundCompaction | null = null;

  /** Makes a compactor for one turn. */
  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#tell = options.tell;
    this.#budget = options.budget;
    this.#flag = options.flag;
    this.#looked = Math.max(0, options.context.entries.findLastIndex(({ kind }) => kind !== "result"));
  }

  /** Puts other thresholds in force. */
  use(budget: Budget): void {
    this.#budget = budget;
  }

  /** Whether a compaction is due that found no legal cut. */
  get isDeferred(): boolean {
    return this.#flag !== null;
  }

  /** The check after something was appended, while siblings may still run. */
  async check(): Promise<void> {
    const { policy } = this.#options;
    const budget = this.#budget;
    // What found no cut among open calls is tried again, and told again, behind the last of them.
    if (this.#countOpen() <= 0) this.#isBarred = false;
    const reading = await this.#read(budget.compactAt);
    await this.#tellReading(reading);
    if (reading.tokens <= budget.compactAt) return;
    // What is on its way is spliced in at the next step boundary.
    if (this.#background !== null) return;
    // Policy `backward` is the theory to the letter: once deferred, wait for the turn boundary.
    if (this.#isBarred || policy === "backward" && this.isDeferred) return;
    await this.#attempt({ policy, force: false, reason: "over_compact_at", resolved: "step" });
  }

  /** A summary that is on its way is not waited for over a pause: what it has not written by now, the ledger says. */
  async settle(): Promise<void> {
    await this.#splice(0);
  }

  /** A deferral is honoured here, with any method: before `turn.finished`, or before the first call of the next turn. */
  async honour(): Promise<void> {
    // No summarizer works after a turn: what it has not written by now, the ledger says.
    await this.#splice(0);
    if (!this.isDeferred) return;
    await this.#attempt({ policy: "full", force: false, reason: "flag", resolved: "turn" });
  }

  /**
   * The ceiling: over `stopAt` the model is not called. No call is open here, so the methods run without bounds.
   *
   * @returns Whether the model may be called.
   */
  async admit(): Promise<boolean> {
    const { context, meter } = this.#options;
    const budget = this.#budget;
    await this.#dropUseless();
    if (this.#background?.isDone === true) await this.#splice(0);
    if ((await this.#read(budget.stopAt)).tokens <= budget.stopAt) return true;
    // The model cannot be called as it is: now the turn waits, for a while.
    const isSpliced = await this.#splice(this.#options.summarizer?.graceMs ?? 0);
    if (isSpliced && (await this.#read(budget.stopAt)).tokens <= budget.stopAt) return true;
    await this.#force("over_stop_at");
    const reading = await this.#read(budget.stopAt);
    await this.#tellReading(reading);
    if (reading.tokens <= budget.stopAt) return true;
    // Before a session is given up, a bill that cannot be true is set against a count of our own.
    if (meter.isBeyondBytes(context)) {
      meter.reset();
      const counted = await this.#read(budget.stopAt);
      if (counted.tokens <= budget.stopAt) {
        await this.#tellReading(counted);
        return true;
      }
    }
    const { tokens: tokensBefore } = reading;
    await this.#tell({ type: "compaction", phase: "exhausted", reason: "over_stop_at", tokensBefore });
    return false;
  }

  /**
   * Compacts because the provider found the request too long, whatever the meter said.
   *
   * @returns Whether anything changed.
   */
  async refused(): Promise<boolean> {
    const { context, meter } = this.#options;
    const budget = this.#budget;
    await meter.refuse(context, budget.window - budget.maxOutput);
    // The meter counts otherwise now, so that the same attempt may come out otherwise.
    this.#failed = { length: -1, strength: -1 };
    return await this.#force("context_length_exceeded");
  }

  /** The window of a provider that finds the request too long and names none; null where it may be one of counting. */
  likelyWindow(): Promise<number | null> {
    const { context, meter } = this.#options;
    return meter.farBelow(context, this.#budget.window - this.#budget.maxOutput);
  }

  /** Ends what works in the background: its turn is over. */
  cancel(): void {
    this.#background?.cancel("summary_cancelled");
    this.#background = null;
  }

  /** Over the ceiling a prepared compaction that does not bring the context under it is given up: one takes its place. */
  async #dropUseless(): Promise<void> {
    const { context, meter } = this.#options;
    const { stopAt } = this.#budget;
    if (this.#background === null || (await this.#read(stopAt)).tokens <= stopAt) return;
    const { transcript } = await context.preview(this.#background.planned.view, meter.floor);
    if (meter.fixed + meter.factor * transcript.tokens > stopAt) this.cancel();
  }

  /** Puts the compaction in force that was prepared in the background, with prose if there is some by then. */
  async #splice(waitMs: number): Promise<boolean> {
    const background = this.#background;
    if (background === null) return false;
    const { clock, signal, journal } = this.#options;
    if (waitMs > 0) void journal.flush(); // Results are not to wait, too.
    const writing = await background.finish(waitMs, { clock, ...(signal === undefined ? {} : { signal }) });
    // Only who has waited can have been told to stop meanwhile.
    if (waitMs > 0) signal?.throwIfAborted();
    this.#background = null;
    return await this.#apply(background.planned, { reason: "over_compact_at", writing });
  }

  async #force(reason: string): Promise<boolean> {
    // One compaction at a time: what is prepared is used first, and may be enough for the next request.
    if (await this.#splice(0)) return true;
    return await this.#attempt({ policy: "full", force: true, reason, resolved: "step" });
  }

  /** Calls of the last answer that have no result yet. No entry is looked at twice: a step may have thousands. */
  #countOpen(): number {
    const { entries } = this.#options.context;
    for (const entry of entries.slice(this.#looked)) {
      if (entry.kind === "result") this.#open--;
      else [this.#open, this.#isBarred] = [callsOf(entry).length, false];
    }
    this.#looked = entries.length;
    return this.#open;
  }

  #read(threshold: number): Promise<MeterReading> {
    return this.#options.meter.read(this.#options.context, threshold);
  }

  #tellReading({ tokens, tier }: MeterReading): Promise<void> {
    const { window, compactAt, stopAt } = this.#budget;
    return this.#tell({ type: "context", tokens, tier, window, compactAt, stopAt });
  }

  async #attempt(
    { policy, force, reason, resolved }: {
      readonly policy: "full" | "backward";
      readonly force: boolean;
      readonly reason: string;
      readonly resolved: "step" | "turn";
    },
  ): Promise<boolean> {
    const { context, meter, tools, pinned } = this.#options;
    const budget = this.#budget;
    const { length } = context.entries;
    const strength = force ? 2 : policy === "full" ? 1 : 0;
    if (this.#failed.length === length && this.#failed.strength >= strength) return false;
    const planned = await planCompaction(context, { meter, budget, policy, pinned: pinned(), tools, force });
    if (planned.kind !== "planned") this.#failed = { length, strength };
    this.#isBarred = planned.kind === "deferred" || planned.kind === "rejected";
    switch (planned.kind) {
      case "nothing": {
        const was = this.isDeferred ? { resolved } : {};
        this.#setFlag(null);
        await this.#tell({ type: "compaction", phase: "nothing", reason: planned.reason, ...was });
        return false;
      }
      case "planned":
        // Where the model cannot be called, and at a turn boundary, nobody is waited for.
        if (this.#options.summarizer === null || force || resolved === "turn") {
          return await this.#apply(planned, { reason, resolved });
        }
        await this.#prepare(planned, { reason, summarizer: this.#options.summarizer });
        return false;
      case "deferred": {
        const { reason: why, nearest } = planned;
        this.#setFlag(why);
        await this.#tell({ type: "compaction", phase: "deferred", reason: why, nearest });
        return false;
      }
      case "rejected":
        return await this.#reject(planned);
      default:
        return planned satisfies never;
    }
  }

  /** Sets the summarizer to work; the view changes at a step boundary, when it has written. */
  async #prepare(
    planned: PlannedCompaction,
    { reason, summarizer }: { readonly reason: string; readonly summarizer: SummarizerOptions },
  ): Promise<void> {
    const { context, meter, clock } = this.#options;
    const { method, cut, distance, pairs } = planned;
    this.#background = await startWriting(planned, {
      context,
      meter,
      stopAt: this.#budget.stopAt,
      summarizer,
      clock,
    });
    await this.#tell({ type: "compaction", phase: "started", reason, method, cut, distance, pairs });
  }

  /** Puts a planned compaction in force. */
  async #apply(
    planned: PlannedCompaction,
    { reason, resolved = "step", writing }: {
      readonly reason: string;
      readonly resolved?: "step" | "turn";
      readonly writing?: Writing;
    },
  ): Promise<boolean> {
    const { context, meter, journal } = this.#options;
    const prose = writing?.kind === "prose" ? { prose: writing.prose } : {};
    const outcome = await applyCompaction(context, planned, { meter, ...prose });
    if (outcome.kind === "rejected") return await this.#reject(outcome);
    const wasDeferred = this.isDeferred;
    this.#setFlag(null);
    const { version } = context.view;
    const { kind: _, ...facts } = outcome;
    const event: AppliedEvent = {
      type: "compaction",
      phase: "applied",
      ...facts,
      view: version,
      reason,
      summary: context.view.prose === undefined ? "ledger" : "ledger+prose",
      ...(wasDeferred ? { resolved } : {}),
      ...(writing?.kind === "none" ? { summaryFailure: writing.reason } : {}),
    };
    const made = { at: context.entries.length, note: noteOf(event) };
    journal.change({ view: { version, value: { ...context.view, made } } });
    await this.#tell(event);
    await this.#tellReading(await this.#read(this.#budget.compactAt));
    return true;
  }

  /** Sets the flag for a compaction that would have broken a promise, and tells which. */
  async #reject({ violations }: Extract<Compaction, { kind: "rejected" }>): Promise<false> {
    const reason = violations[0]?.code ?? "invalid";
    this.#setFlag(`rejected:${reason}`);
    await this.#tell({ type: "compaction", phase: "rejected", reason, violations });
    return false;
  }

  #setFlag(reason: string | null): void {
    if (reason === null && this.#flag === null) return;
    this.#flag = reason === null ? null : { reason, since: this.#flag?.since ?? this.#options.clock.now() };
    this.#options.journal.change({ flag: this.#flag });
  }
}
