/** Request bodies put together from pieces that were encoded before. Private to the adapters. */

const encoder = new TextEncoder();

/** What stands between two items of a JSON list. */
export const COMMA: Uint8Array = encoder.encode(",");

/** The UTF-8 bytes of a text. */
export function encodeText(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The bytes of values as items of a JSON list, without its brackets. */
export function encodeItems(values: readonly unknown[]): Uint8Array {
  return encoder.encode(values.map((value) => JSON.stringify(value)).join(","));
}

/** A JSON object whose last field is a list of encoded items. Items without a byte are left out. */
export function joinBody(
  head: Readonly<Record<string, unknown>>,
  list: string,
  { items }: { readonly items: readonly Uint8Array[] },
): Uint8Array<ArrayBuffer> {
  const pieces: Uint8Array[] = [
    encoder.encode(`${JSON.stringify(head).slice(0, -1)},${JSON.stringify(list)}:[`),
  ];
  for (const item of items) {
    if (item.length === 0) continue;
    if (pieces.length > 1) pieces.push(COMMA);
    pieces.push(item);
  }
  pieces.push(encoder.encode("]}"));
  return concat(pieces);
}

/** One array of all bytes. */
export function concat(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
