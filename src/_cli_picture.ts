/**
 * A picture of the atoms of a transcript and of the places where it may be cut.
 *
 * @module
 */
import type { Piece } from "./formats/format.ts";
import type { CheckDocument } from "./formats/describe.ts";
import { type Paint, WIDTH } from "./_cli_text.ts";

/** Columns for the number of the first message of a row. */
const MARGIN = 8;
/** Rows with a letter for each message; longer transcripts are drawn with a cell for several atoms. */
const MAX_ROWS = 6;
/** Letters of one atom. */
const MAX_LETTERS = 24;

const LEGEND = [
  "| legal cut",
  "# cut made",
  ": no cut",
  "/ open",
  "S system",
  "U user",
  "A assistant",
  "r result",
  "M ledger",
  "x stray",
  "* messages",
];

/** One cell: what stands at its left border, what is in it, and its first message. */
interface Cell {
  readonly from: number;
  readonly bar: string;
  readonly text: string;
}

function letterOf(pieces: readonly Piece[]): string {
  const has = (kind: Piece["kind"]): boolean => pieces.some((piece) => piece.kind === kind);
  if (has("assistant") || has("tool_use") || has("reasoning")) return "A";
  if (has("tool_result")) return "r";
  return has("summary") ? "M" : has("user") ? "U" : "S";
}

/** How many messages an atom has, where they are too many to be drawn. */
function lettersOf(letters: string): string {
  if (letters.length <= MAX_LETTERS) return letters;
  const count = String(letters.length);
  return `${letters.slice(0, MAX_LETTERS - count.length - 1)}*${count}`;
}

/** The letter of several atoms together: what is worth seeing, else what takes most tokens. */
function letterOfAll(atoms: CheckDocument["atoms"]): string {
  const has = (kind: CheckDocument["atoms"][number]["kind"]): boolean =>
    atoms.some((atom) => atom.kind === kind);
  if (atoms.some(({ state }) => state === "open")) return "/";
  if (has("stray")) return "x";
  if (has("summary")) return "M";
  const sumOf = (kind: string): number =>
    atoms.filter((atom) => atom.kind === kind).reduce((sum, atom) => sum + atom.tokens, 0);
  if (has("user") && sumOf("user") >= sumOf("assistant")) return "U";
  return has("assistant") ? "A" : "S";
}

function rowsOf(cells: readonly Cell[]): readonly (readonly Cell[])[] {
  const rows: Cell[][] = [];
  let left = 0;
  for (const cell of cells) {
    left -= cell.text.length + 1;
    const row = rows.at(-1);
    // One column is for the border that closes the last row.
    if (row === undefined || left < 1) {
      rows.push([cell]);
      left = WIDTH - MARGIN - cell.text.length - 1;
    } else row.push(cell);
  }
  return rows;
}

/**
 * Draws atoms and legal cuts in lines of at most 100 columns.
 *
 * @param document What a check found.
 * @param options The pieces of the messages, the cut that was made, colours.
 */
export function drawAtoms(
  { atoms, legalCuts }: CheckDocument,
  { pieces, cut = null, paint }: {
    readonly pieces: readonly (readonly Piece[])[];
    readonly cut?: number | null;
    readonly paint: Paint;
  },
): readonly string[] {
  const cuts = new Set(legalCuts);
  const barAt = (at: number): string => at === cut ? "#" : cuts.has(at) ? "|" : ":";
  let cells = atoms.map(({ from, to, kind, state }): Cell => {
    const letters = pieces.slice(from, to).map(letterOf).join("");
    const text = state === "open"
      ? "/".repeat(to - from)
      : kind === "stray"
      ? "x".repeat(to - from)
      : letters;
    return { from, bar: barAt(from), text: lettersOf(text) };
  });
  let perCell = 1;
  if (rowsOf(cells).length > MAX_ROWS) {
    // Two columns a cell: its border and its letter.
    perCell = Math.ceil(atoms.length / (MAX_ROWS * Math.floor((WIDTH - MARGIN - 1) / 2)));
    cells = Array.from({ length: Math.ceil(atoms.length / perCell) }, (_, index): Cell => {
      const group = atoms.slice(index * perCell, (index + 1) * perCell);
      const from = group[0]?.from ?? 0;
      // The cut that was made shows at the cell that it lies in.
      const hasCut = cut !== null && group.some((atom) => atom.from === cut);
      return { from, bar: hasCut ? "#" : barAt(from), text: letterOfAll(group) };
    });
  }
  const painted = ({ bar, text }: Cell): string =>
    (bar === "#" ? paint.bold(bar) : bar === "|" ? paint.green(bar) : paint.dim(bar)) +
    (text.startsWith("/") ? paint.yellow(text) : text.startsWith("x") ? paint.red(text) : text);
  const rows = rowsOf(cells);
  const end = barAt(pieces.length);
  const drawn = rows.map((row, index) =>
    paint.dim(String(row[0]?.from ?? 0).padStart(MARGIN - 1)) + " " + row.map(painted).join("") +
    (index === rows.length - 1 ? painted({ from: 0, bar: end, text: "" }) : "")
  );
  if (rows.length === 0) return [];
  const used = new Set(cells.map(({ bar, text }) => bar + text).join("") + end);
  const legend = LEGEND.filter(([symbol = ""]) => used.has(symbol)).join("  ");
  const scale = perCell === 1 ? "one letter a message" : `one letter for ${perCell} atoms`;
  return [...drawn, paint.dim(`  ${legend}`), paint.dim(`  ${scale}`)];
}
