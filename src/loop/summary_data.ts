/**
 * What a summarizer is given: entries as data, in pieces that its window has room for.
 *
 * @module
 */
import { textOf } from "../compaction/ledger.ts";
import { callsOf } from "../compaction/render.ts";
import { shortenOutput } from "../compaction/shorten.ts";
import type { Entry, Model, ResultEntry } from "../ports.ts";
import { utf8Length } from "../tokens/counter.ts";
import { outputText, type TextMeasure } from "../tokens/measure.ts";

/** Tokens that one result takes as data at the most. */
const RESULT_TOKENS = 1_000;
/** What tells of an entry is shortened to so many tokens before its round is given in parts. */
const LEAST_TOKENS = 100;
/** Share of the summarizer's window that data may take: our count is not its own. */
const DATA_SHARE = 0.6;

/** Tokens of its answer: as much as a turn leaves to one, so that there is room for data in a small window, too. */
export function outputOf({ window, maxOutput }: Model): number {
  return Math.max(1, Math.min(maxOutput, 8_000, Math.floor(window * 0.2)));
}

/** Tokens of our own counter that a share of a model's window has, beside its answer. */
export function roomIn(model: Model, share: number): number {
  return Math.floor((model.window - outputOf(model)) * share / (model.tokenFactor ?? 1));
}

/** Four bytes are a token at the least: runs of one character, which are next to nothing to our counter, are not to others. */
export function carefully(measure: TextMeasure): TextMeasure {
  const careful = (text: string, limit?: number): number =>
    Math.max(measure(text, limit), Math.ceil(utf8Length(text) / 4));
  return Object.assign(careful, measure);
}

/**
 * The removed entries as lines of JSON, in pieces that fit the model's window: of whole atoms, and where one is too
 * large for that, its results are shortened evenly; what is too large even so goes into several pieces, line by line.
 */
export function piecesOf(
  removed: readonly Entry[],
  { measure: plain, model }: { readonly measure: TextMeasure; readonly model: Model },
): readonly string[] {
  const measure = carefully(plain);
  const room = roomIn(model, DATA_SHARE);
  const pieces: string[] = [];
  let piece: string[] = [];
  let size = 0;
  const add = (lines: readonly string[], tokens: number): void => {
    if (size > 0 && size + tokens > room) {
      pieces.push(piece.join("\n"));
      piece = [];
      size = 0;
    }
    piece.push(...lines);
    size += tokens;
  };
  for (const atom of atomsOf(removed)) {
    let most = Math.min(RESULT_TOKENS, Math.floor(room / 4));
    for (;;) {
      const lines = atom.map((entry) => lineOf(entry, { measure, most }));
      const tokens = lines.reduce((sum, line) => sum + measure(line) + 1, 0);
      if (tokens <= room) {
        add(lines, tokens);
        break;
      }
      if (most <= LEAST_TOKENS) {
        for (const [at, line] of lines.entries()) {
          const shown = shortened(line, { most: room - 1, measure, ref: `e${atom[at]?.seq}` });
          add([shown], measure(shown) + 1);
        }
        break;
      }
      most = Math.max(LEAST_TOKENS, Math.min(most - 1, Math.floor(most * room / tokens * 0.9)));
    }
  }
  if (piece.length > 0) pieces.push(piece.join("\n"));
  return pieces;
}

/** A text of at most so many tokens. */
export function shortened(
  text: string,
  { most, measure, ref }: { readonly most: number; readonly measure: TextMeasure; readonly ref: string },
): string {
  return outputText(shortenOutput({ type: "text", value: text }, { tokens: most, measure, ref }));
}

/** An answer with the results of its calls, or a message by itself. */
function atomsOf(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const atoms: Entry[][] = [];
  for (const entry of entries) {
    const last = atoms.at(-1);
    if (entry.kind === "result" && last !== undefined) last.push(entry);
    else atoms.push([entry]);
  }
  return atoms;
}

function lineOf(
  entry: Entry,
  { measure, most }: { readonly measure: TextMeasure; readonly most: number },
): string {
  const ref = `e${entry.seq}`;
  if (entry.kind === "result") {
    const { output, call, toolName, status }: ResultEntry = entry;
    const shown = shortenOutput(output, { tokens: most, measure, ref: call });
    return JSON.stringify({ ref: call, tool: toolName, status, result: outputText(shown) });
  }
  const { content } = entry.message;
  const text = textOf(content);
  const shown = shortened(text, { most, measure, ref });
  const calls = callsOf(entry).map(({ ref, name, input }) => ({
    ref,
    tool: name,
    arguments: shortened(JSON.stringify(input) ?? "", { most, measure, ref }),
  }));
  return JSON.stringify({ ref, from: entry.kind, text: shown, ...(calls.length > 0 ? { calls } : {}) });
}
