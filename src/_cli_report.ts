/**
 * Reports for people: what was found in a transcript, in lines of at most 100 columns.
 *
 * @module
 */
import type { CompactedTranscript } from "./compaction/wire.ts";
import type { Violation } from "./core/record.ts";
import type { CheckDocument } from "./formats/describe.ts";
import type { Piece } from "./formats/format.ts";
import type { Reading } from "./formats/read.ts";
import type { Repair } from "./formats/repair.ts";
import { titleOf } from "./_cli_files.ts";
import { drawAtoms } from "./_cli_picture.ts";
import { grouped, type Paint, plain, plural, WIDTH, wrap } from "./_cli_text.ts";

/** Violations or repairs listed one by one. */
const MAX_LISTED = 100;

/** What a report is about. */
export interface Subject {
  readonly file: string;
  readonly reading: Reading;
  readonly document: CheckDocument;
  readonly lineOf: (at: number) => number | null;
  readonly paint: Paint;
}

/** One line on what a message is. */
function contextOf(pieces: readonly Piece[]): string {
  const parts = pieces.slice(0, 4).map(({ kind, callId, name, text, files }) => {
    const id = callId ? ` ${callId.slice(0, 40)}` : "";
    const shown = text === "" && files ? "[file]" : JSON.stringify(text.slice(0, 2 * WIDTH));
    if (kind === "tool_use") return `call${id} ${(name ?? "").slice(0, 40)} ${text.slice(0, 2 * WIDTH)}`;
    return kind === "tool_result" ? `result${id} ${shown}` : `${kind} ${shown}`;
  });
  return plain(parts.join(", "), WIDTH - 6);
}

function placeOf(at: number, { lineOf }: Subject): string {
  const line = lineOf(at);
  return line === null ? `message ${at}` : `message ${at} (line ${line})`;
}

/** A list of things at messages, each with a line of context; the rest is counted. */
function listAt<Item extends { readonly at: number }>(
  items: readonly Item[],
  subject: Subject,
  say: (item: Item) => string,
): readonly string[] {
  const { pieces } = subject.reading;
  return [
    ...items.slice(0, MAX_LISTED).flatMap((item) => [
      ...wrap(`  ${plain(`${placeOf(item.at, subject)}: ${say(item)}`, 4 * WIDTH)}`, "      "),
      subject.paint.dim(`      ${contextOf(pieces[item.at] ?? [])}`),
    ]),
    ...(items.length > MAX_LISTED
      ? [`  and ${grouped(items.length - MAX_LISTED)} more; --json lists all`]
      : []),
  ];
}

/** The line that says which transcript this is. */
function headingOf({ file, reading }: Subject): string {
  const { format, messages, transcript } = reading;
  const calls = transcript.pairs.filter((pair) => transcript.records[pair.call]?.approval !== true).length;
  const tokens = transcript.records.reduce((sum, record) => sum + record.tokens, 0);
  return `${plain(titleOf(file), 2 * WIDTH)}: ${format.name}, ${plural(messages.length, "message")}, ${
    plural(calls, "call")
  }, ` +
    plural(tokens, "token");
}

function sayViolation({ code, condition, message }: Violation): string {
  return `${code} (${condition}): ${message}`;
}

function sayRepair({ code, callId }: Repair): string {
  return callId === null ? code : `${code}, ${callId}`;
}

/** The report of `check`. */
export function reportCheck(subject: Subject): readonly string[] {
  const { reading, document, paint } = subject;
  const { violations, pending, abandoned, openCalls } = document;
  const verdict = violations.length === 0
    ? paint.green("valid")
    : paint.red(plural(violations.length, "violation"));
  const open = [
    ...(pending.length > 0 ? [`${plural(pending.length, "call")} in flight`] : []),
    ...(abandoned.length > 0 ? [`${grouped(abandoned.length)} abandoned`] : []),
  ];
  const inFlight = openCalls.filter(({ state }) => state === "in_flight");
  return [
    ...wrap(headingOf(subject), "  ").map(paint.bold),
    `  ${[verdict, ...open].join(", ")}`,
    ...listAt(violations, subject, sayViolation),
    ...listAt(
      inFlight,
      subject,
      ({ call, callId, name }) =>
        `call ${call} is in flight: ${[name, callId].filter((word) => word).join(", ") || "no name, no id"}`,
    ),
    `  legal cuts: ${cutsOf(document)}`,
    ...drawAtoms(document, { pieces: reading.pieces, paint }),
  ];
}

/** The legal cuts, or how many there are. */
function cutsOf({ legalCuts }: CheckDocument): string {
  const list = legalCuts.slice(0, WIDTH).join(" ");
  return legalCuts.length < WIDTH && list.length < WIDTH - 14 ? list : grouped(legalCuts.length);
}

/** The report of `repair`. */
export function reportRepair(
  subject: Subject,
  { repairs, left, backup }: {
    readonly repairs: readonly Repair[];
    /** What is still wrong. */
    readonly left: readonly Violation[];
    readonly backup: string | null;
  },
): readonly string[] {
  const { paint } = subject;
  const verdict = repairs.length === 0 ? "nothing to repair" : plural(repairs.length, "repair");
  return [
    ...wrap(headingOf(subject), "  ").map(paint.bold),
    `  ${repairs.length === 0 ? paint.green(verdict) : paint.yellow(verdict)}`,
    ...listAt(repairs, subject, sayRepair),
    ...(left.length === 0
      ? []
      : [`  ${paint.red(`${plural(left.length, "violation")} left`)}, in what was made:`]),
    ...left.slice(0, MAX_LISTED).flatMap((found) =>
      wrap(`  ${plain(`message ${found.at}: ${sayViolation(found)}`, 4 * WIDTH)}`, "      ")
    ),
    ...(backup === null
      ? []
      : wrap(`  written; the file as it was is ${plain(backup, 4 * WIDTH)}`, "      ")),
  ];
}

/** The report of `compact`. */
export function reportCompact(subject: Subject, compacted: CompactedTranscript): readonly string[] {
  const { reading, document, paint } = subject;
  const { outcome, cut, tokens, ledger, trims, repairs, reason, nearest } = compacted;
  const away = cut === null || cut.distance === 0
    ? "on target"
    : `${plural(Math.abs(cut.distance), "token")} ${cut.distance > 0 ? "over" : "under"} the budget`;
  const counts = [
    `${grouped(tokens.before)} -> ${grouped(tokens.after)} tokens, budget ${grouped(tokens.budget)}`,
    ...(cut === null ? [] : [`${plural(ledger.length, "pair")} in the ledger`]),
    ...(trims.length > 0 ? [`${plural(trims.length, "result")} shortened`] : []),
    ...(repairs.length > 0 ? [plural(repairs.length, "repair")] : []),
  ];
  const around = [nearest?.before ?? null, nearest?.after ?? null].filter((at) => at !== null).join(" and ");
  const why = {
    compacted: paint.green(`compacted: ${cut?.method} cut at message ${cut?.at}, ${away}`),
    nothing: paint.green("nothing to do: it fits"),
    deferred: paint.yellow(`deferred: ${reason}; nearest legal cuts: ${around || "none"}`),
    refused: paint.red(
      `refused: ${reason}${nearest === null ? "" : `; nearest legal cuts: ${around || "none"}`}`,
    ),
  };
  return [
    ...wrap(headingOf(subject), "  ").map(paint.bold),
    `  ${why[outcome]}`,
    `  ${counts.join(", ")}`,
    ...listAt(repairs, subject, sayRepair),
    ...drawAtoms(document, { pieces: reading.pieces, cut: cut?.at ?? null, paint }),
  ];
}
