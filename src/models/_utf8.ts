/** UTF-8 that comes in pieces. Private to the adapters. */

/**
 * Decodes a stream. A byte order mark at its very start is no text; anywhere else it is. `TextDecoder` as it is by
 * default takes it away in front of later pieces as well, in Deno 2.9.6.
 */
export class Utf8Stream {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #hasBegun = false;

  /** The text of the next bytes, as far as their characters are whole; without bytes, of what was left at the end. */
  decode(bytes?: Uint8Array): string {
    const text = bytes === undefined ? this.#decoder.decode() : this.#decoder.decode(bytes, { stream: true });
    if (this.#hasBegun || text === "") return text;
    this.#hasBegun = true;
    return text.startsWith("\ufeff") ? text.slice(1) : text;
  }
}
