/**
 * The ledger of a transcript from elsewhere: lines for the messages that leave it.
 *
 * @module
 */
import { isObject, type Piece } from "../formats/format.ts";
import { strayMark } from "../formats/mend_strays.ts";
import { isSystem } from "../formats/pieces.ts";
import type { Reading } from "../formats/read.ts";
import type { CallStatus } from "../ports.ts";
import { digestOf, firstSentence, renderArgs, saidBy } from "./digest.ts";
import type { LedgerLine } from "./ledger.ts";
import { ledgerOf, type Numbered } from "./wire_numbers.ts";

/** One removed pair. */
export interface LedgerPair {
  /** Name of the tool. */
  readonly tool: string;
  /** JSON text; long strings are shown with both ends, their length and a hash. */
  readonly arguments: string;
  /** How the call ended; `aborted` where it has no result. */
  readonly outcome: CallStatus;
  /** What the result says, in a line. */
  readonly digest: string;
  /** Id of the call, where it has one. */
  readonly callId: string | null;
  /** Index of the call's message in the input. */
  readonly at: number;
  /** What the ledger calls it, unless it has only counted it: the number of its message, and the call in that. */
  readonly ref: string;
}

/** Whether a message is nothing but a ledger: what it records goes into the next one, wherever it stands. */
export function isLedgerAt(reading: Reading, at: number): boolean {
  const message = reading.pieces[at] ?? [];
  return message.length > 0 && message.every((piece) => ledgerOf(piece, reading) !== null);
}

/** The first message that is still raw: those of the system, and what an earlier compaction wrote, lie before it. */
export function rawFrom(reading: Reading): number {
  const { pieces } = reading;
  let from = 0;
  while (from < pieces.length && isSystem(pieces[from])) from++;
  while (from < pieces.length && isLedgerAt(reading, from)) from++;
  return from;
}

/** What a result says. One that is a JSON object with the output as its only field says that. */
function resultText(piece: Piece, format: string): string {
  if (format !== "gemini" || !piece.text.startsWith("{")) return piece.text;
  let found: unknown;
  try {
    found = JSON.parse(piece.text);
  } catch {
    return piece.text;
  }
  return plain(isObject(found) && Object.keys(found).length === 1 ? Object.values(found)[0] : found, 0);
}

/** A JSON value to be read, without the quotes that a ledger would have to escape again. */
function plain(value: unknown, depth: number): string {
  if (typeof value === "string") return value;
  if (depth > 8 || typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  const inner = Array.isArray(value)
    ? value.map((item) => plain(item, depth + 1))
    : Object.entries(value).map(([key, item]) => `${key}: ${plain(item, depth + 1)}`);
  return depth === 0
    ? inner.join("\n")
    : Array.isArray(value)
    ? `[${inner.join(", ")}]`
    : `{${inner.join(", ")}}`;
}

function outcomeOf(
  result: Piece | undefined,
  format: string,
): { readonly status: CallStatus; readonly text: string } {
  if (result === undefined) return { status: "aborted", text: "no result" };
  return { status: result.isError === true ? "error" : "ok", text: resultText(result, format) };
}

/**
 * Writes the lines of removed messages, and the same pairs for the answer.
 *
 * @param reading The transcript that they leave.
 * @param options The removed messages, and the numbers of all.
 * @returns Lines in log order, pairs in the order of their calls, and the reference of each by its call.
 */
export function linesOf(
  reading: Reading,
  { removed, numbers }: { readonly removed: ReadonlySet<number>; readonly numbers: Numbered["numbers"] },
): {
  readonly lines: readonly LedgerLine[];
  readonly pairs: readonly LedgerPair[];
  readonly refs: ReadonlyMap<number, string>;
} {
  const { transcript, pieces, format } = reading;
  const numberOf = (message: number): number => numbers[message] ?? message;
  const early = new Map([...reading.early].map(([result, call]) => [call, result]));
  const flat = pieces.flat();
  const lines: LedgerLine[] = [];
  const pairs: LedgerPair[] = [];
  const refs = new Map<number, string>();
  const calls = new Map<number, number>();
  for (const [index, pair] of transcript.pairs.entries()) {
    const call = transcript.records[pair.call];
    const piece = flat[pair.call];
    if (call === undefined || piece === undefined || call.approval === true || !removed.has(call.message)) {
      continue;
    }
    const place = calls.get(call.message) ?? 0;
    calls.set(call.message, place + 1);
    const seq = numberOf(call.message);
    const ref = `e${seq}.${place}`;
    refs.set(index, ref);
    const { status, text } = outcomeOf(flat[pair.result ?? early.get(pair.call) ?? -1], format.name);
    const line = {
      tool: piece.name || "(unnamed)",
      args: renderArgs({ input: piece.input ?? {} }, []),
      status,
      digest: digestOf(text),
    };
    lines.push({ kind: "pair", seq, ref, ...line });
    const callId = piece.callId || null;
    pairs.push({
      tool: line.tool,
      arguments: line.args,
      outcome: status,
      digest: line.digest,
      callId,
      at: call.message,
      ref,
    });
  }
  lines.push(
    ...strayLines(reading, removed).map(({ message, text }): LedgerLine => ({
      kind: "user",
      seq: numberOf(message),
      text,
    })),
  );
  for (const [message, found] of pieces.entries()) {
    if (!removed.has(message)) continue;
    const seq = numberOf(message);
    const textOf = (kind: Piece["kind"]): string =>
      found.filter((piece) => piece.kind === kind && ledgerOf(piece, reading) === null).map((piece) =>
        piece.text || (piece.files ? "[file]" : "")
      )
        .join("\n").trim();
    const said = textOf("user");
    if (said !== "") lines.push({ kind: "user", seq, text: saidBy(said) });
    const answered = textOf("assistant");
    const isAnswer = !found.some((piece) => piece.kind === "tool_use") && answered !== "";
    if (isAnswer) lines.push({ kind: "answer", seq, text: firstSentence(answered) });
  }
  return { lines: lines.sort((a, b) => a.seq - b.seq), pairs, refs };
}

/** What is left of results that answer no call; one that only repeats another says nothing. */
function strayLines(
  { transcript, pieces, early }: Reading,
  removed: ReadonlySet<number>,
): readonly { readonly message: number; readonly text: string }[] {
  const first = new Map<string, string>();
  const strays: { message: number; text: string }[] = [];
  for (const [record, piece] of pieces.flat().entries()) {
    const message = transcript.records[record]?.message ?? -1;
    if (piece.kind !== "tool_result" || piece.approval === true || early.has(record)) continue;
    const name = piece.callId || piece.name || "";
    const isPaired = transcript.pairOfResult(record) !== null;
    const known = first.get(name);
    if (isPaired || known === undefined) first.set(name, piece.text);
    if (isPaired || !removed.has(message) || known === piece.text) continue;
    const said = digestOf(piece.text) || (piece.files ? "[file]" : "");
    strays.push({ message, text: `${strayMark(name, known !== undefined)} ${said}`.trimEnd() });
  }
  return strays;
}
