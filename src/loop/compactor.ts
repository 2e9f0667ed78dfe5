/**
 * When compaction is tried, and what becomes of a deferral. The check runs inside the tool-execution step;
 * a set flag never stops later checks, and the ceiling never waits for anybody.
 *
 * @module
 */
import { compact, type Compaction } from "../compaction/compact.ts";
import type { Budget } from "../compaction/budget.ts";
import type { Context } from "../compaction/context.ts";
import type { Clock, SessionHead, Tool } from "../ports.ts";
import type { ContextMeter, MeterReading } from "../tokens/meter.ts";
import type { CompactionEvent, TurnEventBody } from "./events.ts";
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
  readonly journal: Journal;
  readonly clock: Clock;
  readonly flag: Flag | null;
  /** Entries that stay verbatim. */
  readonly pinned: () => readonly number[];
}

/** Checks thresholds, compacts, and keeps the flag. */
export class Compactor {
  readonly #options: CompactorOptions;
  #budget: Budget;
  #flag: Flag | null;
  /** The last attempt that changed nothing: it is not repeated before something is appended, unless with more force. */
  #failed = { length: -1, strength: -1 };

  /** Makes a compactor for one turn. */
  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#budget = options.budget;
    this.#flag = options.flag;
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
  async *check(): AsyncGenerator<TurnEventBody, void> {
    const { policy } = this.#options;
    const budget = this.#budget;
    const reading = await this.#read(budget.compactAt);
    yield this.#contextEvent(reading);
    if (reading.tokens <= budget.compactAt) return;
    // Policy `backward` is the theory to the letter: once deferred, wait for the turn boundary.
    if (policy === "backward" && this.isDeferred) return;
    yield* this.#attempt({ policy, force: false, reason: "over_compact_at", resolved: "step" });
  }

  /** A deferral is honoured here, with any method: before `turn.finished`, or before the first call of the next turn. */
  async *honour(): AsyncGenerator<TurnEventBody, void> {
    if (!this.isDeferred) return;
    yield* this.#attempt({ policy: "full", force: false, reason: "flag", resolved: "turn" });
  }

  /**
   * The ceiling: over `stopAt` the model is not called. No call is open here, so the methods run without bounds.
   *
   * @returns Whether the model may be called.
   */
  async *admit(): AsyncGenerator<TurnEventBody, boolean> {
    const budget = this.#budget;
    if ((await this.#read(budget.stopAt)).tokens <= budget.stopAt) return true;
    yield* this.#force("over_stop_at");
    const reading = await this.#read(budget.stopAt);
    yield this.#contextEvent(reading);
    if (reading.tokens <= budget.stopAt) return true;
    // Before a session is given up, what the provider has billed is set against a count of our own.
    this.#options.meter.reset();
    const counted = await this.#read(budget.stopAt);
    if (counted.tokens <= budget.stopAt) {
      yield this.#contextEvent(counted);
      return true;
    }
    yield { type: "compaction", phase: "exhausted", reason: "over_stop_at", tokensBefore: reading.tokens };
    return false;
  }

  /**
   * Compacts because the provider found the request too long, whatever the meter said.
   *
   * @returns Whether anything changed.
   */
  async *refused(): AsyncGenerator<TurnEventBody, boolean> {
    const { context, meter } = this.#options;
    const budget = this.#budget;
    await meter.refuse(context, budget.window - budget.maxOutput);
    // The meter counts otherwise now, so that the same attempt may come out otherwise.
    this.#failed = { length: -1, strength: -1 };
    return yield* this.#force("context_length_exceeded");
  }

  #force(reason: string): AsyncGenerator<TurnEventBody, boolean> {
    return this.#attempt({ policy: "full", force: true, reason, resolved: "step" });
  }

  #read(threshold: number): Promise<MeterReading> {
    return this.#options.meter.read(this.#options.context, threshold);
  }

  #contextEvent({ tokens, tier }: MeterReading): TurnEventBody {
    const { window, compactAt, stopAt } = this.#budget;
    return { type: "context", tokens, tier, window, compactAt, stopAt };
  }

  async *#attempt(
    { policy, force, reason, resolved }: {
      readonly policy: "full" | "backward";
      readonly force: boolean;
      readonly reason: string;
      readonly resolved: "step" | "turn";
    },
  ): AsyncGenerator<TurnEventBody, boolean> {
    const { context, meter, tools, journal } = this.#options;
    const budget = this.#budget;
    const { length } = context.entries;
    const strength = force ? 2 : policy === "full" ? 1 : 0;
    if (this.#failed.length === length && this.#failed.strength >= strength) return false;
    const pinned = this.#options.pinned();
    const outcome = await compact(context, { meter, budget, policy, pinned, tools, force });
    if (outcome.kind !== "applied") this.#failed = { length, strength };
    const wasDeferred = this.isDeferred;
    switch (outcome.kind) {
      case "nothing":
        this.#setFlag(null);
        return false;
      case "applied":
        this.#setFlag(null);
        journal.change({ view: { version: context.view.version, value: context.view } });
        yield applied(outcome, { reason, ...(wasDeferred ? { resolved } : {}) });
        yield this.#contextEvent(await this.#read(budget.compactAt));
        return true;
      case "deferred":
        this.#setFlag(outcome.reason);
        yield { type: "compaction", phase: "deferred", reason: outcome.reason, nearest: outcome.nearest };
        return false;
      case "rejected": {
        const code = outcome.violations[0]?.code ?? "invalid";
        this.#setFlag(`rejected:${code}`);
        yield { type: "compaction", phase: "rejected", reason: code, violations: outcome.violations };
        return false;
      }
      default:
        return outcome satisfies never;
    }
  }

  #setFlag(reason: string | null): void {
    if (reason === null && this.#flag === null) return;
    this.#flag = reason === null ? null : { reason, since: this.#flag?.since ?? this.#options.clock.now() };
    this.#options.journal.change({ flag: this.#flag });
  }
}

function applied(
  outcome: Extract<Compaction, { kind: "applied" }>,
  rest: { readonly reason: string; readonly resolved?: "step" | "turn" },
): CompactionEvent {
  const { kind: _, ...facts } = outcome;
  return { type: "compaction", phase: "applied", ...facts, summary: "ledger", ...rest };
}
