/**
 * How often the meter needs the tokenizer, and how far its estimate lies from the bill: recorded transcripts,
 * a check after every result, bills as one provider was measured to write them.
 */
import { loadCounter } from "../../src/tokens/counter.ts";
import { ContextMeter, type MeterItems } from "../../src/tokens/meter.ts";

const CORPUS = new URL("../../../shared/corpus/", import.meta.url);
/** Billed tokens for one counted, and for each pair beside its text: Claude 4.6 on 606 requests. */
const BILL = { factor: 1.106, pair: 92 };
const FIXED = 5_000;
const THRESHOLD = 160_000;

/** Shares of checks, and the error of the estimate. */
export interface MeterFigures {
  readonly checks: number;
  /** Decided without the tokenizer. */
  readonly cheap: number;
  /** Needed the tokenizer although truly under, of those truly under. */
  readonly falselyUndecided: number;
  /** 95th percentile of |estimate - bill| / bill of the next request. */
  readonly error: number;
}

interface Message {
  readonly role: string;
  readonly content: unknown;
}

/** Text of a message as it is counted, and how many results it holds. */
function read(message: Message): { readonly text: string; readonly results: number } {
  const results = Array.isArray(message.content)
    ? message.content.filter((block) => block.type === "tool_result").length
    : 0;
  return {
    text: typeof message.content === "string" ? message.content : JSON.stringify(message.content),
    results,
  };
}

/** Runs all transcripts; null where they are not there. */
export async function measureMeter(): Promise<MeterFigures | null> {
  const files: string[] = [];
  try {
    for (const { name } of Deno.readDirSync(CORPUS)) if (name.endsWith(".anthropic.jsonl")) files.push(name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
  const counter = await loadCounter("o200k_base");
  let [checks, cheap, under, falsely] = [0, 0, 0, 0];
  const errors: number[] = [];
  for (const name of files) {
    const lines = (await Deno.readTextFile(new URL(name, CORPUS))).split("\n").filter((line) => line !== "");
    const items: { readonly bound: number; readonly exact: number; readonly results: number }[] = [];
    const shown: MeterItems = {
      get length() {
        return items.length;
      },
      boundFrom: (from) => items.slice(from).reduce((sum, item) => sum + item.bound, 0),
      exact: (from, to) => Promise.resolve(items.slice(from, to).reduce((sum, item) => sum + item.exact, 0)),
    };
    const bill = (): number =>
      items.reduce((sum, item) => sum + BILL.factor * item.exact + BILL.pair * item.results, FIXED);
    const meter = new ContextMeter({ factor: 1.11, fixed: FIXED });
    for (const line of lines) {
      const message: Message = JSON.parse(line);
      const { text, results } = read(message);
      if (message.role === "assistant") {
        // The request behind this answer is billed first; then the answer comes to it.
        const input = bill();
        const estimate = await meter.estimate(shown);
        if (items.length > 2) errors.push(Math.abs(estimate - input) / input);
        items.push({ bound: counter.bound(text), exact: counter.count(text), results });
        meter.anchor({ inputTokens: input, outputTokens: bill() - input }, items.length);
        continue;
      }
      const pairs = results * 90 / 1.11;
      items.push({ bound: counter.bound(text) + pairs, exact: counter.count(text) + pairs, results });
      if (results === 0) continue;
      checks++;
      const { tier, tokens } = await meter.read(shown, THRESHOLD);
      if (tier !== "exact") cheap++;
      const isUnder = tier === "exact" ? tokens <= THRESHOLD : tier === "bound";
      if (isUnder) under++;
      if (isUnder && tier === "exact") falsely++;
    }
  }
  errors.sort((a, b) => a - b);
  return {
    checks,
    cheap: cheap / checks,
    falselyUndecided: falsely / Math.max(1, under),
    error: errors[Math.floor(errors.length * 0.95)] ?? 0,
  };
}
