/**
 * The context: a session's log together with the view in force, as items that can be counted, parsed and
 * rendered. It only grows by `append`, and changes otherwise only by `apply`.
 * Over 300 lines, since counting, parsing and rendering must agree on one list of items.
 *
 * @module
 */
import type { Message, ToolOutput } from "../core/message.ts";
import type { TranscriptRecord } from "../core/record.ts";
import { parseTranscript, type Transcript } from "../core/transcript.ts";
import { type View, viewMessages, WHOLE_LOG } from "../core/view.ts";
import type { CompactionNote, Entry, ResultEntry } from "../ports.ts";
import {
  boundTokens,
  measureOutput,
  measurePart,
  measureText,
  MESSAGE_OVERHEAD,
  type TextMeasure,
} from "../tokens/measure.ts";
import type { MeterItems } from "../tokens/meter.ts";
import { type LedgerLine, renderLedger } from "./ledger.ts";
import { type PrefixedLog, prefixLog, viewPrefix, withoutSigned } from "./prefix.ts";
import { isOwnCall, renderEntry, renderResults, type ShownResult } from "./render.ts";
import { shortenOutput } from "./shorten.ts";

export { callsOf, wireId } from "./render.ts";

/** A view with all that it takes to render it again: JSON, stored with the session. Indexes are entry numbers. */
export interface StoredView extends View {
  /** Results shown shortened: entry number and the most tokens. */
  readonly trims: readonly (readonly [seq: number, tokens: number])[];
  readonly ledger: readonly LedgerLine[];
  /** What a model wrote beside the ledger. */
  readonly prose?: string;
  /** Where it was made, as it is stored: the length of the log, and what came of the compaction. */
  readonly made?: { readonly at: number; readonly note: CompactionNote };
}

/** The summary of a view as the model is shown it: the ledger, then prose where there is some; `recall` as in its frame. */
export function summaryText({ ledger, prose }: StoredView, recall = false): string {
  const text = renderLedger(ledger, { recall });
  return prose === undefined ? text : `${text}\n\n${prose}`;
}

/** The view of a session that was never compacted. */
export const EMPTY_VIEW: StoredView = { ...WHOLE_LOG, trims: [], ledger: [] };

/** What one item of the view is. */
type Item =
  | { readonly kind: "summary"; readonly text: string }
  | { readonly kind: "entry"; readonly entry: Entry; readonly shown: ToolOutput | null };

/** A message, and what it was made of. */
interface Rendered {
  readonly round: readonly Shown[];
  /** Whether signed reasoning was left out. */
  readonly isBare: boolean;
  readonly message: Message;
}

const NONE: ReadonlySet<number> = new Set();

/** One item with its price, counted at most once. */
interface Shown {
  readonly item: Item;
  /** The most tokens it may take, null where it is shown whole. */
  readonly limit: number | null;
  readonly bound: number;
  records: readonly (Omit<TranscriptRecord, "message">)[] | null;
}

function recordsOf(item: Item, measure: TextMeasure): readonly Omit<TranscriptRecord, "message">[] {
  if (item.kind === "summary") return [{ kind: "summary", tokens: measureText(item.text, measure) }];
  const { entry, shown } = item;
  if (entry.kind === "result") {
    const tokens = measureOutput(shown ?? entry.output, measure);
    return [{ kind: "tool_result", tokens, callId: entry.call, name: entry.toolName }];
  }
  const { content } = entry.message;
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const base = entry.kind;
  let call = 0;
  const records = parts.map((part): Omit<TranscriptRecord, "message"> => {
    const tokens = measurePart(part, measure);
    if (part.type === "reasoning") return { kind: "reasoning", tokens };
    if (!isOwnCall(part)) return { kind: base, tokens };
    return { kind: "tool_use", tokens, callId: `e${entry.seq}.${call++}`, name: part.toolName };
  });
  return [{ kind: base, tokens: MESSAGE_OVERHEAD }, ...records];
}

function sum(records: readonly { readonly tokens: number }[]): number {
  return records.reduce((total, record) => total + record.tokens, 0);
}

/** Tokens of an entry as it is shown at the most. */
export function entryTokens(entry: Entry, measure: TextMeasure): number {
  const tokens = sum(recordsOf({ kind: "entry", entry, shown: null }, measure));
  return entry.kind === "result" ? Math.min(tokens, entry.cap ?? Infinity) : tokens;
}

function isResult({ item }: Shown): boolean {
  return item.kind === "entry" && item.entry.kind === "result";
}

function isUser({ item }: Shown): boolean {
  return item.kind === "entry" && item.entry.kind === "user";
}

/** One message of one item, or of all results of a round; `isBare` leaves signed reasoning out. */
function render(items: readonly Item[], isBare: boolean): Message {
  const results: ShownResult[] = [];
  for (const item of items) {
    if (item.kind === "summary") return { role: "user", content: item.text };
    const { entry, shown } = item;
    if (entry.kind !== "result") {
      return renderEntry(isBare && entry.kind === "assistant" ? withoutSigned(entry) : entry);
    }
    results.push({ entry, output: shown ?? entry.output });
  }
  return renderResults(results);
}

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
}

/** Messages gathered from items so far. */
interface Told {
  readonly items: readonly Shown[];
  readonly stale: ReadonlySet<number>;
  /** Items that the messages are made of. */
  readonly at: number;
  /** Those of the last message. */
  readonly round: readonly Shown[];
  readonly messages: Message[];
}

/** The log and the view in force. */
export class Context implements MeterItems {
  readonly #entries: Entry[];
  readonly #loadMeasure: () => Promise<TextMeasure>;
  /** An upper bound on tokens, without a tokenizer. */
  readonly bound: TextMeasure;
  /** Whether the model can read originals. */
  readonly recall: boolean;
  #view: StoredView;
  #items: Shown[] = [];
  /** What entries were last shown as, by number: what another view shows in the same way is not counted again. */
  #known = new Map<number, Shown>();
  /** Messages made, by the first of the items that each is made of. */
  readonly #rendered = new WeakMap<Shown, Rendered>();
  #told: Told | null = null;
  #lastPrefix: { readonly key: string; readonly log: PrefixedLog } | null = null;
  /** Items before the raw tail: the summary and the pinned messages. */
  #head = 0;
  /** The item that the turn in progress began with, -1 where there is none. */
  #turn = -1;
  #transcript: Transcript | null = null;
  #measure: TextMeasure | null = null;

  private constructor(
    entries: readonly Entry[],
    { view, loadMeasure, bound = boundTokens, recall = false }: ContextOptions & {
      readonly view: StoredView;
    },
  ) {
    this.#entries = [...entries];
    this.#view = view;
    this.#loadMeasure = loadMeasure;
    this.bound = bound;
    this.recall = recall;
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

  /** The exact counter, loaded on first use. */
  async measure(): Promise<TextMeasure> {
    return this.#measure ??= await this.#loadMeasure();
  }

  /** Appends an entry to the log and to what is shown. */
  async append(entry: Entry): Promise<void> {
    if (entry.seq !== this.#entries.length) {
      throw new RangeError(`Cannot append entry ${entry.seq}: wanted ${this.#entries.length}`);
    }
    // Everything that can fail comes first: an entry is there whole, or not at all.
    const shown = await this.#show(entry, new Map(this.#view.trims));
    const records = this.#transcript === null ? [] : await this.#records(shown);
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

  /** Exact tokens of the items in [from, to). */
  async exact(from: number, to: number): Promise<number> {
    let total = 0;
    for (const shown of this.#items.slice(from, to)) total += sum(await this.#records(shown));
    return total;
  }

  /** The transcript as it is shown now; message i is item i. */
  async transcript(): Promise<Transcript> {
    return this.#transcript ??= await this.#parse(this.#items);
  }

  /** The output of a result as the model is shown it. */
  shownOutput(entry: ResultEntry): ToolOutput {
    const found = this.#items.findLast(({ item }) => item.kind === "entry" && item.entry === entry)?.item;
    return (found?.kind === "entry" ? found.shown : null) ?? entry.output;
  }

  /** Entry number of an item, null for the summary. */
  seqOf(index: number): number | null {
    const item = this.#items[index]?.item;
    return item?.kind === "entry" ? item.entry.seq : null;
  }

  /** Positions at which entries are shown; entries that are not shown have none. */
  positionsOf(seqs: readonly number[]): readonly number[] {
    return this.#items.flatMap(({ item }, index) =>
      item.kind === "entry" && seqs.includes(item.entry.seq) ? [index] : []
    );
  }

  /** What another view would show, parsed from scratch (condition C5 is verified on this, not assumed). */
  async preview(view: StoredView): Promise<{ readonly transcript: Transcript; readonly head: number }> {
    const [items, head] = await this.#project(view);
    return { transcript: await this.#parse(items), head };
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
    const stale = prefix === undefined ? NONE : this.#prefixed(prefix).stale;
    if (to < this.#items.length) {
      return this.#gather({ items: this.#items.slice(0, to), stale, at: 0, round: [], messages: [] })
        .messages;
    }
    const told = this.#told;
    const goesOn = told !== null && told.items === this.#items && told.stale === stale;
    this.#told = this.#gather(
      goesOn ? told : { items: this.#items, stale, at: 0, round: [], messages: [] },
    );
    // A copy: who was given a list before is not to see it grow.
    return [...this.#told.messages];
  }

  /** Takes in what stands behind the items that were gathered before. */
  #gather({ items, stale, at, round, messages }: Told): Told {
    for (let end = at; end < items.length; at = end) {
      while (end < items.length && isResult(items[end] as Shown)) end++;
      if (end === at) end++;
      const next = items.slice(at, end);
      // Results go on with the round of those before them.
      const goesOn = round.length > 0 && round.concat(next).every(isResult);
      if (goesOn) messages.pop();
      round = goesOn ? [...round, ...next] : next;
      messages.push(this.#message(round, stale));
    }
    return { items, stale, at: items.length, round, messages };
  }

  /** What each message is made of: `summary`, entries by their refs, and results by those of their calls. */
  refs(): readonly (readonly string[])[] {
    const refs: string[][] = [];
    for (const [at, shown] of this.#items.entries()) {
      const { item } = shown;
      const last = this.#items[at - 1];
      if (item.kind === "summary") refs.push(["summary"]);
      else if (item.entry.kind !== "result") refs.push([`e${item.entry.seq}`]);
      else if (last !== undefined && isResult(last)) refs.at(-1)?.push(item.entry.call);
      else refs.push([item.entry.call]);
    }
    return refs;
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
    const key = `${name} ${this.#turn}`;
    if (this.#lastPrefix?.key !== key) {
      const entries = this.#items.flatMap(({ item }) => item.kind === "entry" ? [item.entry] : []);
      this.#lastPrefix = { key, log: prefixLog(entries, name) };
    }
    return this.#lastPrefix.log;
  }

  #message(round: readonly Shown[], stale: ReadonlySet<number>): Message {
    const [first] = round;
    const isBare = first?.item.kind === "entry" && stale.has(first.item.entry.seq);
    const known = first && this.#rendered.get(first);
    const isKnown = known?.isBare === isBare && known.round.length === round.length &&
      round.every((shown, at) => shown === known.round[at]);
    if (isKnown) return known.message;
    const message = render(round.map(({ item }) => item), isBare);
    if (first !== undefined) this.#rendered.set(first, { round, isBare, message });
    return message;
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

  async #records(shown: Shown): Promise<readonly Omit<TranscriptRecord, "message">[]> {
    return shown.records ??= recordsOf(shown.item, await this.measure());
  }

  async #parse(items: readonly Shown[]): Promise<Transcript> {
    const records: TranscriptRecord[] = [];
    for (const [message, shown] of items.entries()) {
      for (const record of await this.#records(shown)) records.push({ ...record, message });
    }
    return parseTranscript(records);
  }
}
