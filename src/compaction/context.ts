/**
 * The context: a session's log together with the view in force, as items that can be counted, parsed and
 * rendered. It only grows by `append`, and changes otherwise only by `apply`.
 *
 * Over 300 lines: one class, whose items, counts, transcript and prefix are brought up to date by the same two methods.
 *
 * @module
 */
import type { Message, ToolOutput } from "../core/message.ts";
import type { TranscriptRecord } from "../core/record.ts";
import { parseTranscript, type Transcript } from "../core/transcript.ts";
import { viewMessages } from "../core/view.ts";
import type { Entry, ResultEntry } from "../ports.ts";
import { utf8Length } from "../tokens/counter.ts";
import { boundTokens, measureText, type TextMeasure } from "../tokens/measure.ts";
import type { MeterItems } from "../tokens/meter.ts";
import { type PrefixedLog, prefixLog, viewPrefix } from "./prefix.ts";
import { shortenOutput } from "./shorten.ts";
import { EMPTY_VIEW, type StoredView, summaryText } from "./stored_view.ts";
import { isUser, type Item, recordsOf, type Shown, sum } from "./view_items.ts";
import { refsOf, ViewMessages } from "./view_messages.ts";

export { callsOf, wireId } from "./render.ts";
export { EMPTY_VIEW, type StoredView, summaryText } from "./stored_view.ts";
export { entryTokens } from "./view_items.ts";

const NONE: ReadonlySet<number> = new Set();

/** What a {@link Context} is made with. */
export interface ContextOptions {
  /** The view in force, null for the log itself. */
  readonly view: StoredView | null;
  /** Loads the exact counter; called only when an exact count is needed. */
  readonly loadMeasure: () => Promise<TextMeasure>;
  /** An upper bound on tokens, without a tokenizer. Default: the bytes of a text, a flat price for files. */
  readonly bound?: TextMeasure;
  /** Whether the model can read originals, which the ledger says then. Default false. */
  readonly recall?: boolean;
  /**
   * Whether signed reasoning that does not fit is left out of the turn in progress, too, since nobody can ask the
   * provider to do so (C6). Default false.
   */
  readonly isBound?: boolean;
}

/** The log and the view in force. */
export class Context implements MeterItems {
  readonly #entries: Entry[];
  readonly #loadMeasure: () => Promise<TextMeasure>;
  /** An upper bound on tokens, without a tokenizer. */
  readonly bound: TextMeasure;
  /** Whether the model can read originals. */
  readonly recall: boolean;
  readonly #isBound: boolean;
  #view: StoredView;
  #items: Shown[] = [];
  /** What entries were last shown as, by number: what another view shows in the same way is not counted again. */
  #known = new Map<number, Shown>();
  readonly #messages = new ViewMessages();
  #lastPrefix: { readonly key: string; readonly log: PrefixedLog } | null = null;
  /** Items before the raw tail: the summary and the pinned messages. */
  #head = 0;
  /** The item that the turn in progress began with, -1 where there is none. */
  #turn = -1;
  #transcript: Transcript | null = null;
  /** What items count at the least for a byte in {@link #transcript}. */
  #floor = 0;
  #measure: TextMeasure | null = null;

  private constructor(
    entries: readonly Entry[],
    { view, loadMeasure, bound = boundTokens, recall = false, isBound = false }: ContextOptions & {
      readonly view: StoredView;
    },
  ) {
    this.#entries = [...entries];
    this.#view = view;
    this.#loadMeasure = loadMeasure;
    this.bound = bound;
    this.recall = recall;
    this.#isBound = isBound;
  }

  /**
   * Makes a context.
   *
   * @param entries The log.
   * @param options The view in force, and how to measure.
   */
  static async create(
    entries: readonly Entry[],
    options: ContextOptions,
  ): Promise<Context> {
    const context = new Context(entries, { ...options, view: options.view ?? EMPTY_VIEW });
    [context.#items, context.#head] = await context.#project(context.#view);
    context.#turn = context.#items.findLastIndex(isUser);
    return context;
  }

  /** The log. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** The view in force. */
  get view(): StoredView {
    return this.#view;
  }

  /** Number of items shown. */
  get length(): number {
    return this.#items.length;
  }

  /** Items before the raw tail. */
  get head(): number {
    return this.#head;
  }

  /** The exact counter, loaded on first use; no text counts less than `floor` tokens for a byte. */
  async measure(floor = 0): Promise<TextMeasure> {
    const measure = this.#measure ??= await this.#loadMeasure();
    if (floor === 0) return measure;
    const floored = (text: string, limit?: number): number =>
      Math.max(measure(text, limit), Math.ceil(floor * utf8Length(text)));
    return Object.assign(floored, measure);
  }

  /** Appends an entry to the log and to what is shown. */
  async append(entry: Entry): Promise<void> {
    if (entry.seq !== this.#entries.length) {
      throw new RangeError(`Cannot append entry ${entry.seq}: wanted ${this.#entries.length}`);
    }
    // Everything that can fail comes first: an entry is there whole, or not at all.
    const shown = await this.#show(entry, new Map(this.#view.trims));
    const records = this.#transcript === null ? [] : await this.#records(shown, this.#floor);
    this.#entries.push(entry);
    this.#items.push(shown);
    if (entry.kind === "user") this.#turn = this.#items.length - 1;
    if (this.#transcript !== null) {
      const message = this.#transcript.messages;
      this.#transcript.append(records.map((record) => ({ ...record, message })));
    }
  }

  /** Upper bound on the tokens of the items from an index on. */
  boundFrom(index: number): number {
    let total = 0;
    for (let at = index; at < this.#items.length; at++) total += this.#items[at]?.bound ?? 0;
    return total;
  }

  /** Exact tokens of the items in [from, to), of none less than `floor` for a byte. */
  async exact(from: number, to: number, floor = 0): Promise<number> {
    let total = 0;
    for (const shown of this.#items.slice(from, to)) total += sum(await this.#records(shown, floor));
    return total;
  }

  /** The transcript as it is shown now; message i is item i. No item has less than `floor` tokens for a byte. */
  async transcript(floor = 0): Promise<Transcript> {
    if (this.#transcript === null || this.#floor !== floor) {
      this.#transcript = await this.#parse(this.#items, floor);
      this.#floor = floor;
    }
    return this.#transcript;
  }

  /**
   * To how many tokens of the counter itself an item is to be shortened, so that it has `tokens` under a floor: what
   * is shown must not change with what bills have taught.
   */
  async limitOf(index: number, { tokens, floor }: { tokens: number; floor: number }): Promise<number> {
    const plain = await this.exact(index, index + 1);
    const most = await this.exact(index, index + 1, floor);
    return most > plain ? Math.floor(tokens * plain / most) : tokens;
  }

  /** The output of a result as the model is shown it. */
  shownOutput(entry: ResultEntry): ToolOutput {
    const item = this.#items[this.#positionOf(entry.seq) ?? -1]?.item;
    return (item?.kind === "entry" ? item.shown : null) ?? entry.output;
  }

  /** Entry number of an item, null for the summary. */
  seqOf(index: number): number | null {
    const item = this.#items[index]?.item;
    return item?.kind === "entry" ? item.entry.seq : null;
  }

  /** Positions at which entries are shown; entries that are not shown have none. */
  positionsOf(seqs: readonly number[]): readonly number[] {
    return [...new Set(seqs)].flatMap((seq) => this.#positionOf(seq) ?? []).sort((a, b) => a - b);
  }

  /** Pinned entries stand in front of the tail, in which no entry is left out. */
  #positionOf(seq: number): number | null {
    const { cut } = this.#view;
    for (let at = 0; seq < cut && at < this.#head; at++) if (this.seqOf(at) === seq) return at;
    return seq >= cut && seq < this.#entries.length ? this.#head + seq - cut : null;
  }

  /** What another view would show, parsed from scratch (condition C5 is verified on this, not assumed). */
  async preview(
    view: StoredView,
    floor = 0,
  ): Promise<{ readonly transcript: Transcript; readonly head: number }> {
    const [items, head] = await this.#project(view);
    return { transcript: await this.#parse(items, floor), head };
  }

  /** Puts a view in force. */
  async apply(view: StoredView): Promise<void> {
    [this.#items, this.#head] = await this.#project(view);
    this.#turn = this.#items.findLastIndex(isUser);
    this.#view = view;
    this.#transcript = null;
    this.#known = new Map(
      this.#items.flatMap((shown) => shown.item.kind === "entry" ? [[shown.item.entry.seq, shown]] : []),
    );
  }

  /**
   * The messages a model is shown. Results stand behind their call, in the order of the calls. What has not
   * changed is the same object each time, so that an adapter need not encode it again.
   *
   * @param prefix Name of what comes before the messages; signed reasoning that was made under another one is left
   *   out (C6). Without it all reasoning is shown.
   * @param to One past the last item shown; by default all are.
   */
  messages(prefix?: string, to = this.#items.length): readonly Message[] {
    const stale = prefix === undefined ? NONE : this.staleOf(prefix);
    return to < this.#items.length
      ? this.#messages.once(this.#items.slice(0, to), stale)
      : this.#messages.of(this.#items, stale);
  }

  /** What each message is made of: `summary`, entries by their refs, and results by those of their calls. */
  refs(): readonly (readonly string[])[] {
    return refsOf(this.#items);
  }

  /**
   * Numbers of the answers whose signed reasoning is left out (C6).
   *
   * @param prefix Name of what comes before the messages.
   */
  staleOf(prefix: string): ReadonlySet<number> {
    return this.#prefixed(prefix).stale;
  }

  /**
   * Names the prefix of what is appended now.
   *
   * @param prefix Name of what comes before the messages.
   */
  prefixOf(prefix: string): string {
    return this.#prefixed(prefix).prefix;
  }

  #prefixed(prefix: string): PrefixedLog {
    const name = viewPrefix(prefix, this.#view.version);
    // Within a turn nothing is added to the completed ones.
    const key = `${name} ${this.#isBound ? this.#items.length : this.#turn}`;
    if (this.#lastPrefix?.key !== key) {
      const entries = this.#items.flatMap(({ item }) => item.kind === "entry" ? [item.entry] : []);
      this.#lastPrefix = { key, log: prefixLog(entries, name, { isBound: this.#isBound }) };
    }
    return this.#lastPrefix.log;
  }

  async #project(view: StoredView): Promise<[Shown[], number]> {
    const items: Shown[] = [];
    if (view.ledger.length > 0) {
      const text = summaryText(view, this.recall);
      const bound = measureText(text, this.bound);
      items.push({ item: { kind: "summary", text }, limit: null, bound, records: null });
    }
    const shown = viewMessages(view, this.#entries.length);
    const head = items.length + shown.filter((seq) => seq < view.cut).length;
    const trims = new Map(view.trims);
    for (const seq of shown) {
      const entry = this.#entries[seq];
      if (entry !== undefined) items.push(await this.#show(entry, trims));
    }
    return [items, head];
  }

  async #show(entry: Entry, trims: ReadonlyMap<number, number>): Promise<Shown> {
    const most = entry.kind === "result"
      ? Math.min(entry.cap ?? Infinity, trims.get(entry.seq) ?? Infinity)
      : Infinity;
    const limit = most === Infinity ? null : most;
    const known = this.#known.get(entry.seq);
    if (known !== undefined && known.limit === limit) return known;
    const shown = entry.kind === "result" && limit !== null
      ? shortenOutput(entry.output, { tokens: limit, measure: await this.measure(), ref: entry.call })
      : null;
    const item: Item = { kind: "entry", entry, shown };
    const made: Shown = { item, limit, bound: sum(recordsOf(item, this.bound)), records: null };
    this.#known.set(entry.seq, made);
    return made;
  }

  async #records(shown: Shown, floor: number): Promise<readonly Omit<TranscriptRecord, "message">[]> {
    const records = shown.records ??= recordsOf(shown.item, await this.measure());
    const least = floor * shown.bound;
    if (least === 0) return records;
    const total = sum(records);
    if (total >= least) return records;
    return records.map((record) => ({ ...record, tokens: Math.ceil(record.tokens * least / total) }));
  }

  async #parse(items: readonly Shown[], floor: number): Promise<Transcript> {
    const records: TranscriptRecord[] = [];
    for (const [message, shown] of items.entries()) {
      for (const record of await this.#records(shown, floor)) records.push({ ...record, message });
    }
    return parseTranscript(records);
  }
}
