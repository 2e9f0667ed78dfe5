/**
 * A ledger made to fit: which lines are told, and which are only counted.
 *
 * @module
 */
import { measureText, MESSAGE_OVERHEAD, type TextMeasure } from "../tokens/measure.ts";
import { RULES, saidBy } from "./digest.ts";
import { type Frame, type LedgerLine, renderLedger, renderLine } from "./ledger.ts";
import { MAX_NAMES, type Range, RangeSum } from "./ledger_range.ts";

/** Share of the reserve that prose may take: the ledger is what can be relied on. */
const PROSE_SHARE = 0.5;

/**
 * The most tokens that prose may take beside a ledger.
 *
 * @param reserve Tokens for both together.
 */
export function maxProse(reserve: number): number {
  return Math.floor(reserve * PROSE_SHARE);
}

/** Share of a ledger that facts of lines that are only counted may take before more lines are counted. */
const FACTS_SHARE = 0.4;
/** Tokens of the words and brackets around them. */
const NAMED = 4;

/** Lines at the end that stay longer than what people said before them. */
const LATEST = 2;

/** Characters of the ends of the task, where no other line has room; tools that are named beside what binds in it. */
const TASK = 100;
const FEW = 8;

/**
 * Merges an earlier ledger with new lines and makes the whole fit: the oldest lines collapse into one range with
 * counts, what people said after them, then the latest lines and what tools want retained; last of all what was said
 * first, which is the task.
 *
 * @param lines Lines of the earlier ledger and new ones.
 * @param options The most tokens of the rendered ledger as one message, how to count, and what it is rendered with.
 *   The frame and one range without names of tools take about 80, and stay.
 * @returns The range first, then single lines in log order.
 */
export function fitLedger(
  lines: readonly LedgerLine[],
  { tokens, measure, told, ...frame }: Frame & {
    readonly tokens: number;
    readonly measure: TextMeasure;
    /** Calls whose lines hold what their tools want retained. */
    readonly told?: ReadonlySet<string>;
  },
): readonly LedgerLine[] {
  const sum = new RangeSum(measure);
  const single: Exclude<LedgerLine, Range>[] = [];
  for (const line of lines) {
    if (line.kind === "range") sum.add(line);
    else single.push(line);
  }
  single.sort((a, b) => a.seq - b.seq);
  const sizes = single.map((line) => measure(renderLine(line)) + 1);
  // Where a range has counted what people said, the first thing that they said is among it.
  const isBegun = lines.some((line) => line.kind === "range" && line.users > 0);
  const task = isBegun ? -1 : single.findIndex(({ kind }) => kind === "user");
  const isTold = (index: number): boolean => {
    const line = single[index];
    return line?.kind === "pair" && told?.has(line.ref) === true;
  };
  const rankOf = (index: number): number => {
    if (index === task) return 4;
    if (isTold(index)) return 3;
    if (index >= single.length - LATEST) return 2;
    return single[index]?.kind === "user" ? 1 : 0;
  };
  const order = [...single.keys()].sort((a, b) => rankOf(a) - rankOf(b) || a - b);
  const gone = new Set<number>();
  const keptWith = (range: Range | null): readonly LedgerLine[] => {
    const rest = single.filter((_, index) => !gone.has(index));
    return range === null ? rest : [range, ...rest];
  };
  const most = tokens - MESSAGE_OVERHEAD;
  const fits = (range: Range | null): boolean => measure(renderLedger(keptWith(range), frame), most) <= most;
  const bare = measureText(renderLedger([], frame), measure);
  const held = sizes.reduce((sum, size, index) => isTold(index) ? sum + size : sum, 0);
  const room = Math.floor(Math.max(0, tokens - bare - held) * FACTS_SHARE);
  // The whole text is what counts; it is measured where the sum of its lines is near, and again when that has
  // gone down by something: once for each line would take the square of a large ledger.
  let total = sizes.reduce((a, b) => a + b, 0) + bare;
  let next = 1.2 * tokens;
  for (const index of order) {
    const line = single[index];
    if (line === undefined) continue;
    const facts = total <= next || index === task ? sum.facts(room) : null;
    if (facts !== null && (total + facts.tokens <= next || index === task)) {
      if (fits(sum.toRange(MAX_NAMES, facts.texts))) break;
      next = total - tokens / 100;
    }
    if (index === task && line.kind === "user") {
      // It alone is left: a part of it says more than that there was something, and what binds is the last to go.
      let rules = RULES;
      do single[index] = { ...line, text: saidBy(line.text, { most: TASK, rules }) }; while (
        !fits(sum.toRange(rules === 0 ? 0 : FEW)) && --rules >= 0
      );
      if (rules >= 0) break;
    }
    sum.add(line);
    gone.add(index);
    total -= sizes[index] ?? 0;
  }
  let range = sum.toRange();
  let names = Math.min(MAX_NAMES, Object.keys(range?.calls ?? {}).length);
  for (; names > 0 && !fits(range); range = sum.toRange(names)) names--;
  if (range === null) return keptWith(null);
  // What the counted lines named has what is left, and less where the parts take more together than alone.
  let left = tokens - measureText(renderLedger(keptWith(range), frame), measure) - NAMED;
  for (; left > 0; left = Math.floor(left * 0.9) - 2) {
    const { texts } = sum.facts(left);
    if (texts.length === 0) break;
    const full = sum.toRange(names, texts);
    if (fits(full)) return keptWith(full);
  }
  return keptWith(range);
}
