/**
 * The meter: how full the context is. The provider's bill for the last completed call is the anchor; only what
 * was appended since is counted, and only as exactly as the question needs.
 *
 * @module
 */
import { CountedItems } from "./counted_items.ts";

/** Which knowledge decided a reading. */
export type MeterTier = "anchor" | "bound" | "exact";

/** How full the context is, in the provider's tokens. */
export interface MeterReading {
  readonly tokens: number;
  readonly tier: MeterTier;
}

/** What the meter remembers between turns. */
export interface MeterState {
  /** Bill of the last completed call, request and answer, and the number of items that these cover. */
  readonly anchor: { readonly tokens: number; readonly covered: number } | null;
  /** The provider's tokens for one counted token. */
  readonly factor: number;
  /**
   * Counted tokens for a byte at the least. Absent for none: runs of white space or of one character are next to
   * nothing to our counter, and no less than other text to some providers'.
   */
  readonly floor?: number;
}

/** The items that are shown to the model, counted on demand. */
export interface MeterItems {
  /** Number of items shown. */
  readonly length: number;
  /**
   * What the items are made by: under the same one they change by growing alone, and no item is counted twice. Absent,
   * they are counted anew each time.
   */
  readonly view?: object;
  /** Upper bound on the tokens of the items from an index on; cheap. */
  boundFrom(index: number): number;
  /**
   * Exact tokens of the items in [from, to), but of no item less than its bound times `floor` (default 0); loads the
   * tokenizer on first use.
   */
  exact(from: number, to: number, floor?: number): Promise<number>;
}

/** Settings of a {@link ContextMeter}. */
export interface MeterOptions {
  /** The provider's tokens for one counted token, until a bill tells better. */
  readonly factor: number;
  /** Estimate for system text and tool schemas, in the provider's tokens. */
  readonly fixed: number;
  /** Tokens that one request can have. A bill over it is a sum over several requests, and not believed. */
  readonly window?: number;
  readonly state?: MeterState;
}

/** Fewer counted tokens than this teach nothing about the factor. */
const LEARN_FROM = 500;

/** No provider counts less or more than this for one counted token of common text: what says otherwise has another cause. */
const LEAST_FACTOR = 0.5;
const MOST_FACTOR = 4;
/** Common text has fewer bytes for a counted token. */
const COMMON_BYTES = 6;

function plausible(factor: number): number {
  return Math.min(MOST_FACTOR, Math.max(LEAST_FACTOR, factor));
}

function isFactor(factor: unknown): boolean {
  return typeof factor === "number" && factor > 0 && factor < Infinity;
}

/** Measures a context that only grows, until {@link ContextMeter.invalidate} says that it has changed. */
export class ContextMeter {
  #fixed: number;
  readonly #window: number;
  readonly #factor: number;
  #state: MeterState;
  /** The bill that the factor was learned from last: asked again, it has nothing to add. */
  #learned: MeterState["anchor"] = null;
  readonly #counted = new CountedItems();

  /**
   * Makes a meter.
   *
   * @param options Factor, estimate of what is fixed, and the state of an earlier turn.
   * @throws {RangeError} for a factor that is not a positive, finite number.
   */
  constructor(options: MeterOptions) {
    const { factor, fixed, window = Infinity, state } = options;
    if (!isFactor(factor)) {
      throw new RangeError(`Make a meter: found a token factor of ${factor}, wanted a positive number`);
    }
    this.#fixed = fixed;
    this.#factor = factor;
    this.#window = window;
    // What a store gives back may be of another version: without its factor nothing of it can be used.
    this.#state = state !== undefined && isFactor(state.factor) ? state : { anchor: null, factor };
    const { floor, ...rest } = this.#state;
    if (floor !== undefined && !(floor > 0 && floor <= 1)) this.#state = rest;
  }

  /** Tokens that are there before any message, in the provider's tokens. */
  get fixed(): number {
    return this.#fixed;
  }

  /** Puts a better estimate of what is there before any message in the place of the first one. */
  fix(tokens: number): void {
    this.#fixed = tokens;
  }

  /** What to keep for the next turn. */
  get state(): MeterState {
    return this.#state;
  }

  /** The provider's tokens for one counted token. */
  get factor(): number {
    return this.#state.factor;
  }

  /** Counted tokens for a byte at the least; 0 until a bill could not be told otherwise. */
  get floor(): number {
    return this.#state.floor ?? 0;
  }

  /**
   * Whether the last bill is more than all the bytes that it covers could be: it is a sum over several requests, or of
   * something else.
   *
   * @param items What is shown now.
   */
  isBeyondBytes(items: MeterItems): boolean {
    const { anchor } = this.#state;
    if (anchor === null) return false;
    const bytes = items.boundFrom(0) - items.boundFrom(Math.min(anchor.covered, items.length));
    return anchor.tokens - this.fixed > this.#factor * bytes;
  }

  /**
   * Sets the anchor after a completed call.
   *
   * @param usage The bill of that one call, never of a whole loop. One without input tokens is not believed.
   * @param covered Number of items that request and answer together cover.
   */
  anchor(
    usage: { readonly inputTokens: number; readonly outputTokens: number } | undefined,
    covered: number,
  ): void {
    if (usage === undefined || !(usage.inputTokens > 0)) return;
    const tokens = usage.inputTokens + Math.max(0, usage.outputTokens || 0);
    if (!Number.isFinite(tokens) || tokens > this.#window) return;
    this.#state = { ...this.#state, anchor: { tokens, covered } };
  }

  /**
   * Learns the factor from the anchor: raised at once, lowered slowly, so that it errs towards "full".
   *
   * @param items What is shown now.
   */
  async learn(items: MeterItems): Promise<void> {
    const { anchor, factor } = this.#state;
    if (anchor === null || anchor === this.#learned) return;
    const covered = Math.min(anchor.covered, items.length);
    const tokens = anchor.tokens - this.fixed;
    const bytes = items.boundFrom(0) - items.boundFrom(covered);
    const plain = await items.exact(0, covered);
    if (plain < LEARN_FROM && (tokens < LEARN_FROM || bytes < COMMON_BYTES * plain)) return;
    this.#learned = anchor;
    const { floor } = this;
    const needed = await this.#floorFor(items, { tokens, covered, plain });
    if (needed !== null || floor > 0) {
      // Common text is counted well enough: what is billed beyond that lies where our counter finds next to nothing.
      const next = needed !== null && needed > floor ? needed : (floor + (needed ?? 0)) / 2;
      this.#state = { ...this.#state, factor: this.#factor, floor: next };
      if (needed !== null) return;
    }
    if (plain < LEARN_FROM) return;
    const counted = floor === 0 ? plain : await items.exact(0, covered, this.floor);
    const billed = plausible(tokens / counted);
    // The anchor is that of now: what went while this counted does not come back.
    this.#state = { ...this.#state, factor: billed > factor ? billed : (billed + factor) / 2 };
  }

  /**
   * The floor under which items come to what a provider counts for them; null where a factor says it as well, or
   * where not even all their bytes would.
   */
  async #floorFor(
    items: MeterItems,
    { tokens, covered, plain }: {
      readonly tokens: number;
      readonly covered: number;
      readonly plain: number;
    },
  ): Promise<number | null> {
    const isBelow = async (floor: number): Promise<boolean> =>
      this.#factor * await items.exact(0, covered, floor) < tokens;
    const bytes = items.boundFrom(0) - items.boundFrom(covered);
    if (tokens <= MOST_FACTOR * plain || bytes < COMMON_BYTES * plain || await isBelow(1)) return null;
    let [low, high] = [0, 1];
    for (let round = 0; round < 10; round++) {
      const middle = (low + high) / 2;
      if (await isBelow(middle)) low = middle;
      else high = middle;
    }
    return high;
  }

  /**
   * Learns from a request that the provider found too long: whatever was estimated, it has more than `limit`
   * tokens. What the last bill said is no help then, so the anchor goes.
   *
   * @param items What is shown now.
   * @param limit Tokens that a request can have, or those that the provider has found.
   */
  async refuse(items: MeterItems, limit: number): Promise<void> {
    const tokens = limit - this.fixed;
    const { floor } = this;
    const plain = await items.exact(0, items.length);
    const needed = await this.#floorFor(items, { tokens, covered: items.length, plain });
    if (needed !== null) {
      this.#state = { anchor: null, factor: this.#factor, floor: Math.max(floor, needed) };
      return;
    }
    const counted = floor === 0 ? plain : await items.exact(0, items.length, floor);
    const least = counted === 0 ? 0 : plausible(tokens / counted);
    this.#state = { ...this.#state, anchor: null, factor: Math.max(this.factor, least) };
  }

  /**
   * Tokens of the next request, where not even all its bytes would be as many as `limit`: a provider that finds it too
   * long has a smaller window. Null where another count may be all there is to it.
   *
   * @param items What is shown now.
   * @param limit Tokens that a request can have.
   */
  async farBelow(items: MeterItems, limit: number): Promise<number | null> {
    const bytes = this.fixed + this.#factor * items.boundFrom(0);
    return bytes < limit ? await this.estimate(items) : null;
  }

  /**
   * Goes back to the meter's own count after a bill that cannot be true: an earlier anchor was made by the same hand.
   *
   * @param usage The bill; nothing happens where there was none.
   */
  doubt(usage: { readonly inputTokens: number } | undefined): void {
    if (usage !== undefined) this.reset();
  }

  /** Forgets everything that bills have taught. */
  reset(): void {
    this.#learned = null;
    this.#state = { anchor: null, factor: this.#factor };
  }

  /** Forgets the anchor: the shown items have changed otherwise than by growing, so its bill is history. */
  invalidate(): void {
    this.#state = { ...this.#state, anchor: null };
  }

  /**
   * Estimates the next request as well as can be.
   *
   * @param items What is shown now.
   */
  async estimate(items: MeterItems): Promise<number> {
    const { anchor, factor } = this.#state;
    const exact = await this.#counted.exactFrom(items, anchor?.covered ?? 0, this.floor);
    return Math.ceil((anchor?.tokens ?? this.fixed) + factor * exact);
  }

  /**
   * Reads the meter as exactly as it takes to tell on which side of a threshold the context is.
   *
   * @param items What is shown now.
   * @param threshold Tokens to compare with.
   * @returns Not over the threshold: an upper bound or the estimate; over it: a lower bound or the estimate.
   */
  async read(items: MeterItems, threshold: number): Promise<MeterReading> {
    const { anchor, factor } = this.#state;
    if (anchor !== null && anchor.tokens > threshold) return { tokens: anchor.tokens, tier: "anchor" };
    const base = anchor?.tokens ?? this.fixed;
    const bound = Math.ceil(base + factor * this.#counted.boundFrom(items, anchor?.covered ?? 0));
    if (bound <= threshold) return { tokens: bound, tier: "bound" };
    return { tokens: await this.estimate(items), tier: "exact" };
  }
}
