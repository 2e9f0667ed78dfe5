/**
 * Fact survival: what of the removed part of recorded transcripts can still be read, and what can be found again, at
 * equal budget. Which part is removed is the same for all: what the last N tokens leave out.
 */
import { loadCounter } from "../../src/tokens/counter.ts";
import type { Json } from "../support/wire_json.ts";
import { hasCorpus, readCorpus, remember } from "./_corpus.ts";
import { type Fact, factsOf, KINDS, reader } from "./_facts.ts";
import { startPeers } from "./_peers.ts";
import { SHARES } from "./_points.ts";
import { OWN, recallable, tokensOf, waysOf } from "./_ways.ts";

/** Facts of one way, kind by kind: how many there were, and what became of them. */
export class FactTally {
  /** Tokens kept, against the budget. */
  readonly kept: number[] = [];
  readonly #found = new Map<string, { facts: number; read: number; reached: number }>();

  add(fact: Fact, { isRead, isReached }: { readonly isRead: boolean; readonly isReached: boolean }): void {
    for (const kind of [fact.kind, "all"]) {
      const sum = this.#found.get(kind) ?? { facts: 0, read: 0, reached: 0 };
      sum.facts++;
      if (isRead) sum.read++;
      if (isRead || isReached) sum.reached++;
      this.#found.set(kind, sum);
    }
  }

  of(kind: string): { readonly facts: number; readonly read: number; readonly reached: number } {
    return this.#found.get(kind) ?? { facts: 0, read: 0, reached: 0 };
  }
}

/** Facts of the messages that the last `budget` tokens leave out, and that are nowhere in the rest. */
export function removedFacts(
  messages: readonly Json[],
  { budget, measure }: { readonly budget: number; readonly measure: (text: string) => number },
): readonly Fact[] {
  let [from, kept] = [messages.length, 0];
  while (from > 0 && kept <= budget) kept += tokensOf(messages.slice(--from, from + 1), measure);
  const isLeft = reader(messages.filter(({ role }, at) => at > from || role === "system"));
  return factsOf(messages, from).filter((fact) => !isLeft(fact));
}

export const percent = (part: number, whole: number): string =>
  `${(part / Math.max(1, whole) * 100).toFixed(1)} %`;

function keptOf({ kept }: FactTally): Record<string, string> {
  const mean = kept.reduce((sum, share) => sum + share, 0) / Math.max(1, kept.length);
  return { "kept/budget": mean.toFixed(2) };
}

/** Prints one row a way, one column a kind. */
export async function run(): Promise<void> {
  if (!hasCorpus()) return console.log("The recorded transcripts are not there: nothing to measure.");
  const counter = await loadCounter("o200k_base");
  const { measure } = remember((text) => counter.count(text));
  const tallies = new Map<string, FactTally>();
  await using peers = await startPeers();
  const ways = waysOf(measure, peers);
  for (const { messages, format, raw } of readCorpus()) {
    if (format !== "openai-chat" || raw) continue;
    const tokens = tokensOf(messages, measure);
    for (const share of SHARES) {
      const budget = Math.floor(tokens * share);
      const facts = removedFacts(messages, { budget, measure });
      for (const { name, run } of ways) {
        const { messages: output } = await run(messages, budget);
        const [isRead, isReached] = [reader(output), recallable(messages, output)];
        const tally = tallies.get(name) ?? new FactTally();
        tallies.set(name, tally);
        tally.kept.push(tokensOf(output, measure) / budget);
        for (const fact of facts) tally.add(fact, { isRead: isRead(fact), isReached: isReached(fact.at) });
      }
    }
  }
  const all = tallies.get(OWN)?.of("all");
  console.log(
    `${all?.facts} facts of removed messages, at budgets of 25, 50 and 75 %. Share that can be read:`,
  );
  console.table(Object.fromEntries(
    [...tallies].map(([name, tally]) => {
      const shares = [...KINDS, "all"].map((kind) => {
        const { facts, read } = tally.of(kind);
        return [kind, percent(read, facts)];
      });
      const { facts, reached } = tally.of("all");
      return [name, {
        ...Object.fromEntries(shares),
        "by recall": percent(reached, facts),
        ...keptOf(tally),
      }];
    }),
  ));
  if (all !== undefined && all.reached < all.facts) {
    console.log(`Wanted: 100 % by recall; ${all.facts - all.reached} facts cannot be reached: NOT met`);
  }
}
