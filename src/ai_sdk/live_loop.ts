/**
 * One loop of somebody else's, followed step by step: its messages as a log, the view in force on it, the meter, and
 * the engine that a turn of our own has.
 *
 * @module
 */
import { type Budget, computeBudget } from "../compaction/budget.ts";
import { Context } from "../compaction/context.ts";
import { type Imported, importMessages } from "../compaction/import.ts";
import { parseLedger } from "../compaction/parse_ledger.ts";
import { type FoundView, type RememberedView, withRemembered } from "../compaction/remembered_views.ts";
import { SelvageError } from "../core/errors.ts";
import { capOf } from "../loop/cap.ts";
import { Compactor } from "../loop/compactor.ts";
import { measuresFor } from "../loop/measures.ts";
import type { Clock, Entry, Model, Tool } from "../ports.ts";
import { ContextMeter } from "../tokens/meter.ts";
import type { ModelFacts } from "../tokens/models.ts";
import { isPlausible } from "../tokens/usage.ts";
import type { CompactStepsEvent, CompactStepsOptions } from "./options.ts";
import { asMet, isSameEntry } from "./history.ts";
import { PREFIX, Renderer } from "./shown.ts";
import { lacksThought } from "./thoughts.ts";
import type { LoopMessage, LoopStep } from "./types.ts";

/** What a loop is followed with. */
export interface LiveLoopOptions {
  /** What the caller has set; what follows is made of it. */
  readonly settings: CompactStepsOptions;
  readonly facts: ModelFacts;
  /** Estimate for system text and tools, in the provider's tokens. */
  readonly fixed: number;
  readonly clock: Clock;
  readonly summarizer: Model | null;
  readonly tools: readonly Tool[];
  readonly onEvent: (event: CompactStepsEvent) => void;
}

/** What is done before a step. */
export interface Advance {
  /** The history as far as the loop has come. */
  readonly source: readonly LoopMessage[];
  /** Whether the run begins with this step. */
  readonly isFirst: boolean;
  /** The step before it. */
  readonly last: LoopStep | undefined;
}

/** A loop as it goes on. */
export class LiveLoop {
  /** The history from its beginning, as the loop would have it if nothing were ever compacted. */
  source: readonly LoopMessage[];
  readonly #options: LiveLoopOptions;
  readonly #context: Context;
  readonly #meter: ContextMeter;
  readonly #compactor: Compactor;
  readonly #renderer = new Renderer();
  #budget: Budget;
  #imported: Imported<LoopMessage>;
  /** The user's message that the run in progress answers, -1 for none. */
  #task: number;
  /** What is known of results up to a number: to how many tokens they are shown shortened. */
  #known: { readonly to: number; readonly caps: ReadonlyMap<number, number> } = { to: 0, caps: new Map() };
  /** Whether what is fixed has been learned from a bill. */
  #isCalibrated: boolean;
  /** What was last remembered, to tell a change. */
  #remembered: string;

  /**
   * Follows a loop from here on.
   *
   * @param source The history.
   * @param find Finds how its beginning was shown before; asked only where not all of it could be sent as it is.
   * @param options What it is followed with.
   * @throws SelvageError `bad_budget`, `bad_message`, `bad_transcript`.
   */
  static async open(
    source: readonly LoopMessage[],
    find: () => Promise<FoundView | null>,
    options: LiveLoopOptions,
  ): Promise<LiveLoop> {
    const imported = importMessages(source);
    const { settings, fixed, facts } = options;
    const budget = budgetOf(settings, fixed);
    const measures = measuresFor(facts.media, settings.recall ?? false);
    const meter = new ContextMeter({ factor: facts.factor, fixed, window: budget.window });
    const whole = await Context.create(imported.entries, { view: null, ...measures });
    const isSmall = (await meter.read(whole, budget.compactAt)).tier === "bound";
    const found = isSmall ? null : await find();
    const { entries, view } = withRemembered(imported.entries, found);
    // What the last step has brought is appended as it is in a turn: each result gets its share of the room.
    const last = entries.findLastIndex(({ kind }) => kind !== "result") + 1;
    const seen = found === null || view === null
      ? 0
      : imported.places.findLastIndex(({ message }) => message < found.messages) + 1;
    const version = view?.version ?? 0;
    const before = await asMet(entries.slice(0, last), { seen, version, budget, meter, measures });
    const context = await Context.create(before, { view, isBound: facts.thinking === "bound", ...measures });
    const loop = new LiveLoop({ source, imported, context, meter, budget, options });
    loop.#known = { to: seen, caps: new Map(found?.caps) };
    // Room is made before results are given a share of it.
    if (last < seen || last === entries.length) return loop;
    await loop.#compactor.check();
    await loop.#compactor.admit();
    return loop;
  }

  private constructor(
    { source, imported, context, meter, budget, options }: {
      readonly source: readonly LoopMessage[];
      readonly imported: Imported<LoopMessage>;
      readonly context: Context;
      readonly meter: ContextMeter;
      readonly budget: Budget;
      readonly options: LiveLoopOptions;
    },
  ) {
    const { settings, clock, tools, summarizer } = options;
    const { policy = "full", graceMs = 5_000 } = settings;
    this.source = source;
    this.#imported = imported;
    this.#task = this.#lastUser();
    this.#context = context;
    this.#meter = meter;
    this.#budget = budget;
    this.#options = options;
    this.#isCalibrated = settings.fixed !== undefined;
    this.#remembered = JSON.stringify(this.#shown());
    this.#compactor = new Compactor({
      context,
      meter,
      budget,
      policy,
      tools,
      // The view is kept by name of its prefix; a deferral does not outlive the process that the loop runs in.
      journal: { change: () => {}, flush: () => Promise.resolve() },
      clock,
      flag: null,
      pinned: () => this.#pinned(),
      summarizer: summarizer === null ? null : { model: summarizer, graceMs, ownRequest: null },
      tell(event) {
        options.onEvent(event as CompactStepsEvent);
        return Promise.resolve();
      },
    });
  }

  /** The log. */
  get entries(): readonly Entry[] {
    return this.#context.entries;
  }

  /** Tokens of system text and tools, where a bill has told. */
  get learnedFixed(): number | null {
    return this.#isCalibrated ? this.#meter.fixed : null;
  }

  /**
   * Takes in what has come since, and compacts where that is due.
   *
   * @returns False where the history is no longer the one that was followed.
   * @throws SelvageError `context_exhausted` where the model cannot be called.
   */
  async advance({ source, isFirst, last }: Advance): Promise<boolean> {
    const imported = importMessages(source);
    const from = this.#context.entries.length;
    const isSame = this.#context.entries.every((entry, seq) => isSameEntry(entry, imported.entries[seq]));
    if (!isSame) return false;
    this.source = source;
    this.#imported = imported;
    if (isFirst) this.#task = this.#lastUser();
    const fresh = imported.entries.slice(from);
    const billed = isFirst ? undefined : fresh.findLast(({ kind }) => kind === "assistant");
    for (const [at, entry] of fresh.entries()) {
      await this.#append(entry, fresh.slice(at));
      if (entry === billed) this.#anchor(last);
      if (entry.kind !== "user") await this.#compactor.check();
    }
    if (isFirst) {
      await this.#compactor.honour();
      await this.#compactor.check();
    }
    if (await this.#compactor.admit()) return true;
    throw new SelvageError(
      "context_exhausted",
      `Cannot go on with the loop: its context is over ${this.#budget.stopAt} of ${this.#budget.window} tokens, ` +
        "and no legal cut makes it smaller; start a new conversation, or use a model with a larger window",
      { fields: { stopAt: this.#budget.stopAt, window: this.#budget.window } },
    );
  }

  /** The messages to send. */
  messages(): LoopMessage[] {
    return this.#renderer.render(this.#imported, this.#context);
  }

  /**
   * Whether the answer in progress began with a thought of Claude's that is no longer sent.
   *
   * @param shown The messages to send.
   */
  lacksThought(shown: readonly LoopMessage[]): boolean {
    if (this.#options.facts.thinking === "bound") return false;
    return lacksThought(this.#imported.messages, shown);
  }

  /** How the history is shown, where that has changed since it was last asked for; else null. */
  changedView(): RememberedView | null {
    const shown = this.#shown();
    const text = JSON.stringify(shown);
    if (text === this.#remembered) return null;
    this.#remembered = text;
    return shown;
  }

  #shown(): RememberedView {
    const caps = this.#context.entries.flatMap((entry) =>
      entry.kind === "result" && entry.cap !== undefined ? [[entry.seq, entry.cap] as const] : []
    );
    return { view: this.#context.view, caps };
  }

  async #append(entry: Entry, rest: readonly Entry[]): Promise<void> {
    const context = this.#context;
    if (entry.kind === "assistant") {
      return await context.append({ ...entry, prefix: context.prefixOf(PREFIX) });
    }
    if (entry.kind === "user") return await context.append(entry);
    if (entry.seq < this.#known.to) {
      const cap = this.#known.caps.get(entry.seq);
      return await context.append(cap === undefined ? entry : { ...entry, cap });
    }
    // The results of this round that are still to come share the room with this one.
    const end = rest.findIndex(({ kind }) => kind !== "result");
    const open = end < 0 ? rest.length : end;
    const cap = await capOf(entry.output, { open, context, meter: this.#meter, budget: this.#budget });
    await context.append(cap === null ? entry : { ...entry, cap });
  }

  /** Takes the bill of the step whose answer was just appended. */
  #anchor(last: LoopStep | undefined): void {
    const { inputTokens = 0, outputTokens = 0 } = last?.usage ?? {};
    const usage = inputTokens > 0 ? { inputTokens, outputTokens } : undefined;
    const { window } = this.#budget;
    const context = this.#context;
    const bound = context.boundFrom(0);
    if (!isPlausible(usage, { bound, window, maxOutput: window })) return this.#meter.doubt(usage);
    this.#calibrate(usage.inputTokens, bound - context.boundFrom(context.length - 1));
    this.#meter.anchor(usage, context.length);
  }

  /** Learns from the first bill what is sent beside the messages. */
  #calibrate(billed: number, bound: number): void {
    if (this.#isCalibrated) return;
    this.#isCalibrated = true;
    const counted = bound / 4 * this.#meter.factor;
    const fixed = Math.max(0, Math.round(billed - counted));
    // In a long history the error of the count is larger than what is looked for.
    if (fixed < 0.3 * counted) return;
    try {
      this.#budget = budgetOf(this.#options.settings, fixed);
      this.#meter.fix(fixed);
      this.#compactor.use(this.#budget);
    } catch (error) {
      // With all that is fixed no budget works out; the thresholds stay, and the ceiling says when it is over.
      if (!(error instanceof SelvageError) || error.code !== "bad_budget") throw error;
    }
  }

  #lastUser(): number {
    const { entries, places, messages } = this.#imported;
    return entries.findLastIndex(({ kind }, seq) =>
      kind === "user" && messages[places[seq]?.message ?? -1]?.role === "user"
    );
  }

  #pinned(): readonly number[] {
    const { pin = () => false } = this.#options.settings;
    const { places, messages } = this.#imported;
    const pinned = this.#context.entries.flatMap(({ kind, seq }) => {
      const message = messages[places[seq]?.message ?? -1];
      if (kind !== "user" || message === undefined) return [];
      // A ledger that came in with the messages: the loop it was made for was followed by a process that is gone.
      const isLedger = typeof message.content === "string" && parseLedger(message.content) !== null;
      return isLedger || pin(message) ? [seq] : [];
    });
    return this.#task < 0 || pinned.includes(this.#task) ? pinned : [...pinned, this.#task];
  }
}

/** The thresholds of a loop. */
export function budgetOf(settings: CompactStepsOptions, fixed: number): Budget {
  const { window, maxOutput = window } = settings;
  return computeBudget({ window, maxOutput }, { fixed, settings });
}
