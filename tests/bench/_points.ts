/** Trigger points on the corpus: what a policy makes of each, judged from outside. */
import { compactTranscript, type CompactTranscriptOptions } from "../../src/compaction/wire.ts";
import { summaryReserve } from "../../src/core/cut.ts";
import { type Reading, type ReadOptions, readTranscript } from "../../src/formats/read.ts";
import { isLedger } from "../../src/transcripts.ts";
import { faultsInBoth } from "../support/dialects.ts";
import type { Json } from "../support/wire_json.ts";
import type { CorpusTranscript } from "./_corpus.ts";

/** Budgets, as shares of the tokens at the trigger point. */
export const SHARES = [0.25, 0.5, 0.75] as const;

/** The first trigger point is the twelfth message. */
export const FIRST_POINT = 12;

/** Bounds of a tail that hits its budget. */
const TAIL = { least: 0.85, most: 1.15 } as const;

/** One trigger point: the first `length` messages of a transcript, read. */
export interface Point {
  readonly transcript: CorpusTranscript;
  readonly length: number;
  readonly reading: Reading;
  /** Tokens of messages at the point. */
  readonly tokens: number;
  /** Appends the rest of the round that is under way: what the runtime adds before the next request. */
  readonly settle: (messages: readonly Json[]) => readonly Json[];
}

/** What became of one point at one budget. */
export interface Outcome {
  readonly outcome: "applied" | "nothing" | "deferred" | "refused";
  readonly method: "near" | "trim" | "forward" | null;
  readonly reason: string | null;
  /** Tokens of the kept messages, without the summary, against the budget less the reserve. */
  readonly tail: number;
  /** Tokens kept against the budget, the reserve charged for the summary. */
  readonly charged: number;
  /** Tokens kept against the budget, the summary as it is. */
  readonly kept: number;
  readonly faults: readonly string[];
  /** What a second run with the same budget answers; null where there was none. */
  readonly second: string | null;
  readonly milliseconds: number;
}

/** How to read a transcript of the corpus. */
export function readOptions(
  { format }: CorpusTranscript,
  measure: (text: string) => number,
  thinking: "auto" | "ignore",
): ReadOptions {
  return { format, measure, thinking, isSummary: isLedger };
}

/** Reads the first `length` messages. */
export function pointAt(transcript: CorpusTranscript, length: number, options: ReadOptions): Point {
  const reading = readTranscript(transcript.messages.slice(0, length), options);
  const rest = restOfRound(transcript, length);
  const settle = (messages: readonly Json[]): readonly Json[] => [...messages, ...rest];
  return { transcript, length, reading, tokens: reading.transcript.tokens, settle };
}

/**
 * Points inside the round that follows the first `length` messages, where its results share one message: some of
 * them are in.
 */
export function pointsInside(
  transcript: CorpusTranscript,
  length: number,
  options: ReadOptions,
): readonly Point[] {
  const next = transcript.messages[length];
  const blocks = next?.["content"];
  if (transcript.format !== "anthropic" || next === undefined || !Array.isArray(blocks)) return [];
  const results = blocks.filter((block) => block?.type === "tool_result").length;
  return [...Array(Math.max(0, results - 1)).keys()].map((index): Point => {
    const some = { ...next, content: blocks.slice(0, index + 1) };
    const reading = readTranscript([...transcript.messages.slice(0, length), some], options);
    const settle = (messages: readonly Json[]): readonly Json[] => {
      const last = messages.at(-1);
      const shown = last?.["content"];
      const rest = blocks.slice(index + 1);
      if (last === undefined || !Array.isArray(shown)) return [...messages, { ...next, content: rest }];
      return [...messages.slice(0, -1), { ...last, content: [...shown, ...rest] }];
    };
    return { transcript, length, reading, tokens: reading.transcript.tokens, settle };
  });
}

function restOfRound({ format, messages }: CorpusTranscript, length: number): readonly Json[] {
  const rest = messages.slice(length);
  const isResults = ({ role, content }: Json): boolean =>
    role === "tool" || (format === "anthropic" && role === "user" && Array.isArray(content) &&
      content.some((block) => block?.type === "tool_result"));
  const end = rest.findIndex((message) => !isResults(message));
  return end < 0 ? rest : rest.slice(0, end);
}

/** What is wrong with an output once the results of the running round have been appended. */
export function faultsOf({ transcript, settle }: Point, messages: readonly Json[]): readonly string[] {
  return faultsInBoth(transcript.format, settle(messages), {
    ids: transcript.raw ? "reused" : "unique",
  });
}

function tokensOf(reading: Reading, kind: "summary" | "rest"): number {
  return reading.pieces.reduce(
    (sum, [piece], at) =>
      (piece?.kind === "summary") === (kind === "summary")
        ? sum + reading.transcript.tokensBetween(at, at + 1)
        : sum,
    0,
  );
}

/** Compacts a point and looks at what came out. */
export function compactPoint(point: Point, options: CompactTranscriptOptions): Outcome {
  const { budget } = options;
  const reserve = options.summaryReserve ?? summaryReserve(budget);
  const start = performance.now();
  const done = compactTranscript(point.reading, options);
  const milliseconds = performance.now() - start;
  const after = readTranscript(done.messages, point.reading.options);
  const tail = tokensOf(after, "rest");
  const isCompacted = done.outcome === "applied";
  return {
    outcome: done.outcome,
    method: done.cut?.method ?? null,
    reason: done.reason,
    tail: tail / (budget - reserve),
    charged: (isCompacted ? tail + reserve : point.tokens) / budget,
    kept: (isCompacted ? after.transcript.tokens : point.tokens) / budget,
    faults: faultsOf(point, done.messages),
    second: isCompacted ? compactTranscript(after, options).outcome : null,
    milliseconds,
  };
}

/** The naive way: the last messages that fit, whatever they belong to; with or without a summary in front. */
export function keepLast(
  point: Point,
  { budget, summary }: { readonly budget: number; readonly summary: boolean },
): Outcome {
  const { reading: { messages, transcript, pieces }, tokens } = point;
  const start = performance.now();
  const reserve = summary ? summaryReserve(budget) : 0;
  let from = messages.length;
  while (from > 0 && transcript.tokensBetween(from - 1, messages.length) <= budget - reserve) from--;
  const isSystem = (at: number): boolean => pieces[at]?.[0]?.kind === "system";
  const head = messages.filter((_, at) => at < from && isSystem(at));
  const text = { role: "user", content: "Earlier messages were summarised." };
  const kept = [...head, ...(summary && from > head.length ? [text] : []), ...messages.slice(from)];
  const milliseconds = performance.now() - start;
  const tail = transcript.tokensBetween(from, messages.length);
  return {
    outcome: tail < tokens ? "applied" : "nothing",
    method: null,
    reason: null,
    tail: tail / (budget - reserve),
    charged: (tail + reserve) / budget,
    kept: (tail + reserve) / budget,
    faults: faultsOf(point, kept),
    second: null,
    milliseconds,
  };
}

/** Sums over outcomes. */
export class Tally {
  points = 0;
  /** Deferred, refused ones included. */
  deferred = 0;
  invalid = 0;
  compacted = 0;
  /** Second runs. */
  seconds = 0;
  #inTail = 0;
  #charged = 0;
  #kept = 0;
  #settled = 0;
  #milliseconds = 0;
  readonly #methods = new Map<string, number>();
  readonly #reasons = new Map<string, number>();

  add(found: Outcome): void {
    this.points++;
    this.#charged += found.charged;
    this.#kept += found.kept;
    this.#milliseconds += found.milliseconds;
    if (found.second !== null) this.seconds++;
    if (found.second === "nothing") this.#settled++;
    if (found.faults.length > 0) this.invalid++;
    if (found.outcome === "deferred" || found.outcome === "refused") {
      this.deferred++;
      const reason = `${found.outcome} ${found.reason}`;
      this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
    }
    if (found.outcome !== "applied") return;
    this.compacted++;
    if (found.tail >= TAIL.least && found.tail <= TAIL.most) this.#inTail++;
    const method = found.method ?? "-";
    this.#methods.set(method, (this.#methods.get(method) ?? 0) + 1);
  }

  get deferredShare(): number {
    return this.deferred / Math.max(1, this.points);
  }
  get tailShare(): number {
    return this.#inTail / Math.max(1, this.compacted);
  }
  get charged(): number {
    return this.#charged / Math.max(1, this.points);
  }
  get kept(): number {
    return this.#kept / Math.max(1, this.points);
  }
  get settledShare(): number {
    return this.#settled / Math.max(1, this.seconds);
  }
  get milliseconds(): number {
    return this.#milliseconds / Math.max(1, this.points);
  }
  get methods(): string {
    return ["near", "trim", "forward"].map((name) => {
      const times = this.#methods.get(name);
      return times === undefined ? null : `${name} ${(times / this.compacted * 100).toFixed(1)}`;
    }).filter((text) => text !== null).join(", ");
  }
  get reasons(): string {
    return [...this.#reasons].map(([reason, times]) => `${reason} ${times}`).join(", ");
  }
}
