/** Ways to shorten a transcript of Chat Completions to a budget, ours and those of others, under one form. */
import { parseLedger } from "../../src/compaction/parse_ledger.ts";
import { compactTranscript } from "../../src/compaction/wire.ts";
import { summaryReserve } from "../../src/core/cut.ts";
import { readTranscript } from "../../src/formats/read.ts";
import { isLedger } from "../../src/transcripts.ts";
import type { Json } from "../support/wire_json.ts";
import { textsOf } from "./_facts.ts";
import type { Peers } from "./_peers.ts";

/** What came of a transcript. */
export interface Shortened {
  readonly messages: readonly Json[];
  /** Whether it said that it cannot now, rather than giving the same back. */
  readonly isDeferred: boolean;
  readonly error: string | null;
}

/** One way. */
export interface Way {
  readonly name: string;
  readonly run: (messages: readonly Json[], budget: number) => Promise<Shortened>;
}

/** The way that is ours. */
export const OWN = "Selvage";

type Measure = (text: string) => number;

/** Tokens of messages, system messages left out: what budgets are about. */
export function tokensOf(messages: readonly Json[], measure: Measure): number {
  // Some ways give back what is no message at all; it has no tokens.
  const known = messages.filter(({ role }) => role !== "undefined");
  return readTranscript(known, { format: "openai-chat", measure }).transcript.tokens;
}

/** Our own way. */
export function ownWay(measure: Measure): Way {
  return {
    name: OWN,
    run(messages, budget) {
      const reading = readTranscript(messages, { format: "openai-chat", measure, isSummary: isLedger });
      const done = compactTranscript(reading, { budget });
      const isDeferred = done.outcome === "deferred" || done.outcome === "refused";
      return Promise.resolve({ messages: done.messages, isDeferred, error: null });
    },
  };
}

/** The last messages that fit, whatever they belong to, with the beginnings of others as a summary in front. */
function lastTokens(measure: Measure): Way {
  return {
    name: "the last N tokens and a summary",
    run(messages, budget) {
      const reserve = summaryReserve(budget);
      const sizes = messages.map((message) => textsOf(message).reduce((sum, text) => sum + measure(text), 4));
      const system = messages.filter(({ role }) => role === "system");
      if (tokensOf(messages, measure) <= budget) {
        return Promise.resolve({ messages, isDeferred: false, error: null });
      }
      let [from, kept] = [messages.length, 0];
      while (from > system.length && kept + (sizes[from - 1] ?? 0) <= budget - reserve) {
        kept += sizes[--from] ?? 0;
      }
      const lines: string[] = [];
      let room = reserve - 20;
      for (const message of messages.slice(system.length, from).toReversed()) {
        const head = textsOf(message).join(" ").slice(0, 160);
        room -= measure(head) + 1;
        if (room < 0) break;
        lines.unshift(head);
      }
      const summary = { role: "user", content: `Summary so far:\n${lines.join("\n")}` };
      const out = [...system, summary, ...messages.slice(from)];
      return Promise.resolve({ messages: out, isDeferred: false, error: null });
    },
  };
}

/** All ways there are. */
export function waysOf(measure: Measure, peers: Peers): readonly Way[] {
  const others = peers.names.map((name): Way => ({
    name,
    async run(messages, budget) {
      const answer = await peers.ask(name, { messages, budget, reserve: summaryReserve(budget) });
      return { messages: answer.messages ?? messages, isDeferred: false, error: answer.error };
    },
  }));
  return [ownWay(measure), ...others, lastTokens(measure)];
}

/**
 * Which messages of the input a reader of an output finds again by a number in it: the ledger counts messages of the
 * uncut transcript. No other way has such numbers.
 */
export function recallable(input: readonly Json[], output: readonly Json[]): (at: number) => boolean {
  const found = new Set<number>();
  for (const message of output) {
    for (const text of textsOf(message)) {
      // A result that is shown shortened says where the whole of it is.
      for (const [, at] of text.matchAll(/the whole result is message (\d+) of what was compacted\]/g)) {
        found.add(Number(at));
      }
      for (const line of parseLedger(text)?.lines ?? []) {
        const to = line.kind === "range" ? line.to : line.seq;
        for (let at = line.seq; at <= to; at++) found.add(at);
      }
    }
  }
  return (at) => {
    if (found.has(at)) return true;
    // The line of a pair names its call; its result stands behind it.
    let call = at;
    while (call > 0 && input[call]?.["role"] === "tool") call--;
    return call !== at && found.has(call);
  };
}
