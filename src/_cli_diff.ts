/**
 * What changed between two lists of messages, message by message: for people, no patch. Messages that were not edited
 * are the same objects, so nothing needs to be compared.
 *
 * @module
 */
import { type Paint, plain } from "./_cli_text.ts";

/** Characters shown of a message. */
const SHOWN = 160;

/** Indexes of the longest run of values that rises, -1 being left out. */
function longestRise(values: readonly number[]): ReadonlySet<number> {
  const ends: number[] = [];
  const before: number[] = [];
  for (const [index, value] of values.entries()) {
    if (value < 0) continue;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((values[ends[middle] ?? 0] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    before[index] = low > 0 ? ends[low - 1] ?? -1 : -1;
    ends[low] = index;
  }
  const kept = new Set<number>();
  for (let index = ends.at(-1) ?? -1; index >= 0; index = before[index] ?? -1) kept.add(index);
  return kept;
}

/** Where two texts begin to differ. */
function firstChange(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}

/** A text in one line, from a little before a place on. */
function excerpt(text: string, at: number): string {
  const from = at > SHOWN / 2 ? at - SHOWN / 4 : 0;
  return `${from > 0 ? "…" : ""}${plain(text.slice(from), SHOWN)}`;
}

/**
 * Shows what changed.
 *
 * @param before Messages that came in.
 * @param after Messages that are to be written.
 * @param options Text of a message, its name by its index among those that came in, colours.
 * @returns Changes, each with the messages that came in where it is: what went, with a `-`, and what came, with a `+`.
 */
export function diffMessages(
  before: readonly unknown[],
  after: readonly unknown[],
  { textOf, nameOf, paint }: {
    readonly textOf: (message: unknown) => string;
    readonly nameOf: (at: number) => string;
    readonly paint: Paint;
  },
): readonly string[] {
  const places = new Map(before.map((message, index) => [message, index]));
  const origins = after.map((message) => places.get(message) ?? -1);
  const kept = longestRise(origins);
  const lines: string[] = [];
  let old = 0;
  for (let index = 0; index <= after.length;) {
    let next = index;
    while (next < after.length && !kept.has(next)) next++;
    const until = next < after.length ? origins[next] ?? before.length : before.length;
    if (next > index || until > old) {
      lines.push(paint.bold(`  ${placeOf(old, until, nameOf)}:`));
      const [gone, come] = [before.slice(old, until).map(textOf), after.slice(index, next).map(textOf)];
      // Messages that were edited stand side by side: each is shown around its first change.
      const changes = gone.map((text, at) =>
        gone.length === come.length ? firstChange(text, come[at] ?? "") : 0
      );
      for (const [at, text] of gone.entries()) {
        lines.push(paint.red(`  - ${excerpt(text, changes[at] ?? 0)}`));
      }
      for (const [at, text] of come.entries()) {
        lines.push(paint.green(`  + ${excerpt(text, changes[at] ?? 0)}`));
      }
    }
    old = until + 1;
    index = next + 1;
  }
  return lines;
}

/** Where a change is, by the messages that came in. */
function placeOf(from: number, to: number, nameOf: (at: number) => string): string {
  if (to > from + 1) return `${nameOf(from)} to ${nameOf(to - 1)}`;
  if (to > from) return nameOf(from);
  return from === 0 ? "in front of all" : `behind ${nameOf(from - 1)}`;
}
