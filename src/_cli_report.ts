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
import type { TranscriptFile } from "./files/transcripts.ts";
import { titleOf } from "./files/text.ts";
import { grouped, plural } from "./files/words.ts";
import { drawAtoms } from "./_cli_picture.ts";
import { type Paint, plain, WIDTH, wrap } from "./_cli_text.ts";

/** Violations or repairs listed one by one. */
const MAX_LISTED = 100;

/** What a report is about. */
export interface Subject {
  readonly file: string;
  readonly reading: Reading;
  readonly document: CheckDocument;
  readonly found: TranscriptFile;
  readonly paint: Paint;
}

/** Something at a message, and where it is about one call, its id or its number there. */
interface Item {
  readonly at: number;
  readonly callId: string | null;
  readonly call?: number;
  readonly code?: string;
}

/** A part of a message in a few words; `number` is its own among those of its kind, where there are more. */
function sayPiece({ kind, callId, name, text, files }: Piece, number: number | null): string {
  const which = number === null ? "" : ` ${number}:`;
  const id = callId ? ` ${callId.slice(0, 40)}` : "";
  const shown = text === "" && files ? "[file]" : JSON.stringify(text.slice(0, 2 * WIDTH));
  if (kind === "tool_use") {
    return `call${which}${id} ${(name ?? "").slice(0, 40)} ${text.slice(0, 2 * WIDTH)}`;
  }
  return kind === "tool_result" ? `result${which}${id} ${shown}` : `${kind} ${shown}`;
}

/** One line on what a message is: on all of it, or on those of its parts that something is about. */
function contextOf(
  pieces: readonly Piece[],
  { at, callId, call, code }: Item,
  openCalls: CheckDocument["openCalls"],
): string {
  const calls = pieces.filter((piece) => piece.kind === "tool_use" && piece.approval !== true);
  const results = pieces.filter((piece) => piece.kind === "tool_result");
  const numberOf = (piece: Piece): number | null => {
    const list = piece.kind === "tool_use" ? calls : results;
    return list.length > 1 && list.includes(piece) ? list.indexOf(piece) : null;
  };
  // Without ids it is said of the message only that a call there has no result.
  const missing = code === "missing_result" && callId === null
    ? openCalls.filter((open) => open.at === at && open.state === "abandoned").map((open) => open.call)
    : [];
  const numbers = call === undefined ? missing : [call];
  const own = pieces.filter((piece) =>
    callId !== null && call === undefined
      ? piece.callId === callId
      : numbers.some((number) => piece === calls[number])
  );
  const shown = (own.length > 0 ? own : pieces).slice(0, 4);
  return plain(shown.map((piece) => sayPiece(piece, numberOf(piece))).join(", "), WIDTH - 6);
}

/** A message of a transcript by its number, and its line where it has one. */
export function placeOf(at: number, { lineOf }: TranscriptFile): string {
  const line = lineOf(at);
  return line === null ? `message ${at}` : `message ${at} (line ${line})`;
}

/** A list of things at messages, each with a line of context; what is the same is counted, and so is the rest. */
function listAt<One extends Item>(
  items: readonly One[],
  subject: Subject,
  say: (item: One) => string,
): readonly string[] {
  const { reading: { pieces }, document: { openCalls } } = subject;
  const said = new Map<string, { readonly item: One; times: number }>();
  for (const item of items) {
    const text = `${placeOf(item.at, subject.found)}: ${say(item)}`;
    const same = said.get(text);
    if (same === undefined) said.set(text, { item, times: 1 });
    else same.times++;
  }
  const listed = [...said].slice(0, MAX_LISTED);
  const rest = [...said.values()].slice(MAX_LISTED).reduce((sum, { times }) => sum + times, 0);
  return [
    ...listed.flatMap(([text, { item, times }]) => [
      ...wrap(`  ${plain(text, 4 * WIDTH)}${times > 1 ? ` (${grouped(times)} times)` : ""}`, "      "),
      subject.paint.dim(`      ${contextOf(pieces[item.at] ?? [], item, openCalls)}`),
    ]),
    ...(rest > 0 ? [`  and ${grouped(rest)} more; --json lists all`] : []),
  ];
}

/** The lines that say which transcript this is. */
function headingOf({ file, found, reading, paint }: Subject): readonly string[] {
  const { format, messages, transcript } = reading;
  const calls = transcript.pairs.filter((pair) => transcript.records[pair.call]?.approval !== true).length;
  const counts = [
    plural(messages.length, "message"),
    plural(calls, "call"),
    plural(allTokens(reading), "token"),
  ];
  const where = found.line === null ? "" : `, line ${found.line}`;
  const { wrapper } = found;
  const left = wrapper === null || wrapper.skipped === 0
    ? ""
    : `; ${plural(wrapper.skipped, "line")} without one left out`;
  return [
    ...wrap(`${plain(titleOf(file), 2 * WIDTH)}${where}: ${[format.name, ...counts].join(", ")}`, "  ").map(
      paint.bold,
    ),
    ...(wrapper === null ? [] : [`  a log: the messages were read from \`${wrapper.inside}\`${left}`]),
  ];
}

/** Tokens of all messages, those of the system included. */
function allTokens({ transcript }: Reading): number {
  return transcript.records.reduce((sum, record) => sum + record.tokens, 0);
}

function sayViolation({ code, condition, message }: Violation): string {
  return `${code} (${condition}): ${message}`;
}

function sayRepair({ code, message }: Repair): string {
  return `${code}: ${message}`;
}

/** The report of `check`. */
export function reportCheck(subject: Subject): readonly string[] {
  const { reading, document, paint } = subject;
  const { violations, notices, pending, abandoned, openCalls } = document;
  const verdict = violations.length === 0
    ? paint.green("valid")
    : paint.red(plural(violations.length, "violation"));
  const open = [
    ...(notices.length > 0 ? [plural(notices.length, "notice")] : []),
    ...(pending.length > 0 ? [`${plural(pending.length, "call")} in flight`] : []),
    ...(abandoned.length > 0 ? [`${grouped(abandoned.length)} abandoned`] : []),
  ];
  const inFlight = openCalls.filter(({ state }) => state === "in_flight");
  return [
    ...headingOf(subject),
    `  ${[verdict, ...open].join(", ")}`,
    ...listAt(violations, subject, sayViolation),
    ...listAt(
      inFlight,
      subject,
      ({ at, call, callId, name }) =>
        `call ${at}.${call} is in flight: ${
          [name, callId].filter((word) => word).join(", ") || "no name, no id"
        }`,
    ),
    `  legal cuts: ${cutsOf(document)}`,
    ...drawAtoms(document, { pieces: reading.pieces, paint }),
  ];
}

/** The legal cuts, or how many there are. */
function cutsOf({ legalCuts }: CheckDocument): string {
  const list = legalCuts.slice(0, WIDTH).join(" ");
  const isShort = legalCuts.length < WIDTH && list.length < WIDTH - 14;
  return isShort ? list : `${grouped(legalCuts.length)} of them; --json lists all`;
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
    ...headingOf(subject),
    `  ${repairs.length === 0 ? paint.green(verdict) : paint.yellow(verdict)}`,
    ...listAt(repairs, subject, sayRepair),
    ...(left.length === 0
      ? []
      : [`  ${paint.red(`${plural(left.length, "violation")} left`)}, in what was made:`]),
    ...left.slice(0, MAX_LISTED).flatMap((found) =>
      wrap(`  ${plain(`message ${found.at}: ${sayViolation(found)}`, 4 * WIDTH)}`, "      ")
    ),
    ...written(backup),
  ];
}

function written(backup: string | null): readonly string[] {
  return backup === null
    ? []
    : wrap(`  written; the file as it was is ${plain(backup, 4 * WIDTH)}`, "      ");
}

/** Why there is nothing to do. */
const NOTHING: Readonly<Record<string, string>> = {
  within_budget: "it fits",
  within_lookback: "it is over the budget by no more than a cut may keep",
  too_little_to_gain: "the best cut would take away less than a tenth",
};

const RAISE = "raise --budget";

/** What can be done where nothing was cut, by what bars the way. */
const ADVICE: Readonly<Record<"deferred" | "refused", Readonly<Record<string, string>>>> = {
  deferred: {
    open_call: "compact again once the open call is answered",
    atom_too_wide: `${RAISE}, or compact again when there are more messages`,
  },
  refused: {
    atom_too_wide: `${RAISE}: the newest messages and the summary are over it`,
    pinned_too_big: `pin less, or ${RAISE}: what stays and the summary fill it`,
    budget_too_small: `${RAISE}: the summary alone fills it`,
  },
};

/** The report of `compact`; of a plan also what it would summarise. */
export function reportCompact(
  subject: Subject,
  { compacted, backup, isPlan }: {
    readonly compacted: CompactedTranscript;
    readonly backup: string | null;
    readonly isPlan: boolean;
  },
): readonly string[] {
  const { reading, document, paint } = subject;
  const { outcome, cut, tokens, ledger, trims, repairs, reason, nearest } = compacted;
  const away = cut === null || cut.distance === 0
    ? "on target"
    : `${plural(Math.abs(cut.distance), "token")} ${cut.distance > 0 ? "over" : "under"} its target`;
  const isSystemApart = allTokens(reading) !== tokens.before;
  const counts = [
    `${grouped(tokens.before)} -> ${grouped(tokens.after)} tokens${
      isSystemApart ? " without system messages" : ""
    }, budget ${grouped(tokens.budget)}`,
    ...(cut === null ? [] : [`${plural(ledger.length, "pair")} in the ledger`]),
    ...(trims.length > 0 ? [`${plural(trims.length, "result")} shortened`] : []),
    ...(repairs.length > 0 ? [plural(repairs.length, "repair")] : []),
  ];
  const around = [nearest?.before ?? null, nearest?.after ?? null].filter((at) => at !== null).join(" and ");
  const advice = outcome === "deferred" || outcome === "refused" ? ADVICE[outcome][reason ?? ""] : undefined;
  const [color, why] = {
    applied: [
      paint.green,
      `${
        isPlan ? "plan, nothing is changed" : "compacted"
      }: ${cut?.method} cut at message ${cut?.at}, ${away}`,
    ],
    nothing: [paint.green, `nothing to do: ${NOTHING[reason ?? ""] ?? reason}`],
    deferred: [paint.yellow, `deferred: ${reason}; nearest legal cuts: ${around || "none"}`],
    refused: [
      paint.red,
      `refused: ${reason}${nearest === null ? "" : `; nearest legal cuts: ${around || "none"}`}`,
    ],
  }[outcome] as [(text: string) => string, string];
  return [
    ...headingOf(subject),
    ...wrap(`  ${why}`, "      ").map(color),
    ...(advice === undefined ? [] : [`  what helps: ${advice}`]),
    ...wrap(`  ${counts.join(", ")}`, "      "),
    ...listAt(repairs, subject, sayRepair),
    ...(isPlan && compacted.toSummarise !== undefined
      ? [
        `  to be summarised: ${
          plural(compacted.toSummarise.length, "message")
        } in front of message ${cut?.at}`,
        ...ledger.slice(0, MAX_LISTED).map(({ tool, arguments: args, outcome, digest, at }) =>
          `  ${plain(`${placeOf(at, subject.found)}: ${tool} ${args} -> ${outcome}: ${digest}`, WIDTH - 2)}`
        ),
        ...(ledger.length > MAX_LISTED
          ? [`  and ${grouped(ledger.length - MAX_LISTED)} more; --json lists all`]
          : []),
      ]
      : []),
    ...drawAtoms(document, { pieces: reading.pieces, cut: cut?.at ?? null, paint }),
    ...written(backup),
  ];
}
