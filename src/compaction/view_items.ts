/**
 * The items of a view: the summary, or an entry as it is shown, with what it costs.
 *
 * @module
 */
import type { ToolOutput } from "../core/message.ts";
import type { TranscriptRecord } from "../core/record.ts";
import type { Entry } from "../ports.ts";
import {
  measureOutput,
  measurePart,
  measureText,
  MESSAGE_OVERHEAD,
  type TextMeasure,
} from "../tokens/measure.ts";
import { isOwnCall } from "./render.ts";

/** What one item of the view is. */
export type Item =
  | { readonly kind: "summary"; readonly text: string }
  | { readonly kind: "entry"; readonly entry: Entry; readonly shown: ToolOutput | null };

/** One item with its price, counted at most once. */
export interface Shown {
  readonly item: Item;
  /** The most tokens it may take, null where it is shown whole. */
  readonly limit: number | null;
  readonly bound: number;
  records: readonly (Omit<TranscriptRecord, "message">)[] | null;
}

/** Its records, each with its tokens. */
export function recordsOf(item: Item, measure: TextMeasure): readonly Omit<TranscriptRecord, "message">[] {
  if (item.kind === "summary") return [{ kind: "summary", tokens: measureText(item.text, measure) }];
  const { entry, shown } = item;
  if (entry.kind === "result") {
    const tokens = measureOutput(shown ?? entry.output, measure);
    return [{ kind: "tool_result", tokens, callId: entry.call, name: entry.toolName }];
  }
  const { content } = entry.message;
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const base = entry.kind;
  let call = 0;
  const records = parts.map((part): Omit<TranscriptRecord, "message"> => {
    const tokens = measurePart(part, measure);
    if (part.type === "reasoning") return { kind: "reasoning", tokens };
    if (!isOwnCall(part)) return { kind: base, tokens };
    return { kind: "tool_use", tokens, callId: `e${entry.seq}.${call++}`, name: part.toolName };
  });
  return [{ kind: base, tokens: MESSAGE_OVERHEAD }, ...records];
}

/** Tokens of records together. */
export function sum(records: readonly { readonly tokens: number }[]): number {
  return records.reduce((total, record) => total + record.tokens, 0);
}

/** Tokens of an entry as it is shown at the most. */
export function entryTokens(entry: Entry, measure: TextMeasure): number {
  const tokens = sum(recordsOf({ kind: "entry", entry, shown: null }, measure));
  return entry.kind === "result" ? Math.min(tokens, entry.cap ?? Infinity) : tokens;
}

/** Whether it is a result. */
export function isResult({ item }: Shown): boolean {
  return item.kind === "entry" && item.entry.kind === "result";
}

/** Whether it is what a user said. */
export function isUser({ item }: Shown): boolean {
  return item.kind === "entry" && item.entry.kind === "user";
}
