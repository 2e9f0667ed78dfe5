/**
 * The messages that the items of a view make: each is made once, and is the same object for as long as nothing of it
 * changes, so that an adapter need not encode it again.
 *
 * @module
 */
import type { Message } from "../core/message.ts";
import { withoutSigned } from "./prefix.ts";
import { renderEntry, renderResults, type ShownResult } from "./render.ts";
import { isResult, type Item, type Shown } from "./view_items.ts";

/** A message, and what it was made of. */
interface Rendered {
  readonly round: readonly Shown[];
  /** Whether signed reasoning was left out. */
  readonly isBare: boolean;
  readonly message: Message;
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

/** Makes the messages of one context. */
export class ViewMessages {
  /** Messages made, by the first of the items that each is made of. */
  readonly #rendered = new WeakMap<Shown, Rendered>();
  #told: Told | null = null;

  /**
   * The messages of all items. The same list, grown, is gone on with.
   *
   * @param items What is shown.
   * @param stale Numbers of the answers whose signed reasoning is left out.
   */
  of(items: readonly Shown[], stale: ReadonlySet<number>): readonly Message[] {
    const goesOn = this.#told?.items === items && this.#told.stale === stale;
    this.#told = this.#gather(goesOn && this.#told !== null ? this.#told : begin(items, stale));
    // A copy: who was given a list before is not to see it grow.
    return [...this.#told.messages];
  }

  /** The messages of some items, which are not gone on with. */
  once(items: readonly Shown[], stale: ReadonlySet<number>): readonly Message[] {
    return this.#gather(begin(items, stale)).messages;
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
}

function begin(items: readonly Shown[], stale: ReadonlySet<number>): Told {
  return { items, stale, at: 0, round: [], messages: [] };
}

/** What each message is made of: `summary`, entries by their refs, and results by those of their calls. */
export function refsOf(items: readonly Shown[]): readonly (readonly string[])[] {
  const refs: string[][] = [];
  for (const [at, shown] of items.entries()) {
    const { item } = shown;
    const last = items[at - 1];
    if (item.kind === "summary") refs.push(["summary"]);
    else if (item.entry.kind !== "result") refs.push([`e${item.entry.seq}`]);
    else if (last !== undefined && isResult(last)) refs.at(-1)?.push(item.entry.call);
    else refs.push([item.entry.call]);
  }
  return refs;
}
