/**
 * Ranges of a ledger: lines that are only counted, by tool and outcome.
 *
 * @module
 */
import { groupBy } from "../core/group_by.ts";
import type { CallStatus } from "../ports.ts";
import { withoutMarks } from "./digest.ts";
import {
  errorLines,
  type Fact,
  FACT_KINDS,
  type FactKind,
  kindOf,
  ruleSentences,
  tokensIn,
} from "./facts.ts";
import type { LedgerLine } from "./ledger.ts";

/** How often a tool was called in a range, by outcome. */
export type RangeCalls = Readonly<Record<string, Readonly<Partial<Record<CallStatus, number>>>>>;

/** A line that counts others. */
export type Range = Extract<LedgerLine, { kind: "range" }>;

/** What a range calls the tools that it has no room to name. */
export const OTHERS = "(others)";

/** Names of tools in a range; the others, called least, are counted together. */
export const MAX_NAMES = 100;

/** Calls by tool that are being added up; a map, as a model may call a tool `__proto__`. */
type Sums = Map<string, Partial<Record<CallStatus, number>>>;

function addCalls(sums: Sums, tool: string, by: RangeCalls[string]): void {
  const sum = sums.get(tool) ?? {};
  sums.set(tool, sum);
  for (const status of ["ok", "error", "aborted"] as const) {
    const times = (sum[status] ?? 0) + (by[status] ?? 0);
    if (times > 0) sum[status] = times;
  }
}

/** Facts that are remembered of lines that were counted; of more the oldest are forgotten. */
const MAX_FACTS = 400;
/** No fact takes fewer tokens. */
const LEAST_FACT = 3;
/** Lines that tell of errors, of one text. */
const ERRORS = 2;
const RULES = 12;

/** What a line that is to be counted says that a count does not. */
function factsOf(line: LedgerLine): readonly Fact[] {
  if (line.kind === "range") return (line.facts ?? []).map((text) => ({ kind: kindOf(text), text }));
  const isPair = line.kind === "pair";
  const said = isPair ? line.digest : line.text;
  const lines = line.kind === "user"
    ? ruleSentences(said, RULES).map((text): Fact => ({ kind: "rule", text }))
    : isPair
    ? said.split(" … ").flatMap((part) => errorLines(part, ERRORS)).map((text): Fact => ({
      kind: "error",
      text,
    }))
    : [];
  return [...lines, ...tokensIn(withoutMarks(isPair ? `${line.args}\n${said}` : said))];
}

/** What is remembered of a fact: its tokens are counted when it is first wanted, as of many few ever are. */
interface Known {
  readonly kind: FactKind;
  tokens?: number;
}

/** Lines that are being counted into a range. Adding one costs what it holds, not what the range holds already. */
export class RangeSum {
  readonly #sums: Sums = new Map();
  #seq = Infinity;
  #to = -1;
  #users = 0;
  #answers = 0;
  /** By their text, the newest last. */
  #facts = new Map<string, Known>();
  /** Lines that were counted since facts were last asked for. */
  #unread: LedgerLine[] = [];
  readonly #measure: (text: string) => number;

  /** Makes an empty one. `measure` counts what a fact takes. */
  constructor(measure: (text: string) => number) {
    this.#measure = measure;
  }

  /** Counts a line into the range. */
  add(line: LedgerLine): void {
    this.#seq = Math.min(this.#seq, line.seq);
    this.#to = Math.max(this.#to, line.kind === "range" ? line.to : line.seq);
    if (line.kind === "pair") addCalls(this.#sums, line.tool, { [line.status]: 1 });
    if (line.kind === "range") {
      for (const [tool, by] of Object.entries(line.calls)) addCalls(this.#sums, tool, by);
    }
    this.#users += line.kind === "range" ? line.users : line.kind === "user" ? 1 : 0;
    this.#answers += line.kind === "range" ? line.answers : line.kind === "answer" ? 1 : 0;
    this.#unread.push(line);
  }

  /** Reads the newest of the lines that have come, as many as tell the facts that are remembered. */
  #read(): void {
    const found = new Map<string, Known>();
    for (const line of this.#unread.splice(0).reverse()) {
      if (found.size >= MAX_FACTS) break;
      // A fact stands where it was named last, and is of the kind that it was first.
      for (const { kind, text } of factsOf(line).toReversed()) {
        found.set(text, this.#facts.get(text) ?? { kind });
      }
    }
    for (const text of found.keys()) this.#facts.delete(text);
    this.#facts = new Map([...this.#facts, ...[...found].reverse()].slice(-MAX_FACTS));
  }

  /** The newest facts of each kind in turn, within so many tokens; then they stand in the order they came. */
  facts(tokens: number): { readonly texts: readonly string[]; readonly tokens: number } {
    this.#read();
    const found = groupBy(this.#facts, ([, { kind }]) => kind);
    const byKind = FACT_KINDS.map((kind) => found.get(kind) ?? []);
    const chosen = new Set<string>();
    let left = tokens;
    while (left > LEAST_FACT && byKind.some((facts) => facts.length > 0)) {
      for (const facts of byKind) {
        const [text, fact] = facts.pop() ?? [];
        if (text === undefined || fact === undefined) continue;
        fact.tokens ??= this.#measure(JSON.stringify(text)) + 1;
        if (fact.tokens > left) continue;
        left -= fact.tokens;
        chosen.add(text);
      }
    }
    return { texts: [...this.#facts.keys()].filter((text) => chosen.has(text)), tokens: tokens - left };
  }

  /** The range with at most `names` names of tools, null where nothing was added. */
  toRange(names = MAX_NAMES, facts: readonly string[] = []): Range | null {
    if (this.#to < 0) return null;
    const timesOf = (by: RangeCalls[string]): number =>
      Object.values(by).reduce((sum, times) => sum + times, 0);
    const named = [...this.#sums].filter(([tool]) => tool !== OTHERS);
    const kept = named.length <= names ? new Set(this.#sums.keys()) : new Set(
      named.toSorted(([, a], [, b]) => timesOf(b) - timesOf(a)).slice(0, names).map(([tool]) => tool),
    );
    const sums: Sums = new Map();
    for (const [tool, by] of this.#sums) addCalls(sums, kept.has(tool) ? tool : OTHERS, by);
    return {
      kind: "range",
      seq: this.#seq,
      to: this.#to,
      calls: Object.fromEntries(sums),
      users: this.#users,
      answers: this.#answers,
      ...(facts.length > 0 ? { facts } : {}),
    };
  }
}

/** What a line of a ledger, or a range, says of one thing. */
export type Recorded =
  | { readonly kind: "user"; readonly seq: number }
  | {
    readonly kind: "pair";
    readonly seq: number;
    readonly ref: string;
    readonly tool: string;
    readonly status: CallStatus;
  };

/** A ledger without one thing: its line is left out, or the range that counts it counts one less. */
export function withoutLine(lines: readonly LedgerLine[], gone: Recorded): readonly LedgerLine[] {
  const isIt = (line: LedgerLine): boolean =>
    gone.kind === "pair"
      ? line.kind === "pair" && line.ref === gone.ref
      : line.kind === "user" && line.seq === gone.seq;
  if (lines.some(isIt)) return lines.filter((line) => !isIt(line));
  return lines.flatMap((line) => {
    if (line.kind !== "range" || gone.seq < line.seq || gone.seq > line.to) return [line];
    const less = gone.kind === "user"
      ? { ...line, users: Math.max(0, line.users - 1) }
      : withoutCall(line, gone);
    return less.users + less.answers > 0 || Object.keys(less.calls).length > 0 ? [less] : [];
  });
}

/** A range that counts one call less: under its tool, or under the others where it has no name. */
function withoutCall(range: Range, { tool, status }: Extract<Recorded, { kind: "pair" }>): Range {
  const calls = new Map(Object.entries(range.calls));
  for (const name of [tool, OTHERS]) {
    const by = calls.get(name);
    const times = by?.[status] ?? 0;
    if (times === 0) continue;
    const { [status]: _, ...others } = by ?? {};
    const left = times === 1 ? others : { ...by, [status]: times - 1 };
    if (Object.keys(left).length === 0) calls.delete(name);
    else calls.set(name, left);
    break;
  }
  return { ...range, calls: Object.fromEntries(calls) };
}
