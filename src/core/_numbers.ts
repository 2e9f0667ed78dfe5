/**
 * A list of numbers that grows. Unlike an array it lies outside of what the garbage collector goes through, and
 * it costs less to append to.
 *
 * @module
 */

/** Takes any number, sums of tokens beyond 2^31 too. */
export class Numbers {
  #values: Float64Array;
  #length = 0;

  /** Begins empty, with room for so many numbers, so that a known number of them is never moved. */
  constructor(room: number) {
    this.#values = new Float64Array(Math.max(16, room));
  }

  /** How many there are. */
  get length(): number {
    return this.#length;
  }

  /** The number at an index; undefined where there is none. */
  at(index: number): number | undefined {
    return index < this.#length ? this.#values[index] : undefined;
  }

  /** Replaces the number at an index that is there already. */
  set(index: number, value: number): void {
    this.#values[index] = value;
  }

  /** Appends a number; O(1) amortised, as the room doubles. */
  push(value: number): void {
    if (this.#length === this.#values.length) {
      const values = new Float64Array(2 * this.#length);
      values.set(this.#values);
      this.#values = values;
    }
    this.#values[this.#length++] = value;
  }

  /** Takes the last number away and returns it; undefined where there is none. */
  pop(): number | undefined {
    return this.#length === 0 ? undefined : this.#values[--this.#length];
  }

  /** All of them. */
  toArray(): number[] {
    return Array.from(this.#values.subarray(0, this.#length));
  }
}
