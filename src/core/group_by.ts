/**
 * Groups of a list, as `Map.groupBy()` makes them: what transcripts and loops of the AI SDK need also runs in Node 20,
 * which has no such function.
 *
 * @module
 */

/** The items by key, in their order; keys in the order in which they come first. */
export function groupBy<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
