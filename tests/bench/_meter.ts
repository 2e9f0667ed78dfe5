/**
 * How often the meter needs the tokenizer, and how far its estimate lies from the bill: recorded transcripts, read
 * into the contexts that the loop has, a check after every result, bills as one provider was measured to write them.
 */
import { Context } from "../../src/compaction/context.ts";
import { measuresOf } from "../../src/loop/measures.ts";
import { scripted } from "../../src/models/scripted.ts";
import type { Entry } from "../../src/ports.ts";
import { loadCounter } from "../../src/tokens/counter.ts";
import { ContextMeter } from "../../src/tokens/meter.ts";
import { modelFacts } from "../../src/tokens/models.ts";
import { isPlausible } from "../../src/tokens/usage.ts";
import { assistant, callPart, result, user } from "../support/entries.ts";
import { hasCorpus, readCorpus } from "./_corpus.ts";

/**
 * Billed tokens for one counted, for each pair and for each text: what was fitted to 606 requests of Claude 4.6.
 * The estimate knows other figures, and not all of these.
 */
const BILL = { factor: 1.106, pair: 92, text: 20 };
/** System text and tools: what is billed, and what is guessed before there is a bill. */
const FIXED = { billed: 5_000, guessed: 3_500 };
const THRESHOLD = 160_000;

/** Shares of checks, and the error of the estimate. */
export interface MeterFigures {
  readonly checks: number;
  /** Decided without the tokenizer. */
  readonly cheap: number;
  /** Needed the tokenizer although truly under, of those truly under. */
  readonly falselyUndecided: number;
  /** 95th percentile of |estimate - bill| / bill of the next request, where there was a bill before. */
  readonly error: number;
}

interface Block {
  readonly type: string;
  readonly id?: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  readonly content?: string | readonly Block[];
}

/** One entry of a log, and the texts that a provider counts in it. */
interface Logged {
  readonly entry: Entry;
  readonly texts: readonly string[];
  readonly plain: number;
}

function textOf(content: Block["content"]): string {
  return typeof content === "string" ? content : (content ?? []).map((block) => block.text ?? "").join("\n");
}

/** The entries that one message becomes. */
function* entriesOf(
  { role, blocks }: { readonly role: unknown; readonly blocks: readonly Block[] },
  { from, calls }: { readonly from: number; readonly calls: Map<string, string> },
): Generator<Logged> {
  if (role === "assistant") {
    const parts = blocks.map((block) => {
      if (block.type === "tool_use") return callPart(block.name ?? "", block.input);
      return block.type === "thinking"
        ? { type: "reasoning" as const, text: block.thinking ?? "" }
        : { type: "text" as const, text: block.text ?? "" };
    });
    const made = blocks.filter(({ type }) => type === "tool_use");
    made.forEach(({ id = "" }, index) => calls.set(id, `e${from}.${index}`));
    const texts = blocks.map((block) =>
      block.type === "tool_use"
        ? `${block.name} ${JSON.stringify(block.input)}`
        : block.thinking ?? block.text ?? ""
    );
    yield { entry: assistant(from, parts), texts, plain: parts.length - made.length };
    return;
  }
  for (const { type, tool_use_id = "", content, text = "" } of blocks) {
    const seq = from++;
    if (type !== "tool_result") yield { entry: user(seq, text), texts: [text], plain: 1 };
    else {
      const value = textOf(content);
      yield { entry: result(seq, calls.get(tool_use_id) ?? "", value), texts: [value], plain: 0 };
    }
  }
}

/** Runs all transcripts; null where they are not there. */
export async function measureMeter(): Promise<MeterFigures | null> {
  if (!hasCorpus()) return null;
  const { count } = await loadCounter("o200k_base");
  const { factor, media, window, maxOutput } = modelFacts("claude-opus-4-6");
  const measures = measuresOf({ model: { ...scripted({ script: () => ({ text: "" }) }), media } });
  let [checks, cheap, under, falsely] = [0, 0, 0, 0];
  const errors: number[] = [];
  for (const { messages, format, raw } of readCorpus()) {
    if (format !== "anthropic" || raw) continue;
    const context = await Context.create([], { view: null, ...measures });
    const meter = new ContextMeter({ factor, fixed: FIXED.guessed });
    const calls = new Map<string, string>();
    let bill = FIXED.billed;
    for (const { role, content } of messages) {
      const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content as Block[];
      // The request behind an answer is billed first; then the answer comes to it.
      const input = bill;
      if (role === "assistant" && meter.state.anchor !== null) {
        errors.push(Math.abs(await meter.estimate(context) - input) / input);
      }
      for (const { entry, texts, plain } of entriesOf({ role, blocks }, { from: context.length, calls })) {
        await context.append(entry);
        bill += BILL.text * plain + (entry.kind === "result" ? BILL.pair : 0);
        for (const text of texts) bill += BILL.factor * count(text);
        if (entry.kind !== "result") continue;
        checks++;
        const { tier, tokens } = await meter.read(context, THRESHOLD);
        if (tier !== "exact") cheap++;
        if (tier === "anchor" || tokens > THRESHOLD) continue;
        under++;
        if (tier === "exact") falsely++;
      }
      const usage = { inputTokens: Math.ceil(input), outputTokens: Math.ceil(bill - input) };
      const limits = { bound: context.boundFrom(0), window, maxOutput };
      if (role === "assistant" && isPlausible(usage, limits)) meter.anchor(usage, context.length);
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
