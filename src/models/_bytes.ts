/** Request bodies put together from pieces that were encoded before. Private to the adapters. */
import { toJson } from "./_json.ts";

const encoder = new TextEncoder();

/** What stands between two items of a JSON list. */
export const COMMA: Uint8Array = encoder.encode(",");

/** The UTF-8 bytes of a text. */
export function encodeText(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The bytes of values as items of a JSON list, without its brackets. */
export function encodeItems(values: readonly unknown[]): Uint8Array {
  return encoder.encode(values.map((value) => toJson(value)).join(","));
}

/** A JSON object whose last field is a list of encoded items. Items without a byte are left out. */
export function joinBody(
  head: Readonly<Record<string, unknown>>,
  list: string,
  { items }: { readonly items: readonly Uint8Array[] },
): Uint8Array<ArrayBuffer> {
  const pieces: Uint8Array[] = [
    encoder.encode(`${toJson(head).slice(0, -1)},${JSON.stringify(list)}:[`),
  ];
  for (const item of items) {
    if (item.length === 0) continue;
    if (pieces.length > 1) pieces.push(COMMA);
    pieces.push(item);
  }
  pieces.push(encoder.encode("]}"));
  return concat(pieces);
}

/**
 * Memory of bodies that were sent, for the next ones, the smallest first. A step's body is as long as the history: with
 * new memory for each the collector runs through the whole heap about once in 200 steps.
 */
const spare: ArrayBuffer[] = [];
const MAX_SPARE = 16;
/** Larger ones are not worth keeping: histories are hardly ever that long. */
const MAX_SPARE_BYTES = 1_024 * 1_024;
const PAGE_BYTES = 4_096;

/** Memory for so many bytes or more, with something in it. */
function memoryFor(size: number): ArrayBuffer {
  const at = spare.findIndex(({ byteLength }) => byteLength >= size);
  const [found] = at < 0 ? [] : spare.splice(at, 1);
  if (found !== undefined) return found;
  // A quarter more, in pages: the next steps have room in it, too.
  const roomy = Math.ceil(1.25 * size / PAGE_BYTES) * PAGE_BYTES;
  return new ArrayBuffer(roomy > MAX_SPARE_BYTES ? size : roomy);
}

/** Takes back the memory of a body that nobody reads any more. */
export function giveBack({ buffer }: Uint8Array<ArrayBuffer>): void {
  if (buffer.byteLength > MAX_SPARE_BYTES) return;
  spare.push(buffer);
  spare.sort((one, other) => one.byteLength - other.byteLength);
  if (spare.length > MAX_SPARE) spare.shift();
}

/** One array of all bytes; its memory may be longer, and is to be given back where nobody else has come to hold it. */
export function concat(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const all = new Uint8Array(memoryFor(size), 0, size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/**
 * A JSON list that grows at its end, as bytes. Each request of a conversation has the items of the one before, so that
 * only what is new is encoded, and the rest copied in one go.
 */
export class GrowingList<Item> {
  readonly #encode: (item: Item) => Uint8Array;
  /** As large as the first request needs it: most conversations have one, and many wait at a time. */
  #bytes = new Uint8Array(0);
  #items: Item[] = [];
  /** Where the bytes of each item end. */
  #ends: number[] = [];

  /** @param encode The bytes of one item, commas included where it is more than one; none where it is left out. */
  constructor(encode: (item: Item) => Uint8Array) {
    this.#encode = encode;
  }

  /** Makes the list that of these items: what differs from the last one is encoded, from the first difference on. */
  show(items: readonly Item[]): void {
    let same = 0;
    while (same < items.length && same < this.#items.length && items[same] === this.#items[same]) same++;
    this.#items.length = same;
    this.#ends.length = same;
    for (let at = same; at < items.length; at++) {
      const item = items[at] as Item;
      this.#push(this.#encode(item));
      this.#items.push(item);
    }
  }

  /** Whether there is nothing in it. */
  get isEmpty(): boolean {
    return (this.#ends.at(-1) ?? 0) === 0;
  }

  /** A copy of the list between other bytes. */
  between(before: Uint8Array, after: Uint8Array): Uint8Array<ArrayBuffer> {
    return concat([before, this.#bytes.subarray(0, this.#ends.at(-1) ?? 0), after]);
  }

  #push(item: Uint8Array): void {
    const start = this.#ends.at(-1) ?? 0;
    const isApart = start > 0 && item.length > 0;
    const end = start + item.length + (isApart ? 1 : 0);
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, start));
      this.#bytes = larger;
    }
    if (isApart) this.#bytes.set(COMMA, start);
    this.#bytes.set(item, end - item.length);
    this.#ends.push(end);
  }
}
