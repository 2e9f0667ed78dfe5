/**
 * Numbers with their nouns, in ledgers and in messages.
 *
 * @module
 */

/** "1 answer", "2 answers"; `many` where that is not the noun with an s. */
export function counted(number: number, noun: string, many = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : many}`;
}
