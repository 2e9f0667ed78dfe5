/**
 * Items that are counted once, however often somebody looks: a step may append thousands, with a look after each.
 *
 * @module
 */
import type { MeterItems } from "./meter.ts";

/** Items from an index on, as far as they have been counted. */
interface Counted {
  readonly items: MeterItems;
  readonly view: object;
  readonly from: number;
  bound: { readonly to: number; readonly tokens: number };
  exact: { readonly to: number; readonly tokens: number; readonly floor: number };
}

/** Counts items, and remembers those that it counted last. */
export class CountedItems {
  #counted: Counted | null = null;

  /** Upper bound on the tokens of the items from an index on. */
  boundFrom(items: MeterItems, from: number): number {
    const counted = this.#from(items, from);
    if (counted === null) return items.boundFrom(from);
    const { to, tokens } = counted.bound;
    counted.bound = { to: Math.max(to, items.length), tokens: tokens + items.boundFrom(to) };
    return counted.bound.tokens;
  }

  /** Exact tokens of the items from an index on, of none less than its bound times `floor`. */
  async exactFrom(items: MeterItems, from: number, floor: number): Promise<number> {
    const { length } = items;
    const counted = this.#from(items, from);
    if (counted === null) return await items.exact(from, length, floor);
    const { to, tokens } = counted.exact.floor === floor ? counted.exact : { to: from, tokens: 0 };
    if (length <= to) return tokens;
    const total = tokens + await items.exact(to, length, floor);
    counted.exact = { to: length, tokens: total, floor };
    return total;
  }

  /** What is known of items; null where nothing says when they change otherwise than by growing. */
  #from(items: MeterItems, from: number): Counted | null {
    const { view } = items;
    if (view === undefined) return null;
    const known = this.#counted;
    if (known !== null && known.items === items && known.view === view && known.from === from) return known;
    const none = { to: from, tokens: 0 };
    return this.#counted = { items, view, from, bound: none, exact: { ...none, floor: 0 } };
  }
}
