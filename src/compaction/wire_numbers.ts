/**
 * Numbers of messages: positions in the transcript as it was before anything was cut away from it. A ledger says
 * which numbers the messages behind it have, and so the next one goes on counting.
 *
 * @module
 */
import type { Piece } from "../formats/format.ts";
import { isSystem } from "../formats/pieces.ts";
import type { Reading } from "../formats/read.ts";
import type { LedgerLine, Run } from "./ledger.ts";
import { type ParsedLedger, parseLedger } from "./parse_ledger.ts";

/** A ledger of an earlier compaction, with the numbers that its lines have from now on. */
export interface EarlierLedger extends ParsedLedger {
  /** The message that holds it. */
  readonly message: number;
}

/** The messages of a transcript by number, and the ledgers in it. */
export interface Numbered {
  /** By message: its number. One that is nothing but a ledger stands where what it records begins. */
  readonly numbers: readonly number[];
  /** In order. */
  readonly ledgers: readonly EarlierLedger[];
}

/** Pieces that were looked at: a long text that only looks like a ledger is read once. */
const seen = new WeakMap<Piece, ParsedLedger | null>();

/** The ledger that a piece is; null where it is none, or where nobody asked to know ledgers as such. */
export function ledgerOf(piece: Piece | undefined, { options }: Reading): ParsedLedger | null {
  const isAsked = piece?.kind === "summary" || (piece?.kind === "user" && options.isSummary !== undefined);
  if (!isAsked) return null;
  const known = seen.get(piece);
  if (known !== undefined) return known;
  const ledger = piece.kind === "summary" || options.isSummary?.(piece.text) === true
    ? parseLedger(piece.text)
    : null;
  seen.set(piece, ledger);
  return ledger;
}

function lastOf(lines: readonly LedgerLine[]): number {
  return lines.reduce((most, line) => Math.max(most, line.kind === "range" ? line.to : line.seq), -1);
}

function moved(line: LedgerLine, by: number): LedgerLine {
  if (by === 0) return line;
  const seq = line.seq + by;
  if (line.kind === "range") return { ...line, seq, to: line.to + by };
  return line.kind === "pair"
    ? { ...line, seq, ref: line.ref.replace(/^e\d+/, `e${seq}`) }
    : { ...line, seq };
}

/**
 * Numbers the messages of a transcript. A ledger stands for the messages that it records; those of the system in front
 * of it are among these. Where other messages stand in front of it, its numbers move behind theirs.
 */
export function numberMessages(reading: Reading): Numbered {
  const ledgers: EarlierLedger[] = [];
  const numbers: number[] = [];
  let isFirst = true;
  let next = 0;
  let runs: Run[] = [];
  const take = (): number => {
    const [run] = runs;
    if (run === undefined) return next++;
    if (run.from < run.to) runs[0] = { from: run.from + 1, to: run.to };
    else runs.shift();
    next = Math.max(next, run.from + 1);
    return run.from;
  };
  for (const [message, pieces] of reading.pieces.entries()) {
    let begin: number | null = null;
    let left = 0;
    for (const piece of pieces) {
      const ledger = ledgerOf(piece, reading);
      if (ledger === null) {
        left++;
        continue;
      }
      const by = isFirst ? 0 : next;
      begin ??= by;
      isFirst = false;
      const below = ledger.below.length > 0
        ? ledger.below
        : [{ from: lastOf(ledger.lines) + 1, to: Infinity }];
      runs = below.map(({ from, to }) => ({ from: from + by, to: to + by }));
      // What follows the last run that is told counts on behind it, and behind all that the ledger records.
      next = Math.max(next, by + lastOf(ledger.lines) + 1);
      ledgers.push({
        message,
        lines: ledger.lines.map((line) => moved(line, by)),
        below: runs.slice(),
        prose: ledger.prose,
      });
    }
    numbers.push(begin !== null && left === 0 ? begin : take());
    if (!isSystem(pieces)) isFirst = false;
  }
  return { numbers, ledgers };
}

/** Runs that are told at most: more would take the room of the ledger itself. Hardly anybody pins in so many places. */
const MOST_RUNS = 100;

/** Numbers in runs; the last one goes on. */
export function runsOf(numbers: readonly number[]): readonly Run[] {
  const runs: { from: number; to: number; count: number }[] = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last !== undefined && number === last.to + 1) {
      last.to = number;
      last.count++;
    } else runs.push({ from: number, to: number, count: 1 });
  }
  if (runs.length > MOST_RUNS) {
    // Those at the end are told right; between them and the first ones some are off.
    const rest = runs.splice(MOST_RUNS - 1);
    const to = rest.at(-1)?.to ?? 0;
    const count = rest.reduce((sum, run) => sum + run.count, 0);
    runs.push({ from: Math.max(0, to - count + 1), to, count });
  }
  return runs.map(({ from, to }, index) => ({ from, to: index === runs.length - 1 ? Infinity : to }));
}
