/**
 * Which item of a response a provider means where it shows one whole. Private to the adapters.
 *
 * Ids, call ids and indexes should say the same. But some servers leave them out, give every item index 0 or one id for
 * all, or give every event an id of its own: what they contradict each other in is told by the order.
 */
import type { JsonObject } from "../formats/format.ts";
import { textOf } from "./_json.ts";
import { kindOf, type OutputItem, wholeText } from "./_output_responses.ts";

/** Whether a call id, which tells calls apart where all else is the same, says that this is another item. */
export function isOtherCall({ item }: OutputItem, shown: JsonObject): boolean {
  return differ(textOf(item.call_id), textOf(shown.call_id));
}

/** Whether both have an index, and not the same. */
export function isElsewhere({ index }: OutputItem, at: unknown): boolean {
  return index !== undefined && typeof at === "number" && index !== at;
}

/**
 * The item that an item event has shown whole: one that is yet open, or undefined for a new one; null where the event
 * repeats an earlier one.
 */
export function closedItem(
  items: readonly OutputItem[],
  whole: JsonObject,
  index: unknown,
): OutputItem | undefined | null {
  const kind = kindOf(whole);
  const mine = items.filter((item) => item.kind === kind && !isOtherCall(item, whole));
  const likeness = (item: OutputItem) =>
    Number(isNamed(item, whole, "id")) + Number(isNamed(item, whole, "call_id")) +
    Number(item.index !== undefined && item.index === index);
  const open = mine.filter(({ isWhole }) => !isWhole);
  const best = open.reduce((most, item) => Math.max(most, likeness(item)), 0);
  if (mine.some((item) => item.isWhole && likeness(item) > best && isRepeated(item, whole, index))) {
    return null;
  }
  if (best > 0) return open.find((item) => likeness(item) === best);
  const isPlaced = textOf(whole.id) !== "" || typeof index === "number";
  return isPlaced && kind !== "call" ? undefined : open.find((item) => !isElsewhere(item, index));
}

function isRepeated(item: OutputItem, whole: JsonObject, index: unknown): boolean {
  if (differ(textOf(item.item.id), textOf(whole.id)) || isElsewhere(item, index)) return false;
  // An index alone may be that of all items.
  return isNamed(item, whole, "id") || isNamed(item, whole, "call_id") ||
    item.text === wholeText(whole, item.kind);
}

/** For each item of a response that has ended the one that was streamed; undefined where none was. */
export function pairItems(
  output: readonly JsonObject[],
  items: readonly OutputItem[],
): readonly (OutputItem | undefined)[] {
  const pairs = new Map<JsonObject, OutputItem>();
  const free = new Set(items);
  const ids = new Set(output.map(({ id }) => textOf(id)).filter((id) => id !== ""));
  const isNameless = (item: OutputItem, whole: JsonObject) =>
    textOf(whole.id) === "" || !ids.has(textOf(item.item.id));
  const rules: readonly ((item: OutputItem, whole: JsonObject, text: string) => boolean)[] = [
    (item, whole) => isNamed(item, whole, "id") && isNamed(item, whole, "call_id"),
    (item, whole) => isNamed(item, whole, "id"),
    (item, whole) => isNamed(item, whole, "call_id") && isNameless(item, whole),
    (item, whole, text) => isNameless(item, whole) && item.text === text,
    isNameless,
  ];
  for (const isPair of rules) {
    for (const whole of output) {
      if (pairs.has(whole)) continue;
      const kind = kindOf(whole);
      const text = wholeText(whole, kind);
      const found = free.values().find((item) =>
        item.kind === kind && !isOtherCall(item, whole) && isPair(item, whole, text)
      );
      if (found === undefined) continue;
      pairs.set(whole, found);
      free.delete(found);
    }
  }
  return output.map((whole) => pairs.get(whole));
}

function isNamed({ item }: OutputItem, whole: JsonObject, name: "id" | "call_id"): boolean {
  const value = textOf(whole[name]);
  return value !== "" && textOf(item[name]) === value;
}

function differ(one: string, other: string): boolean {
  return one !== "" && other !== "" && one !== other;
}
