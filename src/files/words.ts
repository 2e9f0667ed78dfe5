/**
 * Numbers as people read them.
 *
 * @module
 */

/** 12345 as `12,345`. */
export function grouped(number: number): string {
  return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A number with its noun. */
export function plural(number: number, noun: string): string {
  return `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
}
