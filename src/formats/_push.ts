/** Adds a value to the list of a key; gives its index in there. */
export function push<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): number {
  const list = lists.get(key) ?? [];
  if (list.length === 0) lists.set(key, list);
  return list.push(value) - 1;
}
