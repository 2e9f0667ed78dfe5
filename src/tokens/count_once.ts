/**
 * Counts each text once: a compaction reads what it has made again, and most of it is what came in.
 *
 * @param count Counts a text.
 * @returns The same function with a memory; it holds every text that it was given.
 */
export function countOnce(count: (text: string) => number): (text: string) => number {
  const counts = new Map<string, number>();
  return (text) => {
    const known = counts.get(text) ?? count(text);
    counts.set(text, known);
    return known;
  };
}
